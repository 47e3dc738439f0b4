"""Weighted mixtures over named sources, counted in the tokens that training will see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of
from assay.policy.data.sources import Source, by_share, read_sources
from assay.settings import real, whole

#: The final mix of the 256k stage as published, in percent. It sums to 99; shares are normalised.
#: Source: Nanbeige4.1-3B report (arXiv:2602.13367).
PUBLISHED_MIX: Mapping[str, float] = MappingProxyType(
    {"code": 27, "deep-search": 26, "stem": 23, "tool-use": 13, "general": 10}
)

#: Tokens of a row as training counts them; 0 where it would not be trained on.
RowTokens = Callable[[Mapping[str, Any]], int]


def shares_of(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights that sum to 1.

    >>> round(shares_of(PUBLISHED_MIX)["code"], 6)
    0.272727
    """
    for name, weight in weights.items():
        real(f"weight of {name!r}", weight)
    if not weights or any(weight <= 0 for weight in weights.values()):
        raise ConfigError(f"weights must be > 0, got {dict(weights)}")
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


@dataclass
class SourceAccount:
    """What a mixture took of one source.

    Attributes:
        share: Wanted share of tokens.
        realised: Share it got.
        rows: Rows taken, repeats among them.
        tokens: Tokens of those.
        distinct: Different rows among them.
        available: Usable rows that the source holds.
        refused: Rows that training would not use: too long, or nothing to train on.
        longest: Tokens of the longest row taken.
    """

    share: float = 0.0
    realised: float = 0.0
    rows: int = 0
    tokens: int = 0
    distinct: int = 0
    available: int = 0
    refused: int = 0
    longest: int = 0

    @property
    def epochs(self) -> float:
        """How often the source was gone through."""
        return self.rows / self.available if self.available else 0.0


