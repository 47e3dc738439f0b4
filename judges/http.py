"""Clients of a server: a reward and a judge there, used as if they were here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from assay.errors import ConfigError, DataError, JudgeError, RewardError
from assay.fingerprint import fingerprint_of
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges.http_connection import Connection
from assay.judges.http_rows import messages_to_json, sample_to_json, score_from_json
from assay.messages import Sample
from assay.reward import Reward, Score

T = TypeVar("T")


@dataclass(frozen=True)
class HttpReward(Reward):
    """A reward that a server runs: the same scores, parts, notes and evidence.

    Use `connect`, which asks the server for columns, scope, range and fingerprint. A server that
    then answers with another fingerprint serves something else, and its scores are not used.

    Args:
        connection: The server.
        remote: The reward's name there.
        columns: Dataset columns that it needs.
        scope: `group` sends all rows of a group in one request.
        range: Smallest and largest value.
        served_fingerprint: Of the reward there; empty: not checked.

    Example:
        >>> reward = HttpReward(Connection("http://localhost:8070"), "code")
        >>> reward.name
        'code'
    """

    connection: Connection
    remote: str
    name: str = ""
    columns: frozenset[str] = frozenset()
    scope: Literal["sample", "group"] = "sample"
    range: tuple[float, float] = (-math.inf, math.inf)
    served_fingerprint: str = ""
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    __hash__ = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.remote)

    @classmethod
    def connect(cls, url: str | Connection, remote: str, **settings: Any) -> Self:
        """A stand-in for the reward `remote` of a server that runs.

        Raises:
            RewardError: The server does not answer, or has no such reward.
        """
        connection = url if isinstance(url, Connection) else Connection(url)
        try:
            about = connection.get(f"/v1/rewards/{quote(remote, safe='')}")
            low, high = about["range"]
            told = {
                "columns": frozenset(about["columns"]),
                "scope": about["scope"],
                "range": (-math.inf if low is None else low, math.inf if high is None else high),
                "served_fingerprint": about["fingerprint"],
            }
        except ConfigError:  # a ValueError too, but of this side
            raise
        except (ConnectionError, DataError) as error:
            raise RewardError(str(error)) from None
        except (KeyError, TypeError, ValueError) as error:
            raise RewardError(
                f"{connection.url} does not describe its rewards ({type(error).__name__}: "
                f"{error}); check that it is an assay server"
            ) from None
        return cls(connection, remote, **(told | settings))

    def fingerprint(self) -> str:
        """The served reward's own, so that a cache holds for both; else of address and name."""
        return self.served_fingerprint or fingerprint_of(("http", self.connection.url, self.remote))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Send the samples in batches, several at a time."""
        parts = self._requests(samples)
        if not parts:
            return []
        with ThreadPoolExecutor(min(self.connection.concurrency, len(parts))) as pool:
            answers = list(pool.map(lambda places: self._part(samples, places), parts))
        scores: list[Score | None] = [None] * len(samples)
        for places, answer in zip(parts, answers, strict=True):
            for place, score in zip(places, answer, strict=True):
                scores[place] = score
        return [score for score in scores if score is not None]

    def _requests(self, samples: Sequence[Sample]) -> list[list[int]]:
        """Places of the samples of each request; a group is never split."""
        size = self.connection.batch_size
        if self.scope != "group":
            count = len(samples)
            return [list(range(i, min(i + size, count))) for i in range(0, count, size)]
        groups: dict[str, list[int]] = {}
        for place, sample in enumerate(samples):
            groups.setdefault(str(sample.group), []).append(place)
        return list(groups.values())

    def _part(self, samples: Sequence[Sample], places: list[int]) -> list[Score]:
        body = {"samples": [sample_to_json(samples[place]) for place in places]}
        path = f"/v1/rewards/{quote(self.remote, safe='')}/score"
        try:
            reply = self.connection.post(path, body)
        except DataError as error:
            raise DataError(str(error), _place(error.index, places)) from None
        except ConnectionError as error:
            return [Score.fail(str(error)) for _ in places]
        try:
            found = reply.get("fingerprint")
            if self.served_fingerprint and found != self.served_fingerprint:
                return [
                    Score.fail(
                        f"{self.connection.url} now serves another {self.remote!r} (fingerprint "
                        f"{found!s:.12}..., expected {self.served_fingerprint:.12}...); connect "
                        "again"
                    )
                    for _ in places
                ]
            scores = [score_from_json(one) for one in reply["scores"]]
            if len(scores) != len(places):
                raise ValueError(f"{len(scores)} scores for {len(places)} samples")
            return scores
        except (AttributeError, KeyError, TypeError, ValueError, RewardError) as error:
            note = f"{self.connection.url} did not answer with scores: {error}"
            return [Score.fail(note) for _ in places]


@dataclass(frozen=True)
class HttpJudge(Judge):
    """A judge that a server runs.

    Args:
        connection: The server.
        remote: The judge's name there.
        served_fingerprint: Of the judge there; empty: not checked.
    """

    connection: Connection
    remote: str
    served_fingerprint: str = ""

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def connect(cls, url: str | Connection, remote: str) -> Self:
        """A stand-in for the judge `remote` of a server that runs.

        Raises:
            JudgeError: The server does not answer, or has no such judge.
        """
        connection = url if isinstance(url, Connection) else Connection(url)
        try:
            judges = {one["name"]: one["fingerprint"] for one in connection.get("/v1/judges")}
        except (ConnectionError, DataError, KeyError, TypeError) as error:
            raise JudgeError(
                f"{connection.url}: {error}; check that it is an assay server"
            ) from None
        if remote not in judges:
            raise JudgeError(
                f"{connection.url} has no judge {remote!r}; its judges are {sorted(judges)}"
            )
        return cls(connection, remote, judges[remote])

    def fingerprint(self) -> str:
        """The served judge's own; else of address and name."""
        return self.served_fingerprint or fingerprint_of(("http", self.connection.url, self.remote))

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair; `failed` where the server did not answer."""
        return self._all(
            "compare",
            "pairs",
            "verdicts",
            [
                {
                    "prompt": messages_to_json(pair.prompt),
                    "a": messages_to_json(pair.a),
                    "b": messages_to_json(pair.b),
                    "columns": dict(pair.columns),
                    "id": pair.id,
                }
                for pair in pairs
            ],
            Verdict,
        )

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item; `failed` where the server did not answer."""
        return self._all(
            "grade",
            "items",
            "grades",
            [
                {
                    "prompt": messages_to_json(item.prompt),
                    "answer": messages_to_json(item.answer),
                    "columns": dict(item.columns),
                    "id": item.id,
                }
                for item in items
            ],
            Grade,
        )

    def _all(
        self, verb: str, sent: str, got: str, rows: list[dict[str, Any]], kind: type[T]
    ) -> list[T]:
        size = self.connection.batch_size
        starts = list(range(0, len(rows), size))
        if not starts:
            return []

        def part(start: int) -> list[T]:
            return self._part(verb, sent, got, rows[start : start + size], start, kind)

        with ThreadPoolExecutor(min(self.connection.concurrency, len(starts))) as pool:
            return [one for found in pool.map(part, starts) for one in found]

    def _part(
        self, verb: str, sent: str, got: str, rows: list[dict[str, Any]], start: int, kind: type[T]
    ) -> list[T]:
        path = f"/v1/judges/{quote(self.remote, safe='')}/{verb}"
        try:
            reply = self.connection.post(path, {sent: rows})
            found = reply["fingerprint"]
            if self.served_fingerprint and found != self.served_fingerprint:
                raise ValueError(f"it now serves another {self.remote!r}; connect again")
            known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
            opinions = [
                kind(**{key: value for key, value in one.items() if key in known})
                for one in reply[got]
            ]
            if len(opinions) != len(rows):
                raise ValueError(f"{len(opinions)} {got} for {len(rows)} {sent}")
            return opinions
        except DataError as error:
            places = range(start, start + len(rows))
            raise DataError(str(error), _place(error.index, places)) from None
        except ConfigError:
            raise
        except (ConnectionError, AttributeError, KeyError, TypeError, ValueError) as error:
            failed: dict[str, Any] = {
                "status": "failed",
                "reason": f"{type(error).__name__}: {error}",
            }
            return [kind(None, **failed) for _ in rows]  # type: ignore[call-arg]


def _place(index: int | None, places: Sequence[int]) -> int | None:
    """Which row a server means; None where it names none of those sent."""
    return None if index is None or not 0 <= index < len(places) else places[index]
