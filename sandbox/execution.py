"""From jobs to requests, and from what the inside reports to verdicts."""

from __future__ import annotations

import marshal
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import ConfigError, DataError
from assay.sandbox import compilation, judging
from assay.sandbox.asserts import rewrite
from assay.sandbox.compiler import CompileError
from assay.sandbox.job import (
    AssertTest,
    FunctionTest,
    Job,
    JudgeProgram,
    Result,
    StdioTest,
    Test,
    TestResult,
    Verdict,
    worst,
)
from assay.sandbox.judging import JudgeFailedError
from assay.sandbox.languages import language_of
from assay.sandbox.program import Program, request_for
from assay.sandbox.stop import Stop
from assay.sandbox.verdicts import judge
from assay.sandbox.worker import Outcome, Worker

_MIB = 1 << 20
_BATCH_BYTES = 32 * _MIB
#: Our own patience above the inner clocks, for a machine under load.
_GRACE_S = 60.0


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
    if (job.checker or job.interactor) and kinds != {StdioTest}:
        raise DataError(
            f"a checker or interactor needs StdioTest, got {kinds.pop().__name__}; change the tests"
        )
    if language.name != "python" and kinds != {StdioTest}:
        raise DataError(
            f"{kinds.pop().__name__} needs a Python program, got language {job.language!r}; "
            "use StdioTest"
        )


def run_job(worker: Worker, job: Job, stop: Stop) -> Result:
    """Run one job on a worker.

    Raises:
        WorkerLostError: The worker failed; nothing is known about the program.
    """
    try:
        program = compilation.prepare(worker, job, stop)
        helper = compilation.helper(worker, stop) if program.argv else b""
    except CompileError as error:
        return compile_error(job, error, worker.isolation)
    results: list[TestResult] = []
    failures = 0
    unchecked: list[tuple[int, Test, Outcome]] = []
    lockstep = job.stop_after_failures is not None
    for batch in _batches(job.tests):
        tokens = [secrets.token_hex(16) for _ in batch]
        request = _request(job, program, helper, batch, tokens, lockstep)
        for outcome in worker.run(request, job.limits.wall_s + _GRACE_S, stop):
            result = judge(job, batch[outcome.index], outcome, tokens[outcome.index])
            results.append(result)
            failures += result.verdict is not Verdict.AC
            if isinstance(job.checker, JudgeProgram) and result.verdict is Verdict.AC:
                unchecked.append((len(results) - 1, batch[outcome.index], outcome))
            if lockstep:
                worker.answer(failures < (job.stop_after_failures or 0))
        failures += _check_outputs(worker, job, results, unchecked, stop)
        if lockstep and failures >= (job.stop_after_failures or 0):
            break
    verdict = worst([result.verdict for result in results])
    missing = len(job.tests) - len(results)
    note = f"not run: stopped after {failures} failed tests"
    results += [TestResult(Verdict.WA, reason=note, run=False)] * missing
    return Result(verdict, tuple(results), dict(worker.isolation), compile_s=program.compile_s)


def compile_error(job: Job, error: CompileError, isolation: dict[str, str]) -> Result:
    """The result of a job whose source does not compile."""
    test = TestResult(Verdict.CE, reason="not run: the program does not compile", run=False)
    tests = (test,) * len(job.tests)
    return Result(Verdict.CE, tests, dict(isolation), str(error), error.seconds)


def _check_outputs(
    worker: Worker,
    job: Job,
    results: list[TestResult],
    unchecked: list[tuple[int, Test, Outcome]],
    stop: Stop,
) -> int:
    """Let the checker program look at the outputs that wait for it; how many it refused."""
    refused = 0
    for index, test, outcome in unchecked:
        assert isinstance(job.checker, JudgeProgram) and isinstance(test, StdioTest)
        try:
            verdict, words = judging.check(worker, job.checker, test, outcome.stdout, stop)
        except JudgeFailedError as error:
            verdict, words = Verdict.IE, str(error)
        results[index] = replace(results[index], verdict=verdict, reason=words)
        refused += verdict is not Verdict.AC
    unchecked.clear()
    return refused


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
    job: Job,
    program: Program,
    helper: bytes,
    tests: list[Test],
    tokens: list[str],
    lockstep: bool,
) -> dict[str, Any]:
    request = request_for(program, job.limits)
    request["tests"] = [
        _inner_test(test, token, job) for test, token in zip(tests, tokens, strict=True)
    ]
    if helper:
        request["helper"] = ".helper"
        request["files"] = [*program.files, (".helper", helper, 0o755)]
    request["share_code"] = len(tests) > 1 and not program.argv
    request["lockstep"] = lockstep
    return request


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
