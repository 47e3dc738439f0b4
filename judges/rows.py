"""Reads rows to score: JSON lines, parquet, saved datasets, with an outcome for every defect.

What is fatal and what is one bad row:

- a blank line is passed over, but counted, so that line numbers are those of an editor;
- a byte-order mark, CRLF ends and a missing last newline are accepted;
- a line that is not UTF-8, not JSON, not an object, lacks a column or has a wrong type, or is
  longer than 64 MiB is a `BadRow`: reported with its place, never guessed at;
- a compressed file that ends midway, or an unreadable one, is a DataError: the input is damaged.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from assay.errors import ConfigError, DataError
from assay.judges.strict_json import LONGEST_BITS
from assay.messages import Sample

#: A longer line is a bad row; memory stays bounded.
LONGEST_LINE = 64 * 2**20
_PIECE = 2**20
_SKIPPED = object()


@dataclass(frozen=True, slots=True)
class Row:
    """A row that can be scored.

    Attributes:
        line: Line in the file (row number in a parquet file), from 1.
        id: The row's `id`; its line where rows have none.
        sample: Prompt, completion and columns.
        own_id: Whether the row has an `id` of its own.
    """

    line: int
    id: str | int
    sample: Sample
    own_id: bool

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be scored, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class RowSource:
    """A file of rows, readable any number of times.

    Args:
        path: JSON lines, gzip-compressed JSON lines, or parquet, told apart by content; or the
            folder of a dataset that `Dataset.save_to_disk` wrote.
        label: Name in messages.
        rename: Old column name by new one.
        needed: Columns that every row must have.
        grouped: Every row must have a `uid`.
        eos_token_ids: For `Sample.of`.
    """

    path: Path
    label: str
    rename: Mapping[str, str] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()
    grouped: bool = False
    eos_token_ids: tuple[int, ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Row | BadRow]:
        """All rows in order, the bad ones among them.

        Raises:
            DataError: The file is damaged (a truncated gzip stream, an invalid parquet file).
            ConfigError: It cannot be opened, or is compressed in a way that is not supported.
            ImportError: Parquet without pyarrow.
        """
        own_ids: bool | None = None
        for line, value in self._values():
            row = value if isinstance(value, BadRow) else self._row(line, value)
            if isinstance(row, Row):
                if own_ids is None:
                    own_ids = row.own_id
                elif own_ids != row.own_id:
                    have = "has no `id`" if own_ids else "has an `id`"
                    row = BadRow(line, f"{have}, unlike the first row; give all rows one or none")
            yield row

    def _values(self) -> Iterator[tuple[int, Any]]:
        if self.path.is_dir():
            yield from self._saved_dataset()
            return
        try:
            with self.path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise ConfigError(f"cannot read {self.label}: {error.strerror or error}") from error
        if magic == b"PAR1":
            yield from self._parquet()
        elif magic == b"\x28\xb5\x2f\xfd":
            raise ConfigError(
                f"{self.label} is zstd-compressed, which is not read here; use "
                f"`zstd -dc {self.label} | assay score --input - ...`"
            )
        elif magic[:2] == b"\x1f\x8b":
            with gzip.open(self.path, "rb") as file:
                yield from self._lines(file)
        else:
            with self.path.open("rb") as file:
                yield from self._lines(file)

    def _lines(self, file: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[int, Any]]:
        number = 0
        while True:
            try:
                line = file.readline(LONGEST_LINE + 1)
                too_long = len(line) > LONGEST_LINE
                while too_long and line and not line.endswith(b"\n"):
                    line = file.readline(_PIECE)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise DataError(
                    f"{self.label} is damaged after line {number}: {error}; fetch it again, or "
                    f"score what is left of it with `zcat {self.label} | assay score --input - "
                    "...`"
                ) from error
            if not line and not too_long:
                return
            number += 1
            if too_long:
                yield number, BadRow(number, f"the line is longer than {LONGEST_LINE >> 20} MiB")
                continue
            value = _parse(number, line)
            if value is not _SKIPPED:
                yield number, value

    def _parquet(self) -> Iterator[tuple[int, Any]]:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError(
                f"{self.label} is a parquet file, which needs pyarrow: pip install 'assay[parquet]'"
            ) from error
        number = 0
        try:
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=256):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, row
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.label} is damaged after row {number}: {error}") from error

    def _saved_dataset(self) -> Iterator[tuple[int, Any]]:
        if (self.path / "dataset_dict.json").is_file():
            splits = sorted(one.name for one in self.path.iterdir() if one.is_dir())
            raise ConfigError(
                f"{self.label} holds several splits; name one of {splits}, e.g. "
                f"{self.label}/{splits[0] if splits else 'train'}"
            )
        try:
            import datasets
        except ImportError as error:
            raise ImportError(
                f"{self.label} is a folder, which needs datasets: pip install 'assay[train]'"
            ) from error
        try:
            saved = datasets.load_from_disk(str(self.path))
        except Exception as error:
            raise ConfigError(
                f"{self.label} is a folder but no dataset saved with save_to_disk: {error}"
            ) from error
        yield from enumerate(saved, start=1)

    def _row(self, line: int, value: Any) -> Row | BadRow:
        try:
            return self._checked(line, value)
        except (DataError, TypeError, ValueError, OverflowError) as error:
            return BadRow(line, str(error))

    def _checked(self, line: int, value: Any) -> Row:
        if not isinstance(value, dict):
            raise DataError(f"a row must be a JSON object, got {_kind(value)}")
        row = self._renamed(value)
        if "completion" not in row:
            raise DataError(
                f"no column 'completion'; the row has {sorted(row)}; name the column that holds it "
                "with --map completion=NAME"
            )
        if missing := sorted(self.needed - row.keys()):
            raise DataError(
                f"the reward needs columns {missing}; the row has {sorted(row)}; rename with "
                f"--map {missing[0]}=NAME"
            )
        completion, prompt = row.pop("completion"), row.pop("prompt", ())
        ids = row.pop("completion_ids", None)
        _check_types(row, ids)
        if self.grouped and row.get("uid") is None:
            raise DataError(
                "the reward compares the rollouts of a prompt, and this row has no `uid` that says "
                "which belong together; name the column with --map uid=NAME"
            )
        sample = Sample.of(
            prompt, completion, row, completion_ids=ids, eos_token_ids=self.eos_token_ids
        )
        own = row.get("id")
        return Row(line, line if own is None else own, sample, own is not None)

    def _renamed(self, row: dict[str, Any]) -> dict[str, Any]:
        if not self.rename:
            return row
        if absent := sorted({old for old in self.rename.values() if old not in row}):
            raise DataError(f"--map names columns {absent}; the row has {sorted(row)}")
        taken = {new: row[old] for new, old in self.rename.items()}
        gone = set(self.rename.values())
        return {name: value for name, value in row.items() if name not in gone} | taken


def parse_rename(options: Sequence[str]) -> dict[str, str]:
    """`["completion=output"]` as `{"completion": "output"}`.

    Raises:
        ConfigError: Not NEW=OLD, or one new name twice.
    """
    rename: dict[str, str] = {}
    for option in options:
        new, equals, old = option.partition("=")
        if not (equals and new and old):
            raise ConfigError(f"--map must be NEW=OLD, e.g. completion=output, got {option!r}")
        if new in rename:
            raise ConfigError(f"--map fills {new!r} twice, from {rename[new]!r} and {old!r}")
        rename[new] = old
    return rename


def _parse(number: int, line: bytes) -> Any:
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    if not line.strip():
        return _SKIPPED
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        return BadRow(number, f"not UTF-8 at byte {error.start + 1} of the line")
    except RecursionError:
        return BadRow(number, "not readable: nested too deeply")
    except ValueError as error:
        return BadRow(number, f"not JSON: {error}")


def _check_types(row: Mapping[str, Any], ids: Any) -> None:
    own, uid, truncated = row.get("id"), row.get("uid"), row.get("truncated")
    for name, value in (("id", own), ("uid", uid)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise DataError(f"`{name}` must be text or a whole number, got {_kind(value)}")
        if isinstance(value, int) and value.bit_length() > LONGEST_BITS:
            raise DataError(
                f"`{name}` has {value.bit_length():,} bits, which few readers take; give it as text"
            )
    if truncated is not None and truncated not in (0, 1):
        raise DataError(f"`truncated` must be true or false, got {_kind(truncated)}")
    if ids is not None and not (isinstance(ids, list) and all(type(token) is int for token in ids)):
        raise DataError("`completion_ids` must be a list of whole numbers")


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.60}"
