"""Verdicts: what a test's outcome means. Expected outputs live here, outside every sandbox."""

from __future__ import annotations

import secrets
import signal

from assay.sandbox import wire
from assay.sandbox.asserts import Plan, rewrite
from assay.sandbox.compare import outputs_equal
from assay.sandbox.job import (
    AssertTest,
    Checker,
    FunctionTest,
    Job,
    JudgeProgram,
    Limits,
    StdioTest,
    Test,
    TestResult,
    Verdict,
)
from assay.sandbox.languages import language_of
from assay.sandbox.safe_names import EvaluationError
from assay.sandbox.values import Opaque, decode_value, shown, values_equal
from assay.sandbox.worker import Outcome

_SHOWN = 4096


def judge(job: Job, test: Test, outcome: Outcome, token: str) -> TestResult:
    """The verdict of one test from what happened."""
    verdict, reason = offence(job.limits, job.language, outcome)
    if isinstance(test, AssertTest) and outcome.value == b"A" and verdict is Verdict.RE:
        verdict = Verdict.WA
    if verdict is None:
        verdict, reason = _answer(job, test, outcome, token)
    forgeable = isinstance(test, AssertTest) and rewrite(test, job.source) is None
    return measured(outcome, verdict, reason, forgeable)


def measured(
    outcome: Outcome, verdict: Verdict, reason: str, forgeable: bool = False
) -> TestResult:
    """A test's result with the figures of its run."""
    return TestResult(
        verdict,
        cpu_s=outcome.cpu_us / 1e6,
        wall_s=outcome.wall_us / 1e6,
        memory_mb=outcome.peak_kb / 1024,
        exit_status=None if outcome.signal or outcome.status < 0 else outcome.status,
        signal=outcome.signal or None,
        stdout=outcome.stdout[:_SHOWN].decode("utf-8", "replace"),
        stderr=outcome.stderr[-_SHOWN:].decode("utf-8", "replace"),
        reason=reason,
        forgeable=forgeable,
    )


def offence(limits: Limits, language_name: str, outcome: Outcome) -> tuple[Verdict | None, str]:
    """The verdict that needs no look at the answer, or None."""
    language = language_of(language_name)
    if outcome.cause == wire.MEMORY:
        return Verdict.MLE, f"more than {limits.memory_mb} MiB of memory"
    if outcome.cause == wire.OUTPUT:
        return Verdict.OLE, f"more than {limits.output_mb:g} MiB of output"
    if outcome.cause == wire.CPU or outcome.signal == signal.SIGXCPU:
        return Verdict.TLE, f"more than {limits.cpu_s:g} s of CPU time"
    if outcome.cause == wire.WALL:
        return Verdict.TLE, f"more than {limits.wall_s:g} s of wall time"
    if outcome.cause == wire.DISK:
        return Verdict.RE, f"more than {limits.tmp_mb} MiB or {limits.inodes} files in /tmp"
    failed = outcome.signal or outcome.status != 0
    if failed and any(one.encode() in outcome.stderr for one in language.memory_errors):
        return Verdict.MLE, "out of memory"
    if outcome.signal:
        return Verdict.RE, f"ended by signal {_signal_name(outcome.signal)}"
    if outcome.status != 0:
        return Verdict.RE, _last_line(outcome) or f"exit status {outcome.status}"
    return None, ""


def _answer(job: Job, test: Test, outcome: Outcome, token: str) -> tuple[Verdict, str]:
    if isinstance(test, StdioTest):
        if isinstance(job.checker, JudgeProgram):
            return Verdict.AC, ""  # the checker looks at it when the run is over
        if job.checker is not None:
            return _asked(job.checker, test, outcome.stdout)
        equal = outputs_equal(
            outcome.stdout, test.expected, job.comparison, job.abs_tol, job.rel_tol
        )
        return (Verdict.AC, "") if equal else (Verdict.WA, "the output differs")
    if isinstance(test, AssertTest):
        plan = rewrite(test, job.source)
        if plan is not None:
            return _checked(plan, outcome.value)
        if secrets.compare_digest(outcome.value, b"T" + token.encode()):
            return Verdict.AC, ""
        return Verdict.RE, "the program ended before its asserts did"
    return _value(job, test, outcome.value)


def _asked(checker: Checker, test: StdioTest, stdout: bytes) -> tuple[Verdict, str]:
    """What a checker function of the caller says."""
    try:
        accepted = checker(test.stdin, stdout.decode("utf-8", "replace"), test.expected)
    except Exception as error:
        return Verdict.IE, f"the checker raised {type(error).__name__}: {error}"
    return (Verdict.AC, "") if accepted else (Verdict.WA, "the checker refused the output")


def _checked(plan: Plan, data: bytes) -> tuple[Verdict, str]:
    """The verdict of a rewritten assert from the values that came out."""
    if not data:
        return Verdict.RE, "no value was returned: the program ended early"
    if data[:1] != b"P":
        return Verdict.RE, f"no usable value: {data[1:200].decode('utf-8', 'replace')}"
    wanted = sum(check.count for check in plan.checks)
    try:
        values = decode_value(b'["l",' + data[2:], exact=True)
        if len(values) != wanted:
            return Verdict.RE, "no usable value: wrong number of values"
        failed = plan.failed(values)
    except (ValueError, EvaluationError) as error:
        return Verdict.RE, f"no usable value: {error}"
    return (Verdict.WA, failed) if failed else (Verdict.AC, "")


def _value(job: Job, test: FunctionTest, data: bytes) -> tuple[Verdict, str]:
    if not data:
        return Verdict.RE, "no value was returned: the program ended early"
    if data[:1] != b"V":
        return Verdict.RE, f"no usable value: {data[1:200].decode('utf-8', 'replace')}"
    try:
        value = decode_value(data[1:])
    except ValueError as error:
        return Verdict.RE, f"no usable value: {error}"
    if values_equal(value, test.expected, job.abs_tol, job.rel_tol):
        return Verdict.AC, ""
    if isinstance(value, Opaque):
        return Verdict.WA, f"returned {value!r}, which is no plain data"
    return Verdict.WA, f"returned {shown(value)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_line(outcome: Outcome) -> str:
    lines = outcome.stderr[-1000:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
