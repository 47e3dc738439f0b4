"""The correctness reward: the share of a problem's tests that a program passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from assay.errors import ConfigError, DataError
from assay.fenced_code import extract_code
from assay.fingerprint import configuration_fingerprint
from assay.messages import Sample
from assay.reward import Reward, Score, column_names
from assay.rewards.problem_tests import Tests
from assay.rewards.row_formats import KNOWN_COLUMNS
from assay.sandbox import Job, JudgeProgram, Limits, Result, Sandbox, Verdict, default_sandbox
from assay.sandbox.job import Checker, Comparison
from assay.sandbox.languages import LANGUAGES
from assay.settings import nonempty, one_of, whole


@dataclass(frozen=True)
class PassRate(Reward):
    r"""R_correctness = tests passed / tests; `passed` iff all of them, counted on integers.

    Programs run in a sandbox; expected outputs never enter their process. A completion without
    code scores 0. An internal error of the sandbox makes the score `failed`, never 0.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stage 1. Whether the rate or the
    binary reward trains better is open in the literature: both are here.

    Args:
        sandbox: Where programs run; None takes the best backend that works on this machine.
        language: Language of the programs, a key of `assay.sandbox.languages.LANGUAGES`.
        binary: 1 if every test passes, else 0. The run then stops at the first failure.
        bare: What a completion without a code block is: `False` no code; `True` code as it is;
            `"continue"` the continuation of the prompt (HumanEval's raw form).
        limits: Time, memory and output of each test.
        comparison: How outputs are compared (`assay.sandbox.Job`), where the row does not say it.
        checker: Decides instead of a comparison: a function at module level, called in this
            process as (stdin, stdout, expected) -> bool, or a `JudgeProgram`.
        stop_after_failures: Stop a program after so many failed tests; the rate is then a lower
            bound and `info["lower_bound"]` says so.
        column: Dataset column with the tests (`assay.rewards.problem_tests` shows the forms); rows
            without it may be rows of HumanEval, MBPP, APPS, TACO, CodeContests or LiveCodeBench
            (`assay.rewards.row_formats`).
        no_tests: What a row without tests is: `error` a DataError, `skip` a skipped score.

    Raises:
        DataError: A row has no tests or unreadable ones; `index` says which.
        SandboxError: No backend works here (`evaluate` makes it a `failed` batch).

    Example:
        >>> reward = PassRate()
        >>> tests = ['[{"stdin": "1 2", "expected": "3"}, {"stdin": "0 1", "expected": "1"}]']
        >>> reward(completions=["```python\nprint(sum(map(int, input().split())))\n```"],
        ...        tests=tests)
        [1.0]
    """

    sandbox: Sandbox | None = None
    language: str = "python"
    binary: bool = False
    bare: Literal[False, True, "continue"] = False
    limits: Limits = field(default_factory=Limits)
    comparison: Comparison = "tokens"
    checker: Checker | JudgeProgram | None = None
    stop_after_failures: int | None = None
    column: str = "tests"
    no_tests: Literal["error", "skip"] = "error"
    name: str = "pass_rate"

    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.sandbox is not None and not isinstance(self.sandbox, Sandbox):
            raise ConfigError(
                f"PassRate.sandbox must be a Sandbox or None, got {type(self.sandbox).__name__}"
            )
        if not isinstance(self.limits, Limits):
            raise ConfigError(f"PassRate.limits must be Limits, got {type(self.limits).__name__}")
        one_of("PassRate.language", self.language, LANGUAGES)
        one_of("PassRate.binary", self.binary, (False, True))
        one_of("PassRate.bare", self.bare, (False, True, "continue"))
        one_of("PassRate.comparison", self.comparison, get_args(Comparison))
        one_of("PassRate.no_tests", self.no_tests, ("error", "skip"))
        nonempty("PassRate.column", self.column)
        if self.stop_after_failures is not None:
            whole("PassRate.stop_after_failures", self.stop_after_failures, 1)
        checker = self.checker
        if not (checker is None or callable(checker) or isinstance(checker, JudgeProgram)):
            raise ConfigError(
                "PassRate.checker must be a function or a JudgeProgram, got "
                f"{type(checker).__name__}"
            )

    def fingerprint(self) -> str:
        """As every reward's, with the backend that None stands for on this machine."""
        return configuration_fingerprint(replace(self, sandbox=self.sandbox or default_sandbox()))

    def check(self, dataset: object) -> None:
        """Also: the tests column, or those of a known data set, must be there."""
        super().check(dataset)
        names = column_names(dataset)
        if names is None or self.column in names or any(k <= names for k in KNOWN_COLUMNS):
            return
        if self.no_tests == "error":
            raise DataError(
                f"reward {self.name!r} needs a dataset column {self.column!r}, or the columns of "
                f"a data set that assay.rewards.row_formats knows; the dataset has {sorted(names)}"
            )

    def cost(self, samples: Sequence[Sample]) -> Mapping[str, float]:
        """Programs to run, and their tests; of a completion without code none.

        Raises:
            DataError: As `score` does.
        """
        rows = [self._tests(sample, index) for index, sample in enumerate(samples)]
        tests = [
            len(row.cases)
            for sample, row in zip(samples, rows, strict=True)
            if row.cases and self._program(sample, row)[0] is not None
        ]
        return {"programs": len(tests), "tests": sum(tests)}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Read all tests, then run all programs in one batch."""
        rows = [self._tests(sample, index) for index, sample in enumerate(samples)]
        scores: list[Score | None] = [None] * len(samples)
        jobs: list[Job] = []
        places: list[int] = []
        notes: list[str] = []
        for index, (sample, row) in enumerate(zip(samples, rows, strict=True)):
            if not row.cases:
                scores[index] = Score.skip("the row has no tests")
                continue
            program, note = self._program(sample, row)
            if program is None:
                info = {"passed": 0, "total": len(row.cases)}
                scores[index] = Score.of(0.0, passed=False, note=note, info=info)
                continue
            jobs.append(self._job(program, row))
            places.append(index)
            notes.append(note)
        if jobs:
            results = (self.sandbox or default_sandbox()).run(jobs)
            for index, note, result in zip(places, notes, results, strict=True):
                scores[index] = self._score(result, note)
        return [score for score in scores if score is not None]

    def _tests(self, sample: Sample, index: int) -> Tests:
        prompt = sample.prompt[-1].content if sample.prompt else ""
        try:
            row = Tests.from_row(sample.columns, prompt, self.column)
        except DataError as error:
            raise DataError(f"reward {self.name!r}: {error}", index) from None
        if not row.cases and self.no_tests == "error":
            raise DataError(
                f"reward {self.name!r}: the row has no tests; give it a column {self.column!r} "
                "(or the columns of a data set that assay.rewards.row_formats knows), route it "
                "elsewhere, or set no_tests='skip'",
                index,
            )
        return row

    def _program(self, sample: Sample, row: Tests) -> tuple[str | None, str]:
        found = extract_code(sample.answer, self.language, bare=bool(self.bare))
        if found.code is None or not found.code.strip():
            return None, found.note or "the code block is empty"
        if found.note == "bare code" and self.bare == "continue":
            prompt = sample.prompt[-1].content if sample.prompt else ""
            return prompt + found.code, found.note
        # Imports and helpers that the problem gives may be left out by the answer.
        lead = "" if found.code.lstrip().startswith("from __future__") else row.prelude
        return (f"{lead}\n\n{found.code}" if lead else found.code), found.note

    def _job(self, program: str, row: Tests) -> Job:
        stop = 1 if self.binary else self.stop_after_failures
        return Job(
            program,
            row.cases,
            language=self.language,
            limits=self.limits,
            comparison=row.comparison or self.comparison,
            checker=row.checker or self.checker,
            interactor=row.interactor,
            stop_after_failures=stop,
        )

    def _score(self, result: Result, note: str) -> Score:
        verdicts = [str(test.verdict) if test.run else "-" for test in result.tests]
        info: dict[str, Any] = {
            "verdict": str(result.verdict),
            "passed": result.passed,
            "total": result.total,
            "tests": verdicts,
            "isolation": dict(result.isolation),
        }
        if result.lower_bound:
            info["lower_bound"] = True
        if forgeable := sum(test.forgeable for test in result.tests):
            info["forgeable"] = forgeable
        if result.verdict is Verdict.IE:
            reasons = [test.reason for test in result.tests if test.verdict is Verdict.IE]
            reason = result.message or (reasons[0] if reasons else "no reason given")
            return Score.fail(f"sandbox: {reason}", info=info)
        full = result.passed == result.total and result.total > 0
        notes = [note, f"{result.passed} of {result.total} tests passed"]
        worst = next((t for t in result.tests if t.run and t.verdict is result.verdict), None)
        if not full and (worst is not None or result.message):
            reason = worst.reason if worst is not None and worst.reason else result.message
            notes.append(f"{result.verdict}: {reason}" if reason else str(result.verdict))
        value = float(full) if self.binary else result.passed / result.total
        return Score.of(value, passed=full, note="; ".join(n for n in notes if n), info=info)
