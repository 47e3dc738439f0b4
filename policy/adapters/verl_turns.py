"""Turn rewards under verl: a reward manager, and the advantage estimator that reads its tensor.

    reward.custom_reward_function.path=reward.py           # names a ComputeScore
    reward.reward_manager.source=importlib
    reward.reward_manager.module.path=pkg://assay.policy.adapters.verl_turns
    reward.reward_manager.name=TurnRewardManager
    algorithm.adv_estimator=assay_turns                    # VERL_USE_EXTERNAL_MODULES as below

The estimator is registered where this module is imported; start verl with
`VERL_USE_EXTERNAL_MODULES=assay.policy.adapters.verl_turns`, so that the trainer's process does.

A rollout's outcome stands on its last token, each turn's value on the turn's first token; a last
turn of a single token keeps the outcome only. verl 0.9.1 builds such a tensor where it scores whole
batches (`RewardLoopManager.compute_rm_score`). Where it scores each rollout as it ends, it takes a
single number: turn values are then logged, and the estimator credits outcomes alone.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.policy.adapters.chat_tokens import token_turns, turn_messages
from assay.policy.adapters.one_rollout import group_levels, plain, score_one
from assay.policy.adapters.verl import ComputeScore
from assay.policy.credit_assignment import Rollout, TurnCredit
from assay.policy.turn_spans import spread, turn_ids
from assay.reward import Score

try:
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
    from verl.trainer.ppo.core_algos import register_adv_est
except ImportError as error:
    raise ImportError(
        "verl_turns needs verl 0.9, which pins other versions of transformers than assay[train]: "
        "install both in an environment of their own with: pip install verl assay"
    ) from error

#: Name of the estimator with the default `TurnCredit`.
ESTIMATOR = "assay_turns"
#: Columns of verl's that are no columns of the row.
_READ_APART = ("raw_prompt", "reward_model", "extra_info")
#: Modes in which a turn without a verdict is the same as one with value 0, which is all that a
#: tensor of numbers can say.
_MODES = ("negative", "return", "trajectory")


class TurnScore(float):
    """A rollout's outcome that carries the values of its turns through verl's lists of floats.

    Attributes:
        turns: One per assistant turn, 0 where the critic abstained.
        first_tokens: Index of each turn's first token in the response.
    """

    turns: tuple[float, ...]
    first_tokens: tuple[int, ...]

    def __new__(
        cls, value: float, turns: Sequence[float] = (), first_tokens: Sequence[int] = ()
    ) -> TurnScore:
        """A float with turn values beside it."""
        score = super().__new__(cls, value)
        score.turns, score.first_tokens = tuple(turns), tuple(first_tokens)
        return score

    def __reduce__(self) -> tuple[type[TurnScore], tuple[object, ...]]:
        return type(self), (float(self), self.turns, self.first_tokens)


class TurnRewardManager(RewardManagerBase):  # type: ignore[misc]
    """Scores whole conversations, turns included, with the reward of a `ComputeScore`.

    Args:
        config: verl's.
        tokenizer: Of the policy; its chat format must put `<|im_start|>` and `<|im_end|>` around
            messages.
        compute_score: The `ComputeScore` that `custom_reward_function` names.
        **_: What verl adds for reward models.

    Raises:
        ConfigError: Another kind of `compute_score`.

    Source: verl 0.9.1, `verl/experimental/reward_loop/reward_manager/base.py`.
    """

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        self.scorer = _scorer_of(compute_score)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Score the last sequence of a rollout, as verl's own managers do."""
        item = data[-1:][0]
        responses = item.batch["responses"]
        count = int(item.batch["attention_mask"][-responses.shape[-1] :].sum())
        ids = responses[:count].tolist()
        return await asyncio.to_thread(self.score, ids, dict(item.non_tensor_batch))

    def score(self, ids: Sequence[int], row: dict[str, Any]) -> dict[str, Any]:
        """Score one response; see `run_single`.

        Raises:
            DataError: Turn values that are not one per assistant turn of the tokens.
            RewardError: A missing score, by `ComputeScore.on_missing`.
        """
        pieces = token_turns(ids, self.tokenizer)
        truth = (row.get("reward_model") or {}).get("ground_truth")
        columns = self.scorer.columns(row.get("data_source", ""), truth, row.get("extra_info"))
        told = {name: plain(value) for name, value in row.items() if name not in _READ_APART}
        kinds = (str, int, float, list, dict)
        columns = {
            name: value for name, value in told.items() if isinstance(value, kinds)
        } | columns
        prompt = columns.pop("prompt", None)
        given = row.get("raw_prompt")
        sample = Sample.of(
            list(given) if given is not None else prompt or (), turn_messages(pieces), columns
        )
        score = score_one(self.scorer.reward, sample)
        firsts = [piece.first for piece in pieces if piece.role == "assistant"]
        turns = _turn_values(score, len(firsts))
        figures = self.scorer.figures(score) | {
            "turns": float(len(firsts)),
            "failing_turns": float(sum(value < 0 for value in turns)),
        }
        outcome = TurnScore(figures["score"], turns, firsts if turns else ())
        return {"reward_score": outcome, "reward_extra_info": figures}

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: Sequence[float]) -> Tensor:
        """The tensor, shape (B, T): outcomes on last tokens, turn values on first ones."""
        outcomes = super().assemble_rm_scores(data, [float(score) for score in scores])
        table: Tensor = outcomes
        width = data.batch["prompts"].size(1)
        ends = data.batch["attention_mask"][:, width:].sum(dim=1) - 1
        for row, score in enumerate(scores):
            for first, value in zip(
                getattr(score, "first_tokens", ()), getattr(score, "turns", ()), strict=True
            ):
                if first < int(ends[row]):
                    table[row, first] = value
        return table


