"""One JSON object in one file: how calibrators and corrections are saved and loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import ConfigError


def save_object(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write an object as JSON, all or nothing."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        text = json.dumps(dict(data), indent=2, allow_nan=False) + "\n"
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def load_object(path: str | Path, what: str, source: str) -> dict[str, Any]:
    """Read what `save_object` wrote.

    Args:
        path: The file.
        what: What it should hold, for messages: "calibrator".
        source: Where such files come from, for messages: "Calibrator.save writes one".

    Raises:
        ConfigError: No such file, or it holds no JSON object.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read the {what} {path}: {error.strerror or error}; {source}"
        ) from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{path} is not JSON: {error}; {source}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold an object, got {type(data).__name__}; {source}")
    return data
