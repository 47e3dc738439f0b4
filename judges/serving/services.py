"""Rewards, judges and complexity judges as the server runs them: checked, batched, kept apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from assay.errors import (
    ConfigError,
    ContractError,
    DataError,
    JudgeError,
    RewardError,
    SandboxError,
)
from assay.judge import Estimate, Grade, Item, Judge, Pair, Verdict
from assay.judges.calibrated import Calibrated
from assay.judges.corrected import Corrected
from assay.judges.serving.batcher import Batcher
from assay.judges.serving.config import Served
from assay.judges.serving.isolation import answer_apart
from assay.loading import load_object
from assay.messages import Message, Sample
from assay.reward import Reward, Score

if TYPE_CHECKING:
    from assay.judges.serving.metrics import Metrics

#: Characters of a token, where tokens are not counted.
CHARACTERS = 4


@runtime_checkable
class InputScorer(Protocol):
    """A reward, or its `model`, that scores texts and token ids as they are, without a template."""

    def score_inputs(
        self, inputs: Sequence[str | Sequence[int]], *, add_special_tokens: bool = True
    ) -> list[tuple[tuple[float, ...], int]]:
        """The head's numbers and how many tokens were read, for each input."""


@dataclass(frozen=True, slots=True)
class RawInput:
    """A text or token ids that a reward's model is to score as they are."""

    value: str | tuple[int, ...]
    add_special_tokens: bool = True


def cost_of(*conversations: Sequence[Message]) -> int:
    """About how many tokens messages have."""
    return sum(
        len(message.content) // CHARACTERS + 1 for messages in conversations for message in messages
    )


class _Service:
    """Replicas of one object behind a queue."""

    kind: ClassVar[type] = object

    def __init__(self, name: str, objects: Sequence[Any], served: Served, metrics: Metrics) -> None:
        self.name, self.objects, self._metrics = name, list(objects), metrics
        prints = {one.fingerprint() for one in self.objects}
        if len(prints) > 1:
            raise ConfigError(
                f"the objects of {name!r} have different fingerprints, so they would give "
                f"different scores: {', '.join(served.object)}; replicas must be equal"
            )
        self.fingerprint: str = prints.pop()
        self._observe: Callable[[int, float], None] = lambda items, seconds: None
        self.batcher = Batcher(
            name,
            [
                partial(self._work, one)
                for one in self.objects
                for _ in range(served.batching.concurrency)
            ],
            served.batching,
            merge=self._merges(),
            observe=lambda items, seconds: self._observe(items, seconds),
        )
        self._observe = metrics.watch(name, lambda: self.batcher.waiting)

    def _merges(self) -> bool:
        return True

    def _work(self, one: Any, requests: list[list[Any]]) -> list[Any]:
        raise NotImplementedError

    async def _ask(self, items: list[Any], cost: int) -> list[Any]:
        if not items:
            return []
        results = await self.batcher.submit(items, cost)
        counts: dict[str, int] = {}
        for result in results:
            status = getattr(result, "status", "ok")
            counts[status] = counts.get(status, 0) + 1
        for status, count in counts.items():
            self._metrics.given(self.name, status, count)
        return results


class RewardService(_Service):
    """A reward by name. A group-scoped one gets each request by itself, never two in one call."""

    kind = Reward

    def __init__(self, name: str, objects: Sequence[Any], served: Served, metrics: Metrics) -> None:
        self.reward: Reward = objects[0]
        scorers = [_input_scorer(one) for one in objects]
        self._scorers = {id(one): scorer for one, scorer in zip(objects, scorers, strict=True)}
        self.raw = all(scorer is not None for scorer in scorers)
        super().__init__(name, objects, served, metrics)

    async def score(self, samples: list[Sample]) -> list[Score]:
        """One score per sample.

        Raises:
            DataError: The reward compares the rollouts of a prompt, and one does not say of which.
        """
        if self.reward.scope == "group":
            for index, sample in enumerate(samples):
                if sample.group is None:
                    raise DataError(
                        f"reward {self.name!r} compares the rollouts of a prompt; give every row "
                        "a column `uid`, and send whole groups in one request",
                        index,
                    )
        cost = sum(cost_of(sample.prompt, sample.completion) for sample in samples)
        return await self._ask(samples, cost)

    async def score_inputs(self, inputs: list[RawInput]) -> list[tuple[tuple[float, ...], int]]:
        """Numbers and tokens of each input; only where `raw` is true."""
        cost = sum(
            len(one.value) // CHARACTERS + 1 if isinstance(one.value, str) else len(one.value)
            for one in inputs
        )
        return await self._ask(inputs, cost)

    def about(self) -> dict[str, Any]:
        """What a client needs to know to stand in for it."""
        reward = self.reward
        low, high = (float(end) for end in reward.range)
        infinite = {float("-inf"): None, float("inf"): None}
        return {
            "name": self.name,
            "columns": sorted(set().union(*(one.columns for one in _all(reward)))),
            "scope": reward.scope,
            "range": [infinite.get(low, low), infinite.get(high, high)],
            "fingerprint": self.fingerprint,
            "raw_inputs": self.raw,
        }

    def _merges(self) -> bool:
        return self.reward.scope != "group"

    def _work(self, one: Reward, requests: list[list[Any]]) -> list[Any]:
        def call(items: list[Any]) -> list[Any]:
            if not any(type(item) is RawInput for item in items):
                return one.evaluate(items)
            results: list[Any] = [None] * len(items)
            for places, scored in self._parts(one, items):
                for place, result in zip(places, scored, strict=True):
                    results[place] = result
            return results

        return answer_apart(call, _failed, requests)

    def _parts(self, one: Reward, items: list[Any]) -> list[tuple[list[int], list[Any]]]:
        parts: list[tuple[list[int], list[Any]]] = []
        for special in (True, False):
            places = [
                i
                for i, item in enumerate(items)
                if type(item) is RawInput and item.add_special_tokens is special
            ]
            if places:
                scorer = self._scorers[id(one)]
                assert scorer is not None  # refused before it got here
                values = [items[i].value for i in places]
                found = scorer.score_inputs(values, add_special_tokens=special)
                if len(found) != len(places):
                    raise ContractError(
                        f"{self.name!r} gave {len(found)} results for {len(places)} inputs"
                    )
                parts.append((places, list(found)))
        places = [i for i, item in enumerate(items) if type(item) is not RawInput]
        if places:
            parts.append((places, one.evaluate([items[i] for i in places])))
        return parts