def turn_advantages(
    token_level_rewards: Tensor,
    response_mask: Tensor,
    index: Any,
    config: Any = None,
    *,
    credit: TurnCredit | None = None,
    eps: float = 1e-4,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Group-relative advantages with credit for turns; an outcome of NaN is in no statistic.

    A rollout without outcome gets advantage 0 on all its tokens; it counts for nobody's mean.

    Args:
        token_level_rewards: Shape (B, T), as `TurnRewardManager.assemble_rm_scores` builds it.
        response_mask: Shape (B, T), 1 on tokens that the model wrote.
        index: Group of each row, shape (B,).
        config: verl's `algorithm` table.
        credit: Default `TurnCredit()`.
        eps: Added to standard deviations.

    Returns:
        Advantages and returns, which are the same, shape (B, T).

    Raises:
        ConfigError: `use_kl_in_reward`, which changes the numbers on every token.
    """
    if config is not None and config.get("use_kl_in_reward", False):
        raise ConfigError(
            "assay_turns reads turn values off the token rewards, and use_kl_in_reward adds to "
            "them; use a KL loss, or turn it off"
        )
    rule = credit if credit is not None else TurnCredit()
    ids = turn_ids(response_mask)
    outcomes, turns = _read(token_level_rewards, ids)
    rows: list[list[float]] = [[] for _ in outcomes]
    groups: dict[Any, list[int]] = {}
    for place, name in enumerate(index):
        groups.setdefault(name, []).append(place)
    for members in groups.values():
        known = [None if math.isnan(outcomes[p]) else outcomes[p] for p in members]
        levels = group_levels(known, eps=eps)
        group = [
            Rollout(level or 0.0, None if level is None else tuple(turns[place]))
            for level, place in zip(levels, members, strict=True)
        ]
        for place, given in zip(members, rule.assign(group), strict=True):
            rows[place] = [0.0] * len(turns[place]) if given is None else list(given.advantages)
    found = spread(rows, ids)
    return found, found.clone()


def register_turn_credit(name: str, credit: TurnCredit) -> None:
    """Register an estimator with another `TurnCredit`; name it in `algorithm.adv_estimator`.

    Raises:
        ConfigError: A mode in which a turn without verdict differs from one with value 0.
    """
    if credit.mode not in _MODES or credit.masks:
        raise ConfigError(
            f"under verl turn values are numbers in a tensor, which cannot say 'no verdict'; mode "
            f"must be one of {_MODES} with on_abstain='outcome', got {credit}"
        )
    register_adv_est(name)(partial(turn_advantages, credit=credit))


def _scorer_of(compute_score: Any) -> ComputeScore:
    """The ComputeScore inside what verl wraps around it."""
    inner = compute_score
    while isinstance(inner, partial) and inner.args:
        inner = inner.args[0]
    if not isinstance(inner, ComputeScore):
        raise ConfigError(
            "TurnRewardManager needs reward.custom_reward_function to name an "
            f"assay.policy.adapters.verl.ComputeScore, got {type(inner).__name__}"
        )
    return inner


def _turn_values(score: Score, count: int) -> list[float]:
    if score.turns is None:
        return []
    if len(score.turns) != count:
        raise DataError(
            f"the reward gave {len(score.turns)} turn values for a response of {count} assistant "
            "turns; give one per turn"
        )
    return [0.0 if value is None else value for value in score.turns]


def _read(rewards: Tensor, ids: Tensor) -> tuple[list[float], list[list[float]]]:
    """Outcome and turn values of each row."""
    outcomes, values = [], []
    for row, turns in zip(rewards.tolist(), ids.tolist(), strict=True):
        firsts = [i for i, t in enumerate(turns) if t >= 0 and (i == 0 or turns[i - 1] != t)]
        lasts = [
            i for i, t in enumerate(turns) if t >= 0 and (i + 1 == len(turns) or turns[i + 1] != t)
        ]
        found = [row[i] for i in firsts]
        if firsts and firsts[-1] == lasts[-1]:
            found[-1] = 0.0  # a last turn of one token holds the outcome alone
        outcomes.append(math.fsum(row) - math.fsum(found))
        values.append(found)
    return outcomes, values


register_adv_est(ESTIMATOR)(turn_advantages)
