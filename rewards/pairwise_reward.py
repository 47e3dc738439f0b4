"""Win or loss against a reference answer: the report's pair-wise reward."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, DataError, places_in
from assay.judge import Judge, Pair, total_cost
from assay.messages import Message, Sample, as_messages
from assay.reward import Reward, Score
from assay.rewards.duel import MODES, Duel, Mode, run_duels
from assay.rewards.duel_log import duel_figures
from assay.settings import real


@dataclass(frozen=True)
class PairwiseReward(Reward):
    """1[the rollout beats the reference answer], the whole conversation in the judge's input.

    | mode | value |
    |---|---|
    | `hard` | 1[dbar > 0], the report's; a group of all wins or all losses carries no signal |
    | `agree` | 1 win, 0 loss, .5 where the two orders disagree |
    | `soft` | sigmoid(dbar) |

    The reference's slot is balanced: both orders are run, or with `order="single"` one of them,
    chosen by a hash of prompt and answers.

    With several opponents the value is the mean over them, the rollout's win rate. `info` holds
    each outcome and order gap; the trainer's log gets `win_rate/<opponent>`, `order_gap` (signed,
    > 0 where the judge favours the first slot), `order_gap_size`, `flip_rate`, `over_order_gap`
    and `zero_variance_groups`, the share of groups whose rollouts all fared the same.

    Source: the pair-wise RL reward of the Nanbeige4.1-3B report, arXiv:2602.13367.

    Args:
        model: A `PairwiseModel`, or any judge with `compare`.
        reference: Dataset column with the reference: text, messages, or several by name
            (a mapping of name to answer, or a list of {"name", "answer"}).
        mode: See above.
        order: `both` runs every pair in both orders, `single` in one.
        max_order_gap: A verdict whose order gap is larger in size counts for neither answer: the
            judge looked at the slots more than at the answers. None takes every verdict.
        over_gap: What becomes of such a verdict: `tie`, an outcome of .5, or `abstain`, no outcome
            and, like any missing one, no score of the rollout.

    Raises:
        ConfigError: A setting that cannot be; `max_order_gap` with `order="single"`.
        DataError: A row's reference is empty or of another form.

    Example:
        >>> from assay.judge import Judge, Verdict
        >>> class Shorter(Judge):
        ...     def compare(self, pairs):
        ...         gaps = [len(p.b[-1].content) - len(p.a[-1].content) for p in pairs]
        ...         return [Verdict("A" if gap > 0 else "B", float(gap > 0)) for gap in gaps]
        ...
        ...     def fingerprint(self):
        ...         return "shorter"
        >>> reward = PairwiseReward(Shorter())
        >>> reward(completions=["4", "It is four."], prompts=["2 + 2?"] * 2, reference=["four"] * 2)
        [1.0, 0.0]
    """

    model: Judge
    reference: str = "reference"
    mode: Mode = "hard"
    order: Literal["both", "single"] = "both"
    max_order_gap: float | None = None
    over_gap: Literal["tie", "abstain"] = "tie"
    name: str = "pairwise"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    range: tuple[float, float] = field(default=(0.0, 1.0))

    def __post_init__(self) -> None:
        check_duel_settings(self, self.model, self.mode, self.order)
        if self.over_gap not in ("tie", "abstain"):
            raise ConfigError(
                "PairwiseReward.over_gap must be one of {'tie', 'abstain'}, got "
                f"{self.over_gap!r}"
            )
        if self.max_order_gap is not None:
            real("PairwiseReward.max_order_gap", self.max_order_gap, 0, 1)
            if self.order == "single":
                raise ConfigError(
                    "PairwiseReward.max_order_gap needs both orders, got order='single'; set "
                    "order='both' or leave max_order_gap out"
                )
        read = self.model.columns or frozenset()
        object.__setattr__(self, "columns", read | {self.reference})

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare every rollout with every opponent of its row, all in one call of the judge."""
        rows = [self._opponents(sample, index) for index, sample in enumerate(samples)]
        pairs = [
            Pair(sample.prompt, sample.completion, answer, sample.columns)
            for sample, row in zip(samples, rows, strict=True)
            for answer in row.values()
        ]
        with places_in([index for index, row in enumerate(rows) for _ in row]):
            duels = iter(run_duels(self.model, pairs, both=self.order == "both"))
        return [self._score({name: next(duels) for name in row}) for row in rows]

    def figures(self, samples: Sequence[Sample], scores: Sequence[Score]) -> dict[str, float]:
        """Win rate per opponent, order gaps, flips, and groups without a signal."""
        return duel_figures(samples, scores)

    def _score(self, duels: Mapping[str, Duel]) -> Score:
        limit = math.inf if self.max_order_gap is None else self.max_order_gap
        gaps = {name: d.order_gap for name, d in duels.items() if d.order_gap is not None}
        over = [name for name, gap in gaps.items() if abs(gap) > limit + 1e-12]
        values = {name: duel.value(self.mode, tie=0.0) for name, duel in duels.items()}
        notes = [duel.note for duel in duels.values() if duel.note]
        for name in over:
            if values[name] is None:
                continue
            values[name] = 0.5 if self.over_gap == "tie" else None
            notes.append(f"order gap {gaps[name]:+.2f} is over {limit:g}")
        note = "; ".join(dict.fromkeys(notes))
        info: dict[str, Any] = {"opponents": values}
        cost = total_cost(*(duel.cost for duel in duels.values()))
        if cost is not None:
            info["cost"] = cost
        if gaps:
            info["order_gap"] = sum(gaps.values()) / len(gaps)
            info["order_gaps"] = gaps
            info["flips"] = sum(bool(duel.flipped) for duel in duels.values())
        if self.max_order_gap is not None:
            info["over_order_gap"] = len(over)
        known = [value for value in values.values() if value is not None]
        if len(known) < len(values):
            broke = any(duel.failed for duel in duels.values())
            return (Score.fail if broke else Score.abstain)(note or "no verdict", info=info)
        return Score.of(sum(known) / len(known), note=note, info=info)

    def _opponents(self, sample: Sample, index: int) -> dict[str, tuple[Message, ...]]:
        value = sample.columns[self.reference]
        named: dict[str, Any] = {}
        if isinstance(value, Mapping) and "role" not in value:
            named = {str(name): answer for name, answer in value.items() if answer is not None}
        elif _named_list(value):
            named = {str(entry["name"]): entry["answer"] for entry in value}
        elif value is not None and value != "":
            named = {self.reference: value}
        if not named:
            raise DataError(
                f"reward {self.name!r}: column {self.reference!r} holds no answer to compare with; "
                "give text, messages, or answers by name",
                index,
            )
        try:
            return {name: as_messages(answer, role="assistant") for name, answer in named.items()}
        except DataError as error:
            raise DataError(
                f"reward {self.name!r}, column {self.reference!r}: {error}", index
            ) from None


def check_duel_settings(reward: Reward, model: object, mode: str, order: str) -> None:
    """What rewards that compare answers refuse alike.

    Raises:
        ConfigError: Not a judge, an unknown mode, or `agree` with one order.
    """
    kind = type(reward).__name__
    if not isinstance(model, Judge):
        raise ConfigError(
            f"{kind}.model must be a PairwiseModel or a judge with compare(), got "
            f"{type(model).__name__}"
        )
    if mode not in MODES:
        raise ConfigError(f"{kind}.mode must be one of {set(MODES)}, got {mode!r}")
    if order not in ("both", "single"):
        raise ConfigError(f"{kind}.order must be one of {{'both', 'single'}}, got {order!r}")
    if mode == "agree" and order == "single":
        raise ConfigError(f"{kind}: mode='agree' needs both orders; set order='both'")


def _named_list(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and bool(value)
        and all(
            isinstance(entry, Mapping) and {"name", "answer"} <= entry.keys() for entry in value
        )
    )
