"""The training stages by name: their configuration, their `main`, what they train."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError
from assay.policy.config_keys import require_known

Family = Literal["sft", "rl", "rm", "judge"]


@dataclass(frozen=True)
class StageKind:
    """One kind of stage.

    Attributes:
        name: As recipes and the command line name it, with underscores.
        module: Where its `main` is.
        config: Name of its configuration's class, in `config_module` or else in `module`.
        family: Which `[defaults]` table of a recipe applies to it.
        policy: It trains the policy: the next such stage starts from what it saved.
        config_module: Where its configuration is.
    """

    name: str
    module: str
    config: str
    family: Family
    policy: bool
    config_module: str = ""

    def config_class(self) -> Any:
        """The configuration's class."""
        module = self.config_module or self.module
        return getattr(importlib.import_module(module), self.config)

    def run(self, config: Any) -> Any:
        """Run the stage; returns its `StageResult`."""
        return importlib.import_module(self.module).main(config)


_REWARD_MODEL = "assay.policy.reward_model_config"

STAGES: dict[str, StageKind] = {
    kind.name: kind
    for kind in (
        StageKind("sft", "assay.policy.stages.sft", "SftConfig", "sft", True),
        StageKind(
            "rm_pointwise",
            "assay.policy.stages.rm_pointwise",
            "PointwiseConfig",
            "rm",
            False,
            _REWARD_MODEL,
        ),
        StageKind(
            "rm_pairwise",
            "assay.policy.stages.rm_pairwise",
            "PairwiseConfig",
            "rm",
            False,
            _REWARD_MODEL,
        ),
        StageKind(
            "pointwise_rl", "assay.policy.stages.pointwise_rl", "PointwiseRLConfig", "rl", True
        ),
        StageKind("pairwise_rl", "assay.policy.stages.pairwise_rl", "PairwiseRLConfig", "rl", True),
        StageKind(
            "code_rl_correctness",
            "assay.policy.stages.code_rl_correctness",
            "CodeCorrectnessConfig",
            "rl",
            True,
        ),
        StageKind(
            "code_rl_complexity",
            "assay.policy.stages.code_rl_complexity",
            "CodeComplexityConfig",
            "rl",
            True,
        ),
        StageKind(
            "complexity_judge",
            "assay.policy.stages.complexity_judge",
            "ComplexityJudgeConfig",
            "judge",
            False,
        ),
        StageKind(
            "cot_reconstruction",
            "assay.policy.stages.cot_reconstruction",
            "CotReconstructionConfig",
            "judge",
            False,
        ),
        StageKind("agentic_rl", "assay.policy.stages.agentic_rl", "AgenticConfig", "rl", True),
        StageKind(
            "turn_critic", "assay.policy.stages.turn_critic", "TurnCriticConfig", "judge", False
        ),
    )
}


def stage_kind(name: str) -> StageKind:
    """The kind of that name; hyphens count as underscores.

    >>> stage_kind("pointwise-rl").name
    'pointwise_rl'

    Raises:
        ConfigError: There is none.
    """
    key = name.replace("-", "_")
    require_known("stages:", [key], STAGES)
    if key not in STAGES:  # not reached; for type checkers
        raise ConfigError(name)
    return STAGES[key]
