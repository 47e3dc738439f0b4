"""From jobs to requests, and from what the inside reports to verdicts."""

from __future__ import annotations

import marshal
import reprlib
import secrets
import signal
from collections.abc import Iterator, Sequence
from typing import Any

from assay.errors import ConfigError, DataError
from assay.sandbox import compilation, wire
from assay.sandbox.asserts import Plan, rewrite
from assay.sandbox.compare import Opaque, decode_value, outputs_equal, values_equal
from assay.sandbox.compilation import CompileError, Program, inner_limits
from assay.sandbox.evaluator import EvaluationError
from assay.sandbox.job import (
    AssertTest,
    FunctionTest,
    Job,
    Limits,
    Result,
    StdioTest,
    Test,
    TestResult,
    Verdict,
    worst,
)
from assay.sandbox.languages import Language, language_of
from assay.sandbox.worker import Outcome, Worker

_MIB = 1 << 20
_SHOWN = 4096
_BATCH_BYTES = 32 * _MIB
#: Our own patience above the inner clocks, for a machine under load.
_GRACE_S = 20.0


def check(job: Job) -> None:
    """Refuse a job that cannot be run.

    Raises:
        DataError: No tests, or tests of several kinds.
    """
    if not job.tests:
        raise DataError("the job has no tests; a program without tests has no verdict: add some")
    kinds = {type(test) for test in job.tests}
    if len(kinds) > 1:
        names = sorted(kind.__name__ for kind in kinds)
        raise DataError(f"tests of one job must be of one kind, got {names}; split the job")
    language = language_of(job.language)
    if language.name != "python" and kinds != {StdioTest}:
        raise DataError(
            f"{kinds.pop().__name__} needs a Python program, got language {job.language!r}; "
            "use StdioTest"
        )


def run_job(worker: Worker, job: Job) -> Result:
    """Run one job on a worker.

    Raises:
        WorkerLostError: The worker failed; nothing is known about the program.
    """
    try:
        program = compilation.prepare(worker, job)
    except CompileError as error:
        return _compile_error(job, error, worker.isolation)
    results: list[TestResult] = []
    failures = 0
    lockstep = job.stop_after_failures is not None
    for batch in _batches(job.tests):
        tokens = [secrets.token_hex(16) for _ in batch]
        request = _request(job, program, batch, tokens, lockstep)
        for outcome in worker.run(request, job.limits.wall_s + _GRACE_S):
            test = batch[outcome.index]
            result = judge(job, test, outcome, tokens[outcome.index])
            results.append(result)
            failures += result.verdict is not Verdict.AC
            if lockstep:
                assert job.stop_after_failures is not None
                go_on = failures < job.stop_after_failures
                worker.answer(go_on)
        if lockstep and failures >= (job.stop_after_failures or 0):
            break
    verdict = worst([result.verdict for result in results])
    missing = len(job.tests) - len(results)
    note = f"not run: stopped after {failures} failed tests"
    results += [TestResult(Verdict.WA, reason=note, run=False)] * missing
    return Result(verdict, tuple(results), dict(worker.isolation), compile_s=program.compile_s)


def _compile_error(job: Job, error: CompileError, isolation: dict[str, str]) -> Result:
    test = TestResult(Verdict.CE, reason="not run: the program does not compile", run=False)
    tests = (test,) * len(job.tests)
    return Result(Verdict.CE, tests, dict(isolation), str(error), error.seconds)


def internal_error(job: Job, message: str, isolation: dict[str, Any]) -> Result:
    """The result of a job that the sandbox failed to run."""
    test = TestResult(Verdict.IE, reason=message, run=False)
    return Result(Verdict.IE, (test,) * len(job.tests), isolation, message)


def _batches(tests: Sequence[Test]) -> Iterator[list[Test]]:
    """Tests in portions whose input stays within a bound of memory."""
    batch: list[Test] = []
    size = 0
    for test in tests:
        own = len(test.stdin) if isinstance(test, StdioTest) else 0
        if batch and size + own > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(test)
        size += own
    yield batch


def _request(
    job: Job, program: Program, tests: list[Test], tokens: list[str], lockstep: bool
) -> dict[str, Any]:
    limits = inner_limits(job.limits)
    limits["processes"] += program.language.processes
    return {
        "argv": program.argv,
        "environment": program.environment,
        "source": program.source,
        "path": "{prog}/" + program.language.file,
        "files": program.files,
        "limits": limits,
        "address_space": program.language.address_space,
        "tests": [_inner_test(test, token, job) for test, token in zip(tests, tokens, strict=True)],
        "share_code": len(tests) > 1 and not program.argv,
        "lockstep": lockstep,
        "collect": False,
    }


def _inner_test(test: Test, token: str, job: Job) -> dict[str, Any]:
    if isinstance(test, StdioTest):
        return {"kind": "stdio", "stdin": test.stdin.encode("utf-8", "surrogatepass")}
    if isinstance(test, FunctionTest):
        try:
            call = marshal.dumps((list(test.args), dict(test.kwargs)))
        except ValueError:
            raise DataError(
                f"arguments of {test.entry!r} must be JSON values, got {test.args!r:.200}; "
                "turn them into numbers, strings, lists and mappings"
            ) from None
        limit = int(job.limits.output_mb * _MIB)
        return {
            "kind": "function",
            "stdin": b"",
            "entry": test.entry,
            "call": call,
            "limit": limit,
        }
    if isinstance(test, AssertTest):
        plan = rewrite(test, job.source)
        if plan is not None:
            return {
                "kind": "probe",
                "stdin": b"",
                "setup": plan.setup,
                "steps": plan.steps,
                "limit": int(job.limits.output_mb * _MIB),
            }
        return {
            "kind": "assert",
            "stdin": b"",
            "source": test.source,
            "setup": test.setup,
            "token": token.encode(),
        }
    raise ConfigError(
        f"a test must be a StdioTest, FunctionTest or AssertTest, got {type(test).__name__}"
    )


def judge(job: Job, test: Test, outcome: Outcome, token: str) -> TestResult:
    """The verdict of one test from what happened."""
    verdict, reason = _offence(job.limits, language_of(job.language), outcome)
    if isinstance(test, AssertTest) and outcome.value == b"A" and verdict is Verdict.RE:
        verdict = Verdict.WA
    if verdict is None:
        verdict, reason = _answer(job, test, outcome, token)
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
        forgeable=isinstance(test, AssertTest) and rewrite(test, job.source) is None,
    )


def _offence(limits: Limits, language: Language, outcome: Outcome) -> tuple[Verdict | None, str]:
    """The verdict that needs no look at the answer."""
    if outcome.cause == wire.MEMORY:
        return Verdict.MLE, f"more than {limits.memory_mb} MiB of memory"
    if outcome.cause == wire.OUTPUT:
        return Verdict.OLE, f"more than {limits.output_mb:g} MiB of output"
    if outcome.cause == wire.CPU or outcome.signal == signal.SIGXCPU:
        return Verdict.TLE, f"more than {limits.cpu_s:g} s of CPU time"
    if outcome.cause == wire.WALL:
        return Verdict.TLE, f"more than {limits.wall_s:g} s of wall time"
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
    return Verdict.WA, f"returned {reprlib.repr(value)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_line(outcome: Outcome) -> str:
    lines = outcome.stderr[-1000:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
