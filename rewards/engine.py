"""The scoring engine: many token sequences through one model, each as if it were alone.

Sequences are deduplicated, the prefix that a group of rollouts (or both orders of a pair) share is
computed once and its keys and values are reused, and what remains runs in micro-batches of similar
length under a token budget. Results come back in input order. Running out of memory halves the
micro-batch and goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, RewardError
from assay.rewards.batch_plan import Prefix, micro_batches, share_prefixes, waves
from assay.rewards.device_state import Evaluating, lock_of, out_of_memory, release

if TYPE_CHECKING:
    from assay.rewards.heads import Head
    from assay.rewards.model_ways import Ways
    from assay.rewards.prefix_cache import Layers


@dataclass(frozen=True)
class Batching:
    """How sequences share forward passes; changes speed and memory, never a score.

    Attributes:
        token_budget: Tokens of a micro-batch, padding included; None takes 512 on a CPU and
            32,768 on an accelerator.
        max_padding: Largest share of padding in a micro-batch. Models that padding changes take
            only rows of one length together, whatever is asked.
        reuse_prefix: Compute shared prefixes once. Models whose cache is not plain full attention
            (sliding windows, state spaces) and encoders do without, whatever is asked.
        min_prefix: Shorter prefixes are not shared.
        prefix_budget: Tokens of prefix whose keys and values are kept at a time, and most tokens of
            prefix that the rows of one micro-batch continue, each row counting its own.
        chunk: Longer sequences go through the model in pieces of so many tokens, each attending to
            the keys and values of those before it: less memory, less masked attention. None takes
            512 on a CPU and 8,192 on an accelerator; only where prefixes are reused.
        padding_side: Where micro-batches are padded; the other side for models that this one
            changes, such as encoders, which read their first token.
    """

    token_budget: int | None = None
    max_padding: float = 0.05
    reuse_prefix: bool = True
    min_prefix: int = 16
    prefix_budget: int = 65_536
    chunk: int | None = None
    padding_side: Literal["right", "left"] = "right"

    def __post_init__(self) -> None:
        for name in ("token_budget", "chunk"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"Batching.{name} must be >= 1, got {value}")
        if not 0 <= self.max_padding < 1:
            raise ConfigError(f"Batching.max_padding must be in [0, 1), got {self.max_padding}")
        if self.min_prefix < 1 or self.prefix_budget < 1:
            raise ConfigError(
                "Batching.min_prefix and prefix_budget must be >= 1, got "
                f"{self.min_prefix} and {self.prefix_budget}"
            )
        if self.padding_side not in ("right", "left"):
            raise ConfigError(
                "Batching.padding_side must be one of {'right', 'left'}, got "
                f"{self.padding_side!r}"
            )


@dataclass
class EngineStats:
    """What the engine did since it was made or `reset`.

    Attributes:
        sequences: Sequences asked for.
        duplicates: Of these, those answered by an identical one.
        tokens: Tokens of all sequences asked for.
        computed: Tokens that went through the model, without padding.
        padding: Padding that went through the model.
        batches: Forward passes.
        halvings: Micro-batches halved because memory ran out.
        seconds: Wall time.
    """

    sequences: int = 0
    duplicates: int = 0
    tokens: int = 0
    computed: int = 0
    padding: int = 0
    batches: int = 0
    halvings: int = 0
    seconds: float = 0.0

    @property
    def padding_share(self) -> float:
        """Padding as a share of the tokens that went through the model."""
        return self.padding / max(self.computed + self.padding, 1)

    def reset(self) -> None:
        """Back to zero."""
        for f in fields(self):
            setattr(self, f.name, f.default)


@dataclass
class _Row:
    """One distinct sequence on its way through the model."""

    ids: Sequence[int]
    start: int = 0  # tokens that come from the prefix's keys and values
    prefix: int = -1


class Engine:
    """Scores token sequences with a model that is already loaded.

    Args:
        replicas: The model, or copies of it on several devices.
        head: How scores are read from its output (`assay.rewards.heads`).
        batching: Budgets.
    """

    def __init__(
        self, replicas: Sequence[Any], head: Head, batching: Batching | None = None
    ) -> None:
        if not replicas:
            raise ConfigError("Engine needs at least one model")
        self.replicas = list(replicas)
        self.head = head
        self.batching = batching or Batching()
        self.stats = EngineStats()
        self._lock = threading.Lock()
        self._ways: Ways | None = None
        self._budget = self.batching.token_budget or 0
        self._chunk = self.batching.chunk or 0

    def score(self, sequences: Sequence[Sequence[int]]) -> list[list[float]]:
        """The head's numbers for every sequence, in input order; one thread at a time.

        Raises:
            RewardError: One sequence alone does not fit into memory.
        """
        import torch

        if empty := [i for i, sequence in enumerate(sequences) if not len(sequence)]:
            raise RewardError(f"sequences {empty[:5]} have no tokens; nothing can be scored")
        start = time.perf_counter()
        places: dict[tuple[int, ...], int] = {}
        where = [places.setdefault(tuple(sequence), len(places)) for sequence in sequences]
        distinct = list(places)
        results: list[list[float]] = [[] for _ in distinct]
        with lock_of(self.replicas[0]), torch.inference_mode(), Evaluating(self.replicas):
            self._run(distinct, results)
        self.stats.sequences += len(sequences)
        self.stats.duplicates += len(sequences) - len(distinct)
        self.stats.tokens += sum(map(len, sequences))
        self.stats.seconds += time.perf_counter() - start
        return [results[index] for index in where]

    def _run(self, sequences: list[tuple[int, ...]], results: list[list[float]]) -> None:
        from assay.rewards.model_ways import ways_of

        if not sequences:
            return
        on_cpu = self.head.device(self.replicas[0]).type == "cpu"
        self._budget = self._budget or (512 if on_cpu else 32_768)
        self._chunk = self._chunk or (512 if on_cpu else 8_192)
        if self._ways is None:
            self._ways = ways_of(self.head, self.replicas[0], self.batching)
        if self._ways.reuse:
            limits = [self.head.last(self.replicas[0], sequence) for sequence in sequences]
            prefixes = share_prefixes(sequences, limits, self.batching.min_prefix)
        else:
            prefixes = [Prefix(0, (row,)) for row in range(len(sequences))]
        parts = waves(prefixes, self.batching.prefix_budget, len(self.replicas))
        if len(self.replicas) == 1:
            for wave in parts:
                self._wave(self.replicas[0], wave, sequences, results)
            return
        import torch

        free = list(self.replicas)

        def work(wave: list[Prefix]) -> None:
            with self._lock:
                model = free.pop()
            try:
                with torch.inference_mode():  # the mode is a thread's own
                    self._wave(model, wave, sequences, results)
            finally:
                with self._lock:
                    free.append(model)

        with ThreadPoolExecutor(len(self.replicas)) as pool:
            list(pool.map(work, parts))

    def _wave(
        self,
        model: Any,
        wave: list[Prefix],
        sequences: list[tuple[int, ...]],
        results: list[list[float]],
    ) -> None:
        rows: dict[int, _Row] = {}
        heads: list[_Row] = []
        for prefix in wave:
            if prefix.length:
                heads.append(_Row(sequences[prefix.rows[0]][: prefix.length]))
            for row in prefix.rows:
                number = len(heads) - 1 if prefix.length else -1
                rows[row] = _Row(sequences[row], prefix.length, number)
        kept: list[Layers] = [[] for _ in heads]
        for batch in self._batches([len(row.ids) for row in heads]):
            self._halving(model, batch, lambda part: self._keep(model, part, heads, kept))
        names = list(rows)
        lengths = [len(rows[name].ids) - rows[name].start for name in names]
        for batch in self._batches(lengths, [rows[name].start for name in names]):
            batch = [names[i] for i in batch]
            self._halving(model, batch, lambda part: self._read(model, part, rows, kept, results))

    def _batches(self, lengths: list[int], held: list[int] | None = None) -> list[list[int]]:
        assert self._ways is not None
        most, budget = self._ways.max_rows, self.batching.prefix_budget
        return micro_batches(lengths, self._budget, self._ways.max_padding, most, held, budget)

    def _keep(self, model: Any, batch: list[int], heads: list[_Row], kept: list[Layers]) -> None:
        from assay.rewards.micro_batch import MicroBatch
        from assay.rewards.prefix_cache import layers_of

        lengths = [len(heads[i].ids) for i in batch]
        made = MicroBatch.of(self.head, model, [heads[i].ids for i in batch])
        cache = made.keys_and_values(self.head, model, self._chunk)
        for place, (index, length) in enumerate(zip(batch, lengths, strict=True)):
            kept[index] = layers_of(cache, place, length)
        self._count(lengths)

    def _read(
        self,
        model: Any,
        batch: list[int],
        rows: dict[int, _Row],
        kept: list[Layers],
        results: list[list[float]],
    ) -> None:
        from assay.rewards.micro_batch import MicroBatch
        from assay.rewards.model_ways import forget_lengths

        assert self._ways is not None
        if self._ways.scaled:
            forget_lengths(model)
        items = [rows[index] for index in batch]
        suffixes = [row.ids[row.start :] for row in items]
        made = MicroBatch.of(
            self.head,
            model,
            suffixes,
            [kept[row.prefix] if row.prefix >= 0 else None for row in items],
            [row.start for row in items],
            self._ways.side,
        )
        values = made.read(self.head, model, self._chunk if self._ways.reuse else None)
        for index, value in zip(batch, values, strict=True):
            results[index] = value
        self._count([len(suffix) for suffix in suffixes])

    def _halving(self, model: Any, batch: list[int], work: Any) -> None:
        """Run `work` on a batch; where memory runs out, on its halves."""
        try:
            work(batch)
            return
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            if len(batch) == 1:
                raise RewardError(
                    f"one sequence alone does not fit into memory ({error}); lower max_length, "
                    "load the model in bfloat16, or spread it with device_map='auto'"
                ) from error
        release(self.head.device(model))
        with self._lock:
            self.stats.halvings += 1
            self._budget = max(self._budget // 2, 1)  # the next batches would run out as well
        middle = (len(batch) + 1) // 2
        self._halving(model, batch[:middle], work)
        self._halving(model, batch[middle:], work)

    def _count(self, lengths: list[int]) -> None:
        with self._lock:
            self.stats.batches += 1
            self.stats.computed += sum(lengths)
            self.stats.padding += max(lengths) * len(lengths) - sum(lengths)
