"""How a number is read from a model's output: a classification head, or the verdict token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.rewards.prefix_cache import forward

if TYPE_CHECKING:
    from torch import Tensor


class Head(ABC):
    """Reads each row's numbers from one forward pass."""

    def device(self, model: Any) -> Any:
        """Where input ids go."""
        return next(model.parameters()).device

    @abstractmethod
    def pads(self, model: Any) -> bool:
        """Whether rows of different length may share a batch."""

    @abstractmethod
    def pad_id(self, model: Any) -> int:
        """The id that fills a batch."""

    @abstractmethod
    def last(self, model: Any, ids: Sequence[int]) -> int:
        """Index of the token at which the score is read; no prefix may reach beyond it."""

    @abstractmethod
    def trunk(self, model: Any) -> Any:
        """What is run over a shared prefix: only its keys and values are wanted."""

    @abstractmethod
    def outputs(self, model: Any, ids: Tensor, places: Tensor, arguments: dict[str, Any]) -> Tensor:
        """Numbers of shape (rows, K), read at `places`, shape (rows,)."""


@dataclass(frozen=True)
class ClassificationHead(Head):
    """The pooled logits of a sequence-classification model.

    Pooling is the model's own. Decoder models of transformers read the last token that is not the
    padding id, which is also where they were trained to put the score.

    Attributes:
        output: Field of the model's output, `logits` for nearly all; ArmoRM also has `score` and
            `rewards`.
    """

    output: str = "logits"

    def pads(self, model: Any) -> bool:
        """Only with a padding id: without one, transformers cannot tell where a row ends."""
        return _pad_of(model) is not None

    def pad_id(self, model: Any) -> int:
        """The model's own padding id, which its pooling looks for."""
        pad = _pad_of(model)
        return 0 if pad is None else pad

    def last(self, model: Any, ids: Sequence[int]) -> int:
        """The last token that is not the padding id."""
        pad = _pad_of(model)
        for index in range(len(ids) - 1, -1, -1):
            if ids[index] != pad:
                return index
        return 0

    def trunk(self, model: Any) -> Any:
        """The model without its head, where it has one apart."""
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        trunk = getattr(inner, getattr(inner, "base_model_prefix", "") or "", None)
        return inner if trunk is None else trunk

    def outputs(self, model: Any, ids: Tensor, places: Tensor, arguments: dict[str, Any]) -> Tensor:
        """The model's pooled output."""
        output, _ = forward(model, ids, **arguments)
        found = getattr(output, self.output, None)
        if found is None:
            raise ConfigError(
                f"{type(model).__name__} has no output {self.output!r}; it has "
                f"{sorted(k for k in output if output[k] is not None)}"
            )
        values: Tensor = found.reshape(ids.shape[0], -1)
        return values


@dataclass(frozen=True)
class VerdictHead(Head):
    """Logits of a few tokens as the next one: a causal language model says "A" or "B".

    Attributes:
        token_ids: Ids whose logits are read.
    """

    token_ids: tuple[int, ...]

    def pads(self, model: Any) -> bool:
        """Always: the place to read is known."""
        return True

    def pad_id(self, model: Any) -> int:
        """Any id: it is masked."""
        return 0

    def last(self, model: Any, ids: Sequence[int]) -> int:
        """The last token."""
        return len(ids) - 1

    def trunk(self, model: Any) -> Any:
        """The model without its vocabulary head."""
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        trunk = getattr(inner, getattr(inner, "base_model_prefix", "") or "", None)
        return inner if trunk is None else trunk

    def outputs(self, model: Any, ids: Tensor, places: Tensor, arguments: dict[str, Any]) -> Tensor:
        """Logits of `token_ids`; only the places that are read go through the vocabulary head."""
        import torch

        wanted, which = torch.unique(places, return_inverse=True)
        output, _ = forward(model, ids, logits_to_keep=wanted, **arguments)
        rows = torch.arange(ids.shape[0], device=output.logits.device)
        picked: Tensor = output.logits[rows, which.to(rows.device)]
        return picked[:, list(self.token_ids)]


def _pad_of(model: Any) -> int | None:
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    pad: int | None = text.pad_token_id
    return pad
