"""Pair-wise reward models: which of two answers is better, whatever order they are shown in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError
from assay.judge import Choice, Judge, Pair, Verdict
from assay.messages import Sample
from assay.rewards.heads import ClassificationHead, Head, VerdictHead
from assay.rewards.model_handle import ModelHandle
from assay.rewards.model_loading import Task, load_models, load_tokenizer, longest_input, on_device
from assay.rewards.pair_text import PairText
from assay.rewards.pairwise_reward import PairwiseReward

__all__ = ["PairLogits", "PairwiseModel", "PairwiseReward"]


@dataclass(frozen=True)
class PairLogits:
    """Slot logits of a pair.

    Attributes:
        d_ab: Logit that the first-shown answer wins, A shown first.
        d_ba: The same with B shown first; None where only one order was run.
        note: What was cut.
    """

    d_ab: float
    d_ba: float | None = None
    note: str = ""

    @property
    def preference(self) -> float:
        """(d_AB - d_BA) / 2, exactly antisymmetric; d_AB where one order was run."""
        return self.d_ab if self.d_ba is None else (self.d_ab - self.d_ba) / 2


@dataclass(frozen=True)
class PairwiseModel(ModelHandle, Judge):
    """A reward model that reads two answers at once.

    Three heads, one interface, d = logit that the first-shown answer wins:

    - `slot`: the scalar of a sequence-classification model on the rendered pair;
    - `verdict`: logit("A") - logit("B") of a causal language model where its reply starts;
    - `difference`: r(x, first) - r(x, second) of a point-wise model. Antisymmetric by
      construction: its order gap is 0 and one pass is enough.

    Inference: `single` runs the order given; `both` takes dbar = (d_AB - d_BA) / 2; `agree` says
    tie unless both orders agree. Every verdict carries p_a and, with two orders, the order gap.

    Source: the pair-wise reward model of the Nanbeige4.1-3B report, arXiv:2602.13367.

    Args:
        head: One of the above.
        order: One of the above.
        text: How a pair becomes text; None: `pair_verdict` for `verdict`, `pair_slot` for `slot`.
        labels: First token of the reply for the first and the second slot (`verdict`).
        temperature: d is divided by it (`assay.rewards.temperature`).
        output: Field of the model's output (`slot`, `difference`).

    Raises:
        ConfigError: A label is not one token of the tokenizer, at the first use.
    """

    head: Literal["slot", "verdict", "difference"] = "verdict"
    order: Literal["single", "both", "agree"] = "both"
    text: PairText | None = None
    labels: tuple[str, str] = ("A", "B")
    temperature: float = 1.0
    output: str = "logits"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in ("slot", "verdict", "difference"):
            raise ConfigError(
                "PairwiseModel.head must be one of {'slot', 'verdict', 'difference'}, got "
                f"{self.head!r}"
            )
        if self.order not in ("single", "both", "agree"):
            raise ConfigError(
                "PairwiseModel.order must be one of {'single', 'both', 'agree'}, got "
                f"{self.order!r}"
            )
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ConfigError(f"PairwiseModel.temperature must be > 0, got {self.temperature}")
        if len(self.labels) != 2:
            raise ConfigError(f"PairwiseModel.labels must be two, got {self.labels!r}")

    def fingerprint(self) -> str:
        """Also hashes the template's text."""
        from assay.fingerprint import fingerprint_of

        template = "" if self.head == "difference" else self.pair_text().text()
        return fingerprint_of((super().fingerprint(), template))

    def pair_text(self) -> PairText:
        """How this model's pairs become text."""
        if self.text is not None:
            return self.text
        if self.head == "slot":
            return PairText("pair_slot", False, template_arguments=self.template_arguments)
        return PairText(template_arguments=self.template_arguments)

    def engine(self) -> Any:
        """The scoring engine of this handle in this process."""
        from assay.rewards.engine import Engine

        task: Task = "causal" if self.head == "verdict" else "classification"

        def make() -> Engine:
            head: Head = ClassificationHead(self.output)
            if self.head == "verdict":
                head = VerdictHead(self.pair_text().verdict_ids(load_tokenizer(self), self.labels))
            return Engine(load_models(self, task), head, self.batching)

        return self.opened(f"pairwise-{self.head}", make)

    def logits(self, pairs: Sequence[Pair], *, both: bool = True) -> list[PairLogits]:
        """Slot logits of every pair, in one order or both, in one run of the engine."""
        if not pairs:
            return []
        if self.head == "difference":
            return self._differences(pairs)
        engine, tokenizer = self.engine(), load_tokenizer(self)
        limit = longest_input(self, engine.replicas[0], tokenizer)
        text = self.pair_text()
        shown = [*pairs, *(pair.swapped() for pair in pairs)] if both else list(pairs)
        rendered = [text.render(tokenizer, pair, limit) for pair in shown]
        with on_device(self, engine.replicas):
            numbers = engine.score([one.ids for one in rendered])
        d = [self._slot(row) / self.temperature for row in numbers]
        count = len(pairs)
        return [
            PairLogits(d[i], d[count + i] if both else None, rendered[i].note) for i in range(count)
        ]

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair; `choice` is a tie at p_a = .5 and, with `agree`, on a flip."""
        return [self._verdict(d) for d in self.logits(pairs, both=self.order != "single")]

    def _verdict(self, d: PairLogits) -> Verdict:
        if not math.isfinite(d.preference):
            return Verdict(None, status="failed", reason=f"the model's logits are {d}")
        p_a = sigmoid(d.preference)
        choice: Choice = "A" if d.preference > 0 else "B" if d.preference < 0 else "tie"
        if d.d_ba is None:
            return Verdict(choice, p_a, reason=d.note, info={"logit": d.preference})
        gap = sigmoid(d.d_ab) - sigmoid(-d.d_ba)
        if self.order == "agree" and not d.d_ab * d.d_ba < 0:
            choice = "tie"
        return Verdict(choice, p_a, gap, reason=d.note, info={"logit": d.preference})

    def _slot(self, numbers: Sequence[float]) -> float:
        if self.head == "verdict":
            return numbers[0] - numbers[1]
        if len(numbers) != 1:
            raise ConfigError(
                f"the model gives {len(numbers)} numbers, a slot logit is one; use a model with "
                "one label"
            )
        return numbers[0]

    def _differences(self, pairs: Sequence[Pair]) -> list[PairLogits]:
        """Each answer is scored once; the other order is the same number with its sign changed."""
        from assay.rewards.chat_text import render_sample

        engine, tokenizer = self.engine(), load_tokenizer(self)
        limit = longest_input(self, engine.replicas[0], tokenizer)
        samples = [Sample(p.prompt, answer, p.columns) for p in pairs for answer in (p.a, p.b)]
        rendered = [render_sample(tokenizer, s, limit, self.template_arguments) for s in samples]
        with on_device(self, engine.replicas):
            r = [self._slot(row) for row in engine.score([one.ids for one in rendered])]
        found = []
        for i in range(0, len(r), 2):
            d = (r[i] - r[i + 1]) / self.temperature
            note = "; ".join(one.note for one in rendered[i : i + 2] if one.note)
            found.append(PairLogits(d, -d, note))
        return found


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    power = math.exp(x)
    return power / (1.0 + power)
