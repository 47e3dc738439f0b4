"""The output of a job: an append-only file of scores that survives being killed at any byte.

A batch is one write, flushed to the disk at once unless another flush was just done: a killed
process loses no finished batch, a power cut the last fraction of a second, which a resume scores
again. A kill may leave the last line torn; opening the file again cuts that line off, so every line
that ends in a newline is a finished score. A lock on the file keeps a second job out; the kernel
drops it when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from assay.errors import ConfigError, DataError
from assay.judges.strict_json import encode_line

#: Flushes are at least so far apart: a fast reward would otherwise wait for the disk alone.
FLUSH_EVERY_S = 0.2
_CHUNK = 1 << 16
_START = b'{"id": '  # how every result begins


class ResultFile:
    """An open, locked file of results.

    Args:
        path: Where results go.
        resume: Continue a file that holds results already; without it such a file is refused.
        start: How every line begins; a torn last line that does not is none of ours.

    Raises:
        ConfigError: It holds results and `resume` is off, another process is writing it, or it
            cannot be opened.
    """

    def __init__(self, path: Path, *, resume: bool, start: bytes = _START) -> None:
        self.path, self._start = path, start
        self._file = _open_locked(path)
        self._size = os.fstat(self._file).st_size
        self._flushed_s, self._dirty = 0.0, False
        if self._size and not resume:
            self.close()
            raise ConfigError(
                f"{path} already holds results; continue it with --resume, or give another --output"
            )
        if self._size:
            self._trim()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Flush, close the file and drop the lock."""
        if self._file >= 0:
            try:
                if self._dirty:
                    os.fsync(self._file)
            finally:
                os.close(self._file)
                self._file, self._dirty = -1, False

    @property
    def size(self) -> int:
        """Bytes of finished results."""
        return self._size

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add one batch: all of it is in the file when this returns, or none of it is.

        Raises:
            OSError: The disk is full or gone; what was written of this batch is taken back.
        """
        data = memoryview(b"".join(encode_line(row) for row in rows))
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
            self._dirty = True
            if time.monotonic() - self._flushed_s >= FLUSH_EVERY_S:
                os.fsync(self._file)
                self._flushed_s, self._dirty = time.monotonic(), False
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def drop(self, unwanted: Callable[[dict[str, Any]], bool]) -> int:
        """Remove results, in one step that either happens or does not; how many were removed."""
        target = self.path.resolve()  # a link goes on pointing at the rewritten file
        kept, dropped = target.with_name(target.name + ".tmp"), 0
        with kept.open("wb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            try:
                for line, row in _finished_lines(self.path):
                    if unwanted(row):
                        dropped += 1
                    else:
                        file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                kept.unlink()
                raise
            if not dropped:
                kept.unlink()
                return 0
            os.replace(kept, target)
            _sync_folder(target.parent)
            # The lock goes on with the new file, without a moment in which nobody holds it.
            os.close(self._file)
            self._file = os.dup(file.fileno())
        flags = fcntl.fcntl(self._file, fcntl.F_GETFL)
        fcntl.fcntl(self._file, fcntl.F_SETFL, flags | os.O_APPEND)
        self._size = os.fstat(self._file).st_size
        return dropped

    def _trim(self) -> None:
        """Cut off a last line that was never finished."""
        end = self._size
        while end:
            start = max(0, end - _CHUNK)
            found = os.pread(self._file, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < self._size:
            begun = self._start
            torn = os.pread(self._file, len(begun), end).rstrip(b"\0")  # a power cut leaves zeros
            if torn != begun[: len(torn)]:
                self.close()
                raise ConfigError(
                    f"{self.path} does not end in a row of this command; give another --output"
                )
            os.ftruncate(self._file, end)
            os.fsync(self._file)
            self._size = end


def finished_rows(path: Path) -> Iterator[dict[str, Any]]:
    """All finished results in a file, in the order they were written; a torn last line is not one.

    Raises:
        DataError: A line is no result of this program.
    """
    for _, row in _finished_lines(path):
        yield row


def indexed_rows(path: Path) -> dict[Any, int]:
    """Where each finished result begins in the file, in bytes, by id.

    Raises:
        DataError: A line is no result of this program.
    """
    places, start = {}, 0
    for line, row in _finished_lines(path):
        places[row["id"]] = start
        start += len(line)
    return places


def row_at(file: IO[bytes], place: int) -> dict[str, Any]:
    """The result that begins at `place` (see `indexed_rows`)."""
    file.seek(place)
    row: dict[str, Any] = json.loads(file.readline())
    return row


def _finished_lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict) or "id" not in row or "status" not in row:
                raise DataError(
                    f"{path}:{number} is not a result of `assay score`; give another --output, or "
                    "remove that line"
                )
            yield line, row


def _open_locked(path: Path) -> int:
    if path.suffix in (".gz", ".parquet"):
        raise ConfigError(f"results are appended as plain JSON lines, so {path} cannot be written")
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ConfigError(f"{path} is no plain file, and results are continued and locked in one")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = os.fstat(file).st_ino == path.stat().st_ino
    except BlockingIOError:
        same = False
    except FileNotFoundError:
        same = False
    if not same:
        os.close(file)
        raise ConfigError(
            f"another process is writing {path}; wait for it, or give this job another --output"
        )
    _sync_folder(path.parent)
    return file


def _sync_folder(folder: Path) -> None:
    """Make a new or renamed file's entry last over a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
