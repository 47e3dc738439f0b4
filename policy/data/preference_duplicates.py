"""Duplicates within preferences, and leaks between training and evaluation prompts.

Texts are compared as sets of word n-grams (shingles). MinHash with banding finds candidates in
linear time; each candidate is then decided on its exact Jaccard similarity, so nothing is called a
duplicate by chance. Source: Broder, "On the resemblance and containment of documents", 1997.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.messages import Message
from assay.policy.data.preferences import Preference, text_of

#: 32 bands of 4 rows: a pair at similarity .8 is missed with probability (1 - .8^4)^32 < 1e-7, one
#: at .5 with probability .13.
BANDS, ROWS = 32, 4
#: Scripts without spaces: each sign is a word, or a whole sentence would be one.
_SIGN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_SIGN}]|[^\W{_SIGN}]+")


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """What `deduplicate` kept and why it dropped the rest.

    Attributes:
        kept: In the order of the input.
        copies: Dropped: the same texts, the same label.
        merged: Dropped: the same texts with another label, which went into the mean of the first.
        near: Dropped: a similar text came before.
    """

    kept: list[Preference]
    copies: int
    merged: int
    near: int


@dataclass(frozen=True, slots=True)
class Leak:
    """A training prompt that an evaluation prompt is in.

    Attributes:
        train: Index of the training text.
        evaluation: Index of the evaluation text.
        kind: `same` words, `near` by Jaccard similarity, or `contained`: most n-grams of the
            evaluation text stand in the training text.
        overlap: The similarity, or the share of n-grams.
    """

    train: int
    evaluation: int
    kind: Literal["same", "near", "contained"]
    overlap: float


def words_of(text: str) -> list[str]:
    """Words of `text` without case, accents' spelling or punctuation.

    Signs of Chinese, Japanese and Thai are words of their own.

    >>> words_of("Sum, 求和!")
    ['sum', '求', '和']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str, size: int = 5) -> frozenset[int]:
    """64-bit hashes of the word n-grams of `text`; a shorter text is one shingle.

    >>> len(shingles("a b c d e f", size=5))
    2
    """
    words = words_of(text) or text.split()  # nothing but signs: these are its words
    if not words:
        return frozenset()
    count = max(1, len(words) - size + 1)
    grams = (" ".join(words[i : i + size]).encode() for i in range(count))
    return frozenset(
        int.from_bytes(hashlib.blake2b(gram, digest_size=8).digest()) for gram in grams
    )


