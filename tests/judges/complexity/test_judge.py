"""The judge over estimators: cheapest first, agreement, flags, cache, budget, broken estimators."""

from __future__ import annotations

import itertools
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from assay.errors import ConfigError, ContractError, JudgeError, SandboxError
from assay.judge import Estimate
from assay.judges.complexity import ComplexityJudge, Program
from assay.judges.complexity.input_plan import InputPlan

_serial = itertools.count()
ASKED: list[tuple[str, int]] = []


@dataclass(frozen=True)
class Says:
    """An estimator that always says the same; every instance has a fingerprint of its own."""

    expression: str | None
    confidence: float = 0.9
    method: str = "says"
    broken: bool = False
    serial: int = field(default_factory=lambda: next(_serial))

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        ASKED.append((self.method, len(programs)))
        if self.broken:
            raise JudgeError("the model is down")
        return [Estimate(self.expression, self.confidence, self.method) for _ in programs]

    def fingerprint(self) -> str:
        return f"says-{self.serial}"


PROGRAM = Program("x = int(input())\nprint(x)", "python")


@pytest.fixture(autouse=True)
def fresh() -> None:
    ASKED.clear()


def one(*estimators: Says, **settings: float) -> Estimate:
    (estimate,) = ComplexityJudge(estimators, **settings).estimate([PROGRAM])  # type: ignore[arg-type]
    return estimate


def test_stops_at_the_first_sure_estimator() -> None:
    assert one(Says("n", method="cheap"), Says("n^2", method="dear")).expression == "n"
    assert ASKED == [("cheap", 1)]


def test_goes_on_while_unsure_and_agreement_makes_surer() -> None:
    estimate = one(Says("n", 0.5, "cheap"), Says("linear", 0.6, "dear"))
    assert estimate.confidence == pytest.approx(0.8)  # 1 - .5 * .4
    assert estimate.method == "cheap+dear"
    assert estimate.flags == ()


def test_disagreement_is_flagged_not_averaged() -> None:
    estimate = one(Says("n", 0.5, "cheap"), Says("n^2", 0.7, "dear"))
    assert (estimate.expression, estimate.method) == ("n^2", "dear")
    assert estimate.confidence == pytest.approx(0.7)
    assert estimate.flags == ("cheap says n, dear says n^2",)


def test_cross_check_asks_a_second_one_always() -> None:
    estimate = one(
        Says("n", 0.95, "a"), Says("n^2", 0.9, "b"), Says("n", method="c"), cross_check=True
    )
    assert [name for name, _ in ASKED] == ["a", "b"]
    assert estimate.flags


def test_undecided_is_an_answer() -> None:
    assert one(Says(None, 0.0), Says(None, 0.0)) == Estimate(None, 0.0, "says+says")
    assert one(Says(None, 0.0, "a"), Says("n", 0.4, "b")).expression == "n"


def test_a_broken_estimator_is_passed_over_and_flagged() -> None:
    estimate = one(Says("n", 0.3, "a"), Says("n", method="b", broken=True), Says("n", 0.5, "c"))
    assert estimate.method == "a+c"
    assert estimate.flags == ("Says could not work: the model is down",)


def test_if_none_can_work_it_raises() -> None:
    with pytest.raises(JudgeError, match="the model is down"):
        one(Says("n", broken=True))


def test_equal_structures_are_judged_once_and_remembered() -> None:
    judge = ComplexityJudge((Says("n"),))
    renamed = Program("# a comment\nyy = int(input())\nprint(yy)  # O(1), I swear", "python")
    other = Program("print(1)", "python")
    assert len({str(e) for e in judge.estimate([PROGRAM, renamed, other, PROGRAM])}) == 1
    assert ASKED == [("says", 2)]
    judge.estimate([renamed])
    assert len(ASKED) == 1
    ComplexityJudge((Says("n^2"),)).estimate([PROGRAM])
    assert len(ASKED) == 2  # another judge does not replay the first one's answers


def test_what_failed_is_not_remembered() -> None:
    estimators = (Says("n", 0.3, "a"), Says("n", method="b", broken=True))
    judge = ComplexityJudge(estimators)
    judge.estimate([PROGRAM])
    judge.estimate([PROGRAM])
    assert [name for name, _ in ASKED] == ["a", "b", "a", "b"]


@dataclass(frozen=True)
class FailsOnce:
    """Its model does not answer for single programs."""

    serial: int = field(default_factory=lambda: next(_serial))

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        ASKED.append(("fails", len(programs)))
        return [Estimate(None, 0.0, "fails", flags=("no answer",), failed=True) for _ in programs]


def test_a_single_failure_is_neither_remembered_nor_an_abstention() -> None:
    judge = ComplexityJudge((FailsOnce(),))
    (estimate,) = judge.estimate([PROGRAM])
    assert estimate.failed
    judge.estimate([PROGRAM])
    assert len(ASKED) == 2
    decided = ComplexityJudge((FailsOnce(), Says("n"))).estimate([PROGRAM])[0]
    assert (decided.expression, decided.failed) == ("n", False)


def test_budget_bounds_the_dear_ones() -> None:
    one(Says("n", 0.1, "a"), Says("n", 0.9, "b"), budget_s=0.0)
    assert [name for name, _ in ASKED] == ["a"]


