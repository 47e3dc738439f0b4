"""The work of `assay audit trajectories`: read runs, review them, report, write, draw."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, DataError
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.tool_schemas import inferred_tools
from assay.judges.turn_critic import CombinedCritic, CombinedReview, ModelCritic, RuleCritic
from assay.messages import Trajectory
from assay.policy.data.horizon import HorizonReport, horizon_report
from assay.policy.data.horizon_view import horizon_tables, mistake_table
from assay.policy.data.mistakes import MistakeReport, mistake_report
from assay.policy.data.row_files import write_rows
from assay.policy.data.trajectories import read_trajectories, trajectory_row

if TYPE_CHECKING:
    from rich.table import Table

_BATCH = 64


@dataclass(frozen=True)
class AuditOfRuns:
    """What the audit found.

    Attributes:
        horizon: Success, failures, verdicts along the runs.
        mistakes: Whether the step that broke each run is found; with `labelled` only.
        agreement: Of rules and model, where both were asked.
        inferred: Tools whose schemas were read off the calls.
    """

    horizon: HorizonReport
    mistakes: MistakeReport | None = None
    agreement: Mapping[str, Any] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def tables(self) -> list[Table]:
        """For people."""
        tables = horizon_tables(self.horizon)
        if self.mistakes is not None:
            tables.append(mistake_table(self.mistakes))
        return tables

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            **self.horizon.to_json(),
            "mistakes": None if self.mistakes is None else self.mistakes.to_json(),
            "agreement": dict(self.agreement),
            "inferred_tools": list(self.inferred),
        }


@dataclass(frozen=True)
class HorizonJob:
    """The settings of an audit of runs.

    Args:
        file: Runs, in any form of `assay.policy.data.trajectories`.
        form: Of the rows, or `auto`.
        tools: A JSON list of schemas, for runs that carry none.
        infer_tools: Where there are no schemas at all, read them off the calls that worked.
        strict: As in `RuleCritic`.
        labelled: The rows say which step broke the run.
        success: Outcome from which a run is a success.
        base_url: An endpoint whose model is asked about turns that rules leave open.
        model: Its name; without `base_url` a folder of a model, a trained critic among them.
        api_key_env: Environment variable with the endpoint's key.
        limit: Most runs.
        output: Rows with the runs and their verdicts go here.
        plot: Picture of the report.

    Raises:
        ConfigError: An endpoint without a model, a bound of success that is no number, or a picture
            of another kind.
    """

    file: Path
    form: str = "auto"
    tools: Path | None = None
    infer_tools: bool = True
    strict: bool = False
    labelled: bool = False
    success: float = 1.0
    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    limit: int | None = None
    output: Path | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.success):
            raise ConfigError(f"success must be a finite outcome, got {self.success}; 1 is usual")
        if self.base_url is not None and self.model is None:
            raise ConfigError("an endpoint needs the name of its model; give --model")
        if self.plot is not None:
            from assay.policy.data.horizon_plot import check_format

            check_format(self.plot)

    def run(self) -> AuditOfRuns:
        """Do it.

        Raises:
            DataError: Files that cannot be read, or no runs.
        """
        runs = list(islice(read_trajectories(self.file, self.form), self.limit))
        if not runs:
            raise DataError(f"{self.file} holds no runs")
        tools, names = self._schemas(runs)
        reviews, agreement = self._review(runs, tools)
        found = AuditOfRuns(
            horizon_report(runs, reviews, success=self.success),
            mistake_report(runs, reviews) if self.labelled else None,
            agreement,
            names,
        )
        if self.output is not None:
            write_rows(self.output, map(reviewed_row, runs, reviews))
        if self.plot is not None:
            from assay.policy.data.horizon_plot import draw

            draw(found.horizon, self.plot, self.file.name)
        return found

    def _schemas(
        self, runs: Sequence[Trajectory]
    ) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
        if self.tools is not None:
            try:
                given = json.loads(self.tools.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise DataError(f"{self.tools} is no JSON list of tools: {error}") from error
            if not isinstance(given, list):
                raise DataError(f"{self.tools} must hold a JSON list, got {type(given).__name__}")
            return tuple(given), ()
        if not self.infer_tools or any(run.tools for run in runs):
            return (), ()
        tools = inferred_tools(runs)
        return tools, tuple(tool["function"]["name"] for tool in tools)

    def _review(
        self, runs: Sequence[Trajectory], tools: tuple[Mapping[str, Any], ...]
    ) -> tuple[list[list[TurnVerdict]], dict[str, Any]]:
        rules = RuleCritic(tools, strict=self.strict)
        if self.model is None:
            return _in_batches(rules, runs), {}
        critic = CombinedCritic(rules, self._asked(self.model))
        parts = [critic.review_all(runs[i : i + _BATCH]) for i in range(0, len(runs), _BATCH)]
        reviews = [verdicts for part in parts for verdicts in part.verdicts]
        return reviews, CombinedReview.joined(parts).to_json()

    def _asked(self, model: str) -> ModelCritic:
        if self.base_url is not None:
            from assay.judges.endpoint import Endpoint

            return ModelCritic(Endpoint(self.base_url, model, api_key_env=self.api_key_env))
        from assay.policy.stages.turn_critic import SETTINGS_FILE, trained_critic

        if (Path(model) / SETTINGS_FILE).is_file():
            return trained_critic(model)
        from assay.judges.local_model import LocalModel

        return ModelCritic(LocalModel(model, max_tokens=1024))


def reviewed_row(run: Trajectory, review: Sequence[TurnVerdict]) -> dict[str, Any]:
    """A run with its verdicts: what `assay train turn-critic` reads."""
    verdicts = [{**asdict(verdict), "passed": verdict.passed} for verdict in review]
    return {**trajectory_row(run), "verdicts": verdicts}


def _in_batches(critic: TurnCritic, runs: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
    found: list[list[TurnVerdict]] = []
    for start in range(0, len(runs), _BATCH):
        found += critic.review(runs[start : start + _BATCH])
    return found
