"""The first pass over the input: which rows a job scores, and what is wrong before it starts.

Reading everything once before anything is scored costs little beside scoring and tells early what
would otherwise be found late: bad rows, duplicate ids, missing columns, the size of every group.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.rows import BadRow, Row, RowSource

Complain = Callable[[BadRow], None]


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` (from 0) of `count`.

    >>> Shard.parse("1/4")
    Shard(index=1, count=4)
    """

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `i/n`.

        Raises:
            ConfigError: Not `i/n` with 0 <= i < n.
        """
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
            raise ConfigError(
                f"--shard must be i/n with i from 0 to n-1, e.g. 0/4 to 3/4, got {text!r}"
            )
        return cls(int(index), int(count))

    def has_line(self, line: int) -> bool:
        """Whether a row at `line` is in this part."""
        return (line - 1) % self.count == self.index

    def has_group(self, group: str) -> bool:
        """Whether a group is in this part, whole; the same on every machine."""
        digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass
class Selection:
    """The rows of a source that one job scores.

    Attributes:
        source: The input.
        shard: Part of the rows; groups are kept whole.
        limit: At most so many rows; of groups, as many whole ones as fit, and at least one.
        good: Rows that can be scored, in this shard.
        bad: Rows that cannot.
        count: Rows selected.
        groups: Size of every selected group, where the source is grouped.
        columns: In how many good rows each column stands.
        found: Ids of selected rows that were asked for in `survey(known=...)`, by group.
    """

    source: RowSource
    shard: Shard = field(default_factory=Shard)
    limit: int | None = None
    good: int = 0
    bad: int = 0
    count: int = 0
    groups: dict[str, int] = field(default_factory=dict)
    columns: Counter[str] = field(default_factory=Counter)
    found: dict[str, list[str | int]] = field(default_factory=dict)
    _ids: array[int] = field(default_factory=lambda: array("Q"))
    _last_line: int | None = None

    def survey(self, known: Collection[Any], complain: Complain) -> None:
        """Read the whole input once.

        Args:
            known: Ids that have results already; those of selected rows are kept in `found`.
            complain: Called for every bad row.

        Raises:
            DataError: Two rows have one id; no row at all can be scored; the file is damaged.
        """
        first_bad: BadRow | None = None
        for row in self.source:
            if isinstance(row, BadRow):
                if self.shard.has_line(row.line):
                    first_bad = first_bad or row
                    self.bad += 1
                    complain(row)
            elif self._in_shard(row):
                self._take(row, known)
                if not self.source.grouped and self.good == self.limit:
                    self._last_line = row.line
                    break
        self._refuse_duplicates()
        if first_bad and not self.good:
            raise DataError(
                f"none of the {self.bad} rows can be scored; {self.source.label}:"
                f"{first_bad.line}: {first_bad.reason}"
            )
        self.count = self.good
        if self.source.grouped and self.limit is not None:
            self._cut_groups(self.limit)

    def rows(self) -> Iterator[Row]:
        """The selected rows, in the order of the input.

        Raises:
            DataError: The input is not what `survey` read.
        """
        given = read = 0
        for row in self.source:
            if not isinstance(row, Row) or not self._in_shard(row):
                continue
            if row.own_id:
                if read == len(self._ids) or _short_hash(row.id) != self._ids[read]:
                    break
                read += 1
            if self._wanted(row):
                given += 1
                yield row
                if given == self.count:
                    return
        if given < self.count:
            raise DataError(f"{self.source.label} was changed while it was read; start again")

    def _in_shard(self, row: Row) -> bool:
        if self.source.grouped:
            return self.shard.has_group(str(row.sample.group))
        return self.shard.has_line(row.line)

    def _wanted(self, row: Row) -> bool:
        if self.source.grouped:
            return row.sample.group in self.groups
        return self.shard.has_line(row.line) and row.line <= (self._last_line or row.line)

    def _take(self, row: Row, known: Collection[Any]) -> None:
        if row.own_id:
            self._ids.append(_short_hash(row.id))
        self.good += 1
        self.columns.update(row.sample.columns.keys())
        group = str(row.sample.group) if self.source.grouped else ""
        if self.source.grouped:
            self.groups[group] = self.groups.get(group, 0) + 1
        if row.id in known:
            self.found.setdefault(group, []).append(row.id)

    def _refuse_duplicates(self) -> None:
        """Raise if two selected rows have one id; eight bytes an id are all that is kept."""
        import numpy as np

        ordered = np.sort(np.frombuffer(self._ids, dtype=np.uint64))
        twice = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        if not twice:
            return
        lines: dict[str | int, int] = {}
        for row in self.source:  # once more, for the few that may be equal
            if isinstance(row, Row) and row.line > (self._last_line or row.line):
                return
            if isinstance(row, Row) and _short_hash(row.id) in twice and self._in_shard(row):
                other = lines.setdefault(row.id, row.line)
                if other != row.line:
                    raise DataError(
                        f"{self.source.label}:{row.line}: id {row.id!r} stands at line {other} "
                        "already; give every row an id of its own, or none an `id`"
                    )

    def _cut_groups(self, limit: int) -> None:
        kept: dict[str, int] = {}
        for group, size in self.groups.items():
            if kept and sum(kept.values()) + size > limit:
                break
            kept[group] = size
        self.groups = kept
        self.count = sum(kept.values())
        self.found = {group: ids for group, ids in self.found.items() if group in kept}


def _short_hash(value: str | int) -> int:
    """64 bits that stand for an id; a number and its text differ."""
    data = repr(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
