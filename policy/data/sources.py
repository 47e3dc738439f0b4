"""Named sources of training rows: how recipes name data, and rows of several by weight.

    [[stages.data.sources]]
    name = "code"
    path = "data/code.jsonl"
    weight = 27

A stage's `data` is one file, a list of files, or a table with `sources`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import ConfigError, DataError
from assay.policy.config_keys import from_table, require_known
from assay.policy.data.row_files import read_rows
from assay.settings import real

Row = TypeVar("Row")


@dataclass(frozen=True)
class Source:
    """A file of rows, its name and its weight in a mixture.

    Attributes:
        name: Of the source, in logs and accounts.
        path: JSON lines, a JSON list or parquet.
        weight: Share among the weights of all sources, > 0; None where every row is used once.
    """

    name: str
    path: str
    weight: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))
        if not self.name:
            raise ConfigError(f"the source {self.path!r} needs a name")
        weight = self.weight
        if weight is not None:
            real(f"weight of source {self.name!r}", weight)
        if weight is not None and weight <= 0:
            raise ConfigError(f"source {self.name!r}: weight must be > 0, got {weight}")


def as_sources(data: object, what: str = "data") -> tuple[Source, ...]:
    """Sources from one path, a list of paths, or a table `{"sources": [{name, path, weight}]}`.

    >>> as_sources("rows.jsonl")
    (Source(name='rows', path='rows.jsonl', weight=None),)

    Raises:
        ConfigError: Another form, weights for some sources only, or a name given twice.
    """
    if isinstance(data, str | Path):
        data = [data]
    if isinstance(data, Mapping):
        require_known(f"[{what}]", data, ["sources"])
        data = data.get("sources", ())
    if not isinstance(data, Sequence):
        raise ConfigError(f"{what} must be a file, a list of files or sources; got {data!r:.80}")
    found = []
    for item in data:
        if isinstance(item, str | Path):
            found.append(Source(Path(item).stem, str(item)))
        elif isinstance(item, Mapping):
            found.append(from_table(Source, item, f"[[{what}.sources]]"))
        elif isinstance(item, Source):
            found.append(item)
        else:
            raise ConfigError(f"{what}: a source is a path or a table, got {item!r:.80}")
    weighted = [source for source in found if source.weight is not None]
    if weighted and len(weighted) < len(found):
        bare = next(source.name for source in found if source.weight is None)
        raise ConfigError(f"{what}: source {bare!r} has no weight, others have; give all or none")
    names = [source.name for source in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{what}: several sources are named {twice[0]!r}; give each its own name")
    return tuple(found)


def read_sources(
    sources: Sequence[Source], *, limit: int | None = None
) -> dict[str, list[dict[str, Any]]]:
    """All rows of each source, by name.

    Raises:
        DataError: A source without rows.
    """
    found = {}
    for source in sources:
        rows: list[dict[str, Any]] = []
        for row in read_rows(source.path):
            if limit is not None and len(rows) == limit:
                break
            rows.append(row)
        if not rows:
            raise DataError(f"source {source.name!r}: {source.path} holds no rows")
        found[source.name] = rows
    return found


def by_share(
    rows: Mapping[str, Sequence[Row]],
    shares: Mapping[str, float],
    amount: float,
    seed: int,
    size: Callable[[Row], float] = lambda row: 1.0,
) -> list[tuple[str, Row]]:
    """Rows worth `amount`, spread evenly so that every stretch holds each name by its share.

    Each name's rows are shuffled, and again each time they are used up.

    Args:
        rows: Rows by name.
        shares: Shares by name; they are normalised.
        amount: Where to stop: a number of rows, or what `size` counts.
        seed: Of the order.
        size: What a row counts, such as its tokens.

    Example:
        >>> picked = by_share({"a": [{"i": 0}], "b": [{"i": 1}]}, {"a": 3, "b": 1}, 4, seed=0)
        >>> [name for name, _ in picked]
        ['a', 'a', 'b', 'a']
    """
    total = math.fsum(shares.values())
    taken = dict.fromkeys(shares, 0.0)
    queues: dict[str, list[Row]] = {name: [] for name in shares}
    coins = {name: random.Random(f"{seed}/{name}") for name in shares}
    picked: list[tuple[str, Row]] = []
    while (so_far := math.fsum(taken.values())) < amount:
        name = max(shares, key=lambda n: shares[n] / total * (so_far + 1) - taken[n])
        if not queues[name]:
            queues[name] = list(rows[name])
            coins[name].shuffle(queues[name])
        row = queues[name].pop()
        taken[name] += size(row)
        picked.append((name, row))
    return picked
