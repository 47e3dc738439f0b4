"""Where one stored score came from: its tree of parts, the evidence, and what made the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.manifest import manifest_path
from assay.judges.results import finished_rows

#: A longer text is shown in part; `--json` has it whole.
LONGEST = 600


def find_row(path: Path, wanted: str) -> dict[str, Any]:
    """The finished result whose id is `wanted`.

    Args:
        path: Output of `assay score` or `assay compare`.
        wanted: The row's `id`. Where one row has the number 1 and another the text, `1` is the
            number's and `"1"`, with its quotes, the text's.

    Raises:
        ConfigError: There is no such file, or no such row; says which ids there are.
        DataError: The file holds something else.
    """
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    some: list[Any] = []
    text: dict[str, Any] | None = None
    is_number = wanted.removeprefix("-").isdecimal()
    for row in finished_rows(path):
        if str(row["id"]) == wanted:
            if not (is_number and isinstance(row["id"], str)):
                return row
            text = row  # unless a number comes
        elif f'"{row["id"]}"' == wanted and isinstance(row["id"], str):
            text = row
        if len(some) < 5:
            some.append(row["id"])
    if text is not None:
        return text
    have = f"its ids are like {some}" if some else "it holds no results yet"
    raise ConfigError(f"{path} has no row with id {wanted!r}; {have}")


def provenance(path: Path) -> dict[str, Any]:
    """What the manifest beside a file of scores says; empty where there is none.

    Raises:
        DataError: It cannot be read.
    """
    place = manifest_path(path)
    try:
        found = json.loads(place.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {place}: {error}") from error
    return found if isinstance(found, dict) else {}


def lines(row: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    """A result for people: the score and its parts, then what the file was made from.

    Args:
        row: From `find_row`.
        made: From `provenance`.
    """
    yield f"row {_short(str(row['id']))}"
    yield from _score_lines("total", row, 0)
    if not made:
        yield "no manifest lies beside the file, so what made it is unknown"
        return
    about = made.get("about", {})
    yield f"made by {about.get('reward', 'an unknown reward')}"
    yield f"reward's fingerprint  {made.get('reward') or 'none'}"
    yield f"input                 {about.get('input', '?')}, sha256 {made.get('input', '?')}"
    versions = ", ".join(f"{name} {value}" for name, value in made.get("versions", {}).items())
    yield f"written               {made.get('written', '?')} by {versions or 'unknown versions'}"


def _score_lines(name: str, score: Mapping[str, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    value = "-" if score["value"] is None else f"{score['value']:g}"
    marks = {True: ", full marks", False: ", not full marks", None: ""}[score.get("passed")]
    yield f"{pad}{_short(name)}: {value} ({score['status']}{marks})"
    if score.get("note"):
        yield f"{pad}  why: {_short(score['note'])}"
    if score.get("turns") is not None:
        yield f"{pad}  turns: {json.dumps(score['turns'])}"
    yield from _evidence(score.get("info", {}), depth + 1)
    for part, inner in score.get("parts", {}).items():
        yield from _score_lines(part, inner, depth + 1)


def _evidence(info: Mapping[str, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key, value in info.items():
        if isinstance(value, Mapping) and value:
            yield f"{pad}{_short(key)}:"
            yield from _evidence(value, depth + 1)
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            for number, inner in enumerate(value, start=1):
                yield f"{pad}{_short(key)} {number}:"
                yield from _evidence(inner, depth + 1)
        else:
            shown = float(f"{value:.6g}") if isinstance(value, float) else value
            text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
            yield f"{pad}{_short(key)}: {_short(text)}"


def _short(text: str) -> str:
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"