class JudgeService(_Service):
    """A judge by name; pairs and items may share a batch but never a call."""

    kind = Judge

    def __init__(self, name: str, objects: Sequence[Any], served: Served, metrics: Metrics) -> None:
        judge = type(objects[0])
        self.compares = judge.compare is not Judge.compare
        self.grades = judge.grade is not Judge.grade
        super().__init__(name, objects, served, metrics)

    async def compare(self, pairs: list[Pair]) -> list[Verdict]:
        """One verdict per pair."""
        return await self._ask(pairs, sum(cost_of(p.prompt, p.a, p.b) for p in pairs))

    async def grade(self, items: list[Item]) -> list[Grade]:
        """One grade per item."""
        return await self._ask(items, sum(cost_of(item.prompt, item.answer) for item in items))

    def about(self) -> dict[str, Any]:
        """What a client needs to know to stand in for it."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "compare": self.compares,
            "grade": self.grades,
        }

    def _work(self, one: Judge, requests: list[list[Any]]) -> list[Any]:
        answers: list[Any] = [None] * len(requests)
        for kind, ask in ((Pair, one.compare), (Item, one.grade)):
            places = [i for i, request in enumerate(requests) if isinstance(request[0], kind)]
            if places:
                call = partial(_judged, self.name, ask)
                found = answer_apart(call, _failed, [requests[i] for i in places])
                for place, answer in zip(places, found, strict=True):
                    answers[place] = answer
        return answers


class ComplexityService(_Service):
    """Anything with `estimate(programs)`, such as a `ComplexityJudge`, by name."""

    async def estimate(self, programs: list[Any]) -> list[Estimate]:
        """One estimate per program."""
        return await self._ask(programs, sum(len(p.source) // CHARACTERS + 1 for p in programs))

    def about(self) -> dict[str, Any]:
        """Its name and fingerprint."""
        return {"name": self.name, "fingerprint": self.fingerprint}

    def _work(self, one: Any, requests: list[list[Any]]) -> list[Any]:
        call = partial(_judged, self.name, one.estimate)
        return answer_apart(call, lambda estimate: bool(estimate.failed), requests)


def open_services(
    service: type[Any], table: str, named: Mapping[str, Served], metrics: Metrics
) -> dict[str, Any]:
    """Load the objects of one table of the file.

    Raises:
        ConfigError: An object cannot be loaded, or is none of the kind.
    """
    return {
        name: service(
            name,
            [
                _audited(_loaded(spec, service, f"[{table}.{name}] object"), served)
                for spec in served.object
            ],
            served, metrics,
        )
        for name, served in named.items()
    }  # fmt: skip


def _audited(one: Any, served: Served) -> Any:
    """A judge with what an audit found taken out of its verdicts."""
    if served.correction is not None:
        one = Corrected(one, served.correction)
    return one if served.calibrator is None else Calibrated(one, served.calibrator)


def _loaded(spec: str, service: type[Any], option: str) -> Any:
    found, _ = load_object(spec, service.kind, option)
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise ConfigError(
                f"{option} {spec!r} is a class that cannot be made without settings ({error}); "
                "name an instance of it"
            ) from None
    if service is ComplexityService:
        if not (hasattr(found, "estimate") and hasattr(found, "fingerprint")):
            raise ConfigError(
                f"{option} {spec!r} must have estimate() and fingerprint(), as "
                f"assay.judges.complexity:ComplexityJudge has; got {type(found).__name__}"
            )
    elif not isinstance(found, service.kind):
        raise ConfigError(
            f"{option} {spec!r} must be a {service.kind.__name__}, got {type(found).__name__}"
        )
    return found


def _all(reward: Reward) -> list[Reward]:
    return [reward, *reward.leaves().values()]


def _input_scorer(reward: Reward) -> InputScorer | None:
    for one in (reward, getattr(reward, "model", None)):
        if isinstance(one, InputScorer):
            return one
    return None


def _failed(result: Any) -> bool:
    return getattr(result, "status", "") == "failed"


def _judged(name: str, ask: Callable[[list[Any]], list[Any]], items: list[Any]) -> list[Any]:
    """What a judge says of items, with its contract checked and its failures as `failed`."""
    try:
        found = ask(items)
    except (SandboxError, JudgeError, RewardError, OSError) as error:
        if isinstance(error, ContractError):
            raise
        note = f"{type(error).__name__}: {error}"
        if isinstance(items[0], Pair):
            return [Verdict(None, status="failed", reason=note) for _ in items]
        if isinstance(items[0], Item):
            return [Grade(None, "failed", reason=note) for _ in items]
        return [Estimate(None, 0.0, "none", flags=(note,), failed=True) for _ in items]
    if not isinstance(found, list | tuple) or len(found) != len(items):
        count = len(found) if isinstance(found, list | tuple) else type(found).__name__
        raise ContractError(f"judge {name!r} gave {count} opinions for {len(items)} items")
    return list(found)
