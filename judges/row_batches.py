"""Makes batches of rows, keeps groups whole, and reads ahead while a batch is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from assay.judges.rows import Row

T = TypeVar("T")


def batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    """Rows in lists of `size`, the last one shorter."""
    while batch := list(islice(rows, size)):
        yield batch


def group_batches(rows: Iterator[Row], sizes: Mapping[str, int], size: int) -> Iterator[list[Row]]:
    """Whole groups, gathered from wherever their rows stand, in batches of about `size` rows.

    A group goes out as soon as its last row was read; rows of unfinished groups wait in memory.
    """
    waiting: dict[str, list[Row]] = {}
    batch: list[Row] = []
    for row in rows:
        group = str(row.sample.group)
        members = waiting.setdefault(group, [])
        members.append(row)
        if len(members) == sizes[group]:
            batch.extend(waiting.pop(group))
            if len(batch) >= size:
                yield batch
                batch = []
    if batch:
        yield batch


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made on a thread while the one before is in use."""
    with ThreadPoolExecutor(1, thread_name_prefix="assay-reader") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
