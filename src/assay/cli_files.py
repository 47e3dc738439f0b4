"""What the commands do alike with files: the language of a source, results for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
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
    """Write results for machines; nothing without a path. What JSON does not know becomes text.

    The file appears whole or not at all.
    """
    if path is not None:
        part = path.with_name(f".{path.name}.part")
        part.write_text(json.dumps(data, indent=2, default=str) + "\n")
        part.replace(path)


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files by name into `folder`, each all or nothing; makes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        draft = folder / f".{name}.{os.getpid()}.tmp"
        try:
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, folder / name)
        finally:
            draft.unlink(missing_ok=True)


def print_counts(found: Mapping[str, Any], indent: str = "") -> None:
    """Print a report: one line a figure, tables inside it indented."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            print(f"{indent}{name}:")
            print_counts(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for item in value:
                print(f"{indent}{name}: " + ", ".join(f"{k} {v}" for k, v in item.items()))
        else:
            print(f"{indent}{name}: {value}")
