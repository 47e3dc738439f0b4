"""Preferences as reward-model trainers read them: loaded, cleaned, split, rendered.

Pairs and single answers are rendered by the same functions that scoring uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.judge import Pair
from assay.messages import Message, Sample
from assay.policy.data.preference_duplicates import deduplicate, without_leaks
from assay.policy.data.preference_sources import load_preferences
from assay.policy.data.preferences import Preference, shuffled_slots, split_by_prompt
from assay.policy.data.row_files import write_rows
from assay.policy.model_card import NOT_STATED, DataFacts
from assay.policy.reward_model_config import PairwiseConfig, RewardModelConfig
from assay.rewards.chat_text import render_sample
from assay.rewards.pair_text import PairText


@dataclass(frozen=True)
class PreferenceSplit:
    """Training and held-out preferences, and what was left out.

    Attributes:
        train: For training.
        held_out: For metrics and calibration; may be empty.
        dropped: Left out, by reason.
        facts: Sources, for the model card.
    """

    train: list[Preference]
    held_out: list[Preference]
    dropped: Mapping[str, int] = field(default_factory=dict)
    facts: Sequence[DataFacts] = ()

    __hash__ = None  # type: ignore[assignment]


def split_preferences(
    config: RewardModelConfig, *, decided: bool, given: Iterable[Preference] | None = None
) -> PreferenceSplit:
    """Load the configuration's files (or take `given`), drop duplicates and leaks, hold some out.

    Args:
        config: Files and shares.
        decided: Leave out ties, as a Bradley-Terry loss must.
        given: Preferences in place of `config.data`.

    Raises:
        DataError: Nothing is left to train on.
    """
    dropped: dict[str, int] = {}
    files = [] if given is not None else list(config.data)
    train = list(given) if given is not None else _load(files, config, dropped)
    held_out = _load(config.held_out_data, config, dropped)
    if decided:
        train, held_out = _decided(train, dropped), _decided(held_out, dropped)
    found = deduplicate(train, config.near_duplicates)
    _count(dropped, "copies", found.copies)
    _count(dropped, "joined as a second opinion", found.merged)
    _count(dropped, "near duplicates", found.near)
    train = found.kept
    if not config.held_out_data:
        train, held_out = split_by_prompt(train, config.held_out, config.seed)
    threshold = min(config.near_duplicates, 1.0)
    train, leaks = without_leaks(train, held_out, threshold)
    _count(dropped, "training prompts like a held-out one", len(leaks))
    if not train:
        raise DataError(
            f"no preferences are left to train on; left out: {dropped or 'none'}; held out: "
            f"{len(held_out)}"
        )
    facts = [
        *_facts(train, files, "train", config.data_licence),
        *_facts(held_out, config.held_out_data or files, "held-out", config.data_licence),
    ]
    return PreferenceSplit(train, held_out, dropped, facts)


def pointwise_rows(
    preferences: Iterable[Preference], tokenizer: Any, max_length: int, *, margin: bool = False
) -> Iterator[dict[str, Any]]:
    """Rows of TRL's RewardTrainer: `chosen_ids` and `rejected_ids`, `margin` if asked for.

    Ties have no chosen answer and are left out; a soft label counts as its winner.
    """
    for preference in preferences:
        if preference.tie:
            continue
        ids = {
            f"{name}_ids": list(
                render_sample(
                    tokenizer,
                    Sample(preference.prompt, answer, preference.columns),
                    max_length,
                ).ids
            )
            for name, answer in (("chosen", preference.chosen), ("rejected", preference.rejected))
        }
        yield ids | ({"margin": _margin(preference)} if margin else {})


def pairwise_rows(
    preferences: Iterable[Preference], text: PairText, tokenizer: Any, max_length: int
) -> Iterator[dict[str, Any]]:
    """Rows of `PairwiseRewardTrainer`: A shown first in `chosen_ids`, B in `rejected_ids`.

    Weights are those of the preferences; the loss is linear in them.
    """
    for preference in preferences:
        pair = preference.pair()
        yield {
            "chosen_ids": list(text.render(tokenizer, pair, max_length).ids),
            "rejected_ids": list(text.render(tokenizer, pair.swapped(), max_length).ids),
            "target": preference.label,
            "weight": preference.weight,
        }


def unlabelled_rows(
    pairs: Iterable[Pair], text: PairText, tokenizer: Any, max_length: int
) -> Iterator[dict[str, Any]]:
    """Rows of `PairwiseRewardTrainer` on which only the swap term acts: `target` is NaN."""
    for pair in pairs:
        yield {
            "chosen_ids": list(text.render(tokenizer, pair, max_length).ids),
            "rejected_ids": list(text.render(tokenizer, pair.swapped(), max_length).ids),
            "target": math.nan,
            "weight": 1.0,
        }


def stock_rows(
    preferences: Iterable[Preference], text: PairText, tokenizer: Any, max_length: int
) -> Iterator[dict[str, Any]]:
    """Rows with which TRL's stock RewardTrainer trains a pair-wise model.

    `chosen_ids` shows the preferred answer first, `rejected_ids` the other one, so that the stock
    loss -log sigmoid(s_AB - s_BA) + c (s_AB + s_BA)^2 is our objective `difference` with
    `swap_weight` = c = `center_rewards_coefficient`. Ties are left out and soft labels count as
    their winner: the stock loss has neither. Set TRL's `max_length=None`, or it drops long pairs.

    Source: ours; follows from the identity of the two losses, which a test checks.
    """
    for preference in preferences:
        if preference.tie:
            continue
        pair = (preference if preference.label > 0.5 else preference.swapped()).pair()
        yield {
            "chosen_ids": list(text.render(tokenizer, pair, max_length).ids),
            "rejected_ids": list(text.render(tokenizer, pair.swapped(), max_length).ids),
        }


def export_stock(
    path: str | Path,
    preferences: Iterable[Preference],
    text: PairText,
    tokenizer: Any,
    max_length: int,
) -> int:
    """Write `stock_rows` as JSON lines, all or nothing; returns how many."""
    return write_rows(path, stock_rows(preferences, text, tokenizer, max_length))


def pair_text(config: PairwiseConfig) -> PairText:
    """How the configuration's pairs become text."""
    verdict = config.head == "verdict"
    template = config.template or ("pair_verdict" if verdict else "pair_slot")
    return PairText(template, answer_follows=verdict, show_reasoning=config.show_reasoning)


