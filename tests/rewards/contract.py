"""What every reward must keep, whatever it measures."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from assay.messages import Sample
from assay.reward import Reward, Score


def check_contract(reward: Reward, samples: Sequence[Sample]) -> None:
    """Order, batches, range, pickling, and the same scores in a spawned process."""
    scores = reward.evaluate(samples)
    assert len({score.value for score in scores}) > 1, "give samples that score differently"
    assert reward.evaluate([]) == []
    assert [reward.evaluate([sample])[0] for sample in samples] == scores
    assert reward.evaluate(samples[::-1]) == scores[::-1]
    copied = pickle.loads(pickle.dumps(reward))
    assert copied == reward
    assert copied.fingerprint() == reward.fingerprint()
    assert repr(copied) == repr(reward)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(_evaluate, reward, list(samples)).result(timeout=60) == scores


def _evaluate(reward: Reward, samples: list[Sample]) -> list[Score]:
    return reward.evaluate(samples)
