"""What the commands do alike with files: the language of a source, results for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.errors import ConfigError

_SUFFIXES = {
    ".py": "python",
    ".c": "c",
    ".cpp": "cpp",
    ".cc": "cpp",
    ".cxx": "cpp",
    ".java": "java",
    ".js": "javascript",
    ".go": "go",
    ".rs": "rust",
}


def language_of(path: Path, given: str | None) -> str:
    """The language that was given, else the one that the file's suffix stands for.

    Raises:
        ConfigError: Neither says it.
    """
    language = given or _SUFFIXES.get(path.suffix)
    if language is None:
        raise ConfigError(
            f"cannot tell the language of {path} by its suffix; give it with --language"
        )
    return language


def write_json(path: Path | None, data: Any) -> None:
    """Write results for machines; nothing without a path. What JSON does not know becomes text."""
    if path is not None:
        path.write_text(json.dumps(data, indent=2, default=str) + "\n")
