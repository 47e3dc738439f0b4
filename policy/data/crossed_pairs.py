"""Pairs without a label, for a loss that needs none: answers crossed between preferences."""

from __future__ import annotations

import random
from collections.abc import Sequence

from assay.errors import ConfigError
from assay.judge import Pair
from assay.policy.data.preferences import Preference


def unlabelled_pairs(preferences: Sequence[Preference], per_pair: int, seed: int = 0) -> list[Pair]:
    """Answers of preferences against those of others, in random slots.

    What a judge says of such a pair is not known; that it should not depend on the order is. The
    swap-consistency term on them reaches more of the space of pairs than the labelled ones do, and
    matters where those are few. The other answer mostly is one to another prompt.

    Source: consistency on unlabelled data as in Xie et al., arXiv:1904.12848, with the exchange of
    slots in place of an augmentation.

    Args:
        preferences: The training preferences; held-out ones must not be among them.
        per_pair: So many pairs for each, >= 0.
        seed: Of partners and slots.

    Returns:
        At most `per_pair` pairs a preference; none of an answer with itself.

    >>> rows = [Preference.of("2 + 2?", "4", "5", 1.0), Preference.of("3 + 3?", "6", "7", 0.0)]
    >>> len(unlabelled_pairs(rows, per_pair=2))
    4
    """
    if per_pair < 0:
        raise ConfigError(f"per_pair must be >= 0, got {per_pair}")
    made = random.Random(seed)
    pairs: list[Pair] = []
    if len(preferences) < 2:
        return pairs
    for index, preference in enumerate(preferences):
        for _ in range(per_pair):
            other = preferences[(index + made.randrange(1, len(preferences))) % len(preferences)]
            own, foreign = (made.choice((one.a, one.b)) for one in (preference, other))
            if own == foreign:
                continue
            pair = Pair(preference.prompt, own, foreign, preference.columns)
            pairs.append(pair if made.random() < 0.5 else pair.swapped())
    return pairs
