"""A causal language model in this process, behind the same interface as an endpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judges.client import Client, Reply, Request
from assay.judges.generation import LoadedModel
from assay.judges.handle import Handle
from assay.judges.ranks import rank_device, whole_models


@dataclass(frozen=True)
class LocalModel(Client):
    """Batched generation with a transformers model and its tokenizer's chat template.

    It loads on first use in each process. Schemas are not enforced: a verdict is read by the strict
    parser. Replies are those of each request alone, up to the rounding of a padded batch.

    Args:
        model: A folder, a hub name, or a loaded model.
        tokenizer: The same, or None for the model's own; needed with a loaded model.
        revision: Of a hub name: commit, tag or branch.
        device: For example `cuda:0`; None takes this rank's GPU, or the CPU. A loaded model stays.
        dtype: `auto` (as stored), `float32`, `bfloat16`, `float16`.
        temperature: 0 for the likeliest reply.
        max_tokens: Longest reply.
        seed: For sampling, once a batch; torch's global generators are left as they were.
        top_logprobs: Alternatives reported for each token; 0 for no log-probabilities.
        batch_size: Prompts generated together; halved when memory runs out.
        batch_deadline_s: For one `ask`; what is unfinished then has failed. None: no limit.

    Raises:
        ImportError: The extra `models` is not installed.
    """

    model: Any
    tokenizer: Any = None
    revision: str = ""
    device: str | None = None
    dtype: str = "auto"
    temperature: float = 0.0
    max_tokens: int = 256
    seed: int = 0
    top_logprobs: int = 0
    batch_size: int = 8
    batch_deadline_s: float | None = None
    _handle: Handle[LoadedModel] = field(
        default_factory=Handle, init=False, repr=False, compare=False, hash=False
    )

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.model, str | Path) and self.tokenizer is None:
            raise ConfigError("LocalModel with a loaded model needs its tokenizer, got None")
        for name in ("max_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"LocalModel.{name} must be >= 1, got {getattr(self, name)}")
        if not 0 <= self.temperature < math.inf or not 0 <= self.top_logprobs <= 20:
            raise ConfigError(
                "LocalModel needs temperature >= 0 and top_logprobs in [0, 20], got "
                f"{self.temperature} and {self.top_logprobs}"
            )
        if self.batch_deadline_s is not None and not self.batch_deadline_s > 0:
            raise ConfigError(
                f"LocalModel.batch_deadline_s must be > 0, got {self.batch_deadline_s}"
            )

    def __repr__(self) -> str:
        shown = self.model if isinstance(self.model, str | Path) else type(self.model).__name__
        return (
            f"LocalModel({str(shown)!r}, revision={self.revision!r}, "
            f"temperature={self.temperature}, max_tokens={self.max_tokens}, seed={self.seed}, "
            f"top_logprobs={self.top_logprobs})"
        )

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in batches of prompts of similar length."""
        loaded = self._handle.get(self._open)
        end = (
            math.inf if self.batch_deadline_s is None else time.monotonic() + self.batch_deadline_s
        )
        replies: dict[int, Reply] = {}
        prompts: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            ids = loaded.encode(request)
            room = loaded.longest - len(ids) - (request.max_tokens or self.max_tokens)
            if room < 0:
                replies[index] = Reply.failed(
                    f"the prompt has {len(ids)} tokens; with the reply the model takes "
                    f"{loaded.longest}: shorten it, or ask for fewer tokens"
                )
            else:
                prompts[index] = ids
        order = sorted(prompts, key=lambda i: (_settings(requests[i], self), len(prompts[i])))
        size, start = self.batch_size, 0
        while start < len(order):
            same = _settings(requests[order[start]], self)
            batch = [i for i in order[start : start + size] if _settings(requests[i], self) == same]
            if time.monotonic() >= end:
                late = f"not begun at the batch deadline of {self.batch_deadline_s} s"
                replies |= {i: Reply.failed(late) for i in order[start:]}
                break
            got = loaded.generate([prompts[i] for i in batch], self, *same, end)
            if got is None and size > 1:
                size //= 2
                continue
            if got is None:
                got = [Reply.failed("out of memory with a batch of one; use a smaller model")]
            replies |= dict(zip(batch, got, strict=True))
            start += len(batch)
        return [replies[i] for i in range(len(requests))]

    def fingerprint(self) -> str:
        """A hash of the weights and of every parameter that changes a reply.

        The weights of a folder are read once in each process; a hub name counts by its revision.
        """
        identity: Any = (str(self.model), self.revision)
        if not isinstance(self.model, str) or Path(self.model).is_dir():
            identity = self._handle.get(self._open).identity()
        return fingerprint_of(
            {
                "client": ("LocalModel", __version__),
                "model": identity,
                "temperature": self.temperature,
                "max_tokens": self.max_tokens,
                "seed": self.seed,
                "top_logprobs": self.top_logprobs,
                "dtype": self.dtype,
            }
        )

    def close(self) -> None:
        """Let go of a model that this object loaded."""
        self._handle.drop()

    def _open(self) -> LoadedModel:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ModuleNotFoundError as error:
            raise ImportError(
                f"LocalModel needs {error.name}; install it with: pip install 'assay[models]'"
            ) from None
        model, tokenizer = self.model, self.tokenizer
        revision = {"revision": self.revision} if self.revision else {}
        if tokenizer is None or isinstance(tokenizer, str | Path):
            tokenizer = AutoTokenizer.from_pretrained(str(tokenizer or model), **revision)
        if isinstance(model, str | Path):
            with whole_models():
                model = AutoModelForCausalLM.from_pretrained(
                    str(model), dtype=self.dtype, **revision
                )
            torch.nn.Module.to(model, self.device or rank_device())
            model.train(False)
        if tokenizer.chat_template is None:
            raise ConfigError(
                f"the tokenizer of {self!r} has no chat template; set tokenizer.chat_template"
            )
        return LoadedModel(model, tokenizer)


def _settings(request: Request, client: LocalModel) -> tuple[int, int]:
    """Seed and length: what the requests of one batch must share."""
    seed = client.seed if request.seed is None else request.seed
    return seed, request.max_tokens or client.max_tokens