def in_training_order(
    preferences: Iterable[Preference], config: PairwiseConfig
) -> list[Preference]:
    """Preferences in the order in which the configuration shows them, weights with mean 1."""
    shown = list(shuffled_slots(preferences, config.seed) if config.shuffle_slots else preferences)
    total = sum(preference.weight for preference in shown)
    if shown and not total:
        raise DataError("all preferences have weight 0; give some of them a weight > 0")
    scale = len(shown) / total if total else 1.0
    return [_weighed(preference, preference.weight * scale) for preference in shown]


def answer_length(messages: Sequence[Message]) -> int:
    """Characters that the assistant wrote."""
    return sum(len(message.content) for message in messages if message.role == "assistant")


def _weighed(preference: Preference, weight: float) -> Preference:
    return preference if weight == preference.weight else replace(preference, weight=weight)


def _load(
    files: Iterable[str], config: RewardModelConfig, dropped: dict[str, int]
) -> list[Preference]:
    return [
        preference
        for file in files
        for preference in load_preferences(
            file, config.data_format, limit=config.limit, source=Path(file).name, dropped=dropped
        )
    ]


def _decided(preferences: Sequence[Preference], dropped: dict[str, int]) -> list[Preference]:
    kept = [preference for preference in preferences if not preference.tie]
    _count(dropped, "ties", len(preferences) - len(kept))
    return kept


def _facts(
    preferences: Sequence[Preference], files: Sequence[str], split: str, licence: str
) -> list[DataFacts]:
    counts: dict[str, int] = {}
    for preference in preferences:
        counts[preference.source] = counts.get(preference.source, 0) + 1
    by_name = {Path(file).name: file for file in files}
    return [
        DataFacts.of_file(by_name[name], split, rows, licence)
        if name in by_name
        else DataFacts(name or "in memory", split, rows, licence=licence or NOT_STATED)
        for name, rows in counts.items()
    ]


def _margin(preference: Preference) -> float:
    evidence = preference.evidence
    if evidence.get("margin") is not None:
        return _number(preference, "margin")
    if evidence.get("score_chosen") is None or evidence.get("score_rejected") is None:
        return 0.0
    return _number(preference, "score_chosen") - _number(preference, "score_rejected")


def _number(preference: Preference, name: str) -> float:
    value = preference.evidence[name]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            f"preference {preference.id!r}: {name} must be a finite number, got {value!r:.80}; "
            "mend it, or set margin = false"
        )
    return number


def _count(dropped: dict[str, int], reason: str, count: int) -> None:
    if count:
        dropped[reason] = dropped.get(reason, 0) + count
