"""Metrics, probes, calibrators and reports that audit judges: arrays in, numbers out."""

if __name__ != "assay.calibration":
    raise ImportError("import assay.calibration, not calibration")

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.calibration.agreement import cohen_kappa as cohen_kappa
    from assay.calibration.agreement import confusion_table as confusion_table
    from assay.calibration.agreement import gwet_ac1 as gwet_ac1
    from assay.calibration.agreement import percent_agreement as percent_agreement
    from assay.calibration.annotation import Labels as Labels
    from assay.calibration.annotation import read_sheets as read_sheets
    from assay.calibration.annotation import write_sheet as write_sheet
    from assay.calibration.beta import Beta as Beta
    from assay.calibration.bias_probes import ChangeProbe as ChangeProbe
    from assay.calibration.bias_probes import LengthProbe as LengthProbe
    from assay.calibration.bias_probes import PositionProbe as PositionProbe
    from assay.calibration.bias_probes import SelfPreferenceProbe as SelfPreferenceProbe
    from assay.calibration.bootstrap import cluster_totals as cluster_totals
    from assay.calibration.bootstrap import clustered_bootstrap as clustered_bootstrap
    from assay.calibration.bootstrap import design_effect as design_effect
    from assay.calibration.bradley_terry import BradleyTerry as BradleyTerry
    from assay.calibration.bradley_terry import fit_bradley_terry as fit_bradley_terry
    from assay.calibration.calibrator import Calibrator as Calibrator
    from assay.calibration.conformal import ConformalRule as ConformalRule
    from assay.calibration.conformal import conformal_threshold as conformal_threshold
    from assay.calibration.corrected_means import prediction_powered_mean as prediction_powered_mean
    from assay.calibration.corrected_means import rogan_gladen as rogan_gladen
    from assay.calibration.correction import PositionCorrection as PositionCorrection
    from assay.calibration.correction import suggested_max_order_gap as suggested_max_order_gap
    from assay.calibration.correction import suggested_swap_weight as suggested_swap_weight
    from assay.calibration.cross_fitting import CrossFit as CrossFit
    from assay.calibration.cross_fitting import Quality as Quality
    from assay.calibration.cross_fitting import cross_fit as cross_fit
    from assay.calibration.davidson import Davidson as Davidson
    from assay.calibration.davidson import fit_davidson as fit_davidson
    from assay.calibration.debias import Debiased as Debiased
    from assay.calibration.debias import debias_one_order as debias_one_order
    from assay.calibration.debias import debias_pairs as debias_pairs
    from assay.calibration.drift import Drift as Drift
    from assay.calibration.drift import check_drift as check_drift
    from assay.calibration.elo import elo_scale as elo_scale
    from assay.calibration.elo import online_elo as online_elo
    from assay.calibration.gap_bins import GapBin as GapBin
    from assay.calibration.gap_bins import bias_by_gap as bias_by_gap
    from assay.calibration.gap_bins import overall_win_rate as overall_win_rate
    from assay.calibration.gap_bins import quality_gap as quality_gap
    from assay.calibration.histogram import Histogram as Histogram
    from assay.calibration.intervals import Interval as Interval
    from assay.calibration.intervals import exact_interval as exact_interval
    from assay.calibration.intervals import wilson_interval as wilson_interval
    from assay.calibration.isotonic import Isotonic as Isotonic
    from assay.calibration.krippendorff import krippendorff_alpha as krippendorff_alpha
    from assay.calibration.length import LengthControlled as LengthControlled
    from assay.calibration.length import length_controlled_win_rate as length_controlled_win_rate
    from assay.calibration.length import length_difference as length_difference
    from assay.calibration.length import longer_win_rate as longer_win_rate
    from assay.calibration.logistic import LogisticFit as LogisticFit
    from assay.calibration.logistic import fit_logistic as fit_logistic
    from assay.calibration.null_calibration import NullDistribution as NullDistribution
    from assay.calibration.null_calibration import null_ece as null_ece
    from assay.calibration.null_calibration import null_of as null_of
    from assay.calibration.null_calibration import null_resolution as null_resolution
    from assay.calibration.own_answers import self_preference as self_preference
    from assay.calibration.own_answers import (
        self_preference_from_errors as self_preference_from_errors,
    )
    from assay.calibration.own_answers import self_preference_interval as self_preference_interval
    from assay.calibration.paired_tests import McNemar as McNemar
    from assay.calibration.paired_tests import false_discovery as false_discovery
    from assay.calibration.paired_tests import mcnemar as mcnemar
    from assay.calibration.planted import PlantedJudge as PlantedJudge
    from assay.calibration.planted import Strengths as Strengths
    from assay.calibration.planted import planted_items as planted_items
    from assay.calibration.platt import Platt as Platt
    from assay.calibration.plots import plot_agreement as plot_agreement
    from assay.calibration.plots import plot_bias_by_gap as plot_bias_by_gap
    from assay.calibration.plots import plot_leaderboard as plot_leaderboard
    from assay.calibration.plots import plot_length_bias as plot_length_bias
    from assay.calibration.plots import plot_order_gap as plot_order_gap
    from assay.calibration.plots import plot_reliability as plot_reliability
    from assay.calibration.position import PositionCounts as PositionCounts
    from assay.calibration.position import position_counts as position_counts
    from assay.calibration.position import position_intervals as position_intervals
    from assay.calibration.position_term import PositionTerm as PositionTerm
    from assay.calibration.position_term import TwoOrderTerm as TwoOrderTerm
    from assay.calibration.position_term import fit_position_term as fit_position_term
    from assay.calibration.position_term import two_order_term as two_order_term
    from assay.calibration.power import detectable_fairness as detectable_fairness
    from assay.calibration.power import mcnemar_pairs as mcnemar_pairs
    from assay.calibration.power import mcnemar_power as mcnemar_power
    from assay.calibration.power import minimum_detectable_effect as minimum_detectable_effect
    from assay.calibration.power import share_pairs as share_pairs
    from assay.calibration.probe import Probe as Probe
    from assay.calibration.probe_estimates import Finding as Finding
    from assay.calibration.probe_plots import plot_findings as plot_findings
    from assay.calibration.probe_requests import ProbeItem as ProbeItem
    from assay.calibration.probe_requests import Versions as Versions
    from assay.calibration.probe_validation import PlantedAudit as PlantedAudit
    from assay.calibration.probes import ProbePlan as ProbePlan
    from assay.calibration.probes import ProbeRun as ProbeRun
    from assay.calibration.probes import run_probes as run_probes
    from assay.calibration.probes import standard_probes as standard_probes
    from assay.calibration.reliability import ReliabilityCurve as ReliabilityCurve
    from assay.calibration.reliability import adaptive_ece as adaptive_ece
    from assay.calibration.reliability import ece as ece
    from assay.calibration.reliability import maximum_calibration_error as maximum_calibration_error
    from assay.calibration.reliability import reliability_curve as reliability_curve
    from assay.calibration.repeat_probes import ScaleProbe as ScaleProbe
    from assay.calibration.repeat_probes import StabilityProbe as StabilityProbe
    from assay.calibration.repeat_probes import TemplateProbe as TemplateProbe
    from assay.calibration.repetition import balanced_scores as balanced_scores
    from assay.calibration.repetition import preference_entropy as preference_entropy
    from assay.calibration.repetition import repetition_stability as repetition_stability
    from assay.calibration.repetition import verdict_entropy as verdict_entropy
    from assay.calibration.rewardbench import accuracy_v1 as accuracy_v1
    from assay.calibration.rewardbench import best_of_n_score as best_of_n_score
    from assay.calibration.rewardbench import section_scores_v1 as section_scores_v1
    from assay.calibration.rewardbench import ties_score as ties_score
    from assay.calibration.rewardbench import total_v1 as total_v1
    from assay.calibration.scoring_rules import BrierParts as BrierParts
    from assay.calibration.scoring_rules import brier_parts as brier_parts
    from assay.calibration.scoring_rules import brier_score as brier_score
    from assay.calibration.scoring_rules import log_loss as log_loss
    from assay.calibration.scoring_rules import resolution as resolution
    from assay.calibration.selective import SelectiveRule as SelectiveRule
    from assay.calibration.selective import fixed_sequence as fixed_sequence
    from assay.calibration.standings import Standing as Standing
    from assay.calibration.standings import leaderboard as leaderboard
    from assay.calibration.style import fit_style_bias as fit_style_bias
    from assay.calibration.style import style_counts as style_counts
    from assay.calibration.style import style_differences as style_differences
    from assay.calibration.swap_consistency import SwapDecomposition as SwapDecomposition
    from assay.calibration.swap_consistency import (
        score_swap_inconsistency as score_swap_inconsistency,
    )
    from assay.calibration.swap_consistency import swap_decomposition as swap_decomposition
    from assay.calibration.swap_consistency import swap_gap as swap_gap
    from assay.calibration.swap_consistency import swap_inconsistency as swap_inconsistency
    from assay.calibration.temperature import Temperature as Temperature
    from assay.calibration.verdict_audit import JudgeAudit as JudgeAudit
    from assay.calibration.verdict_audit import audit_verdicts as audit_verdicts
    from assay.calibration.verdict_files import read_verdicts as read_verdicts
    from assay.calibration.verdict_table import VerdictTable as VerdictTable

