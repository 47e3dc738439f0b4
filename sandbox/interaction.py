"""Interactive problems: a solution and a judge, each in a sandbox of its own, joined by pipes."""

from __future__ import annotations

import os
import threading

from assay.sandbox import compilation, execution, judging, verdicts
from assay.sandbox.compiler import CompileError
from assay.sandbox.job import Job, Result, StdioTest, TestResult, Verdict, worst
from assay.sandbox.judging import JudgeFailedError
from assay.sandbox.program import request_for
from assay.sandbox.stop import Stop
from assay.sandbox.worker import Outcome, Worker, WorkerLostError

_GRACE_S = 60.0


def run_job(worker: Worker, other: Worker, job: Job, stop: Stop) -> Result:
    """Run a solution on `worker` against its interactor on `other`.

    Raises:
        WorkerLostError: One of them failed.
        DataError: The interactor does not compile.
    """
    assert job.interactor is not None
    try:
        program = compilation.prepare(worker, job, stop)
    except CompileError as error:
        return execution.compile_error(job, error, worker.isolation)
    judge = judging.prepare(other, job.interactor, stop)
    results: list[TestResult] = []
    failures = 0
    for test in job.tests:
        if job.stop_after_failures is not None and failures >= job.stop_after_failures:
            note = f"not run: stopped after {failures} failed tests"
            results.append(TestResult(Verdict.WA, reason=note, run=False))
            continue
        assert isinstance(test, StdioTest)
        asked = request_for(program, job.limits)
        asked["tests"] = [{"kind": "stdio", "stdin": b""}]
        texts = (test.stdin.encode(), b"", test.expected.encode())
        answered = judging.request(judge, job.interactor, texts)
        outcome, said = _talk((worker, asked), (other, answered), job, stop)
        results.append(_result(job, outcome, said))
        failures += results[-1].verdict is not Verdict.AC
    verdict = worst([result.verdict for result in results])
    return Result(verdict, tuple(results), dict(worker.isolation), compile_s=program.compile_s)


def _talk(
    solution: tuple[Worker, dict[str, object]],
    judge: tuple[Worker, dict[str, object]],
    job: Job,
    stop: Stop,
) -> tuple[Outcome, Outcome]:
    """Run both at once; returns what happened to the solution and to the judge."""
    assert job.interactor is not None
    from_judge, to_solution = os.pipe()
    from_solution, to_judge = os.pipe()
    found: list[Outcome] = []
    lost: list[BaseException] = []
    wall_s = max(job.limits.wall_s, job.interactor.limits.wall_s) + _GRACE_S

    def converse() -> None:
        try:
            found.extend(judge[0].run(judge[1], wall_s, stop, (from_solution, to_solution)))
        except BaseException as error:
            lost.append(error)

    thread = threading.Thread(target=converse, daemon=True)
    try:
        thread.start()
        outcomes = list(solution[0].run(solution[1], wall_s, stop, (from_judge, to_judge)))
    finally:
        thread.join()
    if lost:
        raise lost[0]
    if not found or not outcomes:
        raise WorkerLostError("one side of the interaction gave no record")
    return outcomes[0], found[0]


def _result(job: Job, outcome: Outcome, said: Outcome) -> TestResult:
    """The verdict of one conversation.

    A solution that passed a limit is judged by that; else the judge decides, also over a solution
    that crashed because the judge had hung up; a solution that crashed by itself is RE.
    """
    offence, reason = verdicts.offence(job.limits, job.language, outcome)
    try:
        verdict, words = judging.meaning(said)
    except JudgeFailedError as error:
        verdict, words = Verdict.IE, str(error)
    if offence is not None and (offence is not Verdict.RE or verdict is not Verdict.WA):
        verdict, words = offence, reason
    return verdicts.measured(outcome, verdict, words)
