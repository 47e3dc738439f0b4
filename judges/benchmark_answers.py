"""What a judge or a reward says of the tasks of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.probe_requests import p_of
from assay.errors import ConfigError, RewardError
from assay.judge import Item, Judge, Pair
from assay.judges.benchmark_sets import Task
from assay.messages import Sample
from assay.reward import Reward


@dataclass(frozen=True, eq=False)
class TaskAnswers:
    """Answers to a task; NaN where there is none.

    Attributes:
        scores: Of each answer, from a reward or a judge that grades; empty from one that compares.
        beats: P(the first answer beats another) as it stands first and second, one row per other
            answer; empty from scores.
    """

    scores: FloatArray
    beats: FloatArray

    @property
    def missing(self) -> bool:
        """Whether anything is missing."""
        return bool(np.isnan(self.scores).any() or np.isnan(self.beats).any())

    def wins(self, other: int = 1) -> float:
        """1, .5 or 0: does the first answer beat another one (over both orders)?"""
        if len(self.scores):
            first, second = self.scores[0], self.scores[other]
            return 0.5 if first == second else float(first > second)
        mean = float(self.beats[other - 1].mean())
        return 0.5 if mean == 0.5 else float(mean > 0.5)

    def as_scores(self, right: int) -> FloatArray:
        """One number per answer: scores, or the share of other answers beaten (ties half)."""
        if len(self.scores):
            return self.scores
        means = self.beats.mean(axis=1)
        won = np.where(means == 0.5, 0.5, (means > 0.5).astype(float))
        # The first answer against the rest: it ties with those it does not beat or lose to.
        return np.concatenate([[0.0], np.where(won == 0.5, 0.0, np.where(won > 0.5, -1.0, 1.0))])


def ask(subject: Judge | Reward, tasks: Sequence[Task], how: str = "auto") -> list[TaskAnswers]:
    """Score every answer, or compare the first answer of each task with the others, both orders.

    Args:
        subject: A reward, or a judge that grades or compares.
        tasks: Of one benchmark.
        how: `grade` or `compare` for judges that do both; `auto` compares where it can.

    Raises:
        ConfigError: A group-scoped reward, or a judge that does not do what `how` says.
        RewardError: More than half of the answers have no score because our side failed.
    """
    if isinstance(subject, Reward):
        if subject.scope == "group":
            raise ConfigError(
                "a reward of scope 'group' compares rollouts with each other and gives single "
                "answers no score; benchmark its model instead"
            )
        return _scored(_reward_values(subject, tasks), tasks)
    if how not in ("auto", "grade", "compare"):
        raise ConfigError(f"how must be one of {{'auto', 'grade', 'compare'}}, got {how!r}")
    # Several answers at once need one scale, which grades have.
    first = "grade" if any(len(task.answers) > 2 for task in tasks) else "compare"
    order = (how,) if how != "auto" else (first, "compare" if first == "grade" else "grade")
    for step in order:
        try:
            return _graded(subject, tasks) if step == "grade" else _compared(subject, tasks)
        except TypeError as error:
            if "does not compare" not in str(error) and "does not grade" not in str(error):
                raise
    raise ConfigError(f"{type(subject).__name__} does not {' or '.join(order)} answers")


def _compared(judge: Judge, tasks: Sequence[Task]) -> list[TaskAnswers]:
    """Tasks with several right answers stay missing: pairs do not put them on one scale."""
    pairs: list[Pair] = []
    for task in tasks:
        for other in task.answers[1:] if task.right == 1 else ():
            pair = Pair(task.prompt, task.answers[0], other, task.columns, task.id)
            pairs += [pair, pair.swapped()]
    verdicts = iter(judge.compare(pairs))
    found = []
    for task in tasks:
        rows = [[math.nan, math.nan]]
        if task.right == 1:
            rows = [[p_of(next(verdicts)), 1.0 - p_of(next(verdicts))] for _ in task.answers[1:]]
        found.append(TaskAnswers(np.zeros(0), np.array(rows)))
    return found


def _graded(judge: Judge, tasks: Sequence[Task]) -> list[TaskAnswers]:
    items = [
        Item(task.prompt, answer, task.columns, task.id)
        for task in tasks
        for answer in task.answers
    ]
    grades = judge.grade(items)
    return _scored([math.nan if g.value is None else g.value for g in grades], tasks)


def _reward_values(reward: Reward, tasks: Sequence[Task]) -> list[float]:
    samples = [
        Sample(task.prompt, answer, task.columns) for task in tasks for answer in task.answers
    ]
    scores = reward.score(samples)
    if len(scores) != len(samples):
        raise RewardError(f"{reward.name} gave {len(scores)} scores for {len(samples)} answers")
    failed = [score for score in scores if score.status == "failed"]
    if len(failed) * 2 > len(scores):
        raise RewardError(
            f"{reward.name} failed on {len(failed)} of {len(scores)} answers, the last one with: "
            f"{failed[-1].note[:300]}; mend that first"
        )
    return [math.nan if score.value is None else score.value for score in scores]


def _scored(values: Sequence[float], tasks: Sequence[Task]) -> list[TaskAnswers]:
    rest = iter(values)
    return [
        TaskAnswers(np.array([next(rest) for _ in task.answers]), np.zeros((0, 2)))
        for task in tasks
    ]
