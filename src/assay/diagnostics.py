"""What a reward tells the trainer's log: every leaf, the same keys on every rank at every step.

`seconds` of a leaf is wall time inside its `evaluate`, booked on its path through a context
variable, so that rewards themselves stay without state.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from assay.errors import RewardError

if TYPE_CHECKING:
    from assay.messages import Sample
    from assay.reward import Reward, Score

_STATES = ("scored", "skipped", "gated", "abstained", "failed")
_path: ContextVar[tuple[str, ...]] = ContextVar("assay_path", default=())
_recorder: ContextVar[Recorder | None] = ContextVar("assay_recorder", default=None)
_listener: ContextVar[list[Heard] | None] = ContextVar("assay_listener", default=None)


@dataclass(frozen=True, slots=True)
class Heard:
    """One call of a reward by a trainer: what it was given on this process, and its full scores."""

    reward: Reward
    samples: Sequence[Sample]
    scores: Sequence[Score]

    __hash__ = None  # type: ignore[assignment]


@contextmanager
def listening() -> Iterator[list[Heard]]:
    """Hear every reward that is called inside, with more than the floats that it returns.

    A trainer's contract is one float per completion; turn values, parts and evidence stay in the
    `Score`. Rewards that the trainer runs on its own threads are heard too, as long as those take
    over this context (asyncio does).
    """
    heard: list[Heard] = []
    token = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(token)


def tell(reward: Reward, samples: Sequence[Sample], scores: Sequence[Score]) -> None:
    """Hand a call's scores to whoever is `listening`."""
    heard = _listener.get()
    if heard is not None:
        heard.append(Heard(reward, samples, scores))


class Recorder:
    """Collects seconds by path while it is entered."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._token: Token[Recorder | None] | None = None
        self._start = 0.0

    def __enter__(self) -> Self:
        self._token = _recorder.set(self)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _recorder.reset(self._token)
        self.seconds[""] += time.perf_counter() - self._start


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Book the time inside on the path extended by `name`."""
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    path = (*_path.get(), name)
    token = _path.set(path)
    start = time.perf_counter()
    try:
        yield
    finally:
        recorder.seconds["/".join(path)] += time.perf_counter() - start
        _path.reset(token)


def leaf_scores(scores: Sequence[Score], path: str) -> list[Score]:
    """The score of the leaf at `path` inside each of `scores`.

    A component that was not asked because something above it was gated counts as gated; one that
    a route passed by counts as skipped, whatever became of the route it took. A component that was
    not asked because what is above it is missing as a whole, without parts, carries that status.
    """
    from assay.reward import Score

    names = path.split("/") if path else []
    found = []
    for score in scores:
        for name in names:
            part = score.parts.get(name)
            if part is None:
                passed_by = score.parts or score.status == "scored"
                part = Score(None, "skipped" if passed_by else score.status, note=score.note)
            score = part
        found.append(score)
    return found


def leaf_weight(reward: Reward, path: str) -> float | None:
    """Product of the weights on the way to a leaf; None where the way is not a weighted sum."""
    weight = 1.0
    for name in path.split("/") if path else []:
        factor = reward.weights().get(name)
        if factor is None:
            return None
        weight *= factor
        reward = reward.children()[name]
    return weight


def emit(
    reward: Reward,
    samples: Sequence[Sample],
    scores: Sequence[Score],
    recorder: Recorder,
    log_metric: Callable[[str, float], None] | None,
    log_extra: Callable[[str, list[Any]], None] | None,
) -> None:
    """Send leaf metrics and per-row evidence to the trainer's log.

    Metrics, per leaf `P` of a reward `R`: `R/P/mean` and, in a weighted sum, `R/P/weighted_mean`
    over the rows it scored (left out where it scored none: a NaN would poison the average over
    ranks); `R/P/scored`, `/skipped`, `/gated`, `/abstained`, `/failed`, counts of rows on this
    process; `R/P/zeroed`, missing scores that its term counted as 0; `R/P/seconds`; and whatever
    the leaf says of itself (`Reward.figures`). Columns of the completions table: `R/P` and
    `R/P/note`.
    """
    if log_metric is None and log_extra is None:
        return
    for path, component in reward.leaves().items():
        key = f"{reward.name}/{path}" if path else reward.name
        leaf = leaf_scores(scores, path)
        values = [score.value for score in leaf]
        if log_metric is not None:
            states: Counter[str] = Counter(score.status for score in leaf)
            for state in _STATES:
                log_metric(f"{key}/{state}", float(states[state]))
            log_metric(f"{key}/zeroed", float(_zeroed(scores, path)))
            log_metric(f"{key}/seconds", recorder.seconds[path])
            known = [value for value in values if value is not None]
            if known:
                mean = sum(known) / len(known)
                log_metric(f"{key}/mean", mean)
                weight = leaf_weight(reward, path)
                if path and weight is not None:
                    log_metric(f"{key}/weighted_mean", weight * mean)
            for name, figure in component.figures(samples, leaf).items():
                log_metric(f"{key}/{name}", figure)
        if log_extra is not None:
            log_extra(key, values)
            log_extra(f"{key}/note", [score.note for score in leaf])


def enforce_error_rate(
    reward: Reward, scores: Sequence[Score], max_error_rate: float | None = None
) -> None:
    """Raise where a leaf failed on too many of the rows that it was asked to score.

    Raises:
        RewardError: Names the leaf, the counts and one of the notes.
    """
    limit = reward.max_error_rate if max_error_rate is None else max_error_rate
    for path in reward.leaves():
        asked = [s for s in leaf_scores(scores, path) if s.status not in ("skipped", "gated")]
        failed = [score for score in asked if score.status == "failed"]
        if failed and len(failed) > limit * len(asked):
            where = f"{reward.name}/{path}" if path else reward.name
            raise RewardError(
                f"reward {where!r} failed on {len(failed)} of the {len(asked)} rows it was asked "
                f"to score (max_error_rate {limit}): {failed[0].note}"
            )


def _zeroed(scores: Sequence[Score], path: str) -> int:
    """Rows in which the leaf is missing and a term above it, or its own, counted that as 0."""
    names = path.split("/") if path else []
    count = 0
    for score, leaf in zip(scores, leaf_scores(scores, path), strict=True):
        inner: Score | None = score
        for name in names if leaf.status in ("abstained", "failed") else ():
            if inner is None:
                break
            if name in inner.info.get("zeroed", ()):
                count += 1
                break
            inner = inner.parts.get(name)
    return count
