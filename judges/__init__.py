"""Opinions: LLM and model judges, complexity judge, turn critic, panel, offline jobs, server."""

if __name__ != "assay.judges":
    raise ImportError("import assay.judges, not judges")

from assay.judge import (
    Estimate,
    Grade,
    Item,
    Judge,
    Pair,
    TurnCritic,
    TurnVerdict,
    Verdict,
)

__all__ = ["Estimate", "Grade", "Item", "Judge", "Pair", "TurnCritic", "TurnVerdict", "Verdict"]
