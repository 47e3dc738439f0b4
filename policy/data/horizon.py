"""How far agents get: success by length and depth, kinds of failure, verdicts along the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.calibration.intervals import Interval, wilson_interval
from assay.errors import DataError
from assay.judge import TurnVerdict
from assay.judges.tool_outcomes import answers_error, outcome_of
from assay.messages import Trajectory
from assay.policy.data.horizon_measures import Measure, auc_interval
from assay.rewards.turn_reward import CRITERIA

#: Upper ends of the bins of turns and depths; 600 calls is the longest horizon published.
EDGES = (5, 10, 20, 50, 100, 200, 400, 600)
#: Parts into which every run is cut to look at what changes along it.
PARTS = 10
_INCOHERENT = {"malformed_call", "unknown_tool", "bad_arguments", "unfounded_argument"}
_LOOPS = {"loop", "repeated_words"}
#: What ends a run early, in the words of trainers and servers.
_CUT = {"length", "max_tokens", "context_length", "context_overflow", "truncated"}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run in numbers.

    Attributes:
        id: Where it comes from.
        success: Whether its outcome reaches the bound; None where the outcome is unknown.
        turns: Assistant turns.
        calls: Tool calls.
        depth: Fewest calls that the task takes where the row says it (`depth`, `optimal_steps`),
            else the calls made.
        repeated: Calls that repeated an earlier one and brought the same.
        errors: Results that were errors of any kind.
        failing: Turns that the critic fails.
        failure: Kind of failure, empty for a success or an unknown outcome.
    """

    id: str
    success: bool | None
    turns: int
    calls: int
    depth: int
    repeated: int
    errors: int
    failing: int
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Bin:
    """Runs whose length or depth lies in [low, high], and how many of them succeeded."""

    low: int
    high: int | None
    runs: int
    successes: int

    @property
    def rate(self) -> Interval:
        """Share of successes with Wilson's interval."""
        return wilson_interval(self.successes, self.runs)

    @property
    def label(self) -> str:
        """The bin for people."""
        return f"{self.low}-{self.high}" if self.high else f"> {self.low - 1}"


@dataclass(frozen=True, slots=True)
class Part:
    """One tenth of all runs: turns, those that fail or abstain by criterion, repeated calls."""

    turns: int
    failing: Mapping[str, int]
    undecided: Mapping[str, int]
    any_failing: int
    repeated: int

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class HorizonReport:
    """What `assay audit trajectories` tells.

    Attributes:
        runs: One record a run.
        by_turns: Success by number of turns, runs of known outcome only.
        by_depth: Success by depth.
        failures: Failed runs by kind.
        findings: Turns by finding.
        along: Verdicts in each tenth of the runs.
        measures: How well counts tell failed runs, as area under the ROC curve.
    """

    runs: tuple[RunRecord, ...]
    by_turns: tuple[Bin, ...]
    by_depth: tuple[Bin, ...]
    failures: Mapping[str, int]
    findings: Mapping[str, int]
    along: tuple[Part, ...]
    measures: tuple[Measure, ...] = field(default_factory=tuple)

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "runs": [asdict(run) for run in self.runs],
            "by_turns": [_bin_json(one) for one in self.by_turns],
            "by_depth": [_bin_json(one) for one in self.by_depth],
            "failures": dict(self.failures),
            "findings": dict(self.findings),
            "along": [asdict(part) for part in self.along],
            "measures": [measure.to_json() for measure in self.measures],
        }


def horizon_report(
    trajectories: Sequence[Trajectory],
    reviews: Sequence[Sequence[TurnVerdict]],
    *,
    success: float = 1.0,
    seed: int = 0,
) -> HorizonReport:
    """The report on reviewed runs.

    Args:
        trajectories: The runs.
        reviews: A critic's verdicts on them, one a turn.
        success: Outcome from which a run is a success.
        seed: Of the intervals' resampling.

    Raises:
        DataError: No runs, or not one verdict a turn.
    """
    if not trajectories:
        raise DataError("there are no runs to report on")
    records = [
        _record(run, review, success) for run, review in zip(trajectories, reviews, strict=True)
    ]
    known = [record for record in records if record.success is not None]
    return HorizonReport(
        tuple(records),
        _bins([(record.turns, bool(record.success)) for record in known]),
        _bins([(record.depth, bool(record.success)) for record in known]),
        dict(Counter(record.failure for record in records if record.failure).most_common()),
        dict(Counter(f for review in reviews for v in review for f in v.findings).most_common()),
        _along(reviews),
        _measures(known, seed),
    )


