from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import Grade, Item, Judge, TurnCritic, TurnVerdict
from assay.judges.turn_critic import RuleCritic
from assay.messages import Sample, Trajectory
from assay.rewards import AnswerMatch, StepEfficiency, Term, TurnReward, Verifier, WeightedSum
from assay.rewards.answer_forms import Tolerance, day_of, same_answer
from tests.rewards.contract import check_contract

FIND = {
    "name": "find",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}


@dataclass(frozen=True)
class Words(TurnCritic):
    """A turn that says no fails, one that says yes passes, any other is left open."""

    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        table = {"yes": True, "no": False}
        return [
            [
                TurnVerdict(*[table.get(turn.message.content)] * 3, reason=turn.message.content)
                for turn in one.turns
            ]
            for one in trajectories
        ]

    def fingerprint(self) -> str:
        return "words"


def completion(*words: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": word} for word in words]


def sample(*words: str, **columns: Any) -> Sample:
    return Sample.of("?", completion(*words), columns)


def test_fail_pass_abstain() -> None:
    reward = TurnReward(Words(), cost=0.5)
    (score,) = reward.evaluate([sample("no", "yes", "hm")])
    assert score.turns == (-0.5, 0.0, None) and score.value == 0.0
    assert score.info["failing"] == 1 and score.info["abstained"] == 1
    assert score.note == "turn 0: no"


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"total": "mean"}, -0.5),
        ({"total": "sum"}, -2.0),
        ({"total": "sum", "cap": 1.5}, -1.5),
    ],
)
def test_totals(settings: dict[str, Any], value: float) -> None:
    reward = TurnReward(Words(), **settings)
    assert reward.evaluate([sample("no", "yes", "no", "yes", "?")])[0].value == value
    undecided = reward.evaluate([sample("?", "??")])[0]
    assert undecided.status == "abstained" and undecided.turns == (None, None)


def test_turns_of_the_prompt_are_context_only() -> None:
    prompt = [{"role": "user", "content": "a"}, *completion("no"), {"role": "user", "content": "b"}]
    found = TurnReward(Words()).evaluate([Sample.of(prompt, completion("yes"))])
    assert found[0].turns == (0.0,)


def test_calls_in_text_and_schemas_in_a_column() -> None:
    text = '<tool_call>{"name": "find", "arguments": {"q": 3}}</tool_call>'
    row = Sample.of("?", text, {"tools": json.dumps([FIND])})
    assert TurnReward(RuleCritic(), protocol="hermes").evaluate([row])[0].turns == (-1.0,)
    unread = TurnReward(RuleCritic()).evaluate([row])[0]
    assert unread.info["by_criterion"]["tool_call_accuracy"] == 0


def test_decided_turns_pass_where_that_is_enough() -> None:
    call = {"function": {"name": "find", "arguments": {"q": "tea"}}}
    turns = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "x"},
    ]
    row = Sample.of("?", turns)
    assert TurnReward(RuleCritic(tools=(FIND,))).evaluate([row])[0].turns == (None,)
    lenient = TurnReward(RuleCritic(tools=(FIND,)), require="decided")
    assert lenient.evaluate([row])[0].turns == (0.0,)


