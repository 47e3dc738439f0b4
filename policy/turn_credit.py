"""GRPO with credit for single turns: TRL's trainer with one method overridden.

This module loads trl; `assay.policy` does not import it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.diagnostics import Heard, listening
from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.policy.credit_assignment import Rollout, TurnAdvantages, TurnCredit
from assay.policy.even_rounds import EvenRounds
from assay.policy.turn_log import JudgedTurns, failures_by_criterion, turn_metrics
from assay.policy.turn_spans import spread, turn_counts, turn_ids
from assay.reward import Reward
from assay.rewards.asynchronous import AsyncReward

try:
    from trl import GRPOTrainer
except ImportError as error:
    raise ImportError(
        "turn credit needs trl; install it with: pip install 'assay[train]'"
    ) from error

#: Names the state in which each assistant turn of a sample was taken, one name per turn.
Anchor = Callable[[Sample], Sequence[str]]

#: Losses that keep their gradient where turn credit meets sequence-level importance sampling: the
#: ratio is detached in them. In all others credit that sums to zero gives exactly no gradient.
_DETACHED_RATIO = frozenset({"cispo", "vespo"})


def last_observation(sample: Sample) -> list[str]:
    """An `Anchor`: the tool results right before the turn; the prompt for the first one."""
    before = "\n".join(message.content for message in sample.prompt)
    anchors = []
    for turn in sample.turns:
        anchors.append(before)
        before = "\n".join(f"{m.role}:{m.name or ''}:{m.content}" for m in turn.results)
    return anchors


def whole_history(sample: Sample) -> list[str]:
    """An `Anchor`: everything that was called and seen so far, so that equal states are certain."""
    seen = "\n".join(message.content for message in sample.prompt)
    anchors = []
    for turn in sample.turns:
        anchors.append(seen)
        calls = [(call.name, repr(call.arguments)) for call in turn.message.tool_calls]
        seen += f"\n{calls}" + "".join(f"\n{m.name or ''}:{m.content}" for m in turn.results)
    return anchors


def refuse_vanishing_gradient(credit: TurnCredit, level: str, loss_type: str) -> None:
    """Refuse turn credit where the importance ratio of a whole sequence multiplies every token.

    The gradient of a sequence is then its ratio's times the sum of its turn advantages: turn credit
    that sums to zero over a sequence trains nothing, whatever the turns are.

    Raises:
        ConfigError: Sequence-level importance sampling with such a loss.
    """
    if level == "sequence" and credit.varies and loss_type not in _DETACHED_RATIO:
        raise ConfigError(
            f"turn credit (mode {credit.mode!r}) with importance_sampling_level='sequence' and "
            f"loss_type={loss_type!r} has no gradient between turns: one ratio multiplies the sum "
            "of the turn advantages; use importance_sampling_level='token', loss_type='cispo' or "
            "'vespo', or mode 'mask' or 'trajectory'"
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """What other ranks need to know of one rollout; `problem` is why it cannot be used."""

    judged: JudgedTurns
    rollout: Rollout
    problem: str = ""


class TurnCreditGRPOTrainer(EvenRounds, GRPOTrainer):  # type: ignore[misc]
    """TRL's GRPOTrainer whose advantages differ between the turns of a trajectory.

    The trajectory's advantage A_i is TRL's own. Turn values z_it are `Score.turns` of the rewards
    given to the trainer (`assay.rewards.TurnReward`, alone or inside a WeightedSum); several such
    rewards add up, and TRL's `reward_weights`, which weight outcomes, do not apply to them.
    `TurnCredit` puts both together, and every model token of a turn gets its A_it. Groups are
    gathered across ranks, so a group may lie on several.

    A row whose score failed, abstained or was gated as a whole has no turn values: TRL gives it no
    advantage, and neither do its turns. Where a reward gives turns, their number must be that of
    the runs of model tokens in the row; anything else stops the run on every rank.

    Logged at each generation step, over all ranks: `turn_credit/...` as `turn_metrics` says, and
    `turn_credit/seconds`, the time spent here beyond TRL's own method.

    Args:
        *args: Those of GRPOTrainer.
        credit: How turns are credited; `TurnCredit()` is mode `negative`.
        anchor: For `gigpo`: names the state in which each turn was taken.
        **kwargs: Those of GRPOTrainer.

    Raises:
        ConfigError: Sequence-level importance sampling where the gradient would vanish, or no
            reward that can give turn values.
        DataError: While training: turn values that do not fit the tokens.

    Source: TRL 1.16 `GRPOTrainer._compute_loss`, which takes advantages of shape (B, T). See
    `TurnCredit` for the sources of the modes.
    """

    def __init__(
        self,
        *args: Any,
        credit: TurnCredit | None = None,
        anchor: Anchor = last_observation,
        **kwargs: Any,
    ) -> None:
        self.credit = credit if credit is not None else TurnCredit()
        self.anchor = anchor
        config = kwargs.get("args", args[2] if len(args) > 2 else None)
        if config is not None:
            refuse_vanishing_gradient(
                self.credit, config.importance_sampling_level, config.loss_type
            )
        funcs = kwargs.get("reward_funcs", args[1] if len(args) > 1 else None)
        listed = funcs if isinstance(funcs, list) else [funcs]
        if self.credit.mode != "trajectory" and not any(
            isinstance(func, Reward | AsyncReward) for func in listed
        ):
            raise ConfigError(
                "turn values come from Score.turns of assay rewards, and reward_funcs has none; "
                "add a TurnReward, or use GRPOTrainer itself"
            )
        super().__init__(*args, **kwargs)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        with listening() as heard:
            output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        start = time.perf_counter()
        mode = "train" if self.model.training else "eval"
        mask = output["completion_mask"]
        if "tool_mask" in output:
            mask = mask * output["tool_mask"]
        ids = turn_ids(mask)
        local = self._turn_rows(heard, output["advantages"].tolist(), turn_counts(ids))
        rows = self._gather_turns(local)
        size = self.num_generations if mode == "train" else self.num_generations_eval
        credits: list[TurnAdvantages | None] = []
        for first in range(0, len(rows), size):
            credits += self.credit.assign([row.rollout for row in rows[first : first + size]])
        begin = self.accelerator.process_index * len(local)
        self._apply_credit(output, ids, local, credits[begin : begin + len(local)])
        metrics = self._metrics[mode]
        for name, value in turn_metrics([row.judged for row in rows], credits).items():
            metrics[f"turn_credit/{name}"].append(value)
        metrics["turn_credit/seconds"].append(time.perf_counter() - start)
        return output

    def _apply_credit(
        self,
        output: dict[str, Any],
        ids: Tensor,
        rows: Sequence[_Row],
        credits: Sequence[TurnAdvantages | None],
    ) -> None:
        """Write advantages per token, and the loss mask where turns can leave the loss."""
        counts = turn_counts(ids)
        if self.credit.varies:
            output["advantages"] = spread(
                [
                    [row.rollout.advantage] * count if credit is None else credit.advantages
                    for row, credit, count in zip(rows, credits, counts, strict=True)
                ],
                ids,
            ).to(output["advantages"].dtype)
        if self.credit.masks:
            kept = spread(
                [
                    [1.0] * count if credit is None else [float(keep) for keep in credit.kept]
                    for credit, count in zip(credits, counts, strict=True)
                ],
                ids,
            )
            mask = output.get("tool_mask", torch.ones_like(ids))
            output["tool_mask"] = mask * kept.to(mask.dtype)
            tokens = (output["completion_mask"] * output["tool_mask"]).sum()
            output["num_items_in_batch"] = self.accelerator.gather(tokens).sum()

    def _turn_rows(
        self, heard: Sequence[Heard], advantages: Sequence[float], counts: Sequence[int]
    ) -> list[_Row]:
        outcomes = self._turn_outcomes(len(advantages)) if self.credit.mode == "gigpo" else None
        rows = []
        for index, (advantage, count) in enumerate(zip(advantages, counts, strict=True)):
            try:
                judged = judged_turns(heard, index, count)
                anchors = None
                if outcomes is not None and judged.turns is not None:
                    anchors = tuple(self.anchor(_source(heard, index)))
                outcome = None if outcomes is None else outcomes[index]
                rows.append(_Row(judged, Rollout(advantage, judged.turns, anchors, outcome)))
            except DataError as error:
                problem = f"rollout {index} on rank {self.accelerator.process_index}: {error}"
                rows.append(_Row(JudgedTurns(None), Rollout(advantage, None), problem))
        return rows

    def _gather_turns(self, local: list[_Row]) -> list[_Row]:
        """The rows of all ranks; every rank raises if any has a problem."""
        from accelerate.utils import gather_object

        rows: list[_Row] = list(gather_object(local))
        if problems := [row.problem for row in rows if row.problem]:
            raise DataError(problems[0])
        return rows

    def _turn_outcomes(self, count: int) -> list[float | None]:
        """This rank's rewards before normalisation, from what TRL has just logged for all ranks.

        An evaluation batch larger than a generation batch does not fit TRL's log; its outcomes are
        unknown, and its turns get no step term.
        """
        total = count * self.accelerator.num_processes
        columns = [list(self._logs["rewards"][name])[-total:] for name in self.reward_func_names]
        if any(len(column) < total for column in columns):
            return [None] * count
        begin = self.accelerator.process_index * count
        weights = self.reward_weights.tolist()
        return [
            _weighted(weights, [column[row] for column in columns])
            for row in range(begin, begin + count)
        ]


def judged_turns(heard: Sequence[Heard], index: int, count: int) -> JudgedTurns:
    """Turn values of one row, added over the rewards that gave any; None where one abstained.

    Args:
        heard: Calls of rewards on one batch.
        index: The row.
        count: Its runs of model tokens; 0 if none of its tokens are trained on.

    Raises:
        DataError: As many turn values as runs of model tokens are needed.
    """
    turns: list[float | None] | None = None
    failures: Mapping[str, int] = {}
    for call in heard:
        score = call.scores[index]
        if score.turns is None or score.status not in ("scored", "skipped"):
            continue
        if count and len(score.turns) != count:
            raise DataError(
                f"reward {call.reward.name!r} gave {len(score.turns)} turn values for a completion "
                f"of {len(call.samples[index].turns)} assistant messages whose tokens lie in "
                f"{count} runs; give one value per assistant turn"
            )
        if turns is None:
            turns = list(score.turns)
        else:
            turns = [
                None if a is None or b is None else a + b
                for a, b in zip(turns, score.turns, strict=True)
            ]
        failures = failures or failures_by_criterion(score)
    return JudgedTurns(None if turns is None else tuple(turns), failures)


def _source(heard: Sequence[Heard], index: int) -> Sample:
    """The sample that turn values of a row were given to."""
    return next(call.samples[index] for call in heard if call.scores[index].turns is not None)


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float | None:
    """TRL's sum of rewards: what is missing adds nothing, and with all missing there is none."""
    known = [
        weight * value for weight, value in zip(weights, values, strict=True) if value == value
    ]
    return sum(known) if known else None
