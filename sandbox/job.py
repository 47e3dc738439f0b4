"""What goes into a sandbox and what comes out: limits, tests, jobs, verdicts, results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from assay.errors import ConfigError

Comparison = Literal["exact", "tokens", "floats", "unordered", "json"]


class Verdict(StrEnum):
    """What happened to a program on one test, or over all its tests.

    `IE` is our own failure and never says anything about the program.
    """

    AC = "AC"  #: accepted
    WA = "WA"  #: wrong answer
    RE = "RE"  #: runtime error: exit status, signal, exception, no value returned
    TLE = "TLE"  #: CPU or wall time limit exceeded
    MLE = "MLE"  #: memory limit exceeded
    OLE = "OLE"  #: output limit exceeded
    CE = "CE"  #: compile error
    IE = "IE"  #: internal error of the sandbox


#: Worst first; the verdict of a submission is the worst over its tests.
SEVERITY: tuple[Verdict, ...] = (
    Verdict.IE,
    Verdict.CE,
    Verdict.MLE,
    Verdict.OLE,
    Verdict.TLE,
    Verdict.RE,
    Verdict.WA,
    Verdict.AC,
)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The overall verdict: the worst in the order IE CE MLE OLE TLE RE WA AC.

    >>> worst([Verdict.AC, Verdict.WA, Verdict.TLE])
    <Verdict.TLE: 'TLE'>
    """
    if not verdicts:
        raise ConfigError("no verdicts to combine: a job without tests has no verdict; add tests")
    return min(verdicts, key=SEVERITY.index)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of a program may use. CPU and wall time are separate, enforced from outside.

    Args:
        cpu_s: CPU seconds over the whole process tree, per test.
        wall_s: Wall seconds per test, from the program's start (queueing is never charged).
        memory_mb: Peak memory of the process tree, MiB.
        output_mb: Most bytes of stdout, MiB; more is OLE. Stderr is kept up to 64 KiB, the rest
            is read and dropped.
        processes: Most processes and threads at one time.
        file_mb: Largest single file, MiB.
        tmp_mb: Size of the private /tmp, MiB.
        inodes: Most files in the private /tmp.
        compile_cpu_s: CPU seconds for the compiler.
        compile_wall_s: Wall seconds for the compiler.
    """

    cpu_s: float = 4.0
    wall_s: float = 12.0
    memory_mb: int = 512
    output_mb: float = 16.0
    processes: int = 64
    file_mb: int = 64
    tmp_mb: int = 64
    inodes: int = 4096
    compile_cpu_s: float = 10.0
    compile_wall_s: float = 15.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ConfigError(f"Limits.{name} must be a number > 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class StdioTest:
    """Text goes in on stdin; what comes out on stdout is compared with `expected` outside."""

    stdin: str
    expected: str

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class FunctionTest:
    """A call `entry(*args, **kwargs)` on JSON values; its value is compared outside.

    `entry` names a function, or `Class.method` for a method of an instance made without arguments.
    """

    entry: str
    args: tuple[Any, ...]
    expected: Any
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Statements run after the program, in its process; `forgeable` where they stay there.

    Args:
        source: One test: statements, usually one `assert`.
        setup: Statements run before it (imports, helpers, the loop or function it stood in).
    """

    source: str
    setup: str = ""

    __hash__ = None  # type: ignore[assignment]


Test = StdioTest | FunctionTest | AssertTest


@dataclass(frozen=True, slots=True)
class JudgeProgram:
    """A program that decides: a checker of outputs, or the other side of an interaction.

    It gets three file names as arguments: the test's input, the solution's output (empty for an
    interaction), the expected output. It runs in a sandbox of its own, never in the solution's.
    Exit status as testlib has it: 0 accepted; 1, 2, 4, 5, 7, 8 and 16 and above not accepted;
    3 and any crash mean that the judge itself failed (IE).
    """

    source: str
    language: str = "python"
    limits: Limits = field(default_factory=Limits)


#: `(stdin, stdout, expected) -> accepted`, called in this process.
Checker = Callable[[str, str, str], bool]


@dataclass(frozen=True, slots=True)
class Job:
    """One program and its tests.

    Args:
        source: The program's text.
        tests: At least one test; all of one kind.
        language: A key of `assay.sandbox.languages.LANGUAGES`.
        limits: What each test may use.
        comparison: How outputs are compared: `exact` bytes, whitespace-separated `tokens`,
            `floats` (tokens, numbers within `abs_tol` or `rel_tol`), `unordered` lines,
            or `json` values. Function values are always compared as JSON values.
        abs_tol: Absolute tolerance for `floats` and for floats inside values.
        rel_tol: Relative tolerance for the same.
        checker: Decides instead of `comparison` whether a stdout is right: a function of this
            process, or a program. The function must do with hostile text.
        interactor: A program that talks with the solution: its stdout is the solution's stdin and
            the other way round; its exit status decides.
        stop_after_failures: Stop after so many failed tests; the rest are reported as not run and
            the pass rate is then a lower bound. None runs all.
    """

    source: str
    tests: tuple[Test, ...]
    language: str = "python"
    limits: Limits = field(default_factory=Limits)
    comparison: Comparison = "tokens"
    abs_tol: float = 1e-9
    rel_tol: float = 1e-9
    checker: Checker | JudgeProgram | None = None
    interactor: JudgeProgram | None = None
    stop_after_failures: int | None = None

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class TestResult:
    """What one test did.

    Attributes:
        verdict: AC, WA, RE, TLE, MLE, OLE or IE (CE stands on the Result).
        cpu_s: CPU seconds of the process tree; None where not run.
        wall_s: Wall seconds; None where not run.
        memory_mb: Peak memory in MiB, None where it could not be measured.
        exit_status: Exit status, None when a signal ended the program or it was not run.
        signal: Number of the signal that ended it, or None.
        stdout: Start of what it wrote (bounded), for people.
        stderr: End of what it wrote (bounded), for people.
        reason: One short sentence.
        forgeable: The check ran inside the program's own process, which can forge it.
        run: False when the test was not run (`stop_after_failures`, a compile error).
    """

    __test__ = False  # not a pytest class

    verdict: Verdict
    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mb: float | None = None
    exit_status: int | None = None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    reason: str = ""
    forgeable: bool = False
    run: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """What a job did.

    Attributes:
        verdict: The worst over the tests, or CE / IE for the whole job.
        tests: One entry per test, in the job's order.
        isolation: What was in force, e.g. `{"backend": "bubblewrap", "memory": "cgroup-v1", ...}`.
        message: Compiler message or the reason of an IE, bounded.
        compile_s: Wall seconds spent compiling (0.0 from the cache or where nothing is compiled).
    """

    verdict: Verdict
    tests: tuple[TestResult, ...]
    isolation: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    compile_s: float = 0.0

    __hash__ = None  # type: ignore[assignment]

    @property
    def passed(self) -> int:
        """How many tests were accepted."""
        return sum(test.verdict is Verdict.AC for test in self.tests)

    @property
    def total(self) -> int:
        """How many tests the job has, run or not."""
        return len(self.tests)

    @property
    def lower_bound(self) -> bool:
        """Whether some tests were not run, so that `passed / total` is a lower bound."""
        return any(not test.run for test in self.tests) and self.verdict is not Verdict.CE
