"""A judge whose opinions are kept: `Cached(judge, path)`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import ConfigError, places_in
from assay.fingerprint import fingerprint_of
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges.cache import ScoreCache, cache_key
from assay.messages import Message

Asked = TypeVar("Asked", Pair, Item)
Said = TypeVar("Said", Verdict, Grade)


@dataclass(frozen=True)
class Cached(Judge):
    """`judge`, asked once for each item.

    Only opinions are kept: what failed, and what the judge abstained from, is asked again. An item
    is its messages and columns; its id does not matter. A judge that names the columns it reads (an
    attribute `columns`) is not asked again when others change. Equal items of one batch are asked
    once. What comes from the cache costs nothing: its `cost` is 0 where asking had one.

    Args:
        judge: Compares, grades, or both.
        path: The SQLite file; judges may share one.
        max_mb: Size of that file, in MiB.
        keep_abstained: Keep abstentions too; right for a judge that always says the same.

    >>> Cached(BothOrders(judge), "scores.sqlite").compare(pairs)      # doctest: +SKIP
    """

    judge: Judge
    path: Path | str
    max_mb: float = 1024.0
    keep_abstained: bool = False
    cache: ScoreCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cache", ScoreCache(self.path, self.max_mb))

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judge reads."""
        return self.judge.columns

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, from the cache where it has one."""
        return self._through("compare", pairs, self.judge.compare, Verdict, _pair_parts)

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item, from the cache where it has one."""
        return self._through("grade", items, self.judge.grade, Grade, _item_parts)

    def fingerprint(self) -> str:
        """The judge's own: where its opinions lie does not change them."""
        return self.judge.fingerprint()

    def _through(
        self,
        kind: str,
        asked: Sequence[Asked],
        ask: Callable[[Sequence[Asked]], list[Said]],
        said: Callable[..., Said],
        parts: Callable[[Asked], list[Any]],
    ) -> list[Said]:
        fingerprint = self.judge.fingerprint()
        keys = [self._key(fingerprint, kind, one, parts(one)) for one in asked]
        known = [key for key in dict.fromkeys(keys) if key is not None]
        values = dict(zip(known, self.cache.get(known), strict=True))
        answers: dict[bytes, Said] = {
            key: _free(said(**value)) for key, value in values.items() if value is not None
        }
        first: dict[bytes | None, int] = {}
        missing = [
            i
            for i, key in enumerate(keys)
            if key is None or (key not in answers and first.setdefault(key, i) == i)
        ]
        fresh: dict[int, Said] = {}
        if missing:
            with places_in(missing):
                got = ask([asked[i] for i in missing])
            fresh = dict(zip(missing, got, strict=True))
            kept = {}
            for i, answer in fresh.items():
                key = keys[i]
                if key is None:
                    continue
                answers[key] = _free(answer)
                if answer.status == "ok" or (self.keep_abstained and answer.status == "abstained"):
                    kept[key] = _plain(answer)
            self._keep(kept)
        return [
            fresh[i] if i in fresh or key is None else answers[key] for i, key in enumerate(keys)
        ]

    def _keep(self, answers: Mapping[bytes, Any]) -> None:
        """Store opinions; one whose evidence is no JSON is asked for again."""
        try:
            self.cache.put(answers)
        except (TypeError, ValueError, RecursionError):
            for key, answer in answers.items():
                with contextlib.suppress(TypeError, ValueError, RecursionError):
                    self.cache.put({key: answer})

    def _key(
        self, fingerprint: str, kind: str, asked: Pair | Item, parts: list[Any]
    ) -> bytes | None:
        """The item's key, or None where its columns cannot be told apart: then nothing is kept."""
        read = self.judge.columns
        columns = {
            name: value for name, value in asked.columns.items() if read is None or name in read
        }
        try:
            try:
                return cache_key(fingerprint, kind, *parts, columns)
            except (TypeError, ValueError):
                return cache_key(fingerprint, kind, *parts, {"hash": fingerprint_of(columns)})
        except ConfigError:
            return None


def _free(answer: Said) -> Said:
    """The opinion without its cost: nothing is paid for it again."""
    return answer if answer.cost is None else replace(answer, cost=0.0)


def _plain(answer: Verdict | Grade) -> dict[str, Any]:
    plain = asdict(answer)
    plain |= {name: dict(plain[name]) for name in ("criteria", "info") if name in plain}
    return plain


def _pair_parts(pair: Pair) -> list[Any]:
    return [_messages(pair.prompt), _messages(pair.a), _messages(pair.b)]


def _item_parts(item: Item) -> list[Any]:
    return [_messages(item.prompt), _messages(item.answer)]


def _messages(messages: Sequence[Message]) -> list[Any]:
    return [
        [
            message.role,
            message.content,
            message.reasoning,
            message.name,
            message.tool_call_id,
            [
                [call.name, _arguments(call.arguments), call.id, call.raw, call.error, call.server]
                for call in message.tool_calls
            ],
        ]
        for message in messages
    ]


def _arguments(arguments: Mapping[str, Any] | None) -> Any:
    return None if arguments is None else dict(arguments)
