"""Where the batches of a job are scored: in this process, or in whatever else maps them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from assay.judges.row_batches import read_ahead
from assay.judges.rows import Row
from assay.judges.scoring import BatchScores, score_batch
from assay.reward import Reward

Scored: TypeAlias = Generator[tuple[list[Row], BatchScores], None, None]


class Engine(Protocol):
    """Scores batches, in any order; the job alone writes what comes back.

    Attributes:
        takes_all: It takes every batch before the first one comes back, so that a job that may
            spend no more cannot stop it by giving no further ones.
    """

    takes_all: ClassVar[bool] = False

    def scores(self, reward: Reward, batches: Iterator[list[Row]]) -> Scored:
        """Every batch with its scores, once each.

        Raises:
            AssayError: As `score_batch`; or the engine lost a batch and could not have it scored.
        """


@dataclass(frozen=True)
class InProcess:
    """One batch after the other.

    Args:
        read_ahead: Read the next batch while one is scored.
    """

    takes_all: ClassVar[bool] = False

    read_ahead: bool = True

    def scores(self, reward: Reward, batches: Iterator[list[Row]]) -> Scored:
        """See `Engine`."""
        for batch in read_ahead(batches) if self.read_ahead else batches:
            yield batch, score_batch(reward, batch)
