"""Turn critics: rules, a model, and both combined; each reviews trajectories turn by turn.

>>> from assay.messages import Message, ToolCall, Trajectory
>>> call = Message("assistant", tool_calls=(ToolCall("find", {"q": "tea"}),))
>>> found = Message("tool", "Tea is a drink made of leaves.")
>>> first, again = RuleCritic().review([Trajectory((call, found, call, found))])[0]
>>> first.passed, again.passed, again.reason
(None, False, 'find was called with the same arguments before')
"""

from __future__ import annotations

from assay.judge import TurnCritic, TurnVerdict
from assay.judges.turn_cached import CachedTurnCritic
from assay.judges.turn_combined import CombinedCritic, CombinedReview, CriterionAgreement
from assay.judges.turn_model import ModelCritic
from assay.judges.turn_rules import FINDINGS, RuleCritic

__all__ = [
    "FINDINGS",
    "CachedTurnCritic",
    "CombinedCritic",
    "CombinedReview",
    "CriterionAgreement",
    "ModelCritic",
    "RuleCritic",
    "TurnCritic",
    "TurnVerdict",
]
