"""Configurations of reward-model training: one frozen dataclass a kind, from TOML or keywords."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from assay.errors import ConfigError
from assay.policy.config_keys import require_known
from assay.settings import whole

#: Keys of `[trl]` that this library sets itself, and the key of ours that sets them.
OWN_KEYS = {
    "output_dir": "output_dir",
    "seed": "seed",
    "max_length": "max_length",
    "center_rewards_coefficient": "center_weight",
}
Space = Literal["logit", "prob", "signed"]
Objective = Literal["balanced", "difference", "single"]


@dataclass(frozen=True)
class RewardModelConfig:
    """What both kinds of reward model are trained with.

    Args:
        model: Folder or hub id that training starts from.
        data: Files of preferences, in any form of `assay.policy.data.preference_sources`.
        output_dir: Checkpoints, and in the end the model, its card and `reward_model.json`.
        held_out_data: Files of held-out preferences; empty: `held_out` of the prompts in `data`.
        held_out: Share of prompts held out where there are no `held_out_data`.
        data_format: Form of the files; `auto` tells it from their columns.
        limit: Most rows of each file.
        max_length: Tokens of one input. Longer ones are cut as they are in scoring, never dropped.
        lora: Settings of peft's LoraConfig; None trains all weights.
        merge_lora: Save the adapter merged into the model (and by itself under `adapter/`), so
            that the folder loads with a plain `from_pretrained`.
        near_duplicates: Similarity from which a training pair repeats another one, and a training
            prompt a held-out one; above 1: only the same words.
        seed: Of everything random.
        resume: Continue from the last checkpoint in `output_dir`, if there is one.
        licence: Of the weights, for the model card.
        data_licence: Of the data, for the model card.
        trl: Passed to `trl.RewardConfig` unchanged.

    Raises:
        ConfigError: A value that cannot be, or a `[trl]` key that has a key of its own here.
    """

    model: str
    data: tuple[str, ...]
    output_dir: str
    held_out_data: tuple[str, ...] = ()
    held_out: float = 0.1
    data_format: str = "auto"
    limit: int | None = None
    max_length: int = 4096
    lora: Mapping[str, Any] | None = None
    merge_lora: bool = True
    near_duplicates: float = 0.8
    seed: int = 0
    resume: bool = True
    licence: str = ""
    data_licence: str = ""
    trl: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("data", "held_out_data"):
            value = getattr(self, name)
            files = (value,) if isinstance(value, str | Path) else tuple(value)
            object.__setattr__(self, name, tuple(str(file) for file in files))
        object.__setattr__(self, "output_dir", str(self.output_dir))
        object.__setattr__(self, "model", str(self.model))
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out is a share of prompts in [0, 1), got {self.held_out}")
        if self.max_length < 8:
            raise ConfigError(f"max_length must be >= 8 tokens, got {self.max_length}")
        if not self.near_duplicates > 0:
            raise ConfigError(f"near_duplicates must be > 0, got {self.near_duplicates}")
        for key, own in OWN_KEYS.items():
            if key in self.trl:
                raise ConfigError(f"[trl] must not set {key!r}; set {own!r} beside the table")

    @classmethod
    def of(cls, **settings: Any) -> Self:
        """A configuration from keywords; an unknown one is refused with the nearest valid one."""
        require_known(cls.__name__, settings, {f.name for f in fields(cls)})
        missing = [name for name in ("model", "data", "output_dir") if name not in settings]
        if missing:
            raise ConfigError(f"{cls.__name__} needs {missing}")
        return cls(**settings)

    @classmethod
    def from_toml(cls, path: str | Path, **overrides: Any) -> Self:
        """A configuration from a TOML file, keys of `overrides` taking the place of its own.

        Raises:
            ConfigError: No such file, not TOML, or an unknown key.
        """
        try:
            settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
        try:
            return cls.of(**(settings | overrides))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """All settings as JSON values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


@dataclass(frozen=True)
class PointwiseConfig(RewardModelConfig):
    """A point-wise reward model: Bradley-Terry with TRL's RewardTrainer.

    Args:
        center_weight: Weight of (r_w + r_l)^2, which keeps scores near 0.
        margin: The preferred answer must win by the row's `margin` (or by the difference of
            `score_chosen` and `score_rejected`) where it has one.

    Source: Bradley-Terry with centring, Eisenstein et al., arXiv:2312.09244.
    """

    center_weight: float = 0.01
    margin: bool = False

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _weight("center_weight", self.center_weight)


@dataclass(frozen=True)
class PairwiseConfig(RewardModelConfig):
    """A pair-wise reward model: both orders of every pair, with the swap-consistency term.

    Args:
        head: `slot`: one number of a sequence-classification model. `verdict`: the logits of two
            tokens of a causal language model. (A `difference` of point-wise scores is trained
            point-wise.)
        swap_weight: Weight of the swap term. The report gives no value; .5 is ours.
        unlabelled_pairs: So many further pairs for every training pair on which only the swap term
            acts (`assay.policy.data.crossed_pairs`); each costs as much as a labelled one. They
            lower the flip rate where there are few labelled pairs.
        space: Where the term is squared (`assay.rewards.losses.swap_consistency_loss`).
        objective: `PairwiseRewardTrainer` has the table.
        labels: Verdicts for the first and the second slot (`verdict`).
        template: Text of a pair (`assay.rewards.pair_text.PairText`); None: the head's own.
        show_reasoning: Show the candidates' reasoning too.
        shuffle_slots: Put each pair in a random order first. `single` needs it for data that list
            the chosen answer first.

    Source: the Nanbeige4.1-3B report, arXiv:2602.13367 (swap consistency).
    """

    head: Literal["slot", "verdict"] = "slot"
    swap_weight: float = 0.5
    unlabelled_pairs: int = 0
    space: Space = "logit"
    objective: Objective = "balanced"
    labels: tuple[str, str] = ("A", "B")
    template: str | None = None
    show_reasoning: bool = False
    shuffle_slots: bool = True

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _weight("swap_weight", self.swap_weight)
        whole("unlabelled_pairs", self.unlabelled_pairs, 0)
        if self.unlabelled_pairs and not self.swap_weight:
            raise ConfigError(
                f"unlabelled_pairs = {self.unlabelled_pairs} needs a swap_weight > 0: nothing else "
                "acts on pairs without a label"
            )
        if self.head not in ("slot", "verdict"):
            hint = ""
            if str(self.head) == "difference":
                hint = "; a difference of point-wise scores is trained with PointwiseConfig"
            raise ConfigError(f"head must be one of {{'slot', 'verdict'}}, got {self.head!r}{hint}")
        for name, allowed in (("space", Space), ("objective", Objective)):
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(
                    f"{name} must be one of {get_args(allowed)}, got {getattr(self, name)!r}"
                )
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.labels) != 2:
            raise ConfigError(f"labels must be two, got {self.labels!r}")


def _weight(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ConfigError(f"{name} must be finite and >= 0, got {value}")
