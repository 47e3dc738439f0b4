"""Precompiled `bits/stdc++.h`: half the compile time of most contest programs.

One file per compiler and flags, made in the sandbox, kept in the cache directory and shown to
compilers read-only; programs cannot write there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from assay.sandbox.cache import default_folder

#: Where compilers see the folder.
INSIDE = "/pch"
_NAME = "bits/stdc++.h"
_INCLUDE = re.compile(r"^\s*#\s*include\s*<bits/stdc\+\+\.h>", re.MULTILINE)
_LOCK = threading.Lock()


def _new_lock() -> None:
    global _LOCK
    _LOCK = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


def folder() -> str:
    """The folder on this machine, or "" where none can be made."""
    path = default_folder() / "pch"
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    except OSError:
        return ""
    return str(path)


def wanted(source: str) -> bool:
    """Whether a source includes the header."""
    return _INCLUDE.search(source) is not None


def option(place: str, version: str, flags: tuple[str, ...], build: Callable[[], bytes]) -> str:
    """The compiler option that makes it use the header, or "" where there is none.

    Args:
        place: The folder on this machine that the sandbox shows as `INSIDE`.
        version: The compiler's version.
        flags: The compiler's flags: they must be those of the program.
        build: Makes the precompiled header; empty if it cannot.
    """
    key = hashlib.sha256(repr((version, flags)).encode()).hexdigest()[:20]
    path = Path(place) / key / f"{_NAME}.gch"
    with _LOCK:
        if not path.exists():
            data = build()
            if not data or not _store(path, data):
                return ""
    return f"-I{INSIDE}/{key}"


def _store(path: Path, data: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError, UnboundLocalError):
            os.unlink(temporary)
        return False
    return True
