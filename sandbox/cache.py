"""Compiled programs on disk, by content: bounded, checked when read, safe to share."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

Files = list[tuple[str, bytes, int]]

_HEAD = struct.Struct("<HI")
_MAGIC = b"assay-compiled-1"
_DIGEST = 32
_SUFFIX = ".bin"
#: Look at the total size only once per so many writes.
_SWEEP_EVERY = 32


def unpack_files(data: bytes) -> Files:
    """The files that the inside collected, as (relative name, content, mode).

    Raises:
        ValueError: Not such a record, or a name that leaves its folder.
    """
    files: Files = []
    at = 0
    while at < len(data):
        if at + _HEAD.size > len(data):
            raise ValueError("a collected file is cut off")
        name_length, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + name_length].decode("utf-8", "strict")
        at += name_length
        content = data[at : at + length]
        at += length
        parts = name.split("/")
        if len(content) != length or not name or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"a collected file has an unusable name or size: {name!r}")
        files.append((name, content, 0o755))
    return files


def default_folder() -> Path:
    """`$ASSAY_CACHE`, else `assay` in the user's cache directory."""
    given = os.environ.get("ASSAY_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "assay"


class CompileCache:
    """Compiler outputs by key; entries whose digest does not match are dropped.

    Programs never see this folder: what they need is handed to them by content.

    Args:
        folder: Where entries lie; made on first use. A folder that cannot be written means no
            cache, not an error.
        limit_mb: Total size; the entries used longest ago go first.
    """

    def __init__(self, folder: Path, limit_mb: int = 512) -> None:
        self.folder = folder / "compiled"
        self.limit = limit_mb << 20
        self._writes = 0
        self._lock = threading.Lock()
        self._building: dict[str, threading.Lock] = {}

    @contextlib.contextmanager
    def building(self, key: str) -> Iterator[None]:
        """Held while one thread compiles `key`, so that others wait and then read."""
        with self._lock:
            lock = self._building.setdefault(key, threading.Lock())
        with lock:
            yield
        with self._lock:
            self._building.pop(key, None)

    def get(self, key: str) -> bytes | None:
        """The entry, or None."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST
        body = data[start:]
        digest = hashlib.sha256(key.encode() + body).digest()
        if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : start] != digest:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return body

    def put(self, key: str, body: bytes) -> None:
        """Store an entry, atomically."""
        digest = hashlib.sha256(key.encode() + body).digest()
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(fd, "wb") as file:
                file.write(_MAGIC + digest + body)
            os.replace(temporary, path)
        except OSError:
            return
        with self._lock:
            self._writes += 1
            due = self._writes % _SWEEP_EVERY == 1
        if due:
            self.sweep()

    def sweep(self) -> None:
        """Remove the entries used longest ago until the rest fits."""
        entries = []
        for path in self.folder.glob(f"*/*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / (key + _SUFFIX)
