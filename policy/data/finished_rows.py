"""Rows that a long job finishes one by one: kept as they come, read again after a kill.

The rows of a job under way lie in `OUTPUT.progress`; each is appended whole, a torn last line is
cut off, and when the job is done the file becomes the output, in the input's order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.policy.data.row_files import read_rows, write_rows

#: Key of a row's place in the input.
_PLACE = "_place"


@dataclass(frozen=True)
class FinishedRows:
    """Runs a job over rows in batches, and never does a finished row again.

    Args:
        output: Where the rows end up.
        mark: What the job's settings are known by; a job with others is not continued.
        batch_size: Rows handed to the job together.
    """

    output: Path
    mark: str
    batch_size: int = 16

    @property
    def progress(self) -> Path:
        """The rows of a job under way."""
        return self.output.with_name(self.output.name + ".progress")

    def run(
        self,
        rows: Iterable[Mapping[str, Any]],
        work: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]],
        keep: Callable[[Mapping[str, Any]], bool] = lambda row: True,
    ) -> Iterator[dict[str, Any]]:
        """Yield one finished row per input row, as they are done; then write the output.

        Args:
            rows: The input, the same at every try.
            work: Gives one row per row of a batch.
            keep: Which rows the output holds.

        Raises:
            ConfigError: The progress was made with other settings.
            DataError: The job gave another number of rows than it got.
        """
        done = self._read()
        self.output.parent.mkdir(parents=True, exist_ok=True)
        with self.progress.open("a", encoding="utf-8") as file:
            if not self.progress.stat().st_size:
                file.write(json.dumps({"mark": self.mark}) + "\n")
            source = enumerate(rows)
            while batch := list(islice(source, self.batch_size)):
                open_ = [(place, row) for place, row in batch if place not in done]
                if open_:
                    made = work([row for _, row in open_])
                    if len(made) != len(open_):
                        raise DataError(f"{len(open_)} rows gave {len(made)}; give one per row")
                    for (place, _), row in zip(open_, made, strict=True):
                        done[place] = dict(row)
                        file.write(json.dumps({_PLACE: place, **row}, allow_nan=False) + "\n")
                    file.flush()
                for place, _ in batch:
                    yield done[place]
        write_rows(self.output, (done[place] for place in sorted(done) if keep(done[place])))
        self.progress.unlink()

    def _read(self) -> dict[int, dict[str, Any]]:
        """Finished rows by place; a line that a kill tore off is removed."""
        if not self.progress.is_file():
            return {}
        content = self.progress.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.progress.open("r+b") as file:
                file.truncate(len(whole))
        if not whole:
            return {}
        head, *rows = read_rows(self.progress)
        if head.get("mark") != self.mark:
            raise ConfigError(
                f"{self.progress} was begun with other settings or another input; go back to them, "
                "delete that file, or give another output"
            )
        return {row.pop(_PLACE): row for row in rows}
