"""R_time: modes by hand, names of variables, abstaining, flags, and the report's ordering."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, DataError, JudgeError
from assay.judge import Estimate
from assay.judges.complexity import Program
from assay.reward import Score
from assay.rewards import Term, TimeComplexity, WeightedSum
from tests.samples import FromColumn, sample


@dataclass(frozen=True)
class Reads:
    """A judge for tests: the program's first line is its complexity, `?` is undecided."""

    down: bool = False

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        if self.down:
            raise JudgeError("the judge is down")
        said = [p.source.split("\n")[0].removeprefix("# ") for p in programs]
        return [
            Estimate(None, 0.0, "reads") if text == "?" else Estimate(text, 0.9, "reads")
            for text in said
        ]

    def fingerprint(self) -> str:
        return "reads"


def one(complexity: str, optimum: str, mode: Any = "match", **columns: Any) -> Score:
    reward = TimeComplexity(Reads(), mode=mode)  # type: ignore[arg-type]
    answer = f"```python\n# {complexity}\nx = {len(complexity)}\n```"
    (score,) = reward.evaluate([sample(answer, optimal_complexity=optimum, **columns)])
    return score


@pytest.mark.parametrize(
    ("found", "optimum", "value"),
    [
        ("n", "n", 1.0),
        ("n log n", "n", 0.0),
        ("n^2", "O(N^2)", 1.0),
        ("1", "n", 1.0),  # better than the optimum
        ("linear", "O(n)", 1.0),
        ("n", "1", 0.0),
        ("n + m", "V + E", 1.0),  # other names, one order whichever way
        ("n m", "V + E", 0.0),
        ("m log n", "m log n", 1.0),
        ("k", "n", 1.0),
        ("n^2 + m", "n", 0.0),  # whatever m is
    ],
)
def test_match(found: str, optimum: str, value: float) -> None:
    score = one(found, optimum)
    assert (score.status, score.value, score.passed) == ("scored", value, value == 1.0)


def test_better_than_the_optimum_matches_and_is_flagged() -> None:
    score = one("log n", "n")
    assert score.value == 1.0
    assert "better than the optimum" in score.note
    assert score.info["flags"]


@pytest.mark.parametrize(("found", "optimum"), [("n + m log n", "n"), ("E log V", "V^2")])
def test_incomparable_abstains(found: str, optimum: str) -> None:
    score = one(found, optimum)
    assert (score.status, score.value) == ("abstained", None)
    assert "cannot be compared" in score.note


def test_constraints_decide() -> None:
    assert one("n + m log n", "n", constraints=["m <= n"]).value == 0.0
    assert one("n + m", "n", constraints=["m <= n"]).value == 1.0
    assert one("n + m", "n", constraints='["m <= n"]').value == 1.0


def test_where_the_problems_variables_are_known_the_programs_names_stand_for_them() -> None:
    assert one("m n", "n log n", constraints='{"n": 2000}').value == 0.0
    assert one("n log m + n log n", "n log n", constraints='{"n": 2000}').value == 1.0
    assert one("n log m + n log n", "n log n").status == "abstained"  # m may be anything
    both = '{"n": 2000, "m": 1000000}'
    assert one("n m k", "n m", constraints=both).value == 0.0  # k = n and k = m are both worse
    # k = n gives n^2 + m, less than n m at the maxima; k = m gives n m itself
    assert one("m + k n", "n m", constraints=both).status == "abstained"


def test_undecided_abstains_and_costs_only_the_bonus() -> None:
    assert one("?", "n").status == "abstained"
    reward = WeightedSum(
        {
            "tests": Term(FromColumn("tests", low=0)),
            "time": Term(TimeComplexity(Reads()), 0.5, "tests", "zero"),  # type: ignore[arg-type]
        }
    )
    answer = "```python\n# ?\n```"
    (score,) = reward.evaluate([sample(answer, tests=(1, True), optimal_complexity="n")])
    assert (score.value, score.info["zeroed"]) == (1.0, ["time"])


def test_a_judge_that_is_down_is_failed() -> None:
    reward = TimeComplexity(Reads(down=True))  # type: ignore[arg-type]
    (score,) = reward.evaluate([sample("```python\nx = 1\n```", optimal_complexity="n")])
    assert score.status == "failed"


@dataclass(frozen=True)
class NoAnswer:
    """A judge whose model did not answer for this program."""

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        return [Estimate(None, 0.0, "llm", flags=("timed out",), failed=True) for _ in programs]


