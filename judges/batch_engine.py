"""Scores rows whose model replies lie in a batch's folder; the others wait for a later run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.errors import AssayError
from assay.judges.batch_folder import BatchFolder, used_folder
from assay.judges.engines import Scored
from assay.judges.rows import Row
from assay.judges.scoring import score_batch
from assay.reward import Reward


@dataclass(frozen=True)
class OpenAIBatch:
    """An `Engine` that asks no server.

    Every batch of rows is scored with whatever results lie in the folder. A batch in which a reply
    was missing is given back unscored; its requests stand in `requests.jsonl`. A reward whose
    gates or escalations ask more once the first replies are there takes several rounds.

    Args:
        folder: See `BatchFolder`.
    """

    takes_all: ClassVar[bool] = False

    folder: Path

    def scores(self, reward: Reward, batches: Iterator[list[Row]]) -> Scored:
        """See `Engine`; not every batch comes back."""
        folder = BatchFolder(self.folder)
        complete = False
        try:
            with used_folder(folder):
                for batch in batches:
                    before = folder.unanswered
                    try:
                        found = score_batch(reward, batch)
                    except AssayError:
                        if folder.unanswered == before:
                            raise
                        continue
                    if folder.unanswered == before:
                        yield batch, found
            complete = True
        finally:
            folder.close(complete=complete)
