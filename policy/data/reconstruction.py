"""Chain-of-thought reconstruction: a trace for a finished answer, kept only if it leads there.

A model is shown a task and its refined answer and writes the reasoning that ends in it. The trace
alone, without the answer, is then replayed: a model continues from task and trace. Only where the
replay gives the same answer is the trace kept, so that what is trained on is reasoning that does
the work, not a story told afterwards.

Source: the Nanbeige4.1-3B report (arXiv:2602.13367) reconstructs chains of thought for refined
solutions with a model trained for it. Prompts and the check are not published; those here are ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import configuration_fingerprint
from assay.judges.client import Client, Reply, Request, check_client
from assay.messages import THINK_CLOSE, THINK_OPEN, Message, Sample, as_messages
from assay.policy.data.model_replies import CUT, was_cut, words
from assay.policy.data.trace_faults import trace_fault
from assay.reward import Reward
from assay.rewards.answer_forms import Tolerance, final_answer_text, same_answer
from assay.rewards.chat_text import chat_message
from assay.settings import real, whole

_WRITE = """\
Below is a task and its correct answer. Write the reasoning by which a careful person who does not
know the answer would find it: step by step, with the checks and wrong turns that they would really
make, each step following from the ones before. Never mention that an answer was given, and do not
write the final answer out; end where it would be written down.

Task:
{task}

Correct answer:
{answer}"""
_REPLAY = """\
Below is a task and somebody's reasoning about it. Write the final answer to the task that this
reasoning leads to. Use nothing but the reasoning; do not reason further. If it leads to no answer,
write: NO ANSWER

Task:
{task}

Reasoning:
{trace}"""


def write_prompt(task: str, answer: str) -> str:
    """What the model that writes traces is asked; it is trained on the same text."""
    return _WRITE.format(task=task, answer=answer)


def task_text(prompt: Sequence[Message]) -> str:
    """A prompt as the task in those questions."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in prompt)


class Same(ABC):
    """Whether a replayed answer is the refined one."""

    @abstractmethod
    def __call__(self, row: Mapping[str, Any], answers: Sequence[str]) -> list[bool | None]:
        """One verdict per answer; None where it cannot be told."""


@dataclass(frozen=True)
class SameFinalAnswer(Same):
    """The final answers are equal as short texts, numbers or dates."""

    tolerance: Tolerance = field(default_factory=Tolerance)

    def __call__(self, row: Mapping[str, Any], answers: Sequence[str]) -> list[bool | None]:
        """Compare with the row's own answer."""
        gold = final_answer_text(answer_of(row))[0]
        return [
            bool(same_answer(final_answer_text(text)[0], gold, self.tolerance)) for text in answers
        ]


@dataclass(frozen=True)
class FullMarks(Same):
    """A reward gives the replayed answer full marks, such as `PassRate` for programs."""

    reward: Reward

    def __post_init__(self) -> None:
        if self.reward.scope == "group":
            raise ConfigError(
                f"reward {self.reward.name!r} compares the rollouts of a group, and a replay has "
                "none; use a reward with scope 'sample'"
            )

    def __call__(self, row: Mapping[str, Any], answers: Sequence[str]) -> list[bool | None]:
        """Score each answer with the row's columns."""
        columns = {k: v for k, v in row.items() if k not in ("prompt", "completion")}
        samples = [Sample.of(row["prompt"], text, columns) for text in answers]
        return [
            False if score.status == "gated" else score.passed
            for score in self.reward.evaluate(samples)
        ]


