"""TRL's GRPOTrainer with what every RL stage adds: useful groups only, monitors, time accounts.

This module loads trl; `assay.policy` does not import it.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from assay.messages import as_messages
from assay.rewards.monitors import batch_statistics

try:
    from trl import GRPOTrainer
except ImportError as error:
    raise ImportError("RL stages need trl; install it with: pip install 'assay[train]'") from error


class StageTrainerMixin:
    """Drops groups without signal, and logs what the reward pays for and how long things take.

    Logged at each generation step: `monitor/...` (`assay.rewards.monitors.batch_statistics`:
    length, repetition, style and what the reward correlates with), `groups/dropped`, and seconds
    under `time/`: `rollouts_s` (generation and all that follows it), of which `rewards_s`.

    Args:
        *args: Those of the trainer.
        drop_zero_variance: Take groups whose rewards are all equal, or missing, out of the loss's
            normalisation. They have no advantage; left in, they make the step smaller.
        **kwargs: Those of the trainer.

    Source: DAPO's dynamic sampling (arXiv:2503.14476) without sampling again.
    """

    def __init__(self, *args: Any, drop_zero_variance: bool = True, **kwargs: Any) -> None:
        self.drop_zero_variance = drop_zero_variance
        self._rewards_NF: torch.Tensor | None = None
        super().__init__(*args, **kwargs)

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> torch.Tensor:
        start = time.perf_counter()
        rewards_NF: torch.Tensor = super()._calculate_rewards(  # type: ignore[misc]
            inputs, prompts, completions, completion_ids_list
        )
        trainer: Any = self
        trainer._log_metric("time/rewards_s", time.perf_counter() - start)
        self._rewards_NF = rewards_NF
        begin = trainer.accelerator.process_index * len(prompts)
        local = (rewards_NF * trainer.reward_weights.to(rewards_NF.device)).nansum(dim=1)
        missing = torch.isnan(rewards_NF).all(dim=1)
        values = [
            None if gone else value
            for value, gone in zip(local.tolist(), missing.tolist(), strict=True)
        ][begin : begin + len(prompts)]
        answers = [_answer(completion) for completion in completions]
        groups = [str(row.get("uid", index)) for index, row in enumerate(inputs)]
        for name, value in batch_statistics(values, answers, groups).items():
            trainer._log_metric(f"monitor/{name}", value)
        return rewards_NF

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        start = time.perf_counter()
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        trainer: Any = self
        mode = "train" if trainer.model.training else "eval"
        metrics = trainer._metrics[mode]
        metrics["time/rollouts_s"].append(time.perf_counter() - start)
        if mode == "train" and self._rewards_NF is not None:
            dropped_N = self._without_signal(self._rewards_NF, trainer.num_generations)
            metrics["groups/dropped"].append(dropped_N.float().mean().item())
            if self.drop_zero_variance:
                self._drop(output, dropped_N)
        return output

    def _without_signal(self, rewards_NF: torch.Tensor, size: int) -> torch.Tensor:
        """Rows of groups in which no reward function tells two rollouts apart."""
        grouped = rewards_NF.view(-1, size, rewards_NF.shape[1])
        low = torch.nan_to_num(grouped, nan=torch.inf).amin(dim=1)
        high = torch.nan_to_num(grouped, nan=-torch.inf).amax(dim=1)
        flat = ((high - low) <= 1e-8).all(dim=1)  # a group without any score has high < low
        return flat.repeat_interleave(size)

    def _drop(self, output: dict[str, Any], dropped_N: torch.Tensor) -> None:
        trainer: Any = self
        mask = output["completion_mask"]
        begin = trainer.accelerator.process_index * len(mask)
        keep = (~dropped_N[begin : begin + len(mask)]).to(mask.device)
        advantages = output["advantages"]
        # Turn credit may give a group a signal that its outcomes do not have.
        signal = (advantages.reshape(len(mask), -1) != 0).any(dim=1)
        keep = (keep | signal).unsqueeze(1).to(mask.dtype)
        # TRL's mask of model tokens changes the loss only; completion_mask is attention as well.
        output["tool_mask"] = output.get("tool_mask", torch.ones_like(mask)) * keep
        counted = output["completion_mask"] * output["tool_mask"]
        output["num_items_in_batch"] = trainer.accelerator.gather(counted.sum()).sum()


class PolicyTrainer(StageTrainerMixin, GRPOTrainer):  # type: ignore[misc]
    """GRPO for stages with one advantage per completion."""


def _answer(completion: Any) -> str:
    """All that the model wrote in one completion."""
    messages = as_messages(completion, role="assistant")
    return "\n".join(m.content for m in messages if m.role == "assistant")
