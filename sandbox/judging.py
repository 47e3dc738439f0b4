"""Judge programs: what they are handed, and what their exit status means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.errors import DataError
from assay.sandbox import compilation, wire
from assay.sandbox.compiler import CompileError
from assay.sandbox.job import Job, JudgeProgram, StdioTest, Verdict
from assay.sandbox.program import Program, request_for
from assay.sandbox.stop import Stop
from assay.sandbox.worker import Outcome, Worker

_FILES = ("input.txt", "output.txt", "answer.txt")
_FAILED = 3
_CAUSES = {
    wire.WALL: "hung",
    wire.CPU: "used too much CPU",
    wire.MEMORY: "ran out of memory",
    wire.OUTPUT: "printed too much",
}
_GRACE_S = 60.0


class JudgeFailedError(Exception):
    """The judge itself crashed, hung or said so: nothing is known about the solution."""


def prepare(worker: Worker, judge: JudgeProgram, stop: Stop) -> Program:
    """The judge, compiled.

    Raises:
        DataError: It does not compile.
    """
    job = Job(judge.source, (), language=judge.language, limits=judge.limits)
    try:
        return compilation.prepare(worker, job, stop)
    except CompileError as error:
        raise DataError(f"the {judge.language} judge program does not compile: {error}") from None


def request(program: Program, judge: JudgeProgram, texts: Sequence[bytes]) -> dict[str, object]:
    """The request that runs a judge on (input, output, answer)."""
    files = [*program.files]
    files += [(name, text, 0o644) for name, text in zip(_FILES, texts, strict=True)]
    arguments = tuple("{prog}/" + name for name in _FILES)
    placed = replace(program, files=files, argv=(*program.argv, *arguments) if program.argv else ())
    made = request_for(placed, judge.limits)
    made["arguments"] = arguments
    made["tests"] = [{"kind": "stdio", "stdin": b""}]
    return made


def check(
    worker: Worker, judge: JudgeProgram, test: StdioTest, stdout: bytes, stop: Stop
) -> tuple[Verdict, str]:
    """Run a checker program on one output.

    Raises:
        JudgeFailedError: It failed.
        DataError: It does not compile.
    """
    program = prepare(worker, judge, stop)
    texts = (test.stdin.encode(), stdout, test.expected.encode())
    asked = request(program, judge, texts)
    outcomes = list(worker.run(asked, judge.limits.wall_s + _GRACE_S, stop))
    return meaning(outcomes[0])


def meaning(outcome: Outcome) -> tuple[Verdict, str]:
    """What a judge said with its exit status.

    Raises:
        JudgeFailedError: It passed a limit, crashed, or reported a failure of its own.
    """
    words = outcome.stderr[-1000:].decode("utf-8", "replace").strip()[-300:]
    if outcome.cause != wire.NONE or outcome.signal or outcome.status == _FAILED:
        causes = {
            wire.WALL: "hung",
            wire.CPU: "used too much CPU",
            wire.MEMORY: "ran out of memory",
        }
        what = causes.get(outcome.cause, f"ended with {outcome.signal or outcome.status}")
        raise JudgeFailedError(f"the judge program {what}: {words}")
    if outcome.status == 1 and b"Traceback (most recent call last)" in outcome.stderr:
        raise JudgeFailedError(f"the judge program crashed: {words}")
    if outcome.status == 0:
        return Verdict.AC, words
    return Verdict.WA, words or f"the judge program ended with {outcome.status}"
