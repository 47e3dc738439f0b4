"""The on-policy difficulty filter: keeps problems that some rollouts solve and most do not.

Of n rollouts of a problem, k meet a criterion; the problem stays iff low <= k <= high. Stage 1 asks
whether all tests pass, stage 2 whether the complexity bound is met as well.

A rollout that could not be scored may count either way, so a problem is decided only where both
ends of what k can be say the same.

Source: Nanbeige4.1-3B report (arXiv:2602.13367): n = 8, keep 1 <= k <= 5. Whether stage 2 also asks
for correctness is not disclosed; ours does by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.policy.data.row_files import read_rows, write_rows
from assay.score import STATUSES
from assay.settings import whole

#: Whether a score (a row of `assay score`) meets a criterion; None where that is not known.
Criterion = Callable[[Mapping[str, Any]], bool | None]


@dataclass(frozen=True)
class Solved:
    """All tests passed: `passed` of the part `tests`, or of the whole score without such a part.

    >>> Solved()({"status": "scored", "passed": True, "parts": {}})
    True
    """

    part: str = "tests"

    def __call__(self, score: Mapping[str, Any]) -> bool | None:
        """Read the part's `passed`; a gated part was not reached, so it is not solved."""
        found = part_of(score, self.part) or score
        _require_score(found)
        if found["status"] == "gated":
            return False
        if found["status"] != "scored":
            return None
        passed = found.get("passed")
        return None if passed is None else bool(passed)


@dataclass(frozen=True)
class MeetsBound:
    """The complexity bound is met, by default in a program that also passes all tests.

    Args:
        part: Name of the time-complexity part.
        require_correct: Also ask for `Solved(tests)`.
        tests: Name of the tests part.
    """

    part: str = "time"
    require_correct: bool = True
    tests: str = "tests"

    def __call__(self, score: Mapping[str, Any]) -> bool | None:
        """Read the part's `passed`."""
        if self.require_correct and (solved := Solved(self.tests)(score)) is not True:
            return solved
        found = part_of(score, self.part)
        if found is None:
            parts = sorted(score.get("parts") or ())
            raise DataError(
                f"the scores have no part {self.part!r}, only {parts}; score the "
                "rollouts with a reward that has it, or name another part"
            )
        _require_score(found)
        if found["status"] == "gated":
            return False if self.require_correct else None
        passed = found.get("passed")
        return None if found["status"] != "scored" or passed is None else bool(passed)


