"""Does a critic find the step that broke a run? Exact and within two steps, against chance.

A run's guess is the step of its first failing turn. A guess is only worth something if it beats
what its position alone would: the best constant guess of the data set, and the same guesses dealt
out again among runs of the same length (a permutation test matched on position).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.calibration.intervals import Interval, wilson_interval
from assay.errors import DataError
from assay.judge import TurnVerdict
from assay.messages import Trajectory

#: A guess so near counts as near.
WITHIN = 2
PERMUTATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Localised:
    """A way of guessing, and how often it is right.

    Attributes:
        name: Of the way.
        guesses: Runs on which it makes a guess; the others count as missed.
        exact: Share of all runs whose step is guessed exactly.
        near: Share of all runs whose step is at most `WITHIN` away.
        p_exact: Share of permutations in which as many guesses are exact; None for a constant.
        p_near: The same for near ones.
    """

    name: str
    guesses: int
    exact: Interval
    near: Interval
    p_exact: float | None = None
    p_near: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "name": self.name,
            "guesses": self.guesses,
            "exact": self.exact.as_json(),
            "near": self.near.as_json(),
            "p_exact": self.p_exact,
            "p_near": self.p_near,
        }


@dataclass(frozen=True)
class MistakeReport:
    """Ways of guessing on the same runs.

    Attributes:
        runs: Runs with a known step.
        ways: The critic, the critic with a constant where it fails no turn, the best constants.
        beats_constant: Whether the critic's share of exact guesses exceeds that of the best
            constant.
    """

    runs: int
    ways: tuple[Localised, ...]
    beats_constant: bool
    guesses: Mapping[str, int | None] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "runs": self.runs,
            "ways": [way.to_json() for way in self.ways],
            "beats_constant": self.beats_constant,
            "guesses": dict(self.guesses),
        }


def first_failing_step(run: Trajectory, review: Sequence[TurnVerdict]) -> int | None:
    """The step of the first failing turn, or None where none fails."""
    steps = run.info.get("turn_steps") or list(range(len(review)))
    for step, verdict in zip(steps, review, strict=True):
        if verdict.passed is False:
            return int(step)
    return None


def mistake_report(
    runs: Sequence[Trajectory], reviews: Sequence[Sequence[TurnVerdict]], *, seed: int = 0
) -> MistakeReport:
    """How well a critic's first failing turn is the step that broke the run.

    Args:
        runs: With `info["mistake_step"]`, and `info["turn_steps"]` where turns are not steps.
        reviews: A critic's verdicts, one a turn.
        seed: Of the permutations.

    Raises:
        DataError: No run says which step broke it.
    """
    chosen = [
        (run, review)
        for run, review in zip(runs, reviews, strict=True)
        if run.info.get("mistake_step") is not None
    ]
    if not chosen:
        raise DataError("no run says its `mistake_step`; --labelled needs rows that do")
    truth = np.array([_step_of(run) for run, _ in chosen])
    lengths = np.array([int(run.info.get("steps") or len(run.turns)) for run, _ in chosen])
    told = [first_failing_step(run, review) for run, review in chosen]
    longest = max(int(lengths.max()), 1)
    best = max(range(longest), key=lambda step: int((truth == step).sum()))
    close = max(range(longest), key=lambda step: int((abs(truth - step) <= WITHIN).sum()))
    guess = np.array([-1000 if step is None else step for step in told])
    filled = np.where(guess < 0, np.minimum(best, lengths - 1), guess)
    ways = (
        _measured("critic", guess, truth, lengths, seed),
        _measured(f"critic, else step {best}", filled, truth, lengths, seed),
        _constant(f"always step {best} (best for exact)", best, truth),
        _constant(f"always step {close} (best within {WITHIN})", close, truth),
    )
    names: dict[str, int | None] = {}
    for i, ((run, _), step) in enumerate(zip(chosen, told, strict=True)):
        name = run.id or str(i)
        names[name if name not in names else f"{name}#{i}"] = step
    beats = ways[0].exact.estimate > ways[2].exact.estimate
    return MistakeReport(len(chosen), ways, beats, names)


def _step_of(run: Trajectory) -> int:
    told = run.info["mistake_step"]
    try:
        if isinstance(told, bool) or (step := int(told)) < 0 or step != float(told):
            raise ValueError
    except (OverflowError, TypeError, ValueError):
        raise DataError(
            f"mistake_step of run {run.id!r:.60} must be a whole number >= 0, got {told!r:.40}"
        ) from None
    return step


def _measured(name: str, guess: Any, truth: Any, lengths: Any, seed: int) -> Localised:
    exact, near = _hits(guess, truth)
    generator = np.random.default_rng(seed)
    groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    as_good = np.zeros(2)
    for _ in range(PERMUTATIONS):
        dealt = guess.copy()
        for rows in groups:
            dealt[rows] = guess[generator.permutation(rows)]
        other = _hits(dealt, truth)
        as_good += (other[0] >= exact, other[1] >= near)
    p_exact, p_near = (as_good + 1) / (PERMUTATIONS + 1)
    made = int((guess >= 0).sum())
    count = len(truth)
    return Localised(
        name,
        made,
        wilson_interval(exact, count),
        wilson_interval(near, count),
        float(p_exact),
        float(p_near),
    )


def _constant(name: str, step: int, truth: Any) -> Localised:
    exact, near = _hits(np.full(len(truth), step), truth)
    count = len(truth)
    return Localised(name, count, wilson_interval(exact, count), wilson_interval(near, count))


def _hits(guess: Any, truth: Any) -> tuple[int, int]:
    return int((guess == truth).sum()), int((abs(guess - truth) <= WITHIN).sum())
