"""Settings that every RL stage has: reward, rollouts, what truncation costs, replay, filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from assay.errors import ConfigError
from assay.policy.config_keys import from_table
from assay.policy.data.sources import Source, as_sources
from assay.policy.stages.stage_config import StageConfig
from assay.settings import real, whole

Truncated = Literal["mask", "shape", "keep"]
VllmMode = Literal["off", "colocate", "server"]


@dataclass(frozen=True)
class Replay:
    """A share of prompts from an earlier domain, scored by that domain's own reward.

    Args:
        domain: Its name: the route of the reward, and `domain` of its rows.
        data: Its prompts, as a stage's `data`.
        reward: Its reward, `FILE.py:attr` or `package.module:attr`; a reward model's folder is
            given by `reward_model` instead.
        share: Of all prompts of the stage, in (0, 1).
        reward_model: Folder of a reward model trained by this library; its reward is that of the
            stage that trains on it (`pointwise_rl`, `pairwise_rl`).
    """

    domain: str
    data: tuple[Source, ...]
    share: float
    reward: str | None = None
    reward_model: str | None = None

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", as_sources(self.data, f"replay {self.domain!r}"))
        if not 0 < self.share < 1:
            raise ConfigError(f"replay {self.domain!r}: share must lie in (0, 1), got {self.share}")
        if (self.reward is None) == (self.reward_model is None):
            raise ConfigError(
                f"replay {self.domain!r} needs a reward or a reward_model, and only one of them"
            )


@dataclass(frozen=True)
class RolloutFilter:
    """The on-policy difficulty filter before a stage, with the checkpoint that it starts from.

    Args:
        n: Rollouts per problem.
        low: Fewest that may meet the criterion.
        high: Most that may meet it.
        require_correct: Stage 2: a rollout meets the bound only if it passes all tests as well.
    """

    n: int = 8
    low: int = 1
    high: int = 5
    require_correct: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= self.n or self.n < 1:
            raise ConfigError(
                f"filter needs 0 <= low <= high <= n, got low={self.low}, high={self.high}, "
                f"n={self.n}"
            )


@dataclass(frozen=True)
class RLConfig(StageConfig):
    """GRPO with the library's rewards.

    Args:
        domain: Name of the stage's own rows beside replayed ones.
        reward: The reward, `FILE.py:attr` or `package.module:attr`; None: the stage's own.
        num_generations: Rollouts per prompt.
        beta: Weight of the KL term; 0 loads no reference model.
        max_completion_length: Longest completion, in tokens.
        truncated: What becomes of completions cut at that length: `mask` leaves them out of the
            loss, `shape` takes DAPO's overlong punishment off the reward, `keep` does nothing.
        overlong_cache: Tokens before the limit over which `shape` grows; None: a fifth of it.
        overlong_weight: Weight of the punishment.
        replay: Shares of earlier domains.
        filter: Keep only problems that some rollouts solve and most do not; None: keep all.
        drop_zero_variance: Leave groups whose rewards are all equal out of the loss's
            normalisation, so that a batch with few useful groups is not a small step.
        asynchronous: Run the parts of an ungated sum at the same time, each an AsyncReward; needs
            `multi_objective_aggregation = "normalize_then_sum"` in `[trl]` where there are several.
        vllm: Generate with vLLM: `colocate` on the training GPUs, or a `server`. The filter then
            samples with vLLM too, on the training GPUs, before they hold anything else.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367): 8 rollouts; KL, learning rate and steps are
    not disclosed, ours are in the recipes. Overlong punishment: DAPO (arXiv:2503.14476).
    """

    OWN: ClassVar[Mapping[str, str]] = {
        **StageConfig.OWN,
        "num_generations": "num_generations",
        "beta": "beta",
        "max_completion_length": "max_completion_length",
        "mask_truncated_completions": "truncated",
        "use_vllm": "vllm",
        "vllm_mode": "vllm",
        "reward_weights": "reward",
    }
    #: Kind of the stage, and the domain of its own rows by default.
    STAGE: ClassVar[str] = "rl"

    domain: str = "own"
    reward: str | None = None
    num_generations: int = 8
    beta: float = 0.0
    max_completion_length: int = 4096
    truncated: Truncated = "mask"
    overlong_cache: int | None = None
    overlong_weight: float = 1.0
    replay: tuple[Replay, ...] = ()
    filter: RolloutFilter | None = None
    drop_zero_variance: bool = True
    asynchronous: bool = False
    vllm: VllmMode = "off"

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("num_generations", self.num_generations, 2)
        whole("max_completion_length", self.max_completion_length, 1)
        real("beta", self.beta, 0)
        real("overlong_weight", self.overlong_weight, 0)
        for name, allowed in (("truncated", Truncated), ("vllm", VllmMode)):
            if getattr(self, name) not in get_args(allowed):
                raise ConfigError(
                    f"{name} must be one of {get_args(allowed)}, got {getattr(self, name)!r}"
                )
        cache = self.overlong_cache
        if cache is not None and not 0 <= cache <= self.max_completion_length:
            raise ConfigError(
                f"overlong_cache must lie in [0, max_completion_length], got {cache} of "
                f"{self.max_completion_length}"
            )
        object.__setattr__(self, "replay", _replays(self.replay, self.domain))
        if isinstance(self.filter, Mapping):
            object.__setattr__(self, "filter", from_table(RolloutFilter, self.filter, "[filter]"))

    def files(self) -> list[str]:
        """All files of rows, replayed ones among them."""
        return [s.path for s in self.data] + [s.path for r in self.replay for s in r.data]


def _replays(given: Any, domain: str) -> tuple[Replay, ...]:
    if isinstance(given, Mapping | Replay) or not isinstance(given, Sequence):
        raise ConfigError("replay must be a list of tables: write [[replay]]")
    found = tuple(
        item if isinstance(item, Replay) else from_table(Replay, item, "[[replay]]")
        for item in given
    )
    names = [domain, *(replay.domain for replay in found)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"several domains are named {twice[0]!r}; give each its own name")
    if found and sum(replay.share for replay in found) >= 1:
        raise ConfigError("the shares of replay must add up to less than 1")
    return found
