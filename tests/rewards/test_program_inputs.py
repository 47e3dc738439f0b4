"""Inputs for judges that run programs: from generators, examples and tests of a row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import Estimate
from assay.judges.complexity import ComplexityJudge, Constraints, Program
from assay.judges.complexity.input_plan import InputPlan
from assay.rewards import TimeComplexity
from assay.rewards.program_inputs import inputs_of
from tests.samples import sample

GENERATOR = """
import random
SHAPES = ("random", "equal")
def generate(n, seed, shape):
    rng = random.Random(seed)
    return f"{n}\\n" + " ".join("7" if shape == "equal" else str(rng.randint(1, 9))
                               for _ in range(n)) + "\\n"
"""
NONE = Constraints()
CODE = "```python\nn = int(input())\nprint(sum(map(int, input().split())))\n```"


def test_a_generator_is_taken_before_an_example_and_an_example_before_tests() -> None:
    tests = json.dumps([{"stdin": "2 3\n1 2\n3 4 5\n", "expected": ""}])
    row = {"generator": GENERATOR, "example_input": "3\n5 1 4\n", "tests": tests}
    written = inputs_of(row, Constraints.of(["n <= 50"]))
    assert written is not None
    assert (written.shapes, dict(written.maxima)) == (("random", "equal"), {"n": 50})
    assert written.generate(3, seed=1, shape="equal") == "3\n7 7 7\n"
    example = inputs_of(row | {"generator": None}, NONE)
    assert example is not None and list(example.maxima) == ["n"]
    of_tests = inputs_of({"tests": tests}, NONE)
    assert of_tests is not None and list(of_tests.maxima) == ["n", "m"]
    assert inputs_of({}, NONE) is None
    assert inputs_of({"tests": "not JSON"}, NONE) is None


def test_functions_get_arguments() -> None:
    tests = json.dumps([{"args": [[1], 1], "expected": 0}, {"args": [[3, 1, 2], 3], "expected": 0}])
    row = {"tests": tests, "entry_point": "f"}
    plan = inputs_of(row, NONE, function=True)
    assert plan is not None
    values, length = plan.generate(5, seed=0, shape="random")
    assert (len(values), length) == (5, 5)
    given = inputs_of({"example_input": "[[4, 2, 9], 3]"}, NONE, function=True)
    assert given is not None and given.generate(4, seed=0, shape="equal")[1] == 4
    assert inputs_of({"example_input": "3\n1 2 3\n"}, NONE, function=True) is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("def generate(n", "not Python"),
        ("def make(n, seed):\n    return ''", r"define generate\(n, seed\), got \['make'\]"),
        ("SHAPES = 3\ndef generate(n, seed):\n    return ''", "SHAPES"),
    ],
)
def test_unusable_generators_are_data_errors_with_their_row(text: str, match: str) -> None:
    with pytest.raises(DataError, match=match):
        inputs_of({"generator": text}, NONE)
    reward = TimeComplexity(ComplexityJudge((Runs(),)))
    rows = [sample(CODE, optimal_complexity="n"), sample(CODE, optimal_complexity="n")]
    rows[1] = sample(CODE, optimal_complexity="n", generator=text)
    with pytest.raises(DataError, match="reward 'time_complexity'") as error:
        reward.evaluate(rows)
    assert error.value.index == 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("def generate(n, seed):\n    raise ValueError('no')", "generator failed"),
        ("def generate(n, seed):\n    return 3", "must return text or a list"),
        ("def generate(n, seed):\n    open('/etc/new', 'w')", "generator failed"),
    ],
)
def test_a_generator_runs_in_the_sandbox_and_may_fail(text: str, match: str) -> None:
    plan = inputs_of({"generator": text}, NONE)
    assert plan is not None
    with pytest.raises(DataError, match=match):
        plan.generate(3, seed=0, shape="random")


@dataclass(frozen=True)
class Runs:
    """An estimator that runs programs: it says how many variables its inputs have."""

    takes_inputs: bool = True

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None]
    ) -> list[Estimate]:
        assert len(programs) == len(inputs)
        said = {0: None, 1: "n", 2: "n m"}
        found = [said[len(plan.maxima) if plan else 0] for plan in inputs]
        return [Estimate(text, 0.9 if text else 0.0, "runs") for text in found]


def two_variables(row: Mapping[str, Any]) -> InputPlan | None:
    return InputPlan(lambda n, m, seed, shape: "", {"n": 9, "m": 9}) if row["uid"] else None


def test_the_reward_hands_the_rows_inputs_to_the_judge() -> None:
    reward = TimeComplexity(ComplexityJudge((Runs(),)))
    example = sample(CODE, optimal_complexity="n", example_input="3\n5 1 4\n")
    nothing = sample(CODE, optimal_complexity="n")
    scores = reward.evaluate([example, nothing])
    assert [score.status for score in scores] == ["scored", "abstained"]
    own = TimeComplexity(ComplexityJudge((Runs(),)), inputs=two_variables)
    scores = own.evaluate([sample(CODE, optimal_complexity="n m", uid=uid) for uid in (1, 0)])
    assert [score.value for score in scores] == [1.0, None]
    with pytest.raises(ConfigError, match="inputs must be a function of a row, got dict"):
        TimeComplexity(inputs={})  # type: ignore[arg-type]


def test_a_row_without_an_optimum_is_skipped_where_that_is_asked_for() -> None:
    rows = [sample(CODE, optimal_complexity="n"), sample(CODE), sample(CODE, optimal_complexity="")]
    reward = TimeComplexity(no_optimum="skip")
    assert reward.columns == frozenset()
    scores = reward.evaluate(rows[:2])
    assert [score.status for score in scores] == ["scored", "skipped"]
    assert scores[1].note == "no optimal_complexity"
    with pytest.raises(DataError):  # there, but no complexity
        reward.evaluate(rows)
    with pytest.raises(DataError, match="optimal_complexity"):
        TimeComplexity().evaluate(rows[:2])
    with pytest.raises(ConfigError, match="no_optimum must be one of"):
        TimeComplexity(no_optimum="zero")  # type: ignore[arg-type]


@pytest.mark.slow  # runs two programs at growing sizes
def test_reading_and_running_are_checked_against_each_other_through_the_reward() -> None:
    from assay.judges.complexity.empirical import EmpiricalEstimator
    from assay.judges.complexity.static import StaticEstimator
    from examples.problems import inputs_of as problem_inputs
    from examples.problems import load, rows

    judge = ComplexityJudge((StaticEstimator(), EmpiricalEstimator(budget_s=4.0)), cross_check=True)
    reward = TimeComplexity(judge, inputs=problem_inputs)
    (row,) = (row for row in rows() if row["uid"] == "close_pairs")
    (problem,) = (problem for problem in load() if problem.uid == "close_pairs")
    row = {k: v for k, v in row.items() if k not in ("prompt", "optimal_solution")}
    chosen = [s for s in problem.solutions if s.name in ("two_pointers", "binary_search")]
    scores = reward.evaluate([sample(f"```python\n{s.source}```", **row) for s in chosen])
    assert [score.value for score in scores] == [1.0, 0.0]
    assert all(score.info["method"] == "static+empirical" for score in scores)
    # what the reader takes for quadratic and the runs do not is told
    (sums,) = (problem for problem in load() if problem.uid == "stride_sums")
    (slow,) = (s for s in sums.solutions if s.name == "sum_each")
    estimate = judge.estimate([Program(slow.source, "python")], [sums.inputs])[0]
    read = StaticEstimator().estimate([Program(slow.source, "python")])[0].expression
    assert bool(estimate.flags) == (read != "n^(3/2)"), estimate
