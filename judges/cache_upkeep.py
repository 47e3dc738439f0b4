"""Upkeep of a score cache's file: what is in it, whether it is whole, and making it smaller."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError, DataError
from assay.judges.cache import intact

_DAY_S = 86_400.0
_BUSY_S = 10.0


@dataclass(frozen=True)
class CacheReport:
    """What a cache file holds.

    Attributes:
        entries: Scores.
        damaged: Scores whose bytes have changed on the disk; they count as absent. None where
            nobody looked.
        bytes: Size on disk, write-ahead log included.
        oldest_s: Seconds since the least recently used one was used; None in an empty cache.
        newest_s: The same for the most recently used one.
    """

    entries: int
    damaged: int | None
    bytes: int
    oldest_s: float | None
    newest_s: float | None


def inspect(path: Path, *, check: bool = False) -> CacheReport:
    """Look at a cache.

    Args:
        path: The SQLite file.
        check: Read every entry and compare its checksum.

    Raises:
        ConfigError: There is no such file.
        DataError: It is no score cache.
    """
    with _opened(path) as connection:
        entries, first, last = connection.execute(
            "SELECT count(*), min(used), max(used) FROM scores"
        ).fetchone()
        damaged = None
        if check:
            rows = connection.execute("SELECT key, value FROM scores")
            damaged = sum(not intact(key, value) for key, value in rows)
    now = time.time()
    return CacheReport(
        entries,
        damaged,
        _size(path),
        None if first is None else max(0.0, now - first / 1e9),
        None if last is None else max(0.0, now - last / 1e9),
    )


def prune(path: Path, *, max_mb: float | None = None, unused_days: float | None = None) -> int:
    """Remove what was used least recently, then give the space back to the disk.

    Args:
        path: The SQLite file.
        max_mb: Size to come down to, in MiB.
        unused_days: Remove what was not used for so long.

    Returns:
        How many entries were removed, damaged ones included.

    Raises:
        ConfigError: There is no such file, or a bound is negative.
        DataError: It is no score cache.
    """
    for name, value in (("max_mb", max_mb), ("unused_days", unused_days)):
        if value is not None and not value >= 0:
            raise ConfigError(f"{name} must be >= 0, got {value}")
    with _opened(path) as connection:
        before = _count(connection)
        bad = [
            (key,)
            for key, value in connection.execute("SELECT key, value FROM scores")
            if not intact(key, value)
        ]
        connection.executemany("DELETE FROM scores WHERE key = ?", bad)
        if unused_days is not None:
            limit = time.time_ns() - int(unused_days * _DAY_S * 1e9)
            connection.execute("DELETE FROM scores WHERE used < ?", (limit,))
        if max_mb is not None:
            _shrink(connection, int(max_mb * (1 << 20)))
        connection.commit()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before - _count(connection)


def clear(path: Path) -> int:
    """Remove every entry; how many there were.

    Raises:
        ConfigError: There is no such file.
        DataError: It is no score cache.
    """
    return prune(path, max_mb=0)


def _shrink(connection: sqlite3.Connection, most: int) -> None:
    """Drop the least recently used entries until keys and values fit into `most` bytes."""
    total = connection.execute(
        "SELECT coalesce(sum(length(key) + length(value)), 0) FROM scores"
    ).fetchone()[0]
    gone = []
    if total > most:
        order = connection.execute(
            "SELECT key, length(key) + length(value) FROM scores ORDER BY used"
        )
        for key, size in order:
            gone.append((key,))
            total -= size
            if total <= most:
                break
    connection.executemany("DELETE FROM scores WHERE key = ?", gone)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise ConfigError(f"there is no file {path}; give the path that `Cached` was given")
    connection = sqlite3.connect(path, timeout=_BUSY_S)
    try:
        connection.execute("SELECT key, value, used FROM scores LIMIT 1")
        yield connection
    except sqlite3.DatabaseError as error:
        raise DataError(
            f"{path} cannot be used as a score cache: {error}; if it is one, a job may be writing "
            "it right now"
        ) from error
    finally:
        connection.close()


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM scores").fetchone()[0])


def _size(path: Path) -> int:
    total = 0
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            total += os.stat(f"{path}{suffix}").st_size
    return total
