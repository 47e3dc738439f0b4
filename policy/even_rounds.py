"""Rounds of tool calls in which every rank takes part, for trainers whose generation is collective.

This module loads trl; `assay.policy` does not import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class EvenRounds:
    """A mixin before `trl.GRPOTrainer`: ranks whose rollouts are done go on beside the others.

    After each round of tool calls TRL generates again for the rollouts that called one, each rank
    for its own, and a rank without any leaves the loop. Where a forward pass or the request to a
    server needs all ranks (FSDP, DeepSpeed ZeRO 3, a vLLM server, vLLM with tensor parallelism),
    the others would wait for it for ever, and a vLLM server would hand out the wrong completions,
    since it counts on as many prompts from each rank. Here every rank generates as often as the one
    with the longest rollout, for as many prompts as the widest; what is only filled in is dropped.
    """

    _filler: list[int] | None = None

    def _tool_call_loop(self, prompts: Any, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        trainer: Any = super()
        if not self._generates_together():
            return trainer._tool_call_loop(prompts, prompt_ids, *args, **kwargs)
        self._filler = list(prompt_ids[0])
        try:
            result = trainer._tool_call_loop(prompts, prompt_ids, *args, **kwargs)
            while self._round([], None, {}, 1) is not None:
                continue
        finally:
            self._filler = None
        return result

    def _generate_single_turn(
        self,
        prompt_ids: Any,
        images: Any,
        multimodal_fields: Any,
        num_generations: int,
        **kwargs: Any,
    ) -> Any:
        if self._filler is None:
            trainer: Any = super()
            return trainer._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, **kwargs
            )
        return self._round(prompt_ids, images, multimodal_fields, num_generations, **kwargs)

    def _round(
        self,
        prompt_ids: Sequence[list[int]],
        images: Any,
        multimodal_fields: Any,
        num_generations: int,
        **kwargs: Any,
    ) -> Any:
        """One generation of all ranks; None where no rank has a prompt left."""
        from accelerate.utils import gather_object

        trainer: Any = super()
        own = len(prompt_ids)
        widest = max(gather_object([own]))
        if not widest:
            return None
        padded = [*prompt_ids, *[self._filler] * (widest - own)]
        if images is not None:
            images = [*images, *[None] * (widest - own)]
        ids, logprobs = trainer._generate_single_turn(
            padded, images, multimodal_fields, num_generations, **kwargs
        )
        return ids[:own], None if logprobs is None else logprobs[:own]

    def _generates_together(self) -> bool:
        """Whether a rank's generation needs all others to generate at the same time."""
        trainer: Any = self
        if trainer.accelerator.num_processes == 1:
            return False
        if trainer.use_vllm:
            return bool(trainer.vllm_mode == "server" or trainer.args.vllm_tensor_parallel_size > 1)
        return bool(trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled)
