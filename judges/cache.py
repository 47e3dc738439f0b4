"""A cache of scores, addressed by content and shared by processes.

The key is a hash of the judge's fingerprint (model, revision, prompt text, parameters), this
library's version and the item, so that a changed prompt or model never meets an old score. The
store is SQLite in WAL mode. A cache may never break a run: a corrupted file is moved aside, a full
disk or a read-only one turns the cache off, each with one warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from assay._version import __version__
from assay.errors import ConfigError
from assay.judges.handle import Handle

T = TypeVar("T")
_SUM = 8
_BUSY_MS = 5_000
#: Hits whose time of use is written together, at the next put or when there are this many.
_TOUCHES = 4_096


@dataclass(frozen=True)
class ScoreCache:
    """A bounded store of JSON values on disk.

    It opens on first use in each process and may be used by many threads and processes at once.
    When the file outgrows `max_mb`, the entries that were used least recently go.

    Args:
        path: The SQLite file; its folder is made if need be.
        max_mb: Size of the file, in MiB.
    """

    path: Path | str
    max_mb: float = 1024.0
    _handle: Handle[_Store] = field(
        default_factory=Handle, init=False, repr=False, compare=False, hash=False
    )

    def __post_init__(self) -> None:
        if not self.max_mb >= 0.1:
            raise ConfigError(f"ScoreCache.max_mb must be >= 0.1, got {self.max_mb}")

    def get(self, keys: Sequence[bytes]) -> list[Any | None]:
        """The value of each key (see `cache_key`), None where there is none."""
        return self._store().get(keys)

    def put(self, values: Mapping[bytes, Any]) -> None:
        """Store JSON values; what cannot be stored is lost, not raised.

        Raises:
            TypeError: A value is no JSON.
        """
        if values:
            self._store().put({key: _encode(key, value) for key, value in values.items()})

    def __len__(self) -> int:
        return self._store().count()

    def close(self) -> None:
        """Close this process's connection; the next use opens another."""
        store = self._handle.drop()
        if store is not None:
            store.close()

    def _store(self) -> _Store:
        return self._handle.get(lambda: _Store(Path(self.path), int(self.max_mb * (1 << 20))))


def cache_key(fingerprint: str, kind: str, *parts: Any) -> bytes:
    """32 bytes that stand for a judge and an item.

    Args:
        fingerprint: Of the judge.
        kind: What was asked: compare, grade, complexity, ...
        parts: The item, as JSON values.

    Raises:
        TypeError: A part is no JSON.
    """
    text = json.dumps(
        [__version__, fingerprint, kind, parts], sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).digest()


class _Store:
    """The open end of a cache in one process."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path, self._max_bytes = path, max_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = -1
        self._off = False
        self._touched: dict[bytes, int] = {}
        self._try(lambda connection: None, None)

    def get(self, keys: Sequence[bytes]) -> list[Any | None]:
        with self._lock:
            return self._try(lambda connection: self._read(connection, keys), [None] * len(keys))

    def put(self, blobs: Mapping[bytes, bytes]) -> None:
        with self._lock:
            self._try(lambda connection: self._write(connection, blobs), None)

    def count(self) -> int:
        with self._lock:
            query = "SELECT count(*) FROM scores"
            return int(self._try(lambda connection: connection.execute(query).fetchone()[0], 0))

    def close(self) -> None:
        with self._lock:
            if self._touched:
                self._try(lambda connection: self._write(connection, {}), None)
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _read(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[Any | None]:
        found: list[Any | None] = []
        now = time.time_ns()
        for key in keys:
            row = connection.execute("SELECT value FROM scores WHERE key = ?", (key,)).fetchone()
            value = None if row is None else _decode(key, row[0])
            if value is not None:
                self._touched[key] = now
            found.append(value)
        if len(self._touched) >= _TOUCHES:
            self._write(connection, {})
        return found

    def _write(self, connection: sqlite3.Connection, blobs: Mapping[bytes, bytes]) -> None:
        now = time.time_ns()
        touched, self._touched = self._touched, {}
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "UPDATE scores SET used = ? WHERE key = ?",
                [(used, key) for key, used in touched.items()],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO scores (key, value, used) VALUES (?, ?, ?)",
                [(key, blob, now) for key, blob in blobs.items()],
            )
            self._evict(connection)

    def _evict(self, connection: sqlite3.Connection) -> None:
        """Drop the least recently used eighth while the pages in use are too many."""
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        for _ in range(32):
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            free = connection.execute("PRAGMA freelist_count").fetchone()[0]
            if (pages - free) * page <= self._max_bytes:
                return
            rows = connection.execute("SELECT count(*) FROM scores").fetchone()[0]
            if not rows:
                return
            connection.execute(
                "DELETE FROM scores WHERE key IN (SELECT key FROM scores ORDER BY used LIMIT ?)",
                (max(1, rows // 8),),
            )

    def _try(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do `work`; a broken file is replaced once, anything else means doing without."""
        for _ in range(2):
            if self._off:
                return otherwise
            try:
                if self._connection is None:
                    self._connection = self._open()
                return work(self._connection)
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error):
                    return otherwise  # another process is at it for long: this once without
                self._give_up(error)
            except sqlite3.DatabaseError as error:
                self._move_aside(error)
            except OSError as error:
                self._give_up(error)
        return otherwise

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS scores "
                "(key BLOB PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID"
            )
            connection.execute("CREATE INDEX IF NOT EXISTS by_use ON scores (used)")
            self._inode = os.stat(self._path).st_ino
        except BaseException:
            self._inode = _inode(self._path)
            connection.close()
            raise
        return connection

    def _move_aside(self, error: Exception) -> None:
        """Put a corrupted file away, unless another process has done so already."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if _inode(self._path) != self._inode:
            return
        name = f"{self._path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        aside = self._path.with_name(name)
        try:
            os.rename(self._path, aside)
            for suffix in ("-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        except OSError as problem:
            if _inode(self._path) == self._inode:
                self._give_up(problem)
            return
        warnings.warn(
            f"the score cache {self._path} is corrupted ({error}); it was moved to {aside} and a "
            "new one begun",
            RuntimeWarning,
            stacklevel=2,
        )

    def _give_up(self, error: Exception) -> None:
        self._off = True
        warnings.warn(
            f"working without the score cache {self._path}: {error}; free space, or give a path "
            "that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _encode(key: bytes, value: Any) -> bytes:
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return _checksum(key, text) + text


def intact(key: bytes, blob: Any) -> bool:
    """Whether a stored value's bytes are those that were written."""
    return isinstance(blob, bytes) and _checksum(key, blob[_SUM:]) == blob[:_SUM]


def _decode(key: bytes, blob: Any) -> Any | None:
    """The value, or None where bytes have changed on the disk."""
    if not intact(key, blob):
        return None
    return json.loads(blob[_SUM:])


def _checksum(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, key=key, digest_size=_SUM).digest()
