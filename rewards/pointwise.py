"""Point-wise reward models: one number for one answer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, DataError
from assay.judge import Grade, Item, Judge
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.chat_text import Rendered, render_sample, tokens_of
from assay.rewards.heads import ClassificationHead
from assay.rewards.model_handle import ModelHandle
from assay.rewards.model_loading import load_models, load_tokenizer, longest_input, on_device

if TYPE_CHECKING:
    from assay.rewards.engine import Engine


@dataclass(frozen=True)
class PointwiseValue:
    """What a point-wise model says of one answer.

    Attributes:
        value: The score.
        outputs: All numbers of the head, where it has several.
        rendered: What the model read; None where a server rendered it.
        problem: Why there is no score, `value` then being NaN; else empty.
    """

    value: float
    outputs: tuple[float, ...] = ()
    rendered: Rendered | None = None
    problem: str = ""


class PointwiseScorer(Judge):
    """Anything that gives one number for one answer: a model here, or one behind a server."""

    @abstractmethod
    def values(self, samples: Sequence[Sample]) -> list[PointwiseValue]:
        """One value per sample, in order."""

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """The model as a judge of single answers."""
        samples = [Sample(item.prompt, item.answer, item.columns) for item in items]
        return [
            Grade(value.value)
            if math.isfinite(value.value)
            else Grade(
                None, "failed", reason=value.problem or f"the model's score is {value.value}"
            )
            for value in self.values(samples)
        ]


@dataclass(frozen=True)
class PointwiseModel(ModelHandle, PointwiseScorer):
    """A sequence-classification model that scores prompt and completion.

    Any `AutoModelForSequenceClassification` with one label, a PEFT adapter on one, or several
    labels with `label_weights`. Everything of `ModelHandle` can be set.

    Args:
        output: Field of the model's output that holds the score.
        label_weights: Weights of several labels; the value is their weighted sum.

    Raises:
        ConfigError: Several labels and no `label_weights`, at the first use.

    Example:
        >>> PointwiseModel("Skywork/Skywork-Reward-V2-Qwen3-0.6B", dtype="bfloat16",
        ...                max_length=4096).max_length
        4096
    """

    output: str = "logits"
    label_weights: tuple[float, ...] | None = None

    __hash__ = None  # type: ignore[assignment]

    def engine(self) -> Engine:
        """The scoring engine of this handle in this process."""
        from assay.rewards.engine import Engine

        return self.opened(
            "pointwise",
            lambda: Engine(
                load_models(self, "classification"), ClassificationHead(self.output), self.batching
            ),
        )

    def values(self, samples: Sequence[Sample]) -> list[PointwiseValue]:
        """One value per sample, in order."""
        engine = self.engine()
        tokenizer = load_tokenizer(self)
        limit = longest_input(self, engine.replicas[0], tokenizer)
        rendered = [render_sample(tokenizer, s, limit, self.template_arguments) for s in samples]
        with on_device(self, engine.replicas):
            outputs = engine.score([one.ids for one in rendered])
        return [
            PointwiseValue(self._reduce(numbers), tuple(numbers), one)
            for numbers, one in zip(outputs, rendered, strict=True)
        ]

    def score_inputs(
        self, inputs: Sequence[str | Sequence[int]], *, add_special_tokens: bool = True
    ) -> list[tuple[tuple[float, ...], int]]:
        """Texts and token ids as they are, without a chat template: what vLLM's server is asked.

        Args:
            inputs: Text, which the model's tokenizer reads, or token ids.
            add_special_tokens: Of texts.

        Returns:
            The head's numbers and how many tokens were read, for each input.

        Raises:
            DataError: An input has no tokens, or more than the model takes.
        """
        engine = self.engine()
        tokenizer = load_tokenizer(self)
        limit = longest_input(self, engine.replicas[0], tokenizer)
        rows: list[list[int]] = []
        for index, one in enumerate(inputs):
            ids = (
                tokens_of(tokenizer, one, special=add_special_tokens)
                if isinstance(one, str)
                else list(one)
            )
            if not 0 < len(ids) <= limit:
                raise DataError(f"an input of {len(ids)} tokens; it must have 1 to {limit}", index)
            rows.append(ids)
        vocabulary = engine.replicas[0].get_input_embeddings().weight.shape[0]
        for index, ids in enumerate(rows):
            if min(ids) < 0 or max(ids) >= vocabulary:
                raise DataError(f"token ids must lie in [0, {vocabulary})", index)
        with on_device(self, engine.replicas):
            outputs = engine.score(rows)
        return [(tuple(numbers), len(ids)) for numbers, ids in zip(outputs, rows, strict=True)]

    def _reduce(self, numbers: list[float]) -> float:
        weights = self.label_weights
        if weights is None:
            if len(numbers) != 1:
                raise ConfigError(
                    f"the model gives {len(numbers)} numbers, a reward is one; set label_weights="
                )
            return numbers[0]
        if len(weights) != len(numbers):
            raise ConfigError(f"{len(weights)} label_weights for {len(numbers)} labels")
        return math.fsum(w * x for w, x in zip(weights, numbers, strict=True))


@dataclass(frozen=True)
class PointwiseReward(Reward):
    """r = RM(x, y), the score of a point-wise reward model.

    Unbounded: put it into `Mapped(reward, Clip(-5, 5))` or a calibrator before it meets bounded
    rewards. `info` says how many tokens the model read and what was cut.

    Source: the report's point-wise RL (eight rollouts a prompt, group-relative advantage).

    Args:
        model: A `PointwiseModel`, or a `RemotePointwiseModel` behind a server.

    Example:
        >>> reward = PointwiseReward(PointwiseModel("my/reward-model"))
        >>> reward.name
        'pointwise'
    """

    model: PointwiseScorer
    name: str = "pointwise"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    range: tuple[float, float] = field(default=(-math.inf, math.inf))

    def __post_init__(self) -> None:
        if not isinstance(self.model, PointwiseScorer):
            raise ConfigError(
                "PointwiseReward.model must be a PointwiseModel or RemotePointwiseModel, got "
                f"{type(self.model).__name__}; for a model in memory use "
                "PointwiseModel.of(model, tokenizer)"
            )

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Render, score, say what was cut."""
        return [self._score(value) for value in self.model.values(samples)]

    def _score(self, value: PointwiseValue) -> Score:
        info: dict[str, Any] = {}
        note = ""
        if value.rendered is not None:
            note = value.rendered.note
            info = {"tokens": len(value.rendered.ids)}
            for key in ("cut_prompt", "cut_completion"):
                if count := getattr(value.rendered, key):
                    info[key] = count
            if not value.rendered.closed:
                info["open"] = True
        if len(value.outputs) > 1:
            info["outputs"] = list(value.outputs)
        if value.problem:
            return Score.fail(value.problem, info=info)
        if not math.isfinite(value.value):
            return Score.fail(f"the model's score is {value.value}; try dtype='float32'", info=info)
        return Score.of(value.value, note=note, info=info)
