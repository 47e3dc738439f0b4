"""Agentic RL: rollouts in environments with tools, turns judged by a critic and credited."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of
from assay.judge import TurnCritic
from assay.policy.chat import read_tool_calls
from assay.policy.config_keys import from_table
from assay.policy.credit_assignment import TurnCredit
from assay.policy.stages.agentic_rewards import Verified, WithEnvironments
from assay.policy.stages.rl import run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.stage_config import StageResult
from assay.reward import Reward
from assay.rewards import Term, WeightedSum
from assay.settings import real

#: Column with the JSON schemas of a row's tools, for the critic; and the one that TRL reads.
SCHEMAS, ENVIRONMENT = "tool_schemas", "environment"
#: The environment of replayed rows, which have no tools.
NONE = "none"


@dataclass(frozen=True)
class AgenticConfig(RLConfig):
    """GRPO in environments, with credit for single turns.

    A row names its environment: `task` (what `TableTask.to_json` wrote), or `family` and
    `environment_seed` of a generated one. Without a `prompt` the environment's task is asked.

    Args:
        critic: `rules` (`RuleCritic`), the folder of a critic that `assay train turn-critic` made,
            or `FILE.py:attr` naming a TurnCritic.
        turn_cost: What a failing turn costs.
        credit: Settings of `assay.policy.credit_assignment.TurnCredit`.
        outcome_weight: Weight of the verifier's value.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367): 1,827 environments with tools and verifiers;
    a failing turn gets a negative reward. Its size and the algorithm are not disclosed.
    """

    STAGE: ClassVar[str] = "agentic_rl"

    domain: str = "agent"
    critic: str = "rules"
    turn_cost: float = 1.0
    credit: Mapping[str, Any] = field(default_factory=dict)
    outcome_weight: float = 1.0

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("turn_cost", self.turn_cost, 1e-9)
        real("outcome_weight", self.outcome_weight, 0)
        self.turn_credit()
        if self.filter is not None:
            raise ConfigError(
                "agentic_rl has no difficulty filter: it would have to play every environment 8 "
                "times; validate environments with assay.policy.environments.validate instead"
            )

    def turn_credit(self) -> TurnCredit:
        """How turns are credited."""
        return from_table(TurnCredit, self.credit, "[credit]")


def main(config: AgenticConfig) -> StageResult:
    """Train the policy in the rows' environments."""
    from assay.policy.stages.rl_trainer import StageTrainerMixin
    from assay.policy.turn_credit import TurnCreditGRPOTrainer

    class AgenticTrainer(StageTrainerMixin, TurnCreditGRPOTrainer):
        """Turn credit, with what every RL stage adds."""

    factories: dict[str, Callable[[], Any]] = {}
    return run_rl(
        config,
        lambda: agentic_reward(config),
        wrap=WithEnvironments,
        rows=lambda found: environment_rows(found, factories),
        tokenizer_hook=read_tool_calls,
        trainer_class=AgenticTrainer,
        trainer_settings={"credit": config.turn_credit(), "environment_factory": factories},
        columns={ENVIRONMENT: NONE},
    )


def agentic_reward(config: AgenticConfig) -> WeightedSum:
    """The verifier's value, and the turns that the critic fails."""
    from assay.rewards.turn_reward import TurnReward

    turns = TurnReward(critic_of(config.critic), cost=config.turn_cost, tools_column=SCHEMAS)
    terms: dict[str, Term | Reward] = {
        "outcome": Term(Verified(), config.outcome_weight),
        "turns": Term(turns),
    }
    return WeightedSum(terms, name="agent")  # type: ignore[arg-type]


def critic_of(spec: str) -> TurnCritic:
    """The critic that `rules`, a folder or `FILE.py:attr` names.

    Raises:
        ConfigError: It is no TurnCritic.
    """
    if spec == "rules":
        from assay.judges.turn_critic import RuleCritic

        return RuleCritic()
    if Path(spec).is_dir():
        from assay.policy.stages.turn_critic import trained_critic

        return trained_critic(spec)
    from assay.loading import load_object

    critic: TurnCritic = load_object(spec, TurnCritic, "critic")[0]
    return critic


def environment_rows(
    rows: Sequence[Mapping[str, Any]], factories: dict[str, Callable[[], Any]]
) -> list[dict[str, Any]]:
    """Rows with prompt, tools and the name of their factory; one factory per set of tools.

    Args:
        rows: As `AgenticConfig` says.
        factories: Filled with what the rows need.

    Raises:
        DataError: A row that names no environment.
    """
    from assay.policy.environments.trl_factory import environment_factory

    found = []
    for number, row in enumerate(rows, start=1):
        spec = environment_of(row, number)
        schemas = json.dumps(spec.schemas(), sort_keys=True)
        key = f"tools_{fingerprint_of(schemas)[:10]}"
        if key not in factories:
            factories[key] = environment_factory(
                _spec_of, spec, show_task=False, owns_reward=False, name=f"Environment_{key}"
            )
        made = dict(row) | {SCHEMAS: schemas, ENVIRONMENT: key}
        made.setdefault("prompt", [{"role": "user", "content": spec.task}])
        made.setdefault("uid", spec.id)
        found.append(made)
    factories.setdefault(NONE, NoEnvironment)
    return found


def environment_of(row: Mapping[str, Any], number: int = 0) -> Any:
    """The environment that a row names.

    Raises:
        DataError: It names none.
    """
    if row.get("task"):
        from assay.policy.environments.table_task import TableTask

        task = row["task"]
        return TableTask.from_json(
            task if isinstance(task, str) else json.dumps(task)
        ).environment()
    if row.get("family"):
        from assay.policy.environments.families import environment

        return environment(str(row["family"]), int(row.get("environment_seed") or 0))
    raise DataError(
        f"row {number} names no environment; give `task` (TableTask.to_json), or `family` and "
        f"`environment_seed`; it has {sorted(row)}",
        number - 1 if number else None,
    )


def _spec_of(**row: Any) -> Any:
    return environment_of(row)


class NoEnvironment:
    """The environment of rows without tools: nothing happens in it."""

    def reset(self, **row: Any) -> None:
        """Nothing to start."""