@dataclass(frozen=True)
class Mixed:
    """A mixture.

    Attributes:
        rows: In training order, every stretch mixed by share; each with its `source`.
        accounts: By source.
        mark: A hash of rows and order: the same input, settings and seed give the same one.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    accounts: dict[str, SourceAccount] = field(default_factory=dict)
    mark: str = ""

    __hash__ = None  # type: ignore[assignment]

    @property
    def tokens(self) -> int:
        """Of all rows."""
        return sum(account.tokens for account in self.accounts.values())

    @property
    def error(self) -> float:
        """Largest difference between a wanted and a realised share."""
        return max((abs(a.share - a.realised) for a in self.accounts.values()), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """The account, for machines."""
        return {
            "rows": len(self.rows),
            "tokens": self.tokens,
            "largest error of a share": round(self.error, 6),
            "mark": self.mark,
            "sources": {
                name: vars(account) | {"epochs": round(account.epochs, 4)}
                for name, account in self.accounts.items()
            },
        }


@dataclass(frozen=True)
class Mixture:
    """Draws rows of several sources so that their tokens have given shares.

    Rows of a source are shuffled and used up before any comes again. Shares are kept along the way,
    not only at the end: whatever is trained on when a run stops had the mix.

    Args:
        weights: By source; normalised.
        tokens: How many to draw; None: as many as keep every source within `epochs`.
        seed: Of the order.
        tolerance: Largest allowed difference of a realised share, as a share: .005 is half a
            percentage point.
        epochs: How often a source may be gone through at most.

    Raises:
        ConfigError: Weights or limits that cannot be.

    Example:
        >>> rows = {"code": [{"n": 10}] * 40, "general": [{"n": 5}] * 40}
        >>> mixed = Mixture({"code": 2, "general": 1}, tokens=300)(rows, lambda row: row["n"])
        >>> mixed.accounts["code"].tokens, mixed.accounts["general"].tokens
        (200, 100)
    """

    weights: Mapping[str, float]
    tokens: int | None = None
    seed: int = 0
    tolerance: float = 0.005
    epochs: float = 4.0

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        shares_of(self.weights)
        if not isinstance(self.seed, int):
            raise ConfigError(f"Mixture.seed must be a whole number, got {self.seed!r:.80}")
        real("Mixture.tolerance", self.tolerance, 0, 1)
        real("Mixture.epochs", self.epochs, 1e-9)
        if self.tokens is not None:
            whole("Mixture.tokens", self.tokens, 1)

    def __call__(self, rows: Mapping[str, Sequence[Mapping[str, Any]]], size: RowTokens) -> Mixed:
        """Draw.

        Args:
            rows: By source.
            size: Counts a row's tokens.

        Raises:
            DataError: A source is missing, holds nothing usable, would be repeated too often, or a
                realised share lies further off than `tolerance`.
        """
        shares = shares_of(self.weights)
        if rows.keys() != shares.keys():
            raise DataError(
                f"the mixture has weights for {sorted(shares)}, the rows come from {sorted(rows)}; "
                "give one weight per source"
            )
        counted: dict[str, list[tuple[int, int]]] = {}
        accounts = {name: SourceAccount(share) for name, share in shares.items()}
        for name, part in rows.items():
            sizes = [size(row) for row in part]
            counted[name] = [(place, n) for place, n in enumerate(sizes) if n > 0]
            accounts[name].available = len(counted[name])
            accounts[name].refused = len(sizes) - len(counted[name])
            if not counted[name]:
                raise DataError(
                    f"source {name!r}: of {len(sizes)} rows none can be trained on; raise the "
                    "context, or look at what it holds"
                )
        totals = {name: sum(n for _, n in part) for name, part in counted.items()}
        amount = self._amount(shares, totals)
        picked = by_share(counted, shares, amount, self.seed, lambda item: item[1])
        mixed = Mixed([], accounts)
        seen: dict[str, set[int]] = {name: set() for name in shares}
        for name, (place, n) in picked:
            mixed.rows.append(dict(rows[name][place]) | {"source": name})
            account = accounts[name]
            account.rows += 1
            account.tokens += n
            account.longest = max(account.longest, n)
            seen[name].add(place)
        for name, account in accounts.items():
            account.distinct = len(seen[name])
            account.realised = account.tokens / mixed.tokens
        self._check(mixed)
        order = [(name, place) for name, (place, _) in picked]
        marks = {name: _mark(part) for name, part in rows.items()}
        return Mixed(mixed.rows, accounts, fingerprint_of((marks, order))[:32])

    def _amount(self, shares: Mapping[str, float], totals: Mapping[str, int]) -> int:
        most = {name: self.epochs * totals[name] / share for name, share in shares.items()}
        scarce = min(most, key=lambda name: most[name])
        if self.tokens is None:
            return max(1, int(most[scarce]))
        if self.tokens > most[scarce]:
            wanted = self.tokens * shares[scarce] / totals[scarce]
            raise DataError(
                f"{self.tokens} tokens would go through source {scarce!r} {wanted:.2f} times, more "
                f"than epochs={self.epochs:g}; ask for at most {int(most[scarce])} tokens, raise "
                "epochs, or add rows"
            )
        return self.tokens

    def _check(self, mixed: Mixed) -> None:
        longest = max(account.longest for account in mixed.accounts.values())
        if self.tokens is not None and longest > self.tokens:
            raise DataError(
                f"{self.tokens} tokens are fewer than a single row has, {longest}; draw more "
                "tokens, or lower the context"
            )
        for name, account in mixed.accounts.items():
            off = abs(account.share - account.realised)
            if off > self.tolerance:
                raise DataError(
                    f"source {name!r} has {account.realised:.2%} of the tokens and should have "
                    f"{account.share:.2%}: {mixed.tokens} tokens are too few for rows of up to "
                    f"{longest}; draw more tokens, or raise tolerance"
                )


def mix_sources(
    sources: Sequence[Source], mixture: Mixture, size: RowTokens, *, limit: int | None = None
) -> Mixed:
    """`Mixture` over files."""
    return mixture(read_sources(sources, limit=limit), size)


def trained_tokens(tokenizer: Any, max_length: int, system_prompt: str = "") -> RowTokens:
    """Counts the tokens that fine-tuning makes of a row, exactly: by the stage's own renderer.

    A conversation that the stage splits into several rows counts with all of them.

    Args:
        tokenizer: With a chat template.
        max_length: Longest row; longer conversations count 0.
        system_prompt: For conversations without one.
    """
    from assay.policy.stages.sft_rows import SftRenderer

    def count(row: Mapping[str, Any]) -> int:
        renderer = SftRenderer(tokenizer, max_length, "drop", system_prompt)
        return sum(len(one["input_ids"]) for one in renderer(row))

    return count


def column_tokens(column: str = "tokens") -> RowTokens:
    """Reads a row's tokens off a column.

    Raises (when called):
        DataError: The column holds no whole number.
    """

    def count(row: Mapping[str, Any]) -> int:
        value = row.get(column)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise DataError(f"column {column!r} must hold a number of tokens, got {value!r:.40}")
        return value

    return count


def _mark(rows: Sequence[Mapping[str, Any]]) -> str:
    import json

    return fingerprint_of([json.dumps(row, sort_keys=True, default=str) for row in rows])
