"""What can be seen to fail before a run begins: keys for TRL, files, rewards, launch files.

A stage that cannot be set up would otherwise be noticed after all the stages before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.errors import ConfigError
from assay.loading import load_reward
from assay.policy.config_keys import require_trl_keys
from assay.policy.data.sources import as_sources
from assay.policy.launch.files import launch_file
from assay.policy.recipe import Recipe, StageSpec
from assay.policy.run_folder import data_files
from assay.policy.stages.models import require_lora_keys
from assay.policy.stages.registry import Family
from assay.policy.vllm_sampling import require_vllm

#: The configuration class of TRL that a stage's `[trl]` goes to.
_TRL: Mapping[Family, str] = {
    "sft": "SFTConfig",
    "judge": "SFTConfig",
    "rl": "GRPOConfig",
    "rm": "RewardConfig",
}


def require_ready(recipe: Recipe, stages: Iterable[StageSpec]) -> None:
    """Refuse a recipe of which some stage cannot be set up; what the run makes itself is trusted.

    Args:
        recipe: The recipe.
        stages: Those that are about to run.

    Raises:
        ConfigError: Names the stage, and what it lacks.
    """
    for stage in stages:
        try:
            _require_stage(recipe, stage)
        except ConfigError as error:
            raise ConfigError(f"stage {stage.name!r}: {error}") from error
    for evaluation in recipe.evaluations:
        try:
            sources = as_sources(recipe.resolve(evaluation.data))
            _require_files(recipe, [source.path for source in sources])
            if evaluation.vllm:
                require_vllm()
            if evaluation.reward is not None:
                load_reward(evaluation.reward)
            if evaluation.reward_model is not None:
                _require_reward_model(recipe, str(recipe.resolve(evaluation.reward_model)))
        except ConfigError as error:
            raise ConfigError(f"evaluation {evaluation.name!r}: {error}") from error


def _require_stage(recipe: Recipe, stage: StageSpec) -> None:
    import trl

    config = recipe.config(stage)
    require_trl_keys(getattr(trl, _TRL[stage.kind.family]), config.trl)
    if config.lora is not None:
        require_lora_keys(config.lora)
    if stage.launch:
        launch_file(stage.launch)
    if getattr(config, "vllm", "off") != "off":
        require_vllm()
    _require_files(recipe, data_files(config))
    for holder in (config, *getattr(config, "replay", ())):
        if getattr(holder, "reward", None) is not None:
            load_reward(holder.reward)
        if getattr(holder, "reward_model", None):
            _require_reward_model(recipe, holder.reward_model)


def _require_files(recipe: Recipe, paths: Iterable[str]) -> None:
    for path in paths:
        if not _made_by_run(recipe, path) and not Path(path).is_file():
            raise ConfigError(f"there is no file {path}; make it, or change the recipe's `data`")


def _require_reward_model(recipe: Recipe, folder: str) -> None:
    from assay.policy.reward_models import SETTINGS_FILE

    if not _made_by_run(recipe, folder) and not (Path(folder) / SETTINGS_FILE).is_file():
        raise ConfigError(
            f"{folder} holds no reward model that assay trained ({SETTINGS_FILE} is missing); "
            "train one with `assay train rm-pointwise` or `rm-pairwise`"
        )


def _made_by_run(recipe: Recipe, path: str) -> bool:
    return Path(recipe.output_dir) in Path(path).parents
