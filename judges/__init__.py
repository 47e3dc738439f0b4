"""Opinions: LLM and model judges, complexity judge, turn critic, panel, offline jobs, server."""

if __name__ != "assay.judges":
    raise ImportError("import assay.judges, not judges")

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from assay.judges.cache import ScoreCache
    from assay.judges.cached import Cached
    from assay.judges.calibrated import Calibrated
    from assay.judges.client import Client, Prices, Reply, Request, Usage
    from assay.judges.corrected import Corrected
    from assay.judges.endpoint import Endpoint
    from assay.judges.escalate import Escalate
    from assay.judges.http import HttpJudge, HttpReward
    from assay.judges.http_connection import Connection
    from assay.judges.llm_pairwise import LLMPairwise
    from assay.judges.llm_pointwise import LLMPointwise
    from assay.judges.llm_reference import LLMReference
    from assay.judges.local_model import LocalModel
    from assay.judges.order import BothOrders
    from assay.judges.panel import Panel, log_odds_weights
    from assay.judges.retry import Retry
    from assay.judges.rubric import Rubric, RubricCriterion
    from assay.judges.structured import VerdictFormat
    from assay.judges.turn_critic import RuleCritic

__all__ = [
    "BothOrders",
    "Cached",
    "Calibrated",
    "Client",
    "Connection",
    "Corrected",
    "Endpoint",
    "Escalate",
    "Estimate",
    "Grade",
    "HttpJudge",
    "HttpReward",
    "Item",
    "Judge",
    "LLMPairwise",
    "LLMPointwise",
    "LLMReference",
    "LocalModel",
    "Pair",
    "Panel",
    "Prices",
    "Reply",
    "Request",
    "Retry",
    "Rubric",
    "RubricCriterion",
    "RuleCritic",
    "ScoreCache",
    "TurnCritic",
    "TurnVerdict",
    "Usage",
    "Verdict",
    "VerdictFormat",
    "log_odds_weights",
]

#: Module of each name that is imported on first use.
_LAZY = {
    "HttpReward": "http",
    "HttpJudge": "http",
    "Connection": "http_connection",
    "log_odds_weights": "panel",
    "RubricCriterion": "rubric",
    "Rubric": "rubric",
    "Escalate": "escalate",
    "Panel": "panel",
    "LLMReference": "llm_reference",
    "LLMPointwise": "llm_pointwise",
    "LLMPairwise": "llm_pairwise",
    "BothOrders": "order",
    "Cached": "cached",
    "Calibrated": "calibrated",
    "Client": "client",
    "Corrected": "corrected",
    "Endpoint": "endpoint",
    "LocalModel": "local_model",
    "Prices": "client",
    "Reply": "client",
    "Request": "client",
    "Retry": "retry",
    "RuleCritic": "turn_critic",
    "ScoreCache": "cache",
    "Usage": "client",
    "VerdictFormat": "structured",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'assay.judges' has no attribute {name!r}")
    value = getattr(import_module(f"assay.judges.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
