"""Both orders: mirror symmetry, position bias, missing orders."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges.order import BothOrders
from assay.messages import as_messages


def pair(a: str, b: str) -> Pair:
    return Pair(
        as_messages("question", role="user"),
        as_messages(a, role="assistant"),
        as_messages(b, role="assistant"),
    )


@dataclass(frozen=True)
class Told(Judge):
    """Says what a table holds for (first answer, second answer): P(first), a choice, a status."""

    table: tuple[tuple[str, str, object], ...]

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [self._one(p.a[0].content, p.b[0].content) for p in pairs]

    def _one(self, a: str, b: str) -> Verdict:
        said = {(x, y): z for x, y, z in self.table}[a, b]
        if isinstance(said, float):
            choice = "tie" if said == 0.5 else ("A" if said > 0.5 else "B")
            return Verdict(choice, said, reason=f"p={said}", raw="raw")  # type: ignore[arg-type]
        if said in ("A", "B", "tie"):
            return Verdict(said)  # type: ignore[arg-type]
        return Verdict(None, status=said, reason="down" if said == "failed" else "no idea")  # type: ignore[arg-type]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        return [Grade(1.0) for _ in items]

    def fingerprint(self) -> str:
        return f"told-{self.table}"


def both(ab: object, ba: object, **settings: object) -> tuple[Verdict, Verdict]:
    """The verdict on (x, y) and on (y, x), P(first) being ab as x stands first and ba as y does."""
    judge = BothOrders(Told((("x", "y", ab), ("y", "x", ba))), **settings)  # type: ignore[arg-type]
    straight, mirrored = judge.compare([pair("x", "y"), pair("y", "x")])
    return straight, mirrored


def test_the_two_orders_are_averaged() -> None:
    verdict, _ = both(0.9, 0.4)
    # (.9 + 1 - .4) / 2 = .75; .9 + .4 - 1 = .3: it leans to the first slot
    assert verdict.choice == "A"
    assert verdict.p_a == pytest.approx(0.75) and verdict.order_gap == pytest.approx(0.3)
    assert verdict.reason == "A first: p=0.9\nB first: p=0.4"
    assert verdict.raw == "A first: raw\nB first: raw"


probabilities = st.floats(0.0, 1.0)


@given(ab=probabilities, ba=probabilities)
def test_swapping_mirrors_the_verdict_exactly(ab: float, ba: float) -> None:
    for mode in ("mean", "agree"):
        straight, mirrored = both(ab, ba, mode=mode)
        assert straight.p_a is not None and mirrored.p_a is not None
        assert straight.p_a - 0.5 == -(mirrored.p_a - 0.5)
        assert straight.order_gap == mirrored.order_gap
        assert mirrored.choice == {"A": "B", "B": "A", "tie": "tie"}[str(straight.choice)]


def test_a_judge_of_positions_says_nothing() -> None:
    for said in ("A", 1.0):
        verdict, _ = both(said, said)
        assert (verdict.choice, verdict.p_a, verdict.order_gap) == ("tie", 0.5, 1.0)
    verdict, _ = both("B", "B", mode="agree")
    assert (verdict.choice, verdict.p_a, verdict.order_gap) == ("tie", 0.5, -1.0)


@pytest.mark.parametrize(
    ("ab", "ba", "choice", "agreed", "p_a"),
    [
        ("A", "B", "A", "A", 1.0),
        ("B", "A", "B", "B", 0.0),
        ("A", "tie", "A", "tie", 0.75),
        ("tie", "tie", "tie", "tie", 0.5),
        ("A", 0.25, "A", "A", 0.875),
    ],
)
def test_hard_choices(ab: object, ba: object, choice: str, agreed: str, p_a: float) -> None:
    assert (both(ab, ba)[0].choice, both(ab, ba)[0].p_a) == (choice, p_a)
    assert both(ab, ba, mode="agree")[0].choice == agreed


def test_near_ties() -> None:
    assert both(0.6, 0.45, tie_tolerance=0.1)[0].choice == "tie"
    assert both(0.8, 0.45, tie_tolerance=0.1)[0].choice == "A"


@pytest.mark.parametrize(
    ("ab", "ba", "status", "reason"),
    [
        (0.9, "abstained", "abstained", "B first: abstained: no idea"),
        ("failed", 0.9, "failed", "A first: failed: down"),
        ("failed", "abstained", "failed", "A first: failed: down\nB first: abstained: no idea"),
    ],
)
def test_one_order_is_no_verdict(ab: object, ba: object, status: str, reason: str) -> None:
    verdict, _ = both(ab, ba)
    assert (verdict.choice, verdict.p_a, verdict.order_gap) == (None, None, None)
    assert (verdict.status, verdict.reason) == (status, reason)


def test_wrapper_is_a_judge() -> None:
    judge = BothOrders(Told(()))
    assert judge.compare([]) == [] and judge.grade([]) == []
    item = Item(as_messages("q", role="user"), as_messages("a", role="assistant"))
    assert judge.grade([item]) == [Grade(1.0)]
    assert pickle.loads(pickle.dumps(judge)) == judge
    others = [BothOrders(Told(()), mode="agree"), BothOrders(Told(()), tie_tolerance=0.1)]
    assert len({j.fingerprint() for j in [judge, *others, Told(())]}) == 4
    with pytest.raises(ConfigError, match=r"must be one of \{'mean', 'agree'\}, got 'vote'"):
        BothOrders(Told(()), mode="vote")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="tie_tolerance must lie in"):
        BothOrders(Told(()), tie_tolerance=0.5)
