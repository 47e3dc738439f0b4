"""Numbers for RL: composition, code and format rewards, reward models, turn rewards.

Everything here is light to import; torch, transformers and trl load where they are used.
"""

if __name__ != "assay.rewards":
    raise ImportError("import assay.rewards, not rewards")

from assay.messages import Message, Sample, ToolCall, Trajectory, Turn
from assay.reward import Reward, Score
from assay.rewards.asynchronous import AsyncReward
from assay.rewards.combine import Ensemble, Mapped, Route, Term, WeightedSum
from assay.rewards.pass_rate import PassRate
from assay.rewards.transforms import Clip, Sigmoid, Standardise

__all__ = [
    "AsyncReward",
    "Clip",
    "Ensemble",
    "Mapped",
    "Message",
    "PassRate",
    "Reward",
    "Route",
    "Sample",
    "Score",
    "Sigmoid",
    "Standardise",
    "Term",
    "ToolCall",
    "Trajectory",
    "Turn",
    "WeightedSum",
]
