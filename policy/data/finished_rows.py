"""Rows that a long job finishes one by one: kept as they come, read again after a kill.

The rows of a job under way lie in `OUTPUT.progress`; each is appended whole, a torn last line is
cut off, and when the job is done the file becomes the output, in the input's order. The file is
locked while a process works on it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from assay.errors import ConfigError, DataError, JudgeError
from assay.policy.data.row_files import json_line, read_rows, write_rows

#: Keys of a row of the progress: its place in the input, and what was made of it.
_PLACE, _ROW = "_place", "row"
#: So many rows after one another that no model answered: it is down, and they are not to blame.
OUTAGE = 8


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
        rows: Sequence[Mapping[str, Any]],
        work: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]],
        keep: Callable[[Mapping[str, Any]], bool] = lambda row: True,
        problem: Callable[[Mapping[str, Any]], str] = lambda row: "",
    ) -> Iterator[dict[str, Any]]:
        """Yield one finished row per input row, as they are done; then write the output.

        Args:
            rows: The input, the same at every try.
            work: Gives one row per row of a batch.
            keep: Which rows the output holds.
            problem: Why a model did not answer for a row, empty where it did. Where `OUTAGE` rows
                after one another have such a problem, or all have, none of them counts as finished.

        Raises:
            ConfigError: The progress was made with other settings, or by a process that still runs.
            DataError: No rows, a row that JSON has no form for, or another number of rows from the
                job than it got.
            JudgeError: The model is down.
        """
        if not rows:
            raise DataError("the input holds no rows; give a file that holds some")
        for place, row in enumerate(rows):
            json_line(row, place)  # before a model is asked, not after
        with self._locked() as file:
            done = self._read()
            if not os.fstat(file.fileno()).st_size:
                file.write(json.dumps({"mark": self.mark}) + "\n")
            held: list[int] = []  # without an answer, since the last row that has one
            for start in range(0, len(rows), self.batch_size):
                batch = range(start, min(start + self.batch_size, len(rows)))
                if open_ := [place for place in batch if place not in done]:
                    made = work([rows[place] for place in open_])
                    if len(made) != len(open_):
                        raise DataError(f"{len(open_)} rows gave {len(made)}; give one per row")
                    for place, row in zip(open_, made, strict=True):
                        done[place] = dict(row)
                        held.append(place)
                        if not problem(row):
                            self._write(file, held, done)
                    if len(held) >= OUTAGE:
                        raise _outage(len(held), problem(done[held[-1]]))
                for place in batch:
                    yield done[place]
            if held and len(held) == len(rows):
                raise _outage(len(held), problem(done[held[-1]]))
            self._write(file, held, done)
            write_rows(self.output, (done[place] for place in sorted(done) if keep(done[place])))
            self.progress.unlink()

    @staticmethod
    def _write(file: IO[str], places: list[int], done: Mapping[int, Mapping[str, Any]]) -> None:
        """Append rows, whole; `places` is empty after."""
        for place in places:
            file.write(json_line({_PLACE: place, _ROW: done[place]}, place) + "\n")
        file.flush()
        places.clear()

    @contextmanager
    def _locked(self) -> Iterator[IO[str]]:
        """The progress, open to append, while no other process has it."""
        self.output.parent.mkdir(parents=True, exist_ok=True)
        while True:
            with self.progress.open("a", encoding="utf-8") as file:
                try:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise ConfigError(
                        f"another process writes {self.output}; wait for it, end it, or give "
                        "another output"
                    ) from None
                if self._is_open_in(file):
                    yield file
                    return
            # The process that had the lock was done and took the file away meanwhile.

    def _is_open_in(self, file: IO[str]) -> bool:
        try:
            return os.path.samestat(self.progress.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False

    def _read(self) -> dict[int, dict[str, Any]]:
        """Finished rows by place; a line that a kill tore off is removed."""
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
        return {row[_PLACE]: row[_ROW] for row in rows}


def _outage(count: int, problem: str) -> JudgeError:
    return JudgeError(
        f"{count} rows after one another got no answer: {problem}; mend the model and give the "
        "same command again, finished rows are kept"
    )
