"""A causal model in memory: prompts to ids, batches of ids to replies."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from assay.judges.chat_protocol import message_dict
from assay.judges.client import Reply, Request, TokenLogprob, Usage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Sampling(Protocol):
    """How replies are drawn; `assay.judges.local_model.LocalModel` is one."""

    @property
    def temperature(self) -> float:
        """0 for the likeliest reply."""

    @property
    def top_logprobs(self) -> int:
        """Alternatives reported for each token."""

    @property
    def revision(self) -> str:
        """Of the model."""


class LoadedModel:
    """A model in memory; one thread generates at a time."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model, self.tokenizer = model, tokenizer
        config = model.config
        self.name = str(getattr(config, "_name_or_path", None) or type(model).__name__)
        self.longest = int(getattr(config, "max_position_embeddings", None) or 1 << 30)
        ends = getattr(model.generation_config, "eos_token_id", None) or tokenizer.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        self.ends = {*ends, tokenizer.eos_token_id} - {None}
        self.pad = tokenizer.pad_token_id
        if self.pad is None:
            self.pad = min(self.ends, default=0)
        self.revision = str(getattr(config, "_commit_hash", None) or "")
        self._lock = threading.Lock()
        self._identity = ""

    def encode(self, request: Request) -> list[int]:
        """Token ids of a request's prompt."""
        text = self.tokenizer.apply_chat_template(
            [message_dict(message) for message in request.messages],
            tools=[dict(tool) for tool in request.tools] or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def identity(self) -> str:
        """A hash of the weights and of the chat template."""
        with self._lock:
            if not self._identity:
                import torch

                digest = hashlib.sha256(str(self.tokenizer.chat_template).encode())
                for name, tensor in sorted(self.model.state_dict().items()):
                    digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
                    flat = tensor.detach().cpu().contiguous().flatten()
                    digest.update(flat.view(torch.uint8).numpy().tobytes())
                self._identity = digest.hexdigest()
            return self._identity

    def generate(
        self, prompts: list[list[int]], client: Sampling, seed: int, longest: int, end: float
    ) -> list[Reply] | None:
        """Replies to one batch, or None where memory ran out."""
        import torch

        width = max(map(len, prompts))
        device = self.model.device
        ids = torch.tensor([[self.pad] * (width - len(p)) + p for p in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=device)
        sampling: dict[str, Any] = {"do_sample": client.temperature > 0}
        if client.temperature > 0:
            sampling |= {"temperature": client.temperature, "top_k": 0, "top_p": 1.0}
        if end < math.inf:
            sampling["max_time"] = max(0.0, end - time.monotonic())
        start = time.monotonic()
        devices = [device] if device.type == "cuda" else []
        with self._lock, torch.inference_mode(), torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            try:
                output = self.model.generate(  # type: ignore[operator]
                    input_ids=ids,
                    attention_mask=mask,
                    max_new_tokens=longest,
                    pad_token_id=self.pad,
                    eos_token_id=sorted(self.ends) or None,
                    return_dict_in_generate=True,
                    output_logits=client.top_logprobs > 0,
                    **sampling,
                )
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                return None
        seconds = time.monotonic() - start
        late = time.monotonic() >= end
        replies = []
        for row, prompt in enumerate(prompts):
            new = output.sequences[row, width:].tolist()
            if late and not self.ends & set(new):
                replies.append(Reply.failed("not finished at the batch deadline"))
            else:
                replies.append(self._reply(row, new, output.logits, client, prompt, seconds))
        return replies

    def _reply(
        self,
        row: int,
        ids: list[int],
        logits: tuple[torch.Tensor, ...] | None,
        client: Sampling,
        prompt: list[int],
        seconds: float,
    ) -> Reply:
        stop = next((i for i, token in enumerate(ids) if token in self.ends), None)
        kept = ids if stop is None else ids[:stop]
        return Reply(
            text=str(self.tokenizer.decode(kept, skip_special_tokens=True)),
            finish_reason="length" if stop is None else "stop",
            usage=Usage(len(prompt), len(kept) + (stop is not None)),
            logprobs=self._logprobs(row, kept, logits, client.top_logprobs),
            model=self.name,
            revision=client.revision or self.revision,
            seconds=seconds,
        )

    def _logprobs(
        self, row: int, ids: list[int], logits: tuple[torch.Tensor, ...] | None, count: int
    ) -> tuple[TokenLogprob, ...] | None:
        if logits is None or count == 0:
            return None
        found = []
        for token, step in zip(ids, logits, strict=False):
            scores = step[row].float().log_softmax(-1)
            best = scores.topk(min(count, scores.shape[-1]))
            top = {
                str(self.tokenizer.decode([i])): min(0.0, value)
                for i, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            }
            text = str(self.tokenizer.decode([token]))
            found.append(TokenLogprob(text, min(0.0, float(scores[token])), top))
        return tuple(found)
