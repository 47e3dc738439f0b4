"""The length curriculum: which context each conversation is trained in, and how contexts fill.

Packing joins short conversations into one sequence and serves contexts up to 64k tokens. Beyond, a
sequence is shared among GPUs (DeepSpeed's sequence parallelism), which takes one conversation each:
TRL refuses context parallelism together with packing.

Source: contexts of 32k, 64k and 256k in the Nanbeige4.1-3B report (arXiv:2602.13367); which rows go
where is not published, ours is the shortest context that holds them.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError
from assay.settings import one_of, whole

#: Longest context, in tokens, in which conversations are packed.
LONGEST_PACKED = 65_536
#: The report's.
CONTEXTS = (32_768, 65_536, 262_144)


@dataclass(frozen=True)
class ContextAccount:
    """What one context holds.

    Attributes:
        context: In tokens.
        packing: Whether conversations share sequences.
        rows: Conversations.
        tokens: In them.
        sequences: That training makes of them, packed by best fit or one each.
        fill: Share of the sequences' room that is filled.
    """

    context: int
    packing: bool
    rows: int
    tokens: int
    sequences: int
    fill: float


@dataclass(frozen=True)
class Assigned:
    """Rows by context.

    Attributes:
        places: Indices of rows by context.
        accounts: One a context.
        refused: Indices of rows that no context holds.
    """

    places: dict[int, list[int]] = field(default_factory=dict)
    accounts: list[ContextAccount] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "contexts": [vars(account) for account in self.accounts],
            "refused": len(self.refused),
        }


@dataclass(frozen=True)
class Curriculum:
    """Assigns conversations to contexts by their length.

    Args:
        contexts: In tokens, growing.
        rows: `shortest`: every conversation is trained once, in the shortest context that holds
            it; `all`: in every context that holds it, so that later stages keep short ones.
        packed_up_to: Longest context that is packed.

    Raises:
        ConfigError: Contexts that do not grow, or packing beyond 64k.

    Example:
        >>> found = Curriculum((100, 200))([60, 40, 150, 900])
        >>> found.places, found.refused
        ({100: [0, 1], 200: [2]}, [3])
        >>> found.accounts[0].sequences, found.accounts[0].fill
        (1, 1.0)
    """

    contexts: Sequence[int] = CONTEXTS
    rows: Literal["shortest", "all"] = "shortest"
    packed_up_to: int = LONGEST_PACKED

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        one_of("Curriculum.rows", self.rows, ("shortest", "all"))
        for context in self.contexts:
            whole("Curriculum.contexts", context, 1)
        if not self.contexts or list(self.contexts) != sorted(set(self.contexts)):
            raise ConfigError(
                f"Curriculum.contexts must grow, got {list(self.contexts)}; e.g. {CONTEXTS}"
            )
        require_packable(self.packed_up_to)

    def __call__(self, lengths: Sequence[int]) -> Assigned:
        """Assign rows of these lengths; a row of 0 tokens goes nowhere."""
        places: dict[int, list[int]] = {context: [] for context in self.contexts}
        refused = []
        for place, length in enumerate(lengths):
            fitting = [context for context in self.contexts if 0 < length <= context]
            if not fitting:
                refused.append(place)
            for context in fitting if self.rows == "all" else fitting[:1]:
                places[context].append(place)
        accounts = []
        for context, mine in places.items():
            sizes = [lengths[place] for place in mine]
            packing = context <= self.packed_up_to
            sequences = packed_sequences(sizes, context) if packing else len(sizes)
            room = sequences * context
            accounts.append(
                ContextAccount(
                    context,
                    packing,
                    len(sizes),
                    sum(sizes),
                    sequences,
                    round(sum(sizes) / room, 4) if room else 0.0,
                )
            )
        return Assigned(places, accounts, refused)


def require_packable(context: int) -> None:
    """Refuse packing beyond 64k.

    Raises:
        ConfigError: `context` is longer.
    """
    if context > LONGEST_PACKED:
        raise ConfigError(
            f"packing serves contexts up to {LONGEST_PACKED} tokens, got {context}: longer "
            "sequences are shared among GPUs, and TRL refuses context parallelism together with "
            "packing; set packing = false with launch = 'deepspeed-sequence'"
        )


def packed_sequences(lengths: Sequence[int], context: int) -> int:
    """Sequences that best-fit-decreasing packing makes, as TRL's strategy `bfd`.

    >>> packed_sequences([6, 5, 4, 3, 2], 10)
    2
    """
    room: list[int] = []  # what each open sequence has left, growing
    for length in sorted(lengths, reverse=True):
        place = bisect.bisect_left(room, length)
        left = context - length if place == len(room) else room.pop(place) - length
        bisect.insort(room, left)
    return len(room)


def curriculum_rows(
    rows: Sequence[Mapping[str, Any]], assigned: Assigned
) -> dict[int, list[Mapping[str, Any]]]:
    """The rows themselves by context."""
    return {context: [rows[i] for i in mine] for context, mine in assigned.places.items()}
