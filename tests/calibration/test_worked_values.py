"""Values worked out by hand or twice independently, to full precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.calibration.agreement import cohen_kappa, gwet_ac1, percent_agreement
from assay.calibration.bootstrap import design_effect
from assay.calibration.bradley_terry import fit_bradley_terry
from assay.calibration.conformal import passes
from assay.calibration.corrected_means import prediction_powered_mean, rogan_gladen
from assay.calibration.elo import elo_scale, online_elo
from assay.calibration.gap_bins import overall_win_rate, quality_gap
from assay.calibration.intervals import exact_interval, wilson_interval
from assay.calibration.isotonic import pool_adjacent_violators
from assay.calibration.krippendorff import krippendorff_alpha
from assay.calibration.length import length_controlled_win_rate
from assay.calibration.null_calibration import null_ece
from assay.calibration.own_answers import self_preference, self_preference_from_errors
from assay.calibration.position import position_counts
from assay.calibration.position_term import fit_position_term, two_order_term
from assay.calibration.power import mcnemar_pairs, mcnemar_power, share_pairs
from assay.calibration.reliability import adaptive_ece, ece
from assay.calibration.repetition import balanced_scores, repetition_stability, verdict_entropy
from assay.calibration.rewardbench import ties_score, total_v1
from assay.calibration.scoring_rules import brier_parts, brier_score, log_loss
from assay.calibration.selective import fixed_sequence
from assay.calibration.swap_consistency import swap_decomposition, swap_inconsistency
from assay.calibration.temperature import Temperature

near = pytest.approx
PAIRS = ["AB", "AB", "BA", "AA", "AA", "BB", "AC", "CC", "AB", "BA"]


def test_position_consistency_and_fairness() -> None:
    found = position_counts([p[0] for p in PAIRS], [p[1] for p in PAIRS])
    assert (found.primacy, found.recency, found.consistency) == (3, 1, 0.6)
    assert found.fairness_raw == -2.0
    assert found.fairness == near(-0.2)
    assert found.conflict_rate == near(0.4)
    assert found.first_pick_rate == near(0.6)
    assert found.first_pick_share == near(0.575)


def test_unparsed_pairs_are_not_consistent() -> None:
    found = position_counts(["", "A", "A"], ["", "", "B"])
    assert (found.valid, found.unparsed, found.consistency) == (1, 2, 1.0)
    assert math.isnan(position_counts([""], [""]).consistency)


def test_consistent_without_movement_is_fair() -> None:
    assert position_counts(["A"], ["B"]).fairness == 0.0
    assert position_counts(["A"], ["B"]).fairness_raw == 0.0


def test_repetitions() -> None:
    assert repetition_stability(["AAA", "ABA", "BBB", "ABC"]) == near(0.75)
    assert balanced_scores([9, 8], [6, 7]) == 7.5
    assert balanced_scores([7, 7], [8, 9]) == 7.75
    assert verdict_entropy([2, 0, 2]) == near(0.6931471805599453)
    assert verdict_entropy([2, 1, 1]) == near(1.0397207708399179)
    assert verdict_entropy([2, 1, 1]) < verdict_entropy([1, 1, 1]) == near(1.0986122886681096)


def test_conflict_rates_of_fair_eval() -> None:
    """ChatGPT 66 of 80 and GPT-4 37 of 80 pairs in conflict."""
    for conflicts, rate in ((66, 0.825), (37, 0.4625)):
        ba = ["A"] * conflicts + ["B"] * (80 - conflicts)
        assert position_counts(["A"] * 80, ba).conflict_rate == near(rate)


def test_swap_consistency() -> None:
    value = swap_inconsistency([0.8, 0.6, 0.55], [0.3, 0.4, 0.55])
    assert value == near(0.006666666666666678, abs=1e-12)
    found = swap_decomposition([0.8], [0.4], [1])
    assert (found.error, found.quality) == (near(0.1), near(0.09))
    assert (found.order, found.penalty) == (near(0.01), near(0.04))
    assert found.trained_on(2.0) == near(0.09 + 9 * 0.01)
    constant = swap_decomposition([0.5, 0.5], [0.5, 0.5], [1, 0])
    assert (constant.penalty, constant.resolution) == (0.0, 0.0)


def test_quality_gap() -> None:
    assert overall_win_rate(9, 2, 6, 20) == near(0.65)
    assert quality_gap(0.65) == near(0.15)


@pytest.mark.parametrize("step", [50.0, 700.0])
def test_length_controlled_win_rate(step: float) -> None:
    ours, theirs = [1000.0] * 100, [1000 + step] * 80 + [1000 - step] * 20
    won = [1] * 64 + [0] * 16 + [1] * 8 + [0] * 12
    found = length_controlled_win_rate(won, ours, theirs)
    assert found.theta == near(0.49041462650586326, abs=1e-9)
    assert found.win_rate == near(0.6202041028867288, abs=1e-9)
    assert found.raw == near(0.72)
    difference = np.array(theirs) - np.array(ours)
    t = math.tanh(step / difference.std())
    assert found.phi * t == near(0.8958797346140275, abs=1e-9)


def test_rewardbench() -> None:
    assert total_v1(0.95, 0.70, 0.85, 0.90, 0.60) == near(0.8222222222222222)
    reference, tied = [([2.0], [1.0, 0.5, 0.0])], [([2.0, 1.8], [1.0, 0.2])]
    assert ties_score(reference, tied) == near(1.0099505475368673)
    # Equal right answers: the spread is 0, the argument infinite, its tanh 1.
    assert ties_score(reference, [([2.0, 2.0], [1.0])]) == near(1.01)
    # 0 / 0 counts as 0: nothing right, nothing gained.
    assert ties_score([([1.0], [1.0])], [([1.0, 1.0], [1.0])]) == 0.0


P = [0.2] * 5 + [0.6] * 5 + [0.9] * 10
Y = [1, 0, 0, 0, 0] + [1, 1, 0, 0, 0] + [1] * 9 + [0]


def test_calibration_error_and_brier() -> None:
    assert ece(P, Y, bins=5) == near(0.05)
    assert ece(P, Y, bins=10) == near(0.05)
    assert brier_score(P, Y) == near(0.155)
    found = brier_parts(P, Y)
    assert (found.reliability, found.resolution) == (near(0.01), near(0.095))
    assert found.uncertainty == near(0.24)
    assert found.within_variance == near(0.0, abs=1e-15)


def test_adaptive_and_equal_width() -> None:
    p = [0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.55, 0.52]
    y = [1, 1, 0, 1, 1, 0, 1, 0]
    assert adaptive_ece(p, y, bins=4) == near(0.14625)
    assert ece(p, y, bins=4) == near(0.10875)
    assert brier_score(p, y) == near(0.2122375)


def test_equal_mass_never_splits_equal_forecasts() -> None:
    generator = np.random.default_rng(0)
    y = np.array([1] * 6 + [0] * 4)
    values = {
        round(adaptive_ece([0.9] * 10, generator.permutation(y), bins=5), 12) for _ in "12345"
    }
    assert values == {0.3}


@pytest.mark.parametrize(
    ("low", "n", "median"),
    [
        (0, 100, 0.121),
        (0, 400, 0.060),
        (0, 2000, 0.027),
        (0.5, 100, 0.087),
        (0.5, 400, 0.044),
        (0.5, 2000, 0.019),
    ],
)
def test_null_of_the_calibration_error(low: float, n: int, median: float) -> None:
    generator = np.random.default_rng(n)
    medians = [
        null_ece(generator.uniform(low, 1, n), bins=15, draws=100, seed=i).median for i in range(20)
    ]
    assert np.median(medians) == near(median, abs=0.003)


def test_temperature() -> None:
    fitted = Temperature(scale="logit").fit([2.0] * 4, [1, 1, 1, 0])
    assert fitted.temperature == near(1.8204784532536746)
    before = log_loss([1 / (1 + math.exp(-2.0))] * 4, [1, 1, 1, 0])
    assert before == near(0.6269280110429724)
    assert log_loss(fitted.predict([2.0] * 4), [1, 1, 1, 0]) == near(0.5623351446188082)


def test_pool_adjacent_violators() -> None:
    assert pool_adjacent_violators([0, 1, 0, 1, 1, 1]).tolist() == [0, 0.5, 0.5, 1, 1, 1]


def test_position_term() -> None:
    found = two_order_term(80, 100, 40, 100)
    assert found.b == near(0.49041462650586326)
    assert found.d == near(0.8958797346140275)
    assert found.p_a == near(0.7101020514433644)
    assert found.standard_error == near(0.1613743060919757)
    assert found.z == near(3.038988289909982)


def test_position_term_of_unbalanced_orders() -> None:
    found = two_order_term(0.8 * 180, 180, 0.4 * 20, 20)
    assert found.p_a == near(0.7101020514433644)
    wins = [1] * 144 + [0] * 36 + [1] * 8 + [0] * 12
    fit = fit_position_term(wins, [1.0] * 180 + [-1.0] * 20, penalty="none")
    assert fit.b == near(found.b, abs=1e-9)
    a_wins = np.concatenate([wins[:180], 1 - np.array(wins[180:])])
    assert a_wins.mean() == near(0.78)  # what pooling would say


def test_bradley_terry_and_elo() -> None:
    first = ["A"] * 100 + ["B"] * 100 + ["A"] * 100
    second = ["B"] * 100 + ["C"] * 200
    won = [1] * 60 + [0] * 40 + [1] * 60 + [0] * 40 + [1] * 70 + [0] * 30
    fit = fit_bradley_terry(first, second, won, position=False)
    above_c = [fit.difference(p, "C").estimate for p in "AB"]
    assert above_c == near([0.8341051829246386, 0.4170525708881357], abs=1e-6)
    elo = elo_scale(fit.strengths)
    assert elo == near([1072.4494568455818, 1000.0, 927.5505455371526], abs=1e-3)


def test_online_elo_depends_on_the_order() -> None:
    games = (["A"] * 4, ["B"] * 4)
    assert online_elo(*games, [1, 1, 0, 0])["A"] == near(994.6668287863961)
    assert online_elo(*games, [0, 0, 1, 1])["A"] == near(1005.3331712136038)


def test_design_effect_of_two_orders() -> None:
    generator = np.random.default_rng(1)
    shared = generator.normal(size=(40_000, 1)) * math.sqrt(0.6)
    values = (shared + generator.normal(size=(40_000, 2)) * math.sqrt(0.4)).ravel()
    groups = np.arange(80_000) // 2
    assert design_effect(values, groups) == near(1.6, abs=0.02)


def test_fixed_sequence() -> None:
    confidence = [0.9] * 40 + [0.8] * 40 + [0.7] * 40 + [0.6] * 40
    right = [1] * 40 + [0] * 3 + [1] * 37 + [0] * 6 + [1] * 34 + [0] * 9 + [1] * 31
    rule = fixed_sequence(confidence, right, thresholds=[0.9, 0.8, 0.7, 0.6])
    assert [s.p_value for s in rule.steps] == near(
        [0.014780882941434585, 0.03530625848113773, 0.2285916228338386]
    )
    uppers = [s.upper for s in rule.steps]
    assert uppers == near([0.07215752450551455, 0.09407454652521369, 0.12722553632729494])
    assert (rule.threshold, rule.coverage) == (0.8, 80 / 160)
    assert rule.accepts([0.8, 0.79]).tolist() == [True, False]


def test_conformal_form() -> None:
    rows = [(60, 3), (80, 7), (90, 8), (95, 9)]
    assert [passes(n, errors, 0.1) for n, errors in rows] == [True, True, True, False]


def test_power() -> None:
    wanted = {(0.2, 0.1): 155, (0.2, 0.05): 626, (0.3, 0.1): 234, (0.1, 0.05): 312}
    wanted[0.45, 0.1] = 351
    assert {key: mcnemar_pairs(*key) for key in wanted} == wanted
    assert mcnemar_power(155, 0.2, 0.1) == near(0.7617, abs=1e-4)
    assert mcnemar_power(170, 0.2, 0.1) == near(0.8061, abs=1e-4)
    assert mcnemar_power(167, 0.2, 0.1) < 0.8 <= mcnemar_power(168, 0.2, 0.1)
    assert share_pairs(0.8, 0.05) == 246


def test_intervals() -> None:
    found = wilson_interval(8, 10)
    assert (found.low, found.high) == (near(0.4901624715366418), near(0.9433178485456248))
    assert exact_interval(0, 40, 0.9).high == near(0.07215752450551455)


def test_agreement() -> None:
    assert percent_agreement([[20, 5], [10, 15]]) == near(0.7)
    assert cohen_kappa([[20, 5], [10, 15]]) == near(0.4)
    skewed = [[45, 5], [3, 2]]
    assert percent_agreement(skewed) == near(0.8545454545454545)
    assert cohen_kappa(skewed) == near(0.25423728813559293)
    assert gwet_ac1(skewed) == near(0.8194501436192039)


def test_krippendorff_alpha() -> None:
    rows = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]
    ratings = [[None if c == "*" else int(c) for c in row] for row in rows]
    assert krippendorff_alpha(ratings) == near(0.691358024691358)
    assert krippendorff_alpha(ratings, "interval") == near(0.8108448928121059)


def test_krippendorff_of_the_published_tables() -> None:
    """Krippendorff 2011: example B .095 (two coders, binary), C .692, D .743 and ordinal .815."""
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([meg, owen]) == near(0.095, abs=5e-4)
    four = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    found = {
        level: krippendorff_alpha(four, level)
        for level in ("nominal", "ordinal", "interval", "ratio")
    }
    assert found == near(
        {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}, abs=1e-3
    )


def test_self_preference() -> None:
    picks = [1] * 80 + [0] * 20 + [1] * 35 + [0] * 65
    assert self_preference(picks, [1] * 100 + [0] * 100) == near(0.15)
    assert self_preference_from_errors(30, 60, 10, 50) == near(0.3)


def test_corrected_means() -> None:
    judge, people = [1] * 82 + [0] * 18, [1] * 72 + [0] * 28
    assert prediction_powered_mean([1] * 84 + [0] * 16, judge, people).estimate == near(0.74)
    assert rogan_gladen(0.84, 0.95, 0.6).estimate == near(0.8)


def test_empty_input_is_missing_not_zero() -> None:
    for value in (ece([], []), brier_score([], []), log_loss([], []), adaptive_ece([], [])):
        assert math.isnan(value)
    assert math.isnan(wilson_interval(0, 0).estimate)
    assert math.isnan(swap_inconsistency([], []))
    assert math.isnan(repetition_stability([]))
    assert math.isnan(overall_win_rate(0, 0, 0, 0))


def test_null_of_many_forecasts_agrees_with_drawing_each() -> None:
    p = np.random.default_rng(0).random(20_001).round(3)
    many, each = null_ece(p, draws=2000), null_ece(p[:-1], draws=2000)
    for q in (0.05, 0.5, 0.95):
        assert many.quantile(q) == near(each.quantile(q), rel=0.05)