@dataclass(frozen=True)
class Filtered:
    """What a filter decided.

    Attributes:
        kept: Groups that stay.
        solved: For each complete group, the smallest and largest number that k can be.
        counts: Groups by decision.
    """

    kept: list[str] = field(default_factory=list)
    solved: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class DifficultyFilter:
    """Keeps a group iff low <= k <= high of its n rollouts meet the criterion.

    Example:
        >>> scores = [{"status": "scored", "passed": i < 3, "parts": {}} for i in range(8)]
        >>> DifficultyFilter(Solved())({"problem": scores}).kept
        ['problem']
    """

    criterion: Criterion = field(default_factory=Solved)
    n: int = 8
    low: int = 1
    high: int = 5

    def __post_init__(self) -> None:
        for name in ("n", "low", "high"):
            whole(f"DifficultyFilter.{name}", getattr(self, name), 1 if name == "n" else 0)
        if not 0 <= self.low <= self.high <= self.n:
            raise ConfigError(
                "DifficultyFilter needs 0 <= low <= high <= n and n >= 1, got "
                f"low={self.low}, high={self.high}, n={self.n}"
            )

    def __call__(self, groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> Filtered:
        """Decide each group.

        Raises:
            DataError: A group has more than n rollouts, or a criterion says neither true, false nor
                none.
        """
        result = Filtered()
        for name, scores in groups.items():
            if len(scores) > self.n:
                raise DataError(f"group {name!r} has {len(scores)} rollouts, more than n={self.n}")
            if len(scores) < self.n:
                result.counts["incomplete"] += 1
                continue
            met = [_verdict(self.criterion(score)) for score in scores]
            least = sum(value is True for value in met)
            most = least + sum(value is None for value in met)
            result.solved[name] = (least, most)
            inside = [self.low <= k <= self.high for k in range(least, most + 1)]
            if all(inside):
                result.counts["kept"] += 1
                result.kept.append(name)
            elif any(inside):
                result.counts["undecided"] += 1
            else:
                result.counts["too hard" if most < self.low else "too easy"] += 1
        return result


def filter_files(
    rollouts: str | Path,
    scores: str | Path,
    output: str | Path,
    rule: DifficultyFilter | None = None,
) -> dict[str, Any]:
    """Write one problem row for every kept group; returns counts.

    Args:
        rollouts: Input of `assay score`, with a `uid` per problem.
        scores: Its output.
        output: The problem rows (without `completion`), with `solved` = k.
        rule: The filter; the report's stage 1 by default.

    Raises:
        DataError: A rollout without `uid`, or files that do not belong together.
    """
    found = _by_id(scores)
    seen: set[object] = set()
    groups: dict[str, list[Mapping[str, Any]]] = {}
    problems: dict[str, dict[str, Any]] = {}
    unscored = 0
    for number, row in enumerate(read_rows(rollouts), start=1):
        if row.get("uid") is None:
            raise DataError(f"{rollouts}, row {number} has no `uid`; give each problem its own")
        uid = str(row["uid"])
        name = _id_of(row.get("id", number), rollouts, number)
        if name in seen:
            raise DataError(
                f"{rollouts}, row {number}: another rollout has the id {name!r} too, so their "
                "scores cannot be told apart; give each its own id, or none, and score them again"
            )
        seen.add(name)
        problems.setdefault(uid, {k: v for k, v in row.items() if k not in _ROLLOUT_COLUMNS})
        score = found.get(name)
        if score is None:
            unscored += 1
        else:
            groups.setdefault(uid, []).append(score)
    if problems and not groups:
        raise DataError(f"no id of {scores} stands in {rollouts}; give the file that was scored")
    result = (rule or DifficultyFilter())(groups)
    written = write_rows(
        output, (problems[u] | {"solved": result.solved[u][0]} for u in result.kept)
    )
    return {
        "problems": len(problems),
        "written": written,
        "unscored": unscored,
        **dict(result.counts),
    }


_ROLLOUT_COLUMNS = frozenset({"id", "completion", "completion_ids", "truncated"})


def part_of(score: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """The part at `path` ("code/tests") of a score row, or None."""
    found: Any = score
    for name in path.split("/"):
        parts = found.get("parts")
        found = parts.get(name) if isinstance(parts, Mapping) else None
        if not isinstance(found, Mapping):
            return None
    return found  # type: ignore[no-any-return]


def _require_score(row: Mapping[str, Any]) -> None:
    if row.get("status") not in STATUSES:
        raise DataError(
            f"a score has a `status` that is one of {STATUSES}, got {row.get('status')!r} among "
            f"{sorted(row)}; give what `assay score` wrote"
        )


def _verdict(value: object) -> bool | None:
    """What a criterion said; numpy's truth values count, numbers do not: 0.5 is neither."""
    if value is None or isinstance(value, bool):
        return value
    if type(value).__name__ in {"bool", "bool_"}:
        return bool(value)
    raise DataError(f"a criterion must say True, False or None of a score, got {value!r:.80}")


def _id_of(value: object, file: str | Path, number: int) -> object:
    if not isinstance(value, str | int):
        raise DataError(f"{file}, row {number}: an id is text or a whole number, got {value!r:.80}")
    return value


def _by_id(file: str | Path) -> dict[object, dict[str, Any]]:
    """Score rows by id.

    Raises:
        DataError: A row without id, or an id that stands twice.
    """
    found: dict[object, dict[str, Any]] = {}
    for number, row in enumerate(read_rows(file), start=1):
        name = _id_of(row.get("id"), file, number)
        if name in found:
            raise DataError(
                f"{file}, row {number}: the id {name!r} stands twice; give the scores of one run"
            )
        found[name] = row
    return found