def jaccard(first: frozenset[int], second: frozenset[int]) -> float:
    """|A & B| / |A | B|; 1 for two empty sets."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def near_duplicates(texts: Sequence[str], threshold: float = 0.8, size: int = 5) -> list[int]:
    """For each text the index of the first text it is similar to; its own where it is new.

    Args:
        texts: Any.
        threshold: Smallest Jaccard similarity of the shingles, in (0, 1].
        size: Words of a shingle.

    >>> near_duplicates(["One two three four five six", "Else", "one two three four five six!"])
    [0, 1, 0]
    """
    _check_threshold(threshold)
    index = _Index(size)
    first: list[int] = []
    for place, text in enumerate(texts):
        found = index.closest(text, threshold)
        first.append(place if found is None else found[0])
        if found is None:
            index.add(place, text)
    return first


def deduplicate(preferences: Iterable[Preference], threshold: float = 0.8) -> Deduplicated:
    """Drop pairs that repeat an earlier one, in either order.

    The same words (case and punctuation aside) with the same label are a copy. With another label
    (or other votes) they are a second opinion: votes are joined, and the first pair's label becomes
    their mean. Then pairs whose prompt and answers together are similar to an earlier one are
    dropped.

    Args:
        preferences: Any.
        threshold: Smallest Jaccard similarity of a near duplicate; above 1 keeps near ones.
    """
    opinions: dict[tuple[str, str, str], _Opinions] = {}
    copies = merged = 0
    for preference in preferences:
        prompt, a, b = (_plain(m) for m in (preference.prompt, preference.a, preference.b))
        turned = b < a
        oriented = preference.swapped() if turned else preference
        known = opinions.get((prompt, min(a, b), max(a, b)))
        if known is None:
            opinions[prompt, min(a, b), max(a, b)] = _Opinions(turned, [oriented])
        elif any(p.label == oriented.label and p.votes == oriented.votes for p in known.given):
            copies += 1
        else:
            known.given.append(oriented)
            merged += 1
    unique = [known.mean() for known in opinions.values()]
    if threshold > 1:
        return Deduplicated(unique, copies, merged, 0)
    texts = ["\n".join([text_of(p.prompt), *sorted([text_of(p.a), text_of(p.b)])]) for p in unique]
    first = near_duplicates(texts, threshold)
    kept = [p for place, p in enumerate(unique) if first[place] == place]
    return Deduplicated(kept, copies, merged, len(unique) - len(kept))


def leaks(
    train: Sequence[str],
    evaluation: Sequence[str],
    *,
    threshold: float = 0.8,
    ngram: int = 13,
    contained: float = 0.5,
) -> list[Leak]:
    """Training texts that repeat an evaluation text, at most one leak per training text.

    Args:
        train: Training prompts.
        evaluation: Evaluation prompts.
        threshold: Smallest Jaccard similarity of 5-word shingles that is `near`.
        ngram: Words of the n-grams for `contained`; 13 is the usual contamination check. Shorter
            evaluation texts are compared by similarity only.
        contained: Smallest share of an evaluation text's n-grams that must stand in the training
            text; boilerplate that many prompts share stays below it.

    >>> leaks(["What is the capital of France?"], ["what is the capital of france"])
    [Leak(train=0, evaluation=0, kind='same', overlap=1.0)]
    """
    _check_threshold(threshold)
    _check_threshold(contained)
    same: dict[str, int] = {}
    index = _Index(5)
    holders: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for place, text in enumerate(evaluation):
        if same.setdefault(_key(text), place) != place:
            continue  # a prompt of many pairs is compared once
        index.add(place, text)
        if len(words_of(text)) >= ngram:
            grams = shingles(text, ngram)
            sizes[place] = len(grams)
            for gram in grams:
                holders.setdefault(gram, []).append(place)
    found = []
    for place, text in enumerate(train):
        twin = same.get(_key(text))
        if twin is not None:
            found.append(Leak(place, twin, "same", 1.0))
            continue
        closest = index.closest(text, threshold)
        if closest is not None:
            found.append(Leak(place, closest[0], "near", closest[1]))
            continue
        hits: dict[int, int] = {}
        for gram in shingles(text, ngram):
            for holder in holders.get(gram, ()):
                hits[holder] = hits.get(holder, 0) + 1
        shares = [(hits[holder] / sizes[holder], -holder) for holder in hits]
        if shares and max(shares)[0] >= contained:
            share, holder = max(shares)
            found.append(Leak(place, -holder, "contained", share))
    return found


def without_leaks(
    train: Sequence[Preference], evaluation: Iterable[Preference], threshold: float = 0.8
) -> tuple[list[Preference], list[Leak]]:
    """Training preferences whose prompts no evaluation preference has, and the leaks.

    What users wrote is compared: system prompts and earlier replies are shared by many prompts.
    """
    found = leaks([_asked(p) for p in train], [_asked(p) for p in evaluation], threshold=threshold)
    leaked = {leak.train for leak in found}
    return [p for place, p in enumerate(train) if place not in leaked], found


@dataclass(frozen=True, slots=True)
class _Opinions:
    """Preferences on one pair, all in one orientation; `turned` is that of the first one."""

    turned: bool
    given: list[Preference]

    def mean(self) -> Preference:
        first = self.given[0]
        if len(self.given) > 1:
            votes = tuple(vote for p in self.given for vote in (p.votes or (p.label,)))
            first = replace(first, label=sum(votes) / len(votes), votes=votes)
        return first.swapped() if self.turned else first


class _Index:
    """Texts by the bands of their MinHash signatures."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._sets: dict[int, frozenset[int]] = {}
        self._buckets: dict[tuple[int, bytes], list[int]] = {}
        self._last: tuple[str, frozenset[int], list[tuple[int, bytes]]] | None = None

    def add(self, place: int, text: str) -> None:
        grams, keys = self._read(text)
        self._sets[place] = grams
        for key in keys:
            self._buckets.setdefault(key, []).append(place)

    def closest(self, text: str, threshold: float) -> tuple[int, float] | None:
        """The most similar text that is similar enough, the earliest of equals."""
        grams, keys = self._read(text)
        candidates = {place for key in keys for place in self._buckets.get(key, ())}
        scored = [(jaccard(grams, self._sets[place]), -place) for place in candidates]
        best = max(scored, default=(0.0, 0))
        return (-best[1], best[0]) if scored and best[0] >= threshold else None

    def _read(self, text: str) -> tuple[frozenset[int], list[tuple[int, bytes]]]:
        if self._last is None or self._last[0] != text:
            grams = shingles(text, self.size)
            signature = _signature(grams).reshape(BANDS, ROWS)
            keys = [(band, row.tobytes()) for band, row in enumerate(signature)]
            self._last = (text, grams, keys)
        return self._last[1:]


def _signature(grams: frozenset[int]) -> NDArray[np.uint64]:
    """Smallest value of each of BANDS * ROWS hash functions (splitmix64 with a seed each)."""
    if not grams:
        return np.zeros(BANDS * ROWS, dtype=np.uint64)
    values = np.fromiter(grams, dtype=np.uint64, count=len(grams))
    seeds = np.arange(1, BANDS * ROWS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    smallest = np.full(BANDS * ROWS, np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(values), 1024):  # bounded memory on long texts
        mixed = values[start : start + 1024, None] ^ seeds[None, :]
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        np.minimum(smallest, mixed.min(axis=0), out=smallest)
    return smallest


def _plain(messages: Sequence[Message]) -> str:
    return _key(text_of(messages))


def _key(text: str) -> str:
    """Its words; a text without any, such as a formula's signs, as it is."""
    return " ".join(words_of(text)) or text


def _asked(preference: Preference) -> str:
    users = [m.content for m in preference.prompt if m.role == "user"]
    return "\n".join(users) if users else text_of(preference.prompt)


def _check_threshold(value: float) -> None:
    if not 0 < value <= 1:
        raise ConfigError(f"a similarity threshold must lie in (0, 1], got {value}")
