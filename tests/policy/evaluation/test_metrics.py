import itertools
import math
import random

import pytest

from assay.errors import DataError
from assay.policy.evaluation.comparison import compare_results, seeds_interval, sign_flip_p
from assay.policy.evaluation.metrics import best_of, majority, mean_interval, pass_at_k, pass_curve


def test_pass_at_k_is_the_mean_over_all_subsets() -> None:
    for passed, k in itertools.product(range(7), range(1, 7)):
        marks = [True] * passed + [False] * (6 - passed)
        subsets = list(itertools.combinations(marks, k))
        exact = sum(any(subset) for subset in subsets) / len(subsets)
        assert pass_at_k(6, passed, k) == pytest.approx(exact)
    with pytest.raises(DataError, match="smaller k"):
        pass_at_k(4, 2, 5)


def test_pass_at_k_is_unbiased() -> None:
    coin = random.Random(0)
    p, n, k = 0.3, 5, 3
    draws = [pass_at_k(n, sum(coin.random() < p for _ in range(n)), k) for _ in range(20_000)]
    assert sum(draws) / len(draws) == pytest.approx(1 - (1 - p) ** k, abs=0.01)


def test_best_of_n_is_the_mean_over_all_subsets() -> None:
    coin = random.Random(1)
    values = [coin.random() for _ in range(6)]
    picks = [2.0, 1.0, 1.0, 3.0, 0.0, 1.0]
    for n in range(1, 7):
        exact = []
        for subset in itertools.combinations(range(6), n):
            top = max(picks[i] for i in subset)
            tied = [values[i] for i in subset if picks[i] == top]
            exact.append(sum(tied) / len(tied))
        assert best_of(values, picks, n) == pytest.approx(sum(exact) / len(exact))
    assert best_of(values, values, 6) == max(values)


def test_majority_votes_on_equal_answers() -> None:
    keys = ["4", "5", "4", None]
    right = [True, False, True, False]
    # {4,5,4} -> 4; {4,5,None} -> tie, half; {4,4,None} -> 4; {5,4,None} -> half
    assert majority(keys, right, 3) == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)
    assert majority([None, None], [False, False], 2) == 0.0
    many = ["a"] * 9 + ["b"] * 6
    assert majority(many, [True] * 9 + [False] * 6, 7) == pytest.approx(0.8, abs=0.12)


def test_an_interval_that_is_all_ones_is_not_certain() -> None:
    found = mean_interval([1.0] * 10)
    assert found.estimate == 1 and 0.6 < found.low < 0.9
    assert math.isnan(mean_interval([]).estimate)
    assert math.isnan(mean_interval([0.5]).low)


def test_a_prompt_with_too_few_samples_bounds_k() -> None:
    found = pass_curve({"a": (4, 1), "b": (2, 1)}, [1, 2, 4])
    assert list(found) == [1, 2]
    assert found[1][1] == {"a": 0.25, "b": 0.5}


def test_intervals_cover() -> None:
    coin = random.Random(2)
    inside = sum(
        0.3 in mean_interval([float(coin.random() < 0.3) for _ in range(40)], seed=trial)
        for trial in range(200)
    )
    assert inside >= 180


def test_sign_flips_exact_and_drawn_agree() -> None:
    coin = random.Random(3)
    moved = [coin.gauss(0.4, 1) for _ in range(14)]
    exact = sign_flip_p(moved)
    drawn = sign_flip_p([*moved, 1e-9])  # one more, so that patterns are drawn
    assert drawn == pytest.approx(exact, abs=0.01)
    assert sign_flip_p([0.0, 0.0]) == 1.0


def test_paired_differences_by_hand() -> None:
    uids = [f"p{i}" for i in range(8)]
    before = {"pass@1": dict.fromkeys(uids, 0.0), "only here": {"p0": 1.0}}
    after = {"pass@1": dict.fromkeys(uids, 1.0) | {"p0": 0.0, "extra": 1.0}}
    (found,) = compare_results(before, after)
    assert (found.before, found.after, found.prompts) == (0.0, 0.875, 8)
    assert found.p == pytest.approx(2 / 2**7)
    assert found.p_mcnemar == pytest.approx(2 / 2**7)
    assert found.change.low >= 0.5
    with pytest.raises(DataError, match="share no metric"):
        compare_results(before, {"other": {"p0": 1.0}})


def test_seeds_need_two_for_an_interval() -> None:
    assert math.isnan(seeds_interval([0.5]).low)
