"""Keeps two trainings out of one folder."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import ConfigError

LOCK_FILE = "run.lock"


@contextmanager
def locked(folder: str | Path) -> Iterator[int]:
    """Hold `folder` for this process, and for those that inherit the file descriptor it gives.

    The system lets go of the lock when the last of them ends, however it ends: a launched stage
    that outlives a killed `assay train` keeps the next one out.

    Args:
        folder: Made if it is not there.

    Raises:
        ConfigError: Another process holds it, or nothing can be written there.
    """
    path = Path(folder) / LOCK_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(
            f"cannot write in {folder}: {error.strerror or error}; give another output folder"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode("utf-8", "replace").strip() or "unknown"
            raise ConfigError(
                f"another training works in {folder} ({holder}); wait for it, end it, or give "
                "another output folder"
            ) from None
        os.truncate(descriptor, 0)
        os.write(
            descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
        )
        yield descriptor
    finally:
        os.close(descriptor)
