import pickle

import pytest

from assay.errors import ConfigError
from assay.judge import Grade
from assay.judges import Endpoint, LLMPointwise, LLMReference
from assay.messages import Sample
from assay.rewards import Judged, PairwiseReward, Term, WeightedSum
from tests.judges.scripted import ScriptedClient, between, verdict
from tests.judges.test_panel import Fixed


def sample(text="four", **columns):
    return Sample.of("2 + 2?", text, columns)


def test_grades_become_scores():
    found = [
        Judged(Fixed(grade), passing=0.5).score([sample()])[0]
        for grade in (
            Grade(0.8, reason="good", cost=1.0, criteria={"right": 4.0}),
            Grade(0.2),
            Grade(None, "abstained", reason="cannot tell"),
            Grade(None, "failed", reason="down"),
        )
    ]
    assert [s.value for s in found] == [0.8, 0.2, None, None]
    assert [s.status for s in found] == ["scored", "scored", "abstained", "failed"]
    assert [s.passed for s in found] == [True, False, None, None]
    assert found[0].info == {"criteria": {"right": 4.0}, "cost": 1.0} and found[0].note == "good"


def test_gates_and_columns():
    client = ScriptedClient(
        lambda p, _: verdict(p, equivalent="yes" if between(p, "answer") == "four" else "no")
    )
    reward = WeightedSum(
        {
            "right": Term(Judged(LLMReference(client), passing=1.0)),
            "bonus": Term(Judged(Fixed(Grade(1.0))), weight=0.5, gate="right"),
        }
    )
    assert reward.columns == {"answer"}
    values = reward(completions=["four", "five"], prompts=["2 + 2?"] * 2, answer=["four"] * 2)
    assert values == [1.5, 0.0]


def test_a_language_model_is_a_pair_wise_model():
    from assay.judges import LLMPairwise

    client = ScriptedClient(
        lambda p, _: verdict(p, choice="A" if "four" in between(p, "answer A") else "B")
    )
    reward = PairwiseReward(LLMPairwise(client))
    values = reward(completions=["four", "six"], prompts=["?"] * 2, reference=["five", "four"])
    assert values == [1.0, 0.0]


def test_pickles_and_fingerprint():
    reward = Judged(LLMPointwise(Endpoint("http://127.0.0.1:9/v1", "m")))
    again = pickle.loads(pickle.dumps(reward))
    assert again == reward and again.fingerprint() == reward.fingerprint()
    with pytest.raises(ConfigError, match="Judge"):
        Judged("a judge")


def test_costs_reach_the_scores():
    from assay.judge import Verdict
    from assay.rewards import TournamentReward

    paid = Fixed(Verdict("A", 0.6, cost=0.25))
    (score,) = PairwiseReward(paid).score([sample(reference={"x": "five", "y": "six"})])
    assert score.info["cost"] == 4 * 0.25  # two opponents, two orders
    rollouts = [Sample.of("?", text, {"uid": "g"}) for text in ("a", "b", "c")]
    scores = TournamentReward(paid).score(rollouts)
    assert sum(score.info["cost"] for score in scores) == 6 * 0.25  # three pairs, two orders
