"""Judges with biases of known strength: what an auditor must find, and what it must not."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from assay.calibration.arrays import FloatArray, sigmoid
from assay.calibration.probe_requests import Ask, GradeAsk, ProbeItem, Request, Versions, text_of
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.messages import as_messages

#: Author of the answers that a planted judge takes for its own.
OWN_NAME = "planted"

_TAG = re.compile(r"\b([ab])(\d+)-(\d+)\b")
_STEMS = ("The sum is", "It takes", "One would need", "The route has", "They counted", "We keep")
_NOUNS = ("stones", "letters", "bridges", "minutes", "apples", "lamps", "stairs", "coins")


@dataclass(frozen=True)
class Strengths:
    """How strong each planted bias is, in logits.

    Attributes:
        position: Liking for the first place.
        length: For twice the length (log base 2 of the ratio).
        own: For its own answers.
        template: Standard deviation of what another wording adds to the quality of a pair.
        stated: For the answer that the user says they prefer.
        cue: For an answer that experts or most readers are said to like.
        spread: Standard deviation over prompts of the liking for the first place.
    """

    position: float = 0.0
    length: float = 0.0
    own: float = 0.0
    template: float = 0.0
    stated: float = 0.0
    cue: float = 0.0
    spread: float = 0.0

    @property
    def names(self) -> list[str]:
        """Biases that are there."""
        return [f.name for f in fields(self) if getattr(self, f.name)]


def planted_items(prompts: int, per_prompt: int = 2) -> list[ProbeItem]:
    """Pairs of plain texts; a judge draws their qualities, and who wrote them is in the columns.

    Labels are those of a seed: `PlantedJudge.labelled` puts in its own.
    """
    found = []
    for prompt in range(prompts):
        for pair in range(per_prompt):
            texts = [_text(side, prompt, pair) for side in "ab"]
            own = ("a", "b", "")[(prompt + pair) % 3]
            authors = {f"author_{s}": OWN_NAME if s == own else "another" for s in "ab"}
            columns = {"prompt_id": f"prompt-{prompt}", **authors}
            made = Pair(
                as_messages(
                    f"Question {prompt}: how many {_NOUNS[prompt % 8]} are there?", role="user"
                ),
                as_messages(texts[0], role="assistant"),
                as_messages(texts[1], role="assistant"),
                columns,
                f"pair-{prompt}-{pair}",
            )
            found.append(ProbeItem.of(made))
    return found


def _text(side: str, prompt: int, pair: int) -> str:
    """Some sentences; their number is drawn by a hash, so that lengths say nothing of quality."""
    seed = zlib.crc32(f"{side}{prompt}-{pair}".encode())
    count = 2 + seed % 7
    lines = [
        f"{_STEMS[(seed >> i) % 6]} {(seed >> (2 * i)) % 90 + 3} {_NOUNS[(seed >> i) % 8]}."
        for i in range(count)
    ]
    return f"Note {side}{prompt}-{pair} says this. " + " ".join(lines)


@dataclass(frozen=True, eq=False)
class Features:
    """What a planted judge sees of requests, each array of shape (n,).

    Attributes:
        pair: Number of the pair, `prompt * per_prompt + pair`.
        prompt: Number of the prompt.
        sign: +1 where A stands first, -1 where B does, 0 for an answer against its own copy.
        length: Base-2 logarithm of the ratio of lengths, first over second.
        own: First is its own, minus second is.
        stated: The user prefers the first, minus the second.
        cue: A cue on the first, minus one on the second.
        template: Number of the wording, 0 for the judge's own.
    """

    pair: Any
    prompt: Any
    sign: FloatArray
    length: FloatArray
    own: FloatArray
    stated: FloatArray
    cue: FloatArray
    template: Any

    @classmethod
    def of(
        cls, requests: Sequence[tuple[Pair, str]], templates: Sequence[str], per_prompt: int
    ) -> Features:
        """Read them off the texts alone, as a judge would."""
        rows = [_features(pair, template, templates, per_prompt) for pair, template in requests]
        columns = np.array(rows, dtype=np.float64).reshape(-1, 8).T
        whole = [columns[i].astype(np.int64) for i in (0, 1, 7)]
        sign, length, own, stated, cue = columns[2:7]
        return cls(whole[0], whole[1], sign, length, own, stated, cue, whole[2])


def _features(
    pair: Pair, template: str, templates: Sequence[str], per_prompt: int
) -> tuple[float, ...]:
    first, second = text_of(pair.a), text_of(pair.b)
    found = _TAG.search(first)
    if found is None:
        raise ValueError(f"not a planted answer: {first[:60]!r}")
    side, prompt, number = found[1], int(found[2]), int(found[3])
    sign = 1.0 if side == "a" else -1.0
    other = _TAG.search(second)
    if other is not None and other[1] == side:  # one answer and a copy of it: of equal quality
        sign = 0.0
    own = pair.columns.get("author_a") == OWN_NAME, pair.columns.get("author_b") == OWN_NAME
    question = text_of(pair.prompt)
    stated = _TAG.search(question[question.find("I personally prefer") :])
    liked = 0.0
    if "I personally prefer" in question and stated is not None:
        liked = 1.0 if stated[1] == side else -1.0
    return (
        prompt * per_prompt + number,
        prompt,
        sign,
        math.log2(len(first) / len(second)),
        sign * (float(own[0]) - float(own[1])),
        liked,
        float(_cued(first)) - float(_cued(second)),
        0.0 if not template else 1.0 + templates.index(template),
    )


def _cued(text: str) -> bool:
    return "leading experts" in text or "readers preferred" in text


@dataclass(frozen=True, eq=False)
class Latent:
    """What a seed draws of a population: qualities, and what wordings and prompts add."""

    quality: FloatArray
    lean: FloatArray
    wording: FloatArray

    @classmethod
    def draw(
        cls, generator: np.random.Generator, pairs: int, per_prompt: int, templates: int
    ) -> Latent:
        """Pairs of a prompt share half of the variance of what is drawn for them."""
        prompts = pairs // per_prompt
        groups = np.repeat(np.arange(prompts), per_prompt)

        def shared(*more: int) -> FloatArray:
            by_prompt = generator.normal(size=(prompts, *more))[groups]
            found: FloatArray = (by_prompt + generator.normal(size=(pairs, *more))) / math.sqrt(2)
            return found

        wording = np.concatenate([np.zeros((pairs, 1)), shared(templates)], axis=1)
        return cls(1.5 * shared(), generator.normal(size=prompts)[groups], wording)


def probabilities(features: Features, latent: Latent, strengths: Strengths) -> FloatArray:
    """P(the first-shown wins) of each request, shape (n,)."""
    wording = latent.wording[features.pair, features.template]
    x = features.sign * (latent.quality[features.pair] + strengths.template * wording)
    x = x + strengths.position + strengths.spread * latent.lean[features.pair]
    x = x + strengths.length * features.length + strengths.own * features.own
    return sigmoid(x + strengths.stated * features.stated + strengths.cue * features.cue)


@dataclass(frozen=True, eq=False)
class PlantedJudge(Judge):
    """Draws verdicts on `planted_items` by known probabilities.

    Args:
        strengths: What is planted.
        pairs: Number of pairs of the population.
        per_prompt: Pairs of a prompt.
        template: Which wording it is.
        templates: Names of all wordings but its own.
        seed: Of qualities and verdicts.
        repeat: Number of the repeat; another one draws other verdicts on the same qualities.

    Attributes:
        latent: Qualities, and what wordings and prompts add, of this seed.
    """

    strengths: Strengths
    pairs: int
    per_prompt: int = 2
    template: str = ""
    templates: tuple[str, ...] = ("reworded", "terse")
    seed: int = 0
    repeat: int = 0
    latent: Latent = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = Latent.draw(
            np.random.default_rng((self.seed, 1)), self.pairs, self.per_prompt, len(self.templates)
        )
        object.__setattr__(self, "latent", drawn)

    def labelled(self, items: Sequence[ProbeItem]) -> list[ProbeItem]:
        """Items with the better answer, by the qualities of this seed, as their label."""
        from dataclasses import replace

        better = self.latent.quality > 0
        return [replace(item, label="A" if better[i] else "B") for i, item in enumerate(items)]

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, drawn."""
        asked = [(pair, self.template) for pair in pairs]
        features = Features.of(asked, self.templates, self.per_prompt)
        p = probabilities(features, self.latent, self.strengths)
        name = zlib.crc32(self.template.encode())
        drawn = np.random.default_rng((self.seed, 2, self.repeat, name)).random(len(p)) < p
        return [Verdict("A" if first else "B") for first in drawn]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """Grades from 1 to 5 by a hash of the text."""
        return [Grade(1.0 + zlib.crc32(text_of(i.answer).encode()) % 5) for i in items]

    def fingerprint(self) -> str:
        """All that decides."""
        return repr((self.strengths, self.seed, self.template, self.repeat))

    def versions(self) -> Versions:
        """With its wordings and repeats."""
        from dataclasses import replace

        return Versions(
            self,
            {name: replace(self, template=name) for name in self.templates},
            lambda judge, k: replace(judge, repeat=k) if isinstance(judge, PlantedJudge) else judge,
        )


def features_of(requests: Sequence[Request], templates: Sequence[str], per_prompt: int) -> Features:
    """Features of comparisons."""
    if any(isinstance(one, GradeAsk) for one in requests):
        raise ValueError("planted features are of comparisons only")
    asks = [(one.pair, one.template) for one in requests if isinstance(one, Ask)]
    return Features.of(asks, templates, per_prompt)
