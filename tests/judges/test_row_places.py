"""A row that cannot be judged is named by its place in the batch, whoever asks about a part."""

from __future__ import annotations

import pytest

from assay.errors import DataError
from assay.judge import Grade, Item, Judge, Pair
from assay.judges import BothOrders, Cached, Escalate, LLMPairwise, LLMReference
from assay.messages import Sample, as_messages
from assay.rewards import PairwiseReward, TournamentReward
from tests.judges.scripted import ScriptedClient, verdict

same = LLMReference(ScriptedClient(lambda prompt, _: verdict(prompt, equivalent="yes")))
better = LLMPairwise(
    ScriptedClient(lambda prompt, _: verdict(prompt, choice="A")), reference="gold"
)


class UnsureButOfTheFirst(Judge):
    def grade(self, items):
        return [Grade(1.0 if item.answer[0].content == "a0" else 0.5) for item in items]

    def fingerprint(self):
        return "unsure"


def said(text):
    return as_messages(text, role="assistant")


def items(bad):
    return [Item((), said(f"a{i}"), {"answer": "" if i == bad else "gold"}) for i in range(4)]


def test_cached_and_escalate(tmp_path) -> None:
    cached = Cached(same, tmp_path / "cache.sqlite")
    cached.grade(items(bad=2)[:2])
    with pytest.raises(DataError) as error:
        cached.grade(items(bad=2))
    assert error.value.index == 2
    with pytest.raises(DataError) as error:
        Escalate((UnsureButOfTheFirst(), same), unsure_grades=(0.4, 0.6)).grade(items(bad=2))
    assert error.value.index == 2


def test_both_orders() -> None:
    class FailsOnTheSecondOrder(Judge):
        def compare(self, pairs):
            raise DataError("no", len(pairs) - 1)

        def fingerprint(self):
            return "fails"

    pairs = [Pair((), said("a"), said("b")) for _ in range(3)]
    with pytest.raises(DataError) as error:
        BothOrders(FailsOnTheSecondOrder()).compare(pairs)
    assert error.value.index == 2


def test_rewards_that_compare() -> None:
    opponents = {"reference": {"one": "1", "two": "2"}}
    rows = [Sample.of("q", f"a{i}", opponents | {"gold": "" if i == 1 else "g"}) for i in range(3)]
    with pytest.raises(DataError) as error:
        PairwiseReward(better).score(rows)
    assert error.value.index == 1
    rows = [
        Sample.of("q", f"a{i % 2}", {"uid": str(i // 3), "gold": "" if i == 3 else "g"})
        for i in range(6)
    ]
    with pytest.raises(DataError) as error:
        TournamentReward(better).score(rows)
    assert error.value.index == 3