@dataclass(frozen=True)
class Reconstructor:
    """Writes traces and keeps those whose replay yields the answer.

    A row holds `prompt` and the answer in `completion`. The result has `messages` whose last one
    carries `reasoning_content` where a trace was kept, and `reconstruction` with every try.

    Args:
        author: Writes traces.
        replayer: Continues from a trace; None: the author. Another model is the harder test: the
            author may know the answer anyway, which `control` measures.
        same: Whether a replay gives the answer.
        tries: Traces written for a row at most.
        replays: Replays of a trace.
        faithful: Smallest share of a trace's replays that must give the answer.
        control: Also ask for the answer with an empty trace, as often; a row whose answer comes
            without any reasoning says nothing about its trace.
        longest: Characters of a trace at most.

    Example:
        >>> class Model(Client):
        ...     def answer(self, requests):
        ...         texts = [r.messages[-1].content for r in requests]
        ...         return [Reply("Two and two are 4." if "Correct answer" in t
        ...                       else "4" if "are 4" in t else "NO ANSWER") for t in texts]
        ...
        ...     def fingerprint(self):
        ...         return "model"
        >>> row = Reconstructor(Model())([{"prompt": "2+2?", "completion": "4"}])[0]
        >>> row["messages"][-1]["reasoning_content"], row["reconstruction"]["kept"]
        ('Two and two are 4.', True)
    """

    author: Client
    replayer: Client | None = None
    same: Same = field(default_factory=SameFinalAnswer)
    tries: int = 2
    replays: int = 1
    faithful: float = 1.0
    control: bool = True
    longest: int = 100_000

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_client("Reconstructor.author", self.author)
        if self.replayer is not None:
            check_client("Reconstructor.replayer", self.replayer)
        whole("Reconstructor.tries", self.tries, 1)
        whole("Reconstructor.replays", self.replays, 1)
        whole("Reconstructor.longest", self.longest, 1)
        real("Reconstructor.faithful", self.faithful, 0, 1)
        if self.faithful == 0:
            raise ConfigError("Reconstructor.faithful must be > 0; at 0 every trace is kept")

    def fingerprint(self) -> str:
        """A hash of models, check and settings."""
        return configuration_fingerprint(self)

    def check(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Look at all rows before a model is asked about the first.

        Raises:
            DataError: A row without prompt or answer, or with messages that are none; says which.
        """
        for place, row in enumerate(rows):
            _read(row, place)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """One row per row; `reconstruction["kept"]` says whether it has a trace.

        Raises:
            DataError: A row without prompt or answer.
        """
        open_ = [_Row(row, *_read(row, place)) for place, row in enumerate(rows)]
        found = list(open_)
        for attempt in range(self.tries):
            written = self._write(open_, attempt)
            self._replay(written)
            open_ = [row for row in open_ if not row.kept and not row.problem]
        if self.control:
            self._control(found)
        return [row.to_row() for row in found]

    def _write(self, rows: Sequence[_Row], attempt: int) -> list[_Row]:
        """Ask for traces; the rows whose trace can be replayed."""
        requests = [
            Request(
                (Message("user", _WRITE.format(task=row.task, answer=row.answer)),), seed=attempt
            )
            for row in rows
        ]
        going = []
        for row, reply in zip(rows, self.author.ask(requests), strict=True):
            if reply.status != "ok":
                row.problem = reply.error or "no reply"
                continue
            trace = _trace(reply)
            refused = (
                CUT if was_cut(reply) else trace_fault(trace, row.task, row.answer, self.longest)
            )
            row.tries.append({"trace": trace, "refused": refused, "replayed": None})
            if not refused:
                going.append(row)
        return going

    def _replay(self, rows: Sequence[_Row]) -> None:
        found = self._shares(rows, [r.trace for r in rows])
        for row, (share, problem) in zip(rows, found, strict=True):
            row.tries[-1]["replayed"] = share
            row.kept = share is not None and share >= self.faithful
            row.problem = problem

    def _control(self, rows: Sequence[_Row]) -> None:
        found = self._shares(rows, [""] * len(rows))
        for row, (share, _) in zip(rows, found, strict=True):
            row.without = share

    def _shares(
        self, rows: Sequence[_Row], traces: Sequence[str]
    ) -> list[tuple[float | None, str]]:
        """Share of replays that give each row's answer; None where none could be told.

        Beside it what kept all replays from coming, empty where one came.
        """
        replayer = self.replayer or self.author
        requests = [
            Request(
                (Message("user", _REPLAY.format(task=row.task, trace=trace or "(none)")),),
                seed=number,
            )
            for row, trace in zip(rows, traces, strict=True)
            for number in range(self.replays)
        ]
        replies = replayer.ask(requests)
        shares = []
        for place, row in enumerate(rows):
            mine = replies[place * self.replays : (place + 1) * self.replays]
            answers = [words(reply).strip() for reply in mine if reply.status == "ok"]
            problem = "" if answers else mine[0].error or "no reply"
            told = [verdict for verdict in self.same(row.row, answers) if verdict is not None]
            shares.append((sum(told) / len(told) if told else None, problem))
        return shares


@dataclass
class _Row:
    """A row under reconstruction."""

    row: Mapping[str, Any]
    prompt: tuple[Message, ...]
    answer: str
    tries: list[dict[str, Any]] = field(default_factory=list)
    kept: bool = False
    problem: str = ""
    without: float | None = None

    @property
    def task(self) -> str:
        return task_text(self.prompt)

    @property
    def trace(self) -> str:
        return str(self.tries[-1]["trace"]) if self.tries else ""

    def to_row(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.answer}
        if self.kept:
            message["reasoning_content"] = self.trace
        reconstruction: dict[str, Any] = {
            "kept": self.kept,
            "tries": self.tries,
            "without_trace": self.without,
        }
        if self.problem:
            reconstruction["problem"] = self.problem
        row = {k: v for k, v in self.row.items() if k not in ("prompt", "completion")}
        messages = [*(chat_message(m) for m in self.prompt), message]
        return row | {"messages": messages, "reconstruction": reconstruction}


def answer_of(row: Mapping[str, Any]) -> str:
    """The answer of a row, without reasoning."""
    messages = as_messages(row["completion"], role="assistant")
    return messages[-1].split()[1].strip() if messages else ""


def reconstruction_report(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts and replay faithfulness.

    `failed` rows got no reply; `untold` traces are those of which nobody could tell whether their
    replay gives the answer, such as by a reward that does not say `passed`.
    `faithfulness` is the mean share of replays that gave the answer, over all traces that were
    replayed, kept or not; `without trace` the same with no trace: the difference is what the traces
    carry.
    """
    told = [row["reconstruction"] for row in rows]
    tries = [one for row in told for one in row["tries"]]
    replayed = [one["replayed"] for one in tries if one["replayed"] is not None]
    without = [row["without_trace"] for row in told if row["without_trace"] is not None]
    report: dict[str, Any] = {
        "rows": len(rows),
        "kept": sum(row["kept"] for row in told),
        "traces": len(tries),
        "refused": sum(bool(one["refused"]) for one in tries),
        "failed": sum("problem" in row for row in told),
        "untold": sum(not one["refused"] and one["replayed"] is None for one in tries),
    }
    if replayed:
        report["faithfulness"] = round(sum(replayed) / len(replayed), 4)
    if without:
        report["without trace"] = round(sum(without) / len(without), 4)
    return report


def _trace(reply: Reply) -> str:
    """The trace in a reply: what a model that reasons first wrote after that, or all it wrote."""
    said = words(reply).replace(THINK_OPEN, "").replace(THINK_CLOSE, "").strip()
    return said or (Message("assistant", reply.text).split()[0] or "").strip()


def _read(row: Mapping[str, Any], place: int) -> tuple[tuple[Message, ...], str]:
    if not row.get("prompt") or not row.get("completion"):
        raise DataError(
            f"row {place} needs `prompt` and the answer in `completion`; it has {sorted(row)}",
            place,
        )
    try:
        prompt, answer = as_messages(row["prompt"], role="user"), answer_of(row)
    except DataError as error:
        raise DataError(f"row {place}: {error}", place) from error
    if not answer:
        raise DataError(f"row {place} has an empty answer, so there is nothing to lead to", place)
    return prompt, answer
