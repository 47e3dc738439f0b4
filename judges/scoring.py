"""Scores one batch of rows: bad rows are set aside, the rest is scored; failures are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.diagnostics import Recorder, leaf_scores
from assay.errors import AssayError, DataError, RewardError
from assay.judges.rows import BadRow, Row
from assay.reward import Reward, Score

#: A running job is not ended by fewer failures of a leaf.
FEWEST = 8


@dataclass
class BatchScores:
    """What became of a batch.

    Attributes:
        scored: Row and score, in the order of the batch.
        bad: Rows that the reward could not use.
        seconds: Wall time by leaf path; the whole under "".
    """

    scored: list[tuple[Row, Score]] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def score_batch(reward: Reward, rows: Sequence[Row]) -> BatchScores:
    """Score `rows`.

    A DataError that names a row costs that row, and in a group-scoped reward its group: a score
    that compares rollouts is not the same without one of them. A DataError that names none is
    tracked down by scoring rows (groups) one by one.

    Raises:
        RewardError: The reward broke its contract or raised something that is no AssayError.
    """
    grouped = reward.scope == "group"
    units: dict[str | int, list[Row]] = {}
    for row in rows:
        units.setdefault(str(row.sample.group) if grouped else row.line, []).append(row)
    found = BatchScores()
    _score_units(reward, list(units.values()), found)
    found.bad.sort(key=lambda bad: bad.line)
    return found


@dataclass
class ErrorBudget:
    """Failures per leaf over a whole job; one that fails too often ends it.

    One failure in the first row is all of them so far and says little: a running job ends from
    `FEWEST` failures on, a finished one is judged by all its rows.
    """

    reward: Reward
    limit: float
    asked: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)

    def charge(self, scores: Sequence[Score]) -> None:
        """Count a batch.

        Raises:
            RewardError: A leaf failed on more than `limit` of the rows it was asked to score, and
                at least `FEWEST` times.
        """
        for path in self.reward.leaves():
            leaf = leaf_scores(scores, path)
            failures = [score for score in leaf if score.status == "failed"]
            self.asked[path] += sum(score.status not in ("skipped", "gated") for score in leaf)
            self.failed[path] += len(failures)
            if failures:
                self.notes[path] = failures[0].note
        if problem := self.problem(FEWEST):
            raise RewardError(problem)

    def problem(self, fewest: int = 1) -> str:
        """Which leaf failed too often, at least `fewest` times; empty where none did."""
        for path, failed in self.failed.items():
            if failed >= fewest and failed > self.limit * self.asked[path]:
                where = f"{self.reward.name}/{path}" if path else self.reward.name
                return (
                    f"reward {where!r} failed on {failed} of the {self.asked[path]} rows it was "
                    f"asked to score (--max-error-rate {self.limit:g}): {self.notes[path]}"
                )
        return ""


def _score_units(reward: Reward, units: list[list[Row]], found: BatchScores) -> None:
    while units:
        rows = [row for unit in units for row in unit]
        try:
            with Recorder() as recorder:
                scores = _evaluate(reward, rows)
        except DataError as error:
            if error.index is not None and 0 <= error.index < len(rows):
                culprit = rows[error.index]
                unit = next(u for u in units if any(row is culprit for row in u))
                _set_aside(unit, culprit, str(error), found)
                units = [u for u in units if u is not unit]
            elif len(units) == 1:
                _set_aside(units[0], units[0][0], str(error), found)
                return
            else:
                for unit in units:
                    _score_units(reward, [unit], found)
                return
        else:
            found.scored.extend(zip(rows, scores, strict=True))
            for path, seconds in recorder.seconds.items():
                found.seconds[path] = found.seconds.get(path, 0.0) + seconds
            return


def _set_aside(unit: list[Row], culprit: Row, reason: str, found: BatchScores) -> None:
    for row in unit:
        why = reason
        if row is not culprit:
            why = f"its group cannot be scored without line {culprit.line}: {reason}"
        found.bad.append(BadRow(row.line, why))


def _evaluate(reward: Reward, rows: Sequence[Row]) -> list[Score]:
    try:
        return reward.evaluate([row.sample for row in rows])
    except (AssayError, ImportError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: it would end the job as if all were done
        lines = sorted(row.line for row in rows)
        raise RewardError(
            f"reward {reward.name!r} raised {type(error).__name__}: {error}, on lines {lines[0]} "
            f"to {lines[-1]}; a reward returns Score.fail(note) for a row that it cannot score"
        ) from error
