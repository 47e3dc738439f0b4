"""Reads verdict files: JSONL, JSON lists or CSV, plain or gzip, one row at a time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from assay.calibration.plain_verdicts import Numbering, PlainReader
from assay.calibration.verdict_layouts import READERS, check_row, detect_layout
from assay.calibration.verdict_table import VerdictTable
from assay.errors import ConfigError, DataError

LAYOUTS = ("plain", *READERS)


def read_verdicts(
    path: str | Path, *, layout: str | None = None, numbering: Numbering | None = None
) -> VerdictTable:
    """The verdicts of a file.

    Args:
        path: `.jsonl`, `.json` (a list, or lines) or `.csv`, also gzip.
        layout: One of `LAYOUTS`; by the first row's fields if not given.
        numbering: For the plain layout, see `PlainReader`.

    Raises:
        DataError: Not readable as such, or a row that lacks something, with its line.
        ConfigError: Unknown layout, or the file leaves open whose numbers it uses.
    """
    if layout is not None and layout not in LAYOUTS:
        raise ConfigError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    table, plain = VerdictTable(), PlainReader(numbering)
    reader = None
    for number, row in verdict_rows(Path(path)):
        where = f"{path}:{number}"
        if reader is None:
            chosen = layout or detect_layout(row) or "plain"
            table.layout = chosen
            reader = plain.read if chosen == "plain" else READERS[chosen]
        if table.layout != "plain":
            check_row(table.layout, row, where)
        try:
            reader(table, row, where)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"{where} is not of layout {table.layout}: {type(error).__name__}: {error}; choose "
                "another with --layout"
            ) from None
    plain.finish(table)
    if not len(table):
        raise DataError(f"{path} holds no rows; give a file with verdicts")
    return table


def verdict_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line and object of every row of a JSONL, JSON or CSV file, plain or gzip.

    Raises:
        DataError: A line that is none, with its place.
    """
    opened: Any = gzip.open if path.suffix == ".gz" else open
    name = path.name.removesuffix(".gz")
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        try:
            if name.endswith(".csv"):
                yield from _csv_rows(path, file)
            else:
                yield from _json_rows(path, file)
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8: {error}; convert it first") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{path} is no whole gzip file: {error}; write it again") from None


def _csv_rows(path: Path, file: TextIO) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(file)
    try:
        names = reader.fieldnames or []
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise DataError(f"{path} has two columns of the name {twice[0]!r}; rename one")
        for row in reader:
            if None in row:
                raise DataError(
                    f"{path}:{reader.line_num} has {len(names) + len(row[None])} fields and the "
                    f"header {len(names)}; quote fields that hold commas"
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num} is not CSV: {error}; mend the line") from None


def _json_rows(path: Path, file: TextIO) -> Iterator[tuple[int, Mapping[str, Any]]]:
    number, head = 1, file.readline()
    while head and not head.strip():
        number, head = number + 1, file.readline()
    if head.lstrip().startswith("["):
        try:
            rows = json.loads(head + file.read())
        except (RecursionError, ValueError) as error:
            raise DataError(f"{path} starts like a JSON list and is none: {error}") from None
        for number, row in enumerate(rows, start=1):
            yield number, _object(row, path, number)
        return
    decode = json.loads
    number -= 1
    for lines in (io.StringIO(head), file):
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                row = decode(line)
            except (RecursionError, ValueError) as error:
                raise DataError(f"{path}:{number} is not JSON: {error}; mend the line") from None
            yield number, _object(row, path, number)


def _object(row: Any, path: Path, number: int) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{path}:{number} must be an object, got {type(row).__name__}")
    return row