#: Names of each module; a module is imported when one of its names is first used.
_MODULES = {
    "agreement": "cohen_kappa confusion_table gwet_ac1 percent_agreement",
    "verdict_audit": "JudgeAudit audit_verdicts",
    "beta": "Beta",
    "bootstrap": "cluster_totals clustered_bootstrap design_effect",
    "bradley_terry": "BradleyTerry fit_bradley_terry",
    "calibrator": "Calibrator",
    "conformal": "ConformalRule conformal_threshold",
    "corrected_means": "prediction_powered_mean rogan_gladen",
    "cross_fitting": "CrossFit Quality cross_fit",
    "davidson": "Davidson fit_davidson",
    "debias": "Debiased debias_one_order debias_pairs",
    "drift": "Drift check_drift",
    "elo": "elo_scale online_elo",
    "gap_bins": "GapBin bias_by_gap overall_win_rate quality_gap",
    "histogram": "Histogram",
    "intervals": "Interval exact_interval wilson_interval",
    "isotonic": "Isotonic",
    "krippendorff": "krippendorff_alpha",
    "length": "LengthControlled length_controlled_win_rate length_difference longer_win_rate",
    "logistic": "LogisticFit fit_logistic",
    "null_calibration": "NullDistribution null_ece null_of null_resolution",
    "own_answers": "self_preference self_preference_from_errors self_preference_interval",
    "paired_tests": "McNemar false_discovery mcnemar",
    "platt": "Platt",
    "plots": (
        "plot_agreement plot_bias_by_gap plot_leaderboard plot_length_bias "
        "plot_order_gap plot_reliability"
    ),
    "position": "PositionCounts position_counts position_intervals",
    "position_term": "PositionTerm TwoOrderTerm fit_position_term two_order_term",
    "power": (
        "detectable_fairness mcnemar_pairs mcnemar_power minimum_detectable_effect share_pairs"
    ),
    "reliability": "ReliabilityCurve adaptive_ece ece maximum_calibration_error reliability_curve",
    "repetition": "balanced_scores preference_entropy repetition_stability verdict_entropy",
    "rewardbench": "accuracy_v1 best_of_n_score section_scores_v1 ties_score total_v1",
    "scoring_rules": "BrierParts brier_parts brier_score log_loss resolution",
    "selective": "SelectiveRule fixed_sequence",
    "standings": "Standing leaderboard",
    "style": "fit_style_bias style_counts style_differences",
    "swap_consistency": (
        "SwapDecomposition score_swap_inconsistency swap_decomposition swap_gap swap_inconsistency"
    ),
    "temperature": "Temperature",
    "verdict_files": "read_verdicts",
    "annotation": "Labels read_sheets write_sheet",
    "correction": "PositionCorrection suggested_max_order_gap suggested_swap_weight",
    "planted": "PlantedJudge Strengths planted_items",
    "probe": "Probe",
    "probe_estimates": "Finding",
    "probe_plots": "plot_findings",
    "probe_requests": "ProbeItem Versions",
    "probe_validation": "PlantedAudit",
    "probes": "ProbePlan ProbeRun run_probes standard_probes",
    "bias_probes": "ChangeProbe LengthProbe PositionProbe SelfPreferenceProbe",
    "repeat_probes": "ScaleProbe StabilityProbe TemplateProbe",
    "verdict_table": "VerdictTable",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'assay.calibration' has no attribute {name!r}")
    value = getattr(import_module(f"assay.calibration.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_LAZY)
