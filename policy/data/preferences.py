"""Preferences: one canonical form of every pair-wise data set, and JSON lines of it.

`assay.policy.data.preference_sources` reads the forms that data sets come in,
`assay.policy.data.strong_weak` builds pairs, `assay.policy.data.preference_duplicates` cleans them.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.judge import Pair
from assay.messages import Message, as_messages
from assay.policy.data.row_files import write_rows
from assay.rewards.chat_text import chat_message


@dataclass(frozen=True, slots=True)
class Preference:
    """Two answers to one conversation, and how much better A is.

    Attributes:
        prompt: The full multi-turn history.
        a: Messages of answer A.
        b: Messages of answer B.
        label: P(A preferred), in [0, 1]: 1 A, 0 B, .5 a tie, shares of votes in between.
        weight: Weight in the loss, >= 0.
        votes: One per annotator: 1 for A, 0 for B, .5 for a tie.
        source: The data set.
        id: The same for both orders of a pair.
        evidence: Why this label: checklist findings, models, annotators.
        columns: What judges and chat templates read of the row, `tools` among it.

    Comparable but not hashable: it holds mappings.
    """

    prompt: tuple[Message, ...]
    a: tuple[Message, ...]
    b: tuple[Message, ...]
    label: float
    weight: float = 1.0
    votes: tuple[float, ...] = ()
    source: str = ""
    id: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        label, weight = _number(self.label, "label"), _number(self.weight, "weight")
        if not 0.0 <= label <= 1.0:
            raise DataError(f"label must lie in [0, 1] (P(A preferred)), got {self.label!r}")
        if weight < 0.0:
            raise DataError(f"weight must be >= 0, got {self.weight!r}")
        if not self.a or not self.b:
            raise DataError("both answers need at least one message; got an empty answer")
        for vote in self.votes:
            if not 0.0 <= _number(vote, "votes") <= 1.0:
                raise DataError(f"votes must lie in [0, 1] (1: A, .5: tie, 0: B), got {vote!r}")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "votes", tuple(float(vote) for vote in self.votes))
        if not self.id:
            object.__setattr__(self, "id", _content_id(self.prompt, self.a, self.b))

    @classmethod
    def of(cls, prompt: object, a: object, b: object, label: float, **rest: Any) -> Preference:
        """A preference from texts or message lists.

        >>> Preference.of("2 + 2?", "4", "5", label=1.0).a[0].content
        '4'
        """
        return cls(
            as_messages(prompt, role="user"),
            as_messages(a, role="assistant"),
            as_messages(b, role="assistant"),
            label,
            **rest,
        )

    @property
    def tie(self) -> bool:
        """Whether neither answer is preferred."""
        return self.label == 0.5

    @property
    def chosen(self) -> tuple[Message, ...]:
        """The preferred answer; A for a tie."""
        return self.a if self.label >= 0.5 else self.b

    @property
    def rejected(self) -> tuple[Message, ...]:
        """The other answer."""
        return self.b if self.label >= 0.5 else self.a

    def swapped(self) -> Preference:
        """The same pair in the other order; evidence kept under `a` and `b` changes place too."""
        evidence = dict(self.evidence)
        if "a" in evidence and "b" in evidence:
            evidence["a"], evidence["b"] = evidence["b"], evidence["a"]
        return replace(
            self,
            a=self.b,
            b=self.a,
            label=1.0 - self.label,
            votes=tuple(1.0 - vote for vote in self.votes),
            evidence=evidence,
        )

    def pair(self) -> Pair:
        """For a judge, without the label."""
        return Pair(self.prompt, self.a, self.b, self.columns, self.id)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `Preference.from_json` reads them back."""
        return {
            "id": self.id,
            "source": self.source,
            "prompt": [chat_message(message) for message in self.prompt],
            "a": [chat_message(message) for message in self.a],
            "b": [chat_message(message) for message in self.b],
            "label": self.label,
            "weight": self.weight,
            "votes": list(self.votes),
            "evidence": dict(self.evidence),
            "columns": dict(self.columns),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Preference:
        """Read what `to_json` wrote; only prompt, a, b and label are needed.

        Raises:
            DataError: One of them is missing or cannot be read.
        """
        if missing := sorted({"prompt", "a", "b", "label"} - row.keys()):
            raise DataError(f"a preference needs {missing}; the row has {sorted(row)}")
        if not isinstance(row.get("votes") or (), list | tuple):
            raise DataError(f"votes must be a list of numbers, got {row['votes']!r:.80}")
        for name in ("evidence", "columns"):
            if not isinstance(row.get(name) or {}, Mapping):
                raise DataError(f"{name} must be an object, got {row[name]!r:.80}")
        return cls.of(
            row["prompt"],
            row["a"],
            row["b"],
            row["label"],
            weight=1.0 if row.get("weight") is None else row["weight"],
            votes=tuple(row.get("votes") or ()),
            source=str(row.get("source") or ""),
            id=str(row.get("id") or ""),
            evidence=row.get("evidence") or {},
            columns=row.get("columns") or {},
        )


def write_preferences(path: str | Path, preferences: Iterable[Preference]) -> int:
    """Write JSON lines; returns how many. The file appears whole or not at all."""
    return write_rows(path, (preference.to_json() for preference in preferences))


def swap_augmented(preferences: Iterable[Preference]) -> Iterator[Preference]:
    """Every preference in both orders, one after the other.

    A trainer that sees both orders of a pair needs none of this
    (`assay.policy.pairwise_trainer.PairwiseRewardTrainer`); it is for trainers that see one.
    """
    for preference in preferences:
        yield preference
        yield preference.swapped()


def shuffled_slots(preferences: Iterable[Preference], seed: int = 0) -> Iterator[Preference]:
    """Each preference in an order drawn by a fair coin that depends on its id and the seed.

    Data sets that list the chosen answer first teach a single-order trainer the slot.
    """
    for preference in preferences:
        coin = random.Random(f"{seed}:{preference.id}").random()
        yield preference.swapped() if coin < 0.5 else preference


def split_by_prompt(
    preferences: Iterable[Preference], held_out: float, seed: int = 0
) -> tuple[list[Preference], list[Preference]]:
    """Training and held-out preferences; all pairs of one prompt fall on the same side.

    The side depends on the prompt's text and the seed alone, so that it is the same for every
    order, subset and growth of the data.

    Args:
        preferences: Any.
        held_out: Share of prompts to hold out, in [0, 1].
        seed: Of the split.

    Raises:
        DataError: `held_out` outside [0, 1].
    """
    if not 0.0 <= held_out <= 1.0:
        raise DataError(f"held_out is a share in [0, 1], got {held_out}")
    sides: tuple[list[Preference], list[Preference]] = ([], [])
    for preference in preferences:
        key = f"{seed}:{text_of(preference.prompt)}".encode("utf-8", "replace")
        place = int.from_bytes(hashlib.sha256(key).digest()[:8]) / 2**64
        sides[place < held_out].append(preference)
    return sides


def text_of(messages: Sequence[Message]) -> str:
    """Roles and contents as one text, for hashing and comparing."""
    return "\n".join(
        f"{m.role}: {m.content}"
        + "".join(f" {c.name}({c.raw or c.arguments})" for c in m.tool_calls)
        for m in messages
    )


def _content_id(prompt: Sequence[Message], a: Sequence[Message], b: Sequence[Message]) -> str:
    answers = sorted([text_of(a), text_of(b)])
    text = "\0".join([text_of(prompt), *answers])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{name} must be a finite number, got {value!r:.80}")
    return float(value)
