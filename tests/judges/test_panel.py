import pytest

from assay.errors import ConfigError
from assay.judge import Grade, Judge, Verdict
from assay.judges import BothOrders, Escalate, Panel, log_odds_weights
from tests.judges.test_llm_pairwise import pair
from tests.judges.test_llm_pointwise import item


class Fixed(Judge):
    """Says the same of everything, and counts what it was asked."""

    def __init__(self, said, name="fixed"):
        self.said, self.name, self.asked = said, name, 0

    def compare(self, pairs):
        self.asked += len(pairs)
        return [self.said for _ in pairs]

    def grade(self, items):
        self.asked += len(items)
        return [self.said for _ in items]

    def fingerprint(self):
        return self.name


A, B, TIE = Verdict("A", 0.9, cost=1.0), Verdict("B", 0.2, cost=1.0), Verdict("tie")
NONE, DOWN = Verdict(None, status="abstained"), Verdict(None, status="failed", reason="down")


def panel(*said, **settings):
    return Panel({str(i): Fixed(one, str(i)) for i, one in enumerate(said)}, **settings)


@pytest.mark.parametrize(
    ("said", "settings", "choice", "status", "agreement"),
    [
        ((A, A, B), {}, "A", "ok", 2 / 3),
        ((A, B), {}, None, "abstained", 0.5),  # no majority
        ((A, A, NONE), {}, "A", "ok", 1.0),
        ((A, NONE, NONE), {}, None, "abstained", None),  # 1 of 3, 2 needed
        ((A, NONE, NONE), {"quorum": 1}, "A", "ok", 1.0),
        ((A, DOWN, DOWN), {}, None, "failed", None),  # no quorum possible
        ((A, DOWN, NONE), {}, None, "abstained", None),
        ((A, A, B), {"min_agreement": 0.7}, None, "abstained", 2 / 3),
        ((A, A, B), {"weights": {"0": 1, "1": 1, "2": 3}}, "B", "ok", 0.6),
        ((TIE, TIE, A), {}, "tie", "ok", 2 / 3),
        ((A, B), {"rule": "mean"}, "A", "ok", 0.5),  # (.9 + .2) / 2 = .55
        ((TIE, TIE), {"rule": "mean"}, "tie", "ok", 1.0),
    ],
)
def test_verdicts(said, settings, choice, status, agreement):
    (found,) = panel(*said, **settings).compare([pair()])
    assert (found.choice, found.status) == (choice, status)
    assert found.agreement == (agreement if agreement is None else pytest.approx(agreement))
    assert len(found.info["members"]) == len(said)


def test_weighted_p_a_gap_and_cost():
    gap = Verdict("A", 0.8, order_gap=0.4, cost=2.0)
    (found,) = panel(gap, A, weights={"0": 3, "1": 1}).compare([pair()])
    assert found.p_a == pytest.approx((3 * 0.8 + 0.9) / 4)
    assert found.order_gap == pytest.approx(0.4) and found.cost == 3.0


def grade(value, **criteria):
    return Grade(value, criteria=criteria)


@pytest.mark.parametrize(
    ("values", "settings", "value"),
    [
        ((0.2, 0.4, 0.9), {}, 0.4),  # median
        ((0.2, 0.4), {}, 0.3),
        ((0.2, 0.4, 0.9), {"rule": "mean"}, 0.5),
        ((0.2, 0.4, 0.9), {"max_spread": 0.5}, None),
        ((0.2, 0.4, 0.9), {"weights": {"0": 1, "1": 1, "2": 5}}, 0.9),
    ],
)
def test_grades(values, settings, value):
    (found,) = panel(*(grade(v, right=v) for v in values), **settings).grade([item()])
    assert found.value == (value if value is None else pytest.approx(value))
    assert found.status == ("abstained" if value is None else "ok")
    if value is not None:
        assert found.criteria["right"] == pytest.approx(value)


def test_a_panel_swaps_as_its_members_do():
    """BothOrders around a panel of first-slot judges has no winner."""
    (found,) = BothOrders(panel(A, A, A)).compare([pair()])
    assert found.choice == "tie" and found.order_gap == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "vote"}, "rule"),
        ({"quorum": 3}, "quorum"),
        ({"weights": {"0": 1}}, "must name the judges"),
        ({"weights": {"0": 1, "1": 0}}, "> 0"),
        ({"min_agreement": 2}, "min_agreement"),
        ({"max_spread": -1}, "max_spread"),
    ],
)
def test_unusable_panels(settings, message):
    with pytest.raises(ConfigError, match=message):
        panel(A, B, **settings)


def test_one_judge_is_no_panel():
    with pytest.raises(ConfigError, match="at least two"):
        panel(A)
    with pytest.raises(ConfigError, match=r"between \.5 and 1"):
        log_odds_weights({"chance": 0.5})
    assert panel(A, B).fingerprint() != panel(A, B, rule="mean").fingerprint()


@pytest.mark.parametrize(
    ("cheap", "settings", "asked"),
    [
        (Verdict("A", 0.9), {}, False),
        (Verdict("A", 0.6), {}, True),  # 2 * .1 < .5
        (Verdict("A"), {}, False),  # a plain choice counts as 1
        (Verdict("tie"), {}, True),
        (Verdict("A", 0.9, order_gap=0.6), {}, True),
        (Verdict("A", 0.9, order_gap=0.6), {"max_order_gap": None}, False),
        (Verdict("A", 0.9, agreement=0.5), {"min_agreement": 0.6}, True),
        (NONE, {}, True),
        (DOWN, {}, True),
    ],
)
def test_escalation(cheap, settings, asked):
    first, strong = Fixed(cheap, "cheap"), Fixed(Verdict("B", 0.1, cost=2.0), "strong")
    (found,) = Escalate((first, strong), **settings).compare([pair()])
    assert strong.asked == int(asked)
    assert found.choice == ("B" if asked else cheap.choice)
    assert len(found.info["asked"]) == 1 + asked
    assert found.cost == (2.0 if asked else None)


def test_only_the_unsure_are_asked_again():
    class Half(Fixed):
        def compare(self, pairs):
            return [A if "sure" in p.a[-1].content else NONE for p in pairs]

    strong = Fixed(B)
    found = Escalate((Half(A), strong)).compare([pair("sure"), pair("x"), pair("sure")])
    assert [v.choice for v in found] == ["A", "B", "A"] and strong.asked == 1


def test_escalated_grades():
    cheap, strong = Fixed(grade(0.5)), Fixed(grade(0.9))
    assert Escalate((cheap, strong)).grade([item()])[0].value == 0.5
    assert Escalate((cheap, strong), unsure_grades=(0.4, 0.6)).grade([item()])[0].value == 0.9
    still = Escalate((cheap, Fixed(Grade(None, "failed"))), unsure_grades=(0.4, 0.6))
    assert still.grade([item()])[0].status == "failed"
    with pytest.raises(ConfigError, match="two judges"):
        Escalate((cheap,))
    with pytest.raises(ConfigError, match="unsure_grades"):
        Escalate((cheap, strong), unsure_grades=(0.6, 0.4))
