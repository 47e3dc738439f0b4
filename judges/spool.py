"""Makes stdin readable twice."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import ConfigError


@contextmanager
def spooled(name: str) -> Iterator[tuple[Path, str]]:
    """Path and label of an input; `-` is stdin, copied to a temporary file until the end."""
    if name != "-":
        yield Path(name), name
        return
    if sys.stdin is None:
        raise ConfigError("--input - reads stdin, which is closed; name a file")
    with tempfile.NamedTemporaryFile(prefix="assay-stdin-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield Path(file.name), "stdin"
