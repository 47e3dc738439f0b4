"""Rows of a data file: read from JSON lines, a JSON list or parquet, written as JSON lines."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from assay.errors import DataError


def read_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """Each row of `path` as a dict; the form is told from the file's first bytes.

    Raises:
        DataError: No such file, not one of these forms, or a damaged row; says which.
        ImportError: A parquet file without pyarrow.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        yield from _parquet(path)
        return
    try:
        with gzip.open(path) if magic[:2] == b"\x1f\x8b" else path.open("rb") as file:
            yield from _json(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is damaged: {error}; fetch it again") from error


def appended_rows(path: Path, needed: str) -> Iterator[dict[str, Any]]:
    """Rows of a file that a command of ours appends to; a torn last line is none.

    Raises:
        DataError: A line is no row with the key `needed`; says which.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict) or needed not in row:
                raise DataError(
                    f"{path}:{number} was not written by this command; give another --output"
                )
            yield row


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write JSON lines; returns how many. The file appears whole or not at all.

    Raises:
        DataError: A row holds what JSON has no form for, NaN among it; says which.
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    count = 0
    try:
        with part.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json_line(row, count) + "\n")
                count += 1
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count


def json_line(row: Mapping[str, Any], index: int) -> str:
    """A row as one line of JSON, without the newline.

    Raises:
        DataError: The row, `index` from 0, holds what JSON has no form for.
    """
    try:
        return json.dumps(row, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"row {index + 1} cannot be written as JSON: {error}; leave such values out", index
        ) from error


def _json(path: Path, file: IO[bytes] | gzip.GzipFile) -> Iterator[dict[str, Any]]:
    first = file.readline()
    while first and not first.strip():
        first = file.readline()
    if first.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
        try:
            rows = json.loads((first + file.read()).decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} begins like a JSON list but is none: {error}") from error
        for number, row in enumerate(rows, 1):
            yield _checked(path, number, row)
        return
    number = 0
    line = first
    while line:
        number += 1
        if line.strip():
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}, line {number}: not JSON: {error}", number - 1) from error
            yield _checked(path, number, row)
        line = file.readline()


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path} is a parquet file, which needs pyarrow: pip install 'assay[parquet]'"
        ) from error
    from pyarrow import ArrowException

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} is damaged: {error}; fetch it again") from error


def _checked(path: Path, number: int, row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(
            f"{path}, row {number}: a row must be a JSON object, got {type(row).__name__}",
            number - 1,
        )
    return row