def test_a_program_that_the_judge_failed_on_is_failed_not_abstained() -> None:
    reward = TimeComplexity(NoAnswer())  # type: ignore[arg-type]
    (score,) = reward.evaluate([sample("```python\nx = 1\n```", optimal_complexity="n")])
    assert (score.status, score.note) == ("failed", "timed out")


def test_graded_by_hand() -> None:
    # at n = 10^5: log(n) / log(n^2) = 1/2; log(n^2) / log(n^3) = 2/3
    assert one("n^2", "n", "graded", constraints=["n <= 1e5"]).value == pytest.approx(0.5)
    assert one("n^3", "n^2", "graded", constraints=["n <= 1e5"]).value == pytest.approx(2 / 3)
    assert one("n", "1", "graded").value == 0.0
    assert one("n", "n^2", "graded").value == 1.0


def test_ordinal_by_hand() -> None:
    assert one("n^2", "n", "ordinal").value == pytest.approx(1 - 2 / 6)
    assert one("2^n", "1", "ordinal").value == 0.0
    assert one("n", "n", "ordinal").value == 1.0


def test_the_reference_solutions_structure_is_optimal_whatever_the_judge_says() -> None:
    code = "# n^2\nfor a in range(5):\n    print(a)"
    twin = "# n^2\nfor other in range(5):  # renamed\n    print(other)"
    reward = TimeComplexity(Reads())  # type: ignore[arg-type]
    row = sample(f"```python\n{twin}\n```", optimal_complexity="n", optimal_solution=code)
    (score,) = reward.evaluate([row])
    assert score.value == 1.0
    assert "own structure" in score.note
    assert "the reference solution reads n^2, its label n" in score.note


def test_no_code_is_zero() -> None:
    reward = TimeComplexity(Reads())  # type: ignore[arg-type]
    (score,) = reward.evaluate([sample("words", optimal_complexity="n")])
    assert (score.value, score.passed) == (0.0, False)


@pytest.mark.parametrize(
    "columns",
    [
        {"optimal_complexity": "O(n"},
        {"optimal_complexity": None},
        {"optimal_complexity": "n", "constraints": ["m is small"]},
        {"optimal_complexity": "n", "constraints": 3},
        {"optimal_complexity": "n", "constraints": '["m <= n"'},
    ],
)
def test_unreadable_rows_are_data_errors_with_their_index(columns: dict[str, Any]) -> None:
    reward = TimeComplexity(Reads())  # type: ignore[arg-type]
    good = sample("```python\n# n\n```", optimal_complexity="n")
    with pytest.raises(DataError, match="reward 'time_complexity'") as error:
        reward.evaluate([good, sample("x", **columns)])
    assert error.value.index == 1


def test_settings_and_pickle() -> None:
    with pytest.raises(ConfigError, match="mode must be one of"):
        TimeComplexity(Reads(), mode="exact")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be a ComplexityJudge, got str"):
        TimeComplexity("static")  # type: ignore[arg-type]
    reward = TimeComplexity(Reads())  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(reward)) == reward
    assert reward.fingerprint() != TimeComplexity(Reads(), mode="graded").fingerprint()  # type: ignore[arg-type]


COMPLEXITIES = st.sampled_from(["1", "log n", "n", "n log n", "n^2", "2^n", "?"])


@given(
    weight=st.floats(0, 5),
    mode=st.sampled_from(["match", "graded", "ordinal"]),
    right=COMPLEXITIES,
    wrong=COMPLEXITIES,
    optimum=COMPLEXITIES.filter(lambda text: text != "?"),
    counts=st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))),
    fmt=st.floats(0, 1),
)
def test_every_correct_program_outranks_every_other_at_equal_format(
    weight: float,
    mode: Any,
    right: str,
    wrong: str,
    optimum: str,
    counts: tuple[int, int],
    fmt: float,
) -> None:
    """Over random pass counts (passed < tests), weights, complexities and modes."""
    passed, tests = counts
    reward = WeightedSum(
        {
            "format": Term(FromColumn("format", low=0)),
            "tests": Term(FromColumn("tests", low=0), gate="format"),
            "time": Term(TimeComplexity(Reads(), mode=mode), weight, "tests", "zero"),  # type: ignore[arg-type]
        }
    )
    rows = [
        sample(f"```python\n# {c}\n```", format=(fmt, True), tests=t, optimal_complexity=optimum)
        for c, t in ((right, (1.0, True)), (wrong, (passed / tests, False)))
    ]
    first, second = (score.value for score in reward.evaluate(rows))
    assert first is not None and second is not None
    assert first > second
