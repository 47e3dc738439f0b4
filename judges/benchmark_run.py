"""A judge or reward on a benchmark, scored by that benchmark's own rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.calibration.intervals import Interval, wilson_interval
from assay.calibration.rewardbench import (
    best_of_n_score,
    section_scores_v1,
    ties_score,
    total_v1,
)
from assay.errors import DataError
from assay.judge import Judge
from assay.judges.benchmark_answers import TaskAnswers, ask
from assay.judges.benchmark_sets import Task
from assay.reward import Reward

#: How a tie counts where people prefer one answer, by rules and by whether scores are compared.
RULES = {
    "rewardbench": "chosen above rejected; a tie of scores is a miss, a tie of a judge half",
    "rewardbench2": "the right answer of four on top, 1/k where k tie; Ties by its own formula",
    "judgebench": "right where both orders together are more right than wrong; a tie is a miss",
    "llmbar": "mean of both orders; a tie is half",
    "pairs": "the better answer wins over both orders; a tie is half",
}


@dataclass(frozen=True)
class Line:
    """One figure.

    Attributes:
        name: A subset, section or kind.
        score: In [0, 1], NaN without tasks.
        tasks: Behind it.
        interval: Wilson's, where the figure is a share of tasks; else None.
    """

    name: str
    score: float
    tasks: int
    interval: Interval | None = None


@dataclass(frozen=True)
class BenchmarkReport:
    """Scores of one judge or reward.

    Attributes:
        rules: Which benchmark's.
        headline: What the benchmark reports as one number.
        lines: Subsets and sections.
        apart: Safety, refusal, over-refusal and pairs that differ only in a group.
        missing: Tasks without an answer; they are in no figure.
        tasks: All tasks.
        details: Per task: id, subset, right (1, .5, 0), missing.
    """

    rules: str
    headline: Line
    lines: list[Line]
    apart: list[Line]
    missing: int
    tasks: int
    details: list[dict[str, Any]] = field(repr=False)

    __hash__ = None  # type: ignore[assignment]

    def as_json(self) -> dict[str, Any]:
        """Plain values, for machines."""

        def plain(line: Line) -> dict[str, Any]:
            found: dict[str, Any] = {"name": line.name, "score": _number(line.score)}
            found["tasks"] = line.tasks
            if line.interval is not None:
                found["interval"] = line.interval.as_json()
            return found

        return {
            "rules": self.rules,
            "rule": RULES[self.rules],
            "headline": plain(self.headline),
            "lines": [plain(line) for line in self.lines],
            "apart": [plain(line) for line in self.apart],
            "missing": self.missing,
            "tasks": self.tasks,
            "details": self.details,
        }


def run_benchmark(
    subject: Judge | Reward, rules: str, tasks: Sequence[Task], *, how: str = "auto"
) -> BenchmarkReport:
    """Ask about every task and score by the benchmark's rules.

    Args:
        subject: Judge or reward.
        rules: From `load_tasks`.
        tasks: Likewise.
        how: See `ask`.

    Raises:
        DataError: Nothing was answered.
    """
    answers = ask(subject, tasks, how)
    kept = [(t, a) for t, a in zip(tasks, answers, strict=True) if not a.missing]
    if not kept:
        raise DataError(f"none of {len(tasks)} tasks was answered; try `assay compare` on a few")
    right = [_right(rules, task, answer) for task, answer in kept]
    details = _details(tasks, answers, dict(zip((id(t) for t, _ in kept), right, strict=True)))
    lines = _by(lambda t: t.subset, kept, right)
    lines = [line for line in lines if line.name and line.name != "Ties"]
    apart = _by(lambda t: t.kind, kept, right)
    apart = [line for line in apart if line.name] + _twins(kept, right)
    headline = _share("accuracy", right)
    if rules == "rewardbench":
        headline, more = _rewardbench(lines, headline)
        lines += more
    elif rules == "rewardbench2":
        lines += _ties(kept)
        whole = float(np.mean([line.score for line in lines])) if lines else math.nan
        headline = Line("mean of subsets", whole, len(kept))
    elif rules == "llmbar" and lines:
        mean = float(np.mean([line.score for line in lines]))
        headline = Line("mean of subsets", mean, len(kept))
    missing = len(tasks) - len(kept)
    return BenchmarkReport(rules, headline, lines, apart, missing, len(tasks), details)


def _right(rules: str, task: Task, answers: TaskAnswers) -> float:
    """How right one task is, in [0, 1]."""
    if rules == "rewardbench2":
        return best_of_n_score(answers.as_scores(task.right)) if task.right == 1 else math.nan
    won = answers.wins()
    if task.tie:
        return 1.0 if won == 0.5 else 0.0
    scored = bool(len(answers.scores))
    if rules == "judgebench" or (rules == "rewardbench" and scored):
        return float(_more_right(answers)) if rules == "judgebench" else float(won == 1.0)
    if rules == "llmbar" and not scored:
        each = answers.beats[0]
        return float(np.mean(np.where(each == 0.5, 0.5, each > 0.5)))
    return won


def _more_right(answers: TaskAnswers) -> bool:
    if len(answers.scores):
        return bool(answers.scores[0] > answers.scores[1])
    return bool(np.sign(answers.beats[0] - 0.5).sum() > 0)


def _by(
    name: Callable[[Task], str], kept: Sequence[tuple[Task, TaskAnswers]], right: Sequence[float]
) -> list[Line]:
    groups: dict[str, list[float]] = {}
    for (task, _), value in zip(kept, right, strict=True):
        groups.setdefault(name(task), []).append(value)
    return [_share(key, values) for key, values in sorted(groups.items())]


def _share(name: str, values: Sequence[float]) -> Line:
    known = [v for v in values if not math.isnan(v)]
    if not known:
        return Line(name, math.nan, 0)
    return Line(name, float(np.mean(known)), len(known), wilson_interval(sum(known), len(known)))


def _rewardbench(lines: Sequence[Line], plain: Line) -> tuple[Line, list[Line]]:
    sections = section_scores_v1({line.name: line.score for line in lines})
    more = [Line(f"section {name}", score, 0) for name, score in sections.items()]
    wanted = ("Chat", "Chat Hard", "Safety", "Reasoning")
    if not set(wanted) <= set(sections):
        return Line("accuracy over all pairs (sections are incomplete)", *_rest(plain)), more
    total = total_v1(*(sections[name] for name in wanted))
    return Line("mean of sections", total, plain.tasks), more


def _rest(line: Line) -> tuple[float, int, Interval | None]:
    return line.score, line.tasks, line.interval


def _ties(kept: Sequence[tuple[Task, TaskAnswers]]) -> list[Line]:
    """The Ties subset, whose ids are `ref:N` and `tied:N`."""
    found: dict[str, dict[str, tuple[list[float], list[float]]]] = {"ref": {}, "tied": {}}
    for task, answers in kept:
        kind, _, number = task.id.partition(":")
        if task.subset == "Ties" and kind in found and len(answers.scores):
            scores = answers.scores.tolist()
            found[kind][number] = (scores[: task.right], scores[task.right :])
    both = sorted(set(found["ref"]) & set(found["tied"]))
    if not both:
        return []
    score = ties_score([found["ref"][n] for n in both], [found["tied"][n] for n in both])
    return [Line("Ties", score, 2 * len(both))]


def _twins(kept: Sequence[tuple[Task, TaskAnswers]], right: Sequence[float]) -> list[Line]:
    """Rows that differ only in a group: accuracy, and whether the verdict stays."""
    groups: dict[str, list[float]] = {}
    ids = {task.id for task, _ in kept}
    shared = {task.twin for task, _ in kept if task.twin}
    for (task, _), value in zip(kept, right, strict=True):
        key = task.twin or (task.id if task.id in shared & ids else "")
        if key:
            groups.setdefault(key, []).append(value)
    several = [values for values in groups.values() if len(values) > 1]
    if not several:
        return []
    same = [float(len(set(values)) == 1) for values in several]
    flat = [value for values in several for value in values]
    return [
        _share("group-swapped pairs", flat),
        _share("same verdict after a swap of groups", same),
    ]


def _details(
    tasks: Sequence[Task], answers: Sequence[TaskAnswers], right: dict[int, float]
) -> list[dict[str, Any]]:
    return [
        {
            "id": task.id,
            "subset": task.subset,
            "kind": task.kind,
            "right": _number(right.get(id(task), math.nan)),
            "missing": answer.missing,
            "scores": [_number(v) for v in answer.scores.tolist()],
            "p_right": [_number(v) for v in answer.beats.ravel().tolist()],
        }
        for task, answer in zip(tasks, answers, strict=True)
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else float(value)