def test_settings_are_checked_and_it_pickles() -> None:
    with pytest.raises(ConfigError, match=r"must have estimate\(\), got str"):
        ComplexityJudge(("static",))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="confident must lie in"):
        ComplexityJudge((Says("n"),), confident=0)
    judge = ComplexityJudge((Says("n"),))
    assert pickle.loads(pickle.dumps(judge)) == judge
    assert ComplexityJudge((Says("n"),)).estimate([]) == []


def test_a_judgement_that_the_budget_cut_short_is_not_remembered() -> None:
    hasty, sure = Says("n", 0.5, "hasty"), Says("n^2", 0.9, "sure")
    assert one(hasty, sure, budget_s=0.0).expression == "n"
    assert one(hasty, sure).expression == "n^2"


def test_estimators_are_checked() -> None:
    with pytest.raises(ConfigError, match="must be a sequence of estimators, got Says"):
        ComplexityJudge(Says("n"))  # type: ignore[arg-type]

    class Short:
        def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
            return []

        def fingerprint(self) -> str:
            return "short"

    with pytest.raises(ContractError, match="Short.estimate gave 0 estimates for 1 programs"):
        ComplexityJudge((Short(),)).estimate([PROGRAM])


@dataclass(frozen=True)
class Runs:
    """An estimator that runs programs, each for some seconds; it says what its input's name is."""

    seconds: float = 0.0
    broken_from: int = 10**9
    takes_inputs: bool = True
    serial: int = field(default_factory=lambda: next(_serial))

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None]
    ) -> list[Estimate]:
        ASKED.append(("runs", len(programs)))
        if len(ASKED) > self.broken_from:
            raise SandboxError("the sandbox is down")
        time.sleep(self.seconds)
        return [
            Estimate(" ".join(plan.maxima), 0.9, "runs") if plan else Estimate(None, 0.0, "runs")
            for plan in inputs
        ]

    def fingerprint(self) -> str:
        return f"runs-{self.serial}"


def made(n: int, seed: int, shape: str) -> str:
    return f"{n}\n"


PLAN = InputPlan(made, {"n": 100})
PROGRAMS = [Program(f"print({'+'.join('1' * (i + 1))})", "python") for i in range(4)]


def test_inputs_reach_the_estimators_that_run_programs_and_no_other() -> None:
    judge = ComplexityJudge((Says("k", 0.5), Runs()))
    assert judge.takes_inputs and not ComplexityJudge((Says("n"),)).takes_inputs
    with_plan, without = judge.estimate(PROGRAMS[:2], [PLAN, None])
    assert (with_plan.expression, with_plan.method, with_plan.flags) == ("n", "says+runs", ())
    assert (without.expression, without.method) == ("k", "says")
    with pytest.raises(ConfigError, match="got 2 programs and 1 inputs"):
        judge.estimate(PROGRAMS[:2], [PLAN])


def test_where_reading_and_running_disagree_a_flag_says_so() -> None:
    judge = ComplexityJudge((Says("n^2", 0.85, "static"), Runs()), cross_check=True)
    (estimate,) = judge.estimate(PROGRAMS[:1], [PLAN])
    assert estimate.flags == ("static says n^2, runs says n",)


def test_names_of_sizes_are_each_estimators_own() -> None:
    assert one(Says("a + b log a", 0.5, "x"), Says("V log E + E", 0.6, "y")).flags == ()
    assert one(Says("a + b", 0.5, "x"), Says("V E", 0.6, "y")).flags != ()
    assert one(Says("n", 0.5, "x"), Says("n m", 0.6, "y")).flags != ()


def test_other_inputs_are_another_judgement() -> None:
    judge = ComplexityJudge((Runs(),))
    for plan in (PLAN, InputPlan(made, {"n": 100}), InputPlan(made, {"k": 100}), None):
        judge.estimate(PROGRAMS[:1], [plan])
    assert len(ASKED) == 3  # the second plan equals the first


def test_the_budget_bounds_the_latency_of_programs_that_run() -> None:
    judge = ComplexityJudge((Says("n", 0.1, "static"), Runs(0.25)), budget_s=0.2)
    started = time.monotonic()
    found = judge.estimate(PROGRAMS, [PLAN] * 4)
    assert time.monotonic() - started < 0.2 + 0.25 + 0.5  # the budget, and the run it met
    assert [one.method for one in found] == ["static+runs", "static", "static", "static"]
    assert [bool(one.flags) for one in found] == [False, True, True, True]
    assert "budget of 0.2 s" in found[1].flags[0]
    ASKED.clear()
    judge.estimate(PROGRAMS[:2], [PLAN] * 2)
    assert ASKED == [("static", 1), ("runs", 1)]  # only what was cut short is judged again


def test_a_sandbox_that_breaks_on_the_way_fails_only_what_it_left() -> None:
    judge = ComplexityJudge((Runs(broken_from=2),))
    found = judge.estimate(PROGRAMS, [PLAN] * 4)
    assert [one.failed for one in found] == [False, False, True, True]
    assert found[0].expression == "n"
    assert "the sandbox is down" in found[3].flags[0]
