"""Time complexity as a language model reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from assay._version import __version__
from assay.errors import ConfigError, DataError, JudgeError
from assay.fingerprint import fingerprint_of
from assay.judge import Estimate
from assay.judges.client import Client, Reply, Request
from assay.judges.complexity.expression import parse
from assay.judges.complexity.normal_form import normalise, strip
from assay.judges.complexity.program import Program
from assay.judges.structured import Found, VerdictFormat
from assay.messages import Message

METHOD = "llm"
#: A longer variable in a reply is prose ("fast", "linear in the list").
LONGEST_VARIABLE = 3
#: No nonce: code without comments and strings cannot hold a verdict.
VERDICT = VerdictFormat(
    {
        "type": "object",
        "properties": {"expression": {"type": "string", "minLength": 1, "maxLength": 200}},
        "required": ["expression"],
    },
    fenced=False,
)


@dataclass(frozen=True)
class LLMComplexity:
    """Asks an instruct model for a big-O expression in JSON.

    The model sees the program without comments, docstrings and string contents, since what a
    program says about itself is no evidence. A reply without a well-formed expression is an
    abstention; all requests go out as one batch.

    Args:
        client: An `Endpoint`, a `LocalModel`, or another `Client`.
        rename: Also replace the program's own names (v0, v1, ...), so that a name such as
            `binary_search` decides nothing. A program with an `entry` keeps its names.
        confidence: Of an estimate, in [0, 1]; where the client reports log-probabilities it is
            multiplied by the geometric mean probability of the verdict's tokens.
        longest: Characters of a program, after stripping, beyond which the model is not asked.

    Source: the online complexity judge of the Nanbeige4.1-3B report (arXiv:2602.13367); its prompt
    is not disclosed.
    """

    client: Client
    rename: bool = False
    confidence: float = 0.6
    longest: int = field(default=40_000)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise ConfigError(f"LLMComplexity.confidence must lie in [0, 1], got {self.confidence}")
        if self.longest < 1:
            raise ConfigError(f"LLMComplexity.longest must be >= 1, got {self.longest}")

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program; undecided ones have no expression and flags that say why.

        Raises:
            JudgeError: The client answered none of the requests.
        """
        estimates: dict[int, Estimate] = {}
        requests: dict[int, Request] = {}
        for index, program in enumerate(programs):
            try:
                requests[index] = self.request(program)
            except (ConfigError, DataError) as error:
                estimates[index] = _undecided(str(error))
        replies = self.client.ask(list(requests.values()))
        if replies and all(reply.status == "failed" for reply in replies):
            raise JudgeError(
                f"the model answered none of {len(replies)} requests; the first: {replies[0].error}"
            )
        for index, reply in zip(requests, replies, strict=True):
            estimates[index] = self._read(reply)
        return [estimates[i] for i in range(len(programs))]

    def request(self, program: Program) -> Request:
        """What the model is asked about a program.

        Raises:
            ConfigError: No grammar for its language.
            DataError: Nothing is left of it, or too much.
        """
        renamed = self.rename and program.entry is None
        code = (normalise if renamed else strip)(program.source, program.language).strip()
        if not code:
            raise DataError("the program is empty once comments and strings are gone")
        if len(code) > self.longest:
            raise DataError(f"the program has {len(code)} characters, more than {self.longest}")
        focus = (
            f"Judge a call of `{program.entry}` in the size of its arguments."
            if program.entry
            else "Judge the whole program in the size of its input."
        )
        text = _prompt().replace("{language}", program.language).replace("{focus}", focus)
        text = text.replace("{code}", code)
        return Request(
            (Message("user", text),), schema=VERDICT.sent_schema, schema_name="complexity"
        )

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and the settings."""
        settings = (self.rename, self.confidence, self.longest)
        return fingerprint_of(
            ("LLMComplexity", __version__, self.client.fingerprint(), _prompt(), settings)
        )

    def _read(self, reply: Reply) -> Estimate:
        if reply.status == "failed":
            return replace(_undecided(f"failed: {reply.error}"), failed=True)
        found = VERDICT.read(reply)
        if found.value is None:
            return _undecided(found.note, reply.text)
        text = str(found.value["expression"])
        try:
            expression = parse(text)
            if words := [name for name in expression.variables if len(name) > LONGEST_VARIABLE]:
                raise DataError(f"{words} are words, not sizes")
        except DataError as error:
            return _undecided(f"{text!r:.80} is no complexity: {error}", reply.text)
        confidence = self.confidence * _probability(reply, found)
        return Estimate(str(expression), confidence, METHOD, (f"the model says {text!r:.80}",))


def _undecided(why: str, reply: str = "") -> Estimate:
    evidence = (f"the reply ends {reply[-160:]!r}",) if reply else ()
    return Estimate(None, 0.0, METHOD, evidence, (f"llm: {why}"[:400],))


def _probability(reply: Reply, found: Found) -> float:
    """Geometric mean probability of the verdict's tokens; 1 where they are not reported."""
    inside, position = [], 0
    for token in reply.logprobs or ():
        begin, position = position, position + len(token.token)
        if position > found.start and begin < found.end:
            inside.append(max(token.logprob, -100.0))
    return math.exp(sum(inside) / len(inside)) if inside else 1.0


@cache
def _prompt() -> str:
    return files("assay.judges").joinpath("prompts/complexity.txt").read_text("utf-8")
