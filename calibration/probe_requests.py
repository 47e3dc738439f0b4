"""Requests that probes plan: self-contained, asked once however many probes need them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.errors import DataError, JudgeError
from assay.judge import Choice, Grade, Item, Judge, Pair, Verdict
from assay.messages import Message

Side = Literal["a", "b"]


#: A version of a judge: by name of the prompt and number of the repeat.
Version = Callable[[str, int], Judge]


@dataclass(frozen=True)
class ProbeItem:
    """A pair to probe a judge with.

    Attributes:
        pair: Prompt and answers A and B.
        prompt_id: Cluster: items of one prompt share it.
        label: Which answer is better, if known.
        author_a: Who wrote A, empty if not known.
        author_b: Who wrote B.
    """

    pair: Pair
    prompt_id: str
    label: Choice | None = None
    author_a: str = ""
    author_b: str = ""

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, pair: Pair, index: int = 0) -> ProbeItem:
        """Read `prompt_id`, `label`, `author_a` and `author_b` from the pair's columns.

        Without `prompt_id`, `uid` or `question_id`, pairs with the same prompt are one cluster.

        Raises:
            DataError: A label that is none of A, B, tie.
        """
        columns = pair.columns
        label = columns.get("label")
        if label not in (None, "", "A", "B", "tie"):
            raise DataError(
                f"pair {pair.id or index}: label must be A, B or tie, got {label!r:.40}", index
            )
        names = [columns.get(key) for key in ("prompt_id", "uid", "question_id")]
        prompt = next((name for name in names if name not in (None, "")), None)
        if prompt is None and pair.prompt:
            shown = repr(_content(pair.prompt)).encode("utf-8", "backslashreplace")
            prompt = f"prompt-{hashlib.sha256(shown).hexdigest()[:12]}"
        prompt = pair.id or f"pair-{index}" if prompt is None else prompt
        authors = (str(columns.get(f"author_{side}") or "") for side in "ab")
        return cls(pair, str(prompt), label or None, *authors)

    @property
    def target(self) -> Side:
        """The answer that a probe changes: either about equally often, by the id alone."""
        seen = sum(map(ord, self.pair.id or self.prompt_id))
        return "a" if seen % 2 == 0 else "b"


@dataclass(frozen=True)
class Ask:
    """One comparison: content, prompt and repeat say all that decides the answer."""

    pair: Pair
    template: str = ""
    repeat: int = 0

    __hash__ = None  # type: ignore[assignment]

    @property
    def key(self) -> Hashable:
        """Equal for equal content."""
        pair = self.pair
        shown = (_content(pair.prompt), _content(pair.a), _content(pair.b))
        return self.template, self.repeat, *shown


@dataclass(frozen=True)
class GradeAsk:
    """One grade of one answer."""

    item: Item

    __hash__ = None  # type: ignore[assignment]

    @property
    def key(self) -> Hashable:
        """Equal for equal content."""
        return "grade", _content(self.item.prompt), _content(self.item.answer)


Request = Ask | GradeAsk


@dataclass(frozen=True)
class Versions:
    """A judge, its paraphrased prompts and its repeats.

    Attributes:
        judge: The judge itself.
        templates: Judges that differ from it in the wording of their prompt alone, by name.
        repeated: Gives the judge of repeat k > 0 of a judge; the judge itself if not given, which
            is right for one that draws anew at each call. A judge behind a cache or with a fixed
            seed needs another one, else every repeat is the same answer.
        wrap: Put around each version, such as a cache.
    """

    judge: Judge
    templates: Mapping[str, Judge] = field(default_factory=dict)
    repeated: Callable[[Judge, int], Judge] | None = None
    wrap: Callable[[Judge], Judge] | None = None

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, template: str, repeat: int) -> Judge:
        """The judge that answers such a request."""
        judge = self.judge if not template else self.templates[template]
        if repeat and self.repeated is not None:
            judge = self.repeated(judge, repeat)
        return judge if self.wrap is None else self.wrap(judge)


@dataclass(frozen=True, eq=False)
class Answers:
    """What was said to a list of requests.

    Attributes:
        values: P(the first-shown wins) or the grade of each request, shape (n,); 1, 0 or .5 from a
            judge that only chooses, NaN where nothing could be read.
        verdicts: The verdict of each request; None for grades.
        failed: Requests that the judge could not be asked.
        abstained: Requests without a readable verdict.
        grades: Whether the judge grades; True if nobody asked.
    """

    values: FloatArray
    verdicts: list[Verdict | None]
    failed: int
    abstained: int
    grades: bool = True


def both_orders(pair: Pair, template: str = "", repeat: int = 0) -> tuple[Ask, Ask]:
    """The two requests of a pair."""
    return Ask(pair, template, repeat), Ask(pair.swapped(), template, repeat)


def answer(requests: Sequence[Request], versions: Version) -> Answers:
    """Put requests to the versions of a judge, those of one version in one batch.

    Raises:
        JudgeError: More than half of the requests failed: the judge is down, not biased.
    """
    values = np.full(len(requests), np.nan)
    verdicts: list[Verdict | None] = [None] * len(requests)
    batches: dict[tuple[str, int], list[int]] = {}
    graded: list[int] = []
    for index, request in enumerate(requests):
        if isinstance(request, Ask):
            batches.setdefault((request.template, request.repeat), []).append(index)
        else:
            graded.append(index)
    said: list[Verdict | Grade] = []
    for (template, repeat), rows in batches.items():
        asked = [one.pair for one in (requests[i] for i in rows) if isinstance(one, Ask)]
        found = versions(template, repeat).compare(asked)
        _check_length(len(found), len(rows))
        said += found
        for index, verdict in zip(rows, found, strict=True):
            verdicts[index], values[index] = verdict, p_of(verdict)
    grades = True
    if graded:
        items = [one.item for one in (requests[i] for i in graded) if isinstance(one, GradeAsk)]
        try:
            marks = versions("", 0).grade(items)
        except TypeError as error:
            if "does not grade" not in str(error):
                raise
            marks, grades = [], False
        if grades:
            _check_length(len(marks), len(graded))
            said += marks
            for index, grade in zip(graded, marks, strict=True):
                values[index] = np.nan if grade.value is None else grade.value
    failed = [one for one in said if one.status == "failed"]
    if len(failed) * 2 > len(said):
        raise JudgeError(
            f"{len(failed)} of {len(said)} requests to the judge failed, the last one with: "
            f"{failed[-1].reason[:300] or 'no reason'}; mend that and run the audit again"
        )
    abstained = sum(one.status == "abstained" for one in said)
    return Answers(values, verdicts, len(failed), abstained, grades)


def p_of(verdict: Verdict) -> float:
    """P(the first-shown wins); NaN without a verdict.

    >>> p_of(Verdict("tie")), p_of(Verdict("B", 0.2))
    (0.5, 0.2)
    """
    p_first = verdict.preference
    return math.nan if p_first is None else p_first


def changed(pair: Pair, side: Side, change: Callable[[str], str]) -> Pair:
    """The pair with the text of one answer's last message changed.

    >>> from assay.messages import as_messages
    >>> pair = Pair((), as_messages("x", role="assistant"), as_messages("y", role="assistant"))
    >>> changed(pair, "b", str.upper).b[0].content
    'Y'
    """
    messages = getattr(pair, side)
    if not messages:
        return pair
    new = (*messages[:-1], replace(messages[-1], content=change(messages[-1].content)))
    return replace(pair, a=new) if side == "a" else replace(pair, b=new)


def text_of(messages: Sequence[Message]) -> str:
    """The text of an answer."""
    return "\n".join(message.content for message in messages)


def _content(messages: Sequence[Message]) -> tuple[Any, ...]:
    """What tells messages apart; plain ones quickly."""
    return tuple(
        (m.role, m.content) if _plain(m) else (m.role, m.content, repr(m)) for m in messages
    )


def _plain(message: Message) -> bool:
    return not (message.tool_calls or message.reasoning or message.name or message.tool_call_id)


def _check_length(got: int, asked: int) -> None:
    if got != asked:
        raise JudgeError(f"the judge gave {got} opinions on {asked} requests; one per request")
