"""Trajectories by several agents in environments: the successful ones, reviewed, in one form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from assay.errors import AssayError, ConfigError
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.results import ResultFile
from assay.messages import Trajectory
from assay.policy.data.row_files import appended_rows
from assay.policy.data.supervised import loss_flags, supervised_row
from assay.policy.environments.loop import Played, play
from assay.policy.environments.spec import EnvironmentSpec
from assay.policy.environments.styles import AgentStyle

#: What became of an attempt.
Fate: TypeAlias = Literal["kept", "failed the task", "environment failed", "model failed"]


@dataclass(frozen=True)
class SynthesisPlan:
    """How trajectories are made.

    Args:
        agents: Styles by name; each tries every environment.
        critic: Reviews what succeeded; failing turns get `loss` 0. None: all turns are kept.
        attempts: Tries per environment and agent, with seeds 0, 1, ...
        form: Of the rows: `hermes`, `miroflow`, `react` or `openai`, whatever style made them.
        keep_results: The agents see only so many of the latest tool results; None for all.
        max_turns: Assistant turns at most; None for the budget of calls plus one.
        most_failing: Leave out trajectories in which a larger share of turns failed; 1 keeps all.
        concurrency: Runs at the same time.
    """

    agents: Mapping[str, AgentStyle]
    critic: TurnCritic | None = None
    attempts: int = 1
    form: str = "hermes"
    keep_results: int | None = None
    max_turns: int | None = None
    most_failing: float = 1.0
    concurrency: int = 8

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not self.agents:
            raise ConfigError("SynthesisPlan needs at least one agent, got none")
        for name in ("attempts", "concurrency"):
            if getattr(self, name) < 1:
                raise ConfigError(f"SynthesisPlan.{name} must be >= 1, got {getattr(self, name)}")
        if self.form not in ("hermes", "miroflow", "react", "openai"):
            raise ConfigError(
                "SynthesisPlan.form must be one of {'hermes', 'miroflow', 'react', 'openai'}, got "
                f"{self.form!r}"
            )
        if not 0 <= self.most_failing <= 1:
            raise ConfigError(
                f"SynthesisPlan.most_failing must lie in [0, 1], got {self.most_failing}"
            )


@dataclass(frozen=True)
class _Attempt:
    spec: EnvironmentSpec
    agent: str
    number: int

    @property
    def key(self) -> str:
        return f"{self.spec.id}|{self.agent}|{self.number}"


@dataclass
class Synthesis:
    """What was made so far.

    Attributes:
        fates: Attempts by agent and fate, those of earlier runs included.
        turns: Reviewed turns that passed, failed or were left open.
        errors: Why models failed, most frequent first.
    """

    fates: dict[str, Counter[str]] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "agents": {name: dict(fates) for name, fates in self.fates.items()},
            "turns": dict(self.turns),
            "errors": dict(self.errors.most_common(5)),
        }


def synthesise(
    specs: Iterable[EnvironmentSpec], plan: SynthesisPlan, output: str | Path
) -> Synthesis:
    """Run every agent in every environment; write the runs that passed their verifier.

    A row is one of `supervised_row` with `id`, `agent`, `attempt`, `environment`, `outcome`,
    `verdicts` (one list of three a turn) and `tools`. Beside it, `OUTPUT.attempts.jsonl` says what
    became of every attempt; a run that was killed goes on there, and attempts that failed because a
    model or an environment was down are made again.

    Args:
        specs: Environments; read as they are needed.
        plan: Agents and what is kept.
        output: JSON lines, appended.

    Raises:
        DataError: `output` or its attempts hold something else.
        ConfigError: Another process writes them.
    """
    rows, log = Path(output), Path(f"{output}.attempts.jsonl")
    made = Synthesis()
    with (
        ResultFile(rows, resume=True, start=b"{") as kept,
        ResultFile(log, resume=True, start=b"{") as told,
    ):
        done = _done(rows, log, made)
        waiting = (attempt for attempt in _attempts(specs, plan) if attempt.key not in done)
        for attempt, fate, row, verdicts, error in _run_all(waiting, plan):
            if row is not None:
                kept.append([row])
            told.append([{"key": attempt.key, "agent": attempt.agent, "fate": fate}])
            made.fates.setdefault(attempt.agent, Counter())[fate] += 1
            for verdict in verdicts:
                name = {True: "passed", False: "failed", None: "open"}[verdict.passed]
                made.turns[name] += 1
            if error:
                made.errors[error[:200]] += 1
    return made


_Result: TypeAlias = tuple[_Attempt, Fate, "dict[str, Any] | None", "list[TurnVerdict]", str]


def _attempts(specs: Iterable[EnvironmentSpec], plan: SynthesisPlan) -> Iterator[_Attempt]:
    for spec in specs:
        for name in plan.agents:
            for number in range(plan.attempts):
                yield _Attempt(spec, name, number)


def _run_all(attempts: Iterator[_Attempt], plan: SynthesisPlan) -> Iterator[_Result]:
    """Results as they come; few more attempts are drawn than run at once."""
    with ThreadPoolExecutor(plan.concurrency) as threads:
        running: set[Future[_Result]] = set()
        while True:
            free = plan.concurrency - len(running)
            running |= {threads.submit(_run, one, plan) for one in islice(attempts, free)}
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


def _run(attempt: _Attempt, plan: SynthesisPlan) -> _Result:
    style = plan.agents[attempt.agent]
    try:
        played = play(
            attempt.spec,
            style.agent(attempt.number),
            keep_results=plan.keep_results,
            max_turns=plan.max_turns,
        )
    except AssayError as error:
        return attempt, "model failed", None, [], str(error)
    if played.outcome.passed is None:
        return attempt, "environment failed", None, [], played.outcome.note
    if not played.outcome.passed:
        return attempt, "failed the task", None, [], ""
    trajectory = replace(played.trajectory, id=attempt.key, budget=attempt.spec.max_calls)
    try:
        verdicts = _reviewed(trajectory, plan.critic)
    except AssayError as error:
        return attempt, "model failed", None, [], f"the critic: {error}"
    flags = loss_flags(verdicts) if verdicts else (1,) * len(trajectory.turns)
    if flags.count(0) > plan.most_failing * len(flags):
        return attempt, "failed the task", None, verdicts, ""
    return (
        attempt,
        "kept",
        _row(attempt, played, trajectory, flags, verdicts, plan.form),
        verdicts,
        "",
    )


def _reviewed(trajectory: Trajectory, critic: TurnCritic | None) -> list[TurnVerdict]:
    return [] if critic is None else critic.review([trajectory])[0]


def _row(
    attempt: _Attempt,
    played: Played,
    trajectory: Trajectory,
    flags: tuple[int, ...],
    verdicts: list[TurnVerdict],
    form: str,
) -> dict[str, Any]:
    return supervised_row(trajectory, flags, form) | {
        "id": attempt.key,
        "agent": attempt.agent,
        "attempt": attempt.number,
        "environment": attempt.spec.id,
        "outcome": played.outcome.value,
        "calls": played.outcome.calls,
        "verdicts": [
            [v.logical_soundness, v.tool_call_accuracy, v.informational_gain] for v in verdicts
        ],
    }


def _done(rows: Path, log: Path, made: Synthesis) -> set[str]:
    """Attempts that need not be made again."""
    kept = {row["id"] for row in appended_rows(rows, "id")}
    done = set(kept)
    for row in appended_rows(log, "fate"):
        if row["fate"] == "kept" and row["key"] not in kept:
            continue  # its row was lost with a torn line
        if row["fate"] in ("kept", "failed the task"):
            done.add(row["key"])
            made.fates.setdefault(str(row["agent"]), Counter())[str(row["fate"])] += 1
    return done