def _record(run: Trajectory, review: Sequence[TurnVerdict], success: float) -> RunRecord:
    turns = run.turns
    if len(turns) != len(review):
        raise DataError(f"run {run.id!r} has {len(turns)} turns but {len(review)} verdicts")
    errors = sum(outcome_of(m) != "ok" for turn in turns for m in turn.results if m.role == "tool")
    told = run.info.get("depth", run.info.get("optimal_steps"))
    depth = told if isinstance(told, int) and not isinstance(told, bool) else run.calls
    succeeded = None if run.outcome is None else run.outcome >= success
    return RunRecord(
        run.id,
        succeeded,
        len(turns),
        run.calls,
        depth,
        sum("repeated_call" in verdict.findings for verdict in review),
        errors,
        sum(verdict.passed is False for verdict in review),
        failure_kind(run, review) if succeeded is False else "",
    )


def failure_kind(run: Trajectory, review: Sequence[TurnVerdict]) -> str:
    """Why a failed run failed, as far as its surface tells; the first that applies.

    `context overflow` (it was cut at a length limit), `budget used up`, `loop`, `gives up` (the
    last turn is empty, or says that it cannot), `incoherent call`, `error ignored`, `answer without
    evidence`, else `wrong result`.
    """
    turns = run.turns
    findings = [set(verdict.findings) for verdict in review]
    every: set[str] = set().union(*findings) if findings else set()
    reason = str(run.info.get("finish_reason") or run.info.get("stop_reason") or "").lower()
    if reason in _CUT or run.info.get("truncated") is True:
        return "context overflow"
    if run.budget is not None and run.calls >= run.budget:
        return "budget used up"
    if _LOOPS & every:
        return "loop"
    last = turns[-1].message if turns else None
    if last is None or "empty_turn" in findings[-1]:
        return "gives up"
    if not last.tool_calls and answers_error(last.content, "") and len(last.content) < 1500:
        return "gives up"
    for kind, names in (
        ("incoherent call", _INCOHERENT),
        ("error ignored", {"ignored_error"}),
        ("answer without evidence", {"unsupported_answer"}),
    ):
        if names & every:
            return kind
    return "wrong result"


def _bins(values: Sequence[tuple[int, bool]]) -> tuple[Bin, ...]:
    found = []
    low = 0
    for high in (*EDGES, None):
        inside = [good for size, good in values if size >= low and (high is None or size <= high)]
        if inside:
            found.append(Bin(low, high, len(inside), sum(inside)))
        low = (high or 0) + 1
    return tuple(found)


def _along(reviews: Sequence[Sequence[TurnVerdict]]) -> tuple[Part, ...]:
    parts: list[list[TurnVerdict]] = [[] for _ in range(PARTS)]
    for review in reviews:
        for index, verdict in enumerate(review):
            parts[index * PARTS // len(review)].append(verdict)
    return tuple(
        Part(
            len(part),
            {name: sum(getattr(v, name) is False for v in part) for name in CRITERIA},
            {name: sum(getattr(v, name) is None for v in part) for name in CRITERIA},
            sum(v.passed is False for v in part),
            sum("repeated_call" in v.findings for v in part),
        )
        for part in parts
    )


def _measures(records: Sequence[RunRecord], seed: int) -> tuple[Measure, ...]:
    """How well each count tells failed runs; nothing where all runs end alike."""
    failed = [not record.success for record in records]
    if len(set(failed)) < 2:
        return ()
    columns = {
        "failing turns, count": [float(r.failing) for r in records],
        "failing turns, share": [r.failing / max(r.turns, 1) for r in records],
        "number of turns": [float(r.turns) for r in records],
        "repeated calls": [float(r.repeated) for r in records],
        "error results": [float(r.errors) for r in records],
    }
    return tuple(
        Measure(name, auc_interval(values, failed, seed=seed)) for name, values in columns.items()
    )


def _bin_json(one: Bin) -> dict[str, Any]:
    return {
        "low": one.low,
        "high": one.high,
        "runs": one.runs,
        "successes": one.successes,
        "rate": one.rate.as_json(),
    }