def test_turns_survive_composition() -> None:
    reward = WeightedSum(
        {
            "answer": AnswerMatch(),
            "turns": Term(TurnReward(Words()), weight=0.5),
            "steps": Term(StepEfficiency(target=1, count="turns"), weight=0.2, gate="answer"),
        }
    )
    right = Sample.of("?", [*completion("no"), *completion("Paris")], {"answer": "paris"})
    wrong = Sample.of("?", completion("Rome"), {"answer": "paris"})
    first, second = reward.evaluate([right, wrong])
    assert first.value == pytest.approx(1.0 + 0.2 * 0.5) and first.turns == (-0.5, None)
    assert second.value == 0.0 and second.turns == (None,)
    assert second.parts["steps"].status == "gated"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic": "rules"}, "must be a TurnCritic"),
        ({"cost": 0}, "must be > 0"),
        ({"total": "max"}, "total must be one of"),
        ({"require": "all"}, "require must be one of"),
        ({"protocol": "xml"}, "protocol must be one of"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TurnReward(**({"critic": Words()} | settings))


def test_the_contract() -> None:
    check_contract(TurnReward(Words(), total="mean"), [sample("no", "yes"), sample("yes")])
    check_contract(AnswerMatch(), [sample("4", answer=4), sample("5", answer=4)])
    check_contract(Verifier(), [sample("a", verified=True), sample("a", verified=0.25)])
    check_contract(StepEfficiency(1, count="turns"), [sample("a"), sample("a", "b", "c")])


# Answers.


@pytest.mark.parametrize(
    ("answer", "gold", "equal"),
    [
        ("The Eiffel Tower.", "eiffel tower", True),
        ("Café Müller", "cafe muller", True),
        ("A", "A", True),
        ("C++", "C", False),
        ("Answer: 1,234.5", "1234.5", True),
        ("**Final answer:** 12%", 0.12, True),
        ("$3 million", 3_000_000, True),
        ("-5", "5", False),
        ("3.1415927", "3.1415926535", True),
        ("42 apples", 42, False),
        ("July 4th, 1776", "1776-07-04", True),
        ("4 July 1776", "July 1776", True),
        ("1776", "1776-07-04", False),
        ("April 7, 1776", "1776-07-04", False),
        (r"So \boxed{\text{x}} and finally \boxed{7}.", 7, True),
        ("<answer>Rome</answer> or <answer>Paris</answer>", "Paris", True),
        ("I would say Paris, or Rome, or London", "Paris", False),
        ("", "Paris", False),
        ("yes", True, True),
        ("two", ["2", "two"], True),
    ],
)
def test_answers(answer: str, gold: Any, equal: bool) -> None:
    (score,) = AnswerMatch().evaluate([Sample.of("?", answer, {"answer": gold})])
    assert score.passed is equal and score.value == float(equal)


def test_tolerances_and_containment() -> None:
    assert same_answer("101", "100", Tolerance(relative=0.02))
    assert not same_answer("103", "100", Tolerance(relative=0.02))
    assert same_answer("5 July 1776", "1776-07-04", Tolerance(days=1))
    assert day_of("2024-02-30") is None
    loose = AnswerMatch(contains=True)
    rows = [Sample.of("?", "It is Paris, I think.", {"answer": "Paris"}),
            Sample.of("?", "It is Parisian.", {"answer": "Paris"})]  # fmt: skip
    assert [s.value for s in loose.evaluate(rows)] == [1.0, 0.0]
    assert AnswerMatch(longest=10).evaluate(rows)[0].note == "21 characters are no answer"


@dataclass(frozen=True)
class Same(Judge):
    """Says what it is told; None abstains."""

    value: float | None

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        status = "ok" if self.value is not None else "abstained"
        return [Grade(self.value, status, reason="because") for _ in items]  # type: ignore[arg-type]

    def fingerprint(self) -> str:
        return f"same {self.value}"


def test_the_judge_of_equivalence_is_asked_about_what_does_not_match() -> None:
    rows = [Sample.of("?", "the French capital", {"answer": "Paris"}),
            Sample.of("?", "Paris", {"answer": "Paris"}),
            Sample.of("?", "", {"answer": "Paris"})]  # fmt: skip
    assert [s.value for s in AnswerMatch(judge=Same(1.0)).evaluate(rows)] == [1.0, 1.0, 0.0]
    statuses = [s.status for s in AnswerMatch(judge=Same(None)).evaluate(rows)]
    assert statuses == ["abstained", "scored", "scored"]


def test_missing_gold_answers() -> None:
    row = [Sample.of("?", "x", {"answer": None})]
    with pytest.raises(DataError, match="holds no gold answer"):
        AnswerMatch().evaluate(row)
    assert AnswerMatch(missing="skip").evaluate(row)[0].status == "skipped"
    with pytest.raises(DataError, match="must hold text, a number"):
        AnswerMatch().evaluate([Sample.of("?", "x", {"answer": {"a": 1}})])


# Episodes.


def solved(one: Sample) -> Any:
    return {"value": one.columns["state"] == "done", "note": one.columns["state"]}


def broken(one: Sample) -> bool:
    raise KeyError("state")


def test_verifiers() -> None:
    reward = Verifier(solved, needs=frozenset({"state"}))
    done, open_ = reward.evaluate([sample("a", state="done"), sample("a", state="open")])
    assert (done.value, done.passed, open_.value, open_.note) == (1.0, True, 0.0, "open")
    failed = Verifier(broken).evaluate([sample("a")])[0]
    assert failed.status == "failed" and "KeyError" in failed.note
    assert Verifier().evaluate([sample("a", verified=None)])[0].status == "abstained"
    with pytest.raises(DataError, match="a verdict must be true, false or a number"):
        Verifier().evaluate([sample("a", verified="yes")])
    with pytest.raises(DataError, match="needs columns"):
        reward.evaluate([sample("a")])


def test_step_efficiency() -> None:
    reward = StepEfficiency(count="turns")
    rows = [sample("a", "b", optimal_steps=1), sample("a", optimal_steps=4), sample("a")]
    assert [s.value for s in reward.evaluate(rows)] == [0.5, 1.0, None]
    with pytest.raises(DataError, match="must hold a number of steps"):
        reward.evaluate([sample("a", optimal_steps="few")])
