"""Code data from candidates: correct ones of the best class, a merged reference, labels checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError, SandboxError
from assay.judge import Estimate
from assay.judges.complexity import Program
from assay.judges.complexity.input_plan import InputPlan
from assay.messages import Message
from assay.policy.data.code import CodeBuilder
from assay.rewards import PassRate
from assay.sandbox import Limits, default_sandbox

try:
    default_sandbox()
    MISSING = ""
except SandboxError as error:  # pragma: no cover - depends on the machine
    MISSING = str(error)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

TESTS = json.dumps([{"stdin": "3\n1 2 3\n", "expected": "6"}, {"stdin": "1\n5\n", "expected": "5"}])
READ = "n = int(input())\na = list(map(int, input().split()))\n"
LINEAR = f"{READ}print(sum(a))"
LINEAR_TWIN = f"{READ}print(sum(a))  # the same again"
LOOP = f"{READ}t = 0\nfor x in a:\n    t += x\nprint(t)"
PAIRS = "for i in range(n):\n    for j in range(n):\n        t += a[i] * (i == j)"
SQUARE = f"{READ}t = 0\n{PAIRS}\nprint(t)"
WRONG = f"{READ}print(max(a))"


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def problem(*codes: str, **more: Any) -> dict[str, Any]:
    return {
        "prompt": "Print the sum.",
        "uid": "sum",
        "tests": TESTS,
        "candidates": [fenced(code) for code in codes],
    } | more


def build(*rows: dict[str, Any], **settings: Any) -> Any:
    return CodeBuilder(tests=PassRate(limits=Limits(cpu_s=2, wall_s=6)), **settings)(rows)


def test_only_correct_ones_of_the_best_class_are_kept_and_copies_once() -> None:
    data = build(problem(SQUARE, WRONG, LINEAR, LINEAR_TWIN, LOOP, "no code at all ("))
    assert data.counts["correct"] == 4
    assert data.counts["wrong"] == 2
    assert [row["complexity"] for row in data.sft] == ["n", "n"]
    assert [row["completion"][0]["content"] for row in data.sft] == [fenced(LINEAR), fenced(LOOP)]
    (row,) = data.rl
    assert row["optimal_complexity"] == "n"
    assert row["optimal_solution"] == LINEAR  # the shorter of two equally sure ones
    assert row["evidence"]["correct"] == 4
    assert "candidates" not in row
    assert row["tests"] == TESTS


def test_problems_without_a_reference_are_counted_by_reason() -> None:
    data = build(problem(WRONG), problem())
    assert data.counts["no reference: no correct candidate"] == 2
    assert data.rl == data.sft == []


def test_authors_propose_and_one_merges() -> None:
    asked: list[Sequence[tuple[Message, ...]]] = []

    def slow(prompts: Sequence[tuple[Message, ...]]) -> list[str | None]:
        return [fenced(SQUARE) if i == 0 else None for i in range(len(prompts))]

    def merger(prompts: Sequence[tuple[Message, ...]]) -> list[str | None]:
        asked.append(prompts)
        return [fenced(LINEAR) for _ in prompts]

    row = {key: value for key, value in problem().items() if key != "candidates"}
    data = build(row, authors={"slow": slow}, samples=2, merger=merger)
    assert data.counts["not written"] == 1
    assert SQUARE in asked[0][0][0].content
    assert "Print the sum." in asked[0][0][0].content
    (reference,) = data.rl
    assert (reference["optimal_complexity"], reference["evidence"]["author"]) == ("n", "merger")


def test_a_wrong_merge_is_not_kept() -> None:
    data = build(problem(SQUARE), merger=lambda prompts: [fenced(WRONG) for _ in prompts])
    assert data.rl[0]["optimal_complexity"] == "n^2"
    assert data.rl[0]["evidence"]["author"] == "given"


def test_a_label_is_checked_not_replaced() -> None:
    data = build(problem(LINEAR, optimal_complexity="log n"))
    assert data.rl[0]["optimal_complexity"] == "log n"
    assert "the row's label is log n" in data.rl[0]["evidence"]["flags"][0]
    assert data.counts["label disagrees"] == 1
    assert build(problem(LINEAR, optimal_complexity="O(n)")).counts["label disagrees"] == 0


def test_rows_are_checked() -> None:
    with pytest.raises(DataError, match="needs a `prompt`") as error:
        build(problem(LINEAR), {"tests": TESTS})
    assert error.value.index == 1
    with pytest.raises(DataError, match="'candidates' must hold texts"):
        build(problem() | {"candidates": [3]})
    with pytest.raises(DataError, match="the row has no tests") as error:
        build(problem(LINEAR), problem(LINEAR) | {"tests": None})
    assert error.value.index == 1
    with pytest.raises(ConfigError, match="wrote 0 answers to 1 prompts"):
        build(problem(), authors={"lazy": lambda prompts: []})
    with pytest.raises(ConfigError, match=r"samples must be a whole number >= 1"):
        CodeBuilder(samples=0)


def test_a_dead_sandbox_raises_instead_of_dropping_everything() -> None:
    from tests.rewards.test_pass_rate import Fails

    with pytest.raises(RewardError, match="the sandbox failed on 1 of 1 candidates"):
        CodeBuilder(tests=PassRate(Fails(everything=True)))([problem(LINEAR)])


@dataclass(frozen=True)
class Runs:
    """A judge that runs programs: it says the variables of the inputs that it was given."""

    takes_inputs: bool = True

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None]
    ) -> list[Estimate]:
        assert len(programs) == len(inputs)
        found = [" ".join(plan.maxima) if plan else None for plan in inputs]
        return [Estimate(text, 0.9 if text else 0.0, "runs") for text in found]


def test_a_judge_that_runs_programs_gets_the_rows_inputs() -> None:
    generator = "def generate(k, seed):\n    return f'{k}\\n' + '1 ' * k\n"
    given = problem(LINEAR, uid="given", generator=generator, constraints='{"k": 100}')
    data = build(given, problem(LINEAR), judge=Runs())
    assert [row["optimal_complexity"] for row in data.rl] == ["k", "n"]
