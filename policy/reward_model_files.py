"""The folder of a trained reward model: weights, how they are read, and a model card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.policy.checkpoints import write_json_file
from assay.policy.model_card import Calibration, ModelCard
from assay.policy.reward_model_config import PairwiseConfig, PointwiseConfig
from assay.policy.reward_model_data import PreferenceSplit, pair_text
from assay.policy.trained_weights import save_weights
from assay.rewards.pair_text import PairText
from assay.rewards.pairwise import PairwiseModel
from assay.rewards.pointwise import PointwiseModel

#: Beside the weights: how inputs were rendered, and the temperature.
SETTINGS_FILE = "reward_model.json"


def trained_model(folder: str | Path, **settings: Any) -> PointwiseModel | PairwiseModel:
    """The model that `main` saved in `folder`, rendered as it was trained, with its temperature.

    Args:
        folder: `TrainedRewardModel.folder`, or a copy of it anywhere.
        **settings: Further settings of the model: `device`, `dtype`, `order`, ...

    Raises:
        ConfigError: `folder` was not saved by `main`.
    """
    path = Path(folder) / SETTINGS_FILE
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}; give a folder that assay trained, or load the model "
            "with PointwiseModel or PairwiseModel"
        ) from error
    common: dict[str, Any] = {"max_length": saved["max_length"]} | settings
    if saved["kind"] == "point-wise":
        return PointwiseModel(str(folder), **common)
    text = PairText(
        saved["template"],
        answer_follows=saved["head"] == "verdict",
        show_reasoning=saved["show_reasoning"],
    )
    pair_settings: dict[str, Any] = {
        "head": saved["head"],
        "text": text,
        "labels": tuple(saved["labels"]),
        "temperature": saved["temperature"] or 1.0,
    }
    return PairwiseModel(str(folder), **(pair_settings | common))


def save_model(config: Any, trainer: Any, tokenizer: Any, calibration: Calibration | None) -> Path:
    """Save the model so that `from_pretrained` loads it, and how it is to be read."""
    folder = Path(config.output_dir)
    if trainer.is_world_process_zero():  # written last: a folder without it is not whole
        (folder / SETTINGS_FILE).unlink(missing_ok=True)
    save_weights(trainer, folder, merge_lora=config.merge_lora and config.lora is not None)
    if trainer.is_world_process_zero():
        tokenizer.save_pretrained(folder)
        saved: dict[str, Any] = {
            "kind": "point-wise",
            "max_length": config.max_length,
            "temperature": None if calibration is None else calibration.temperature,
        }
        if isinstance(config, PairwiseConfig):
            saved |= {
                "kind": "pair-wise",
                "head": config.head,
                "labels": list(config.labels),
                "template": pair_text(config).text(),
                "show_reasoning": config.show_reasoning,
            }
        write_json_file(folder / SETTINGS_FILE, saved)
    return folder


def card_of(
    config: PointwiseConfig | PairwiseConfig,
    split: PreferenceSplit,
    metrics: Mapping[str, float],
    calibration: Calibration | None,
) -> ModelCard:
    """The card of the model that `config` trained."""
    own = ("data", "held_out_data", "output_dir", "licence", "data_licence", "model")
    settings = {k: v for k, v in config.to_json().items() if k not in own}
    pairwise = isinstance(config, PairwiseConfig)
    # A local folder is named without where it lies.
    local = Path(config.model).is_dir() or Path(config.model).is_absolute()
    name = Path(config.output_dir).name
    usage = [
        "from assay.policy.reward_models import trained_model",
        *([] if pairwise else ["from assay.rewards.pointwise import PointwiseReward"]),
        "",
        f'judge = trained_model("{name}")'
        if pairwise
        else f'reward = PointwiseReward(trained_model("{name}"))',
    ]
    return ModelCard(
        name=name,
        kind="pair-wise" if pairwise else "point-wise",
        base_model=Path(config.model).name if local else config.model,
        licence=config.licence,
        data=split.facts,
        dropped=split.dropped,
        metrics=metrics,
        calibration=calibration,
        settings=settings,
        usage="\n".join(usage),
    )
