"""Informational gain of retrieved text, without a model: what is new, and what is nearer the goal.

Where the documents that hold the answer are known, the gain of step t is StepSearch's,

    gain_t = mean_i max(c_i,t - best_i, 0) - repeated_t / retrieved_t

with c_i,t the largest TF-IDF cosine between document i of the evidence and what step t retrieved,
best_i the largest one of the earlier steps, and the share of retrieved documents that were
retrieved before.

Source: StepSearch, arXiv:2505.15107, section 3. It does not say how its TF-IDF weights are made:
here idf = ln((1 + n) / (1 + df)) + 1 over the evidence, terms are lower-case words.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_WORD = re.compile(r"\w+")
_PARTING = str.maketrans(dict.fromkeys("{}[],;|", "\n"))
_RESULT = re.compile(r"(?m)^\s*(?:search )?result\s*#?\d+\s*:|^\s*\[?\d{1,2}[\]).]\s+", re.I)
_TEXTS = ("text", "content", "snippet", "passage", "contents", "body", "title", "url", "link")


@dataclass(frozen=True, slots=True)
class StepGain:
    """What one step brought.

    Attributes:
        gain: Mean increase of the best similarity to the evidence, in [0, 1].
        redundancy: Share of the step's documents that were retrieved before, in [0, 1].
    """

    gain: float
    redundancy: float

    @property
    def value(self) -> float:
        """Gain minus redundancy, in [-1, 1]."""
        return self.gain - self.redundancy


class EvidenceGain:
    """Walks over the steps of one run and gives each its gain.

    Args:
        evidence: Texts that hold the answer; at least one.

    >>> walk = EvidenceGain(["tea was taxed in 1767"])
    >>> first = walk.step(["tea was taxed in 1767", "coffee"])
    >>> round(first.gain, 3), first.redundancy
    (1.0, 0.0)
    >>> walk.step(["coffee"]).value
    -1.0
    """

    def __init__(self, evidence: Sequence[str]) -> None:
        counts = [Counter(_words(text)) for text in evidence]
        known = Counter(word for count in counts for word in count)
        total = len(counts)
        self._idf = {w: math.log((1 + total) / (1 + df)) + 1 for w, df in known.items()}
        self._rare = math.log(1 + total) + 1  # a word that no evidence has
        self._goals = [self._weighted(count) for count in counts]
        self._best = [0.0] * total
        self._seen: set[str] = set()

    def step(self, documents: Sequence[str]) -> StepGain:
        """The gain of the documents that one step retrieved."""
        if not documents:
            return StepGain(0.0, 0.0)
        vectors = [self._weighted(Counter(_words(text))) for text in documents]
        gains = []
        for index, goal in enumerate(self._goals):
            nearest = max(_cosine(goal, vector) for vector in vectors)
            gains.append(max(nearest - self._best[index], 0.0))
            self._best[index] = max(self._best[index], nearest)
        keys = [" ".join(text.split()) for text in documents]
        repeated = sum(key in self._seen for key in keys)
        self._seen.update(keys)
        return StepGain(sum(gains) / len(gains) if gains else 0.0, repeated / len(keys))

    def _weighted(self, count: Counter[str]) -> tuple[dict[str, float], float]:
        """Terms of the evidence with their weights, and the length of the whole vector."""
        weights = {w: n * self._idf[w] for w, n in count.items() if w in self._idf}
        others = sum((n * self._rare) ** 2 for w, n in count.items() if w not in self._idf)
        return weights, math.sqrt(sum(v * v for v in weights.values()) + others)


@dataclass
class Novelty:
    """Share of each result's segments that no earlier text of the run has had; linear.

    A segment is what stands between line breaks, commas and brackets, so that rows of JSON and
    lists of passages both fall into the pieces that they are made of.

    >>> walk = Novelty()
    >>> walk.step('{"a": 1, "b": 2}'), walk.step('{"a": 1, "b": 3}'), walk.step('{"b": 3}')
    (1.0, 0.5, 0.0)
    """

    _seen: set[str] = field(default_factory=set)

    def step(self, text: str) -> float | None:
        """The share that is new, or None where the text has no segment."""
        segments = {part.strip() for part in text.translate(_PARTING).split("\n")} - {""}
        if not segments:
            return None
        fresh = segments - self._seen
        self._seen |= fresh
        return len(fresh) / len(segments)


def documents_of(text: str) -> list[str]:
    """The documents in a search result: items of a JSON list, numbered results, or the whole.

    >>> documents_of('[{"title": "Tea", "text": "A leaf."}, {"title": "Tax"}]')
    ['A leaf. Tea', 'Tax']
    """
    stripped = text.strip()
    if stripped.startswith(("[", "{")):
        try:
            value = json.loads(stripped)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, Mapping):
            value = next((v for v in value.values() if isinstance(v, list) and v), None)
        if isinstance(value, list) and value:
            return [_item(item) for item in value]
    parts = [part.strip() for part in _RESULT.split(stripped)]
    if len(parts) > 2:
        return [part for part in parts if part]
    return [stripped] if stripped else []


def _item(item: object) -> str:
    if isinstance(item, Mapping):
        told = [item[key] for key in _TEXTS if isinstance(item.get(key), str)]
        return " ".join(told) if told else json.dumps(item, sort_keys=True)
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.lower())


def _cosine(left: tuple[dict[str, float], float], right: tuple[dict[str, float], float]) -> float:
    (a, size_a), (b, size_b) = left, right
    if not size_a or not size_b:
        return 0.0
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    return sum(v * large.get(w, 0.0) for w, v in small.items()) / (size_a * size_b)
