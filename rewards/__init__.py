"""Numbers for RL: composition, code and format rewards, reward models, turn rewards.

Everything here is light to import; torch, transformers and trl load where they are used.
"""

if __name__ != "assay.rewards":
    raise ImportError("import assay.rewards, not rewards")

from assay.messages import Message, Sample, ToolCall, Trajectory, Turn
from assay.reward import Reward, Score
from assay.rewards.answer_match import AnswerMatch
from assay.rewards.asynchronous import AsyncReward
from assay.rewards.chat_format import ChatFormat
from assay.rewards.code_format import CodeFormat
from assay.rewards.combine import Calibrated, Ensemble, Mapped, Route, Term, WeightedSum
from assay.rewards.episode import StepEfficiency, Verifier
from assay.rewards.judged import Judged
from assay.rewards.math_answer import MathAnswer
from assay.rewards.monitors import Monitored
from assay.rewards.pairwise import PairwiseModel, PairwiseReward
from assay.rewards.pass_rate import PassRate
from assay.rewards.pointwise import PointwiseModel, PointwiseReward
from assay.rewards.problem_tests import Tests
from assay.rewards.remote import RemotePointwiseModel
from assay.rewards.temperature import TemperatureScaling
from assay.rewards.text import Length, Overlong, Repetition
from assay.rewards.time_complexity import TimeComplexity
from assay.rewards.tournament import TournamentReward
from assay.rewards.transforms import Clip, Sigmoid, Standardise
from assay.rewards.turn_reward import TurnReward

__all__ = [
    "AnswerMatch",
    "AsyncReward",
    "Calibrated",
    "ChatFormat",
    "Clip",
    "CodeFormat",
    "Ensemble",
    "Judged",
    "Length",
    "Mapped",
    "MathAnswer",
    "Message",
    "Monitored",
    "Overlong",
    "PairwiseModel",
    "PairwiseReward",
    "PassRate",
    "PointwiseModel",
    "PointwiseReward",
    "RemotePointwiseModel",
    "Repetition",
    "Reward",
    "Route",
    "Sample",
    "Score",
    "Sigmoid",
    "Standardise",
    "StepEfficiency",
    "TemperatureScaling",
    "Term",
    "Tests",
    "TimeComplexity",
    "ToolCall",
    "TournamentReward",
    "Trajectory",
    "Turn",
    "TurnReward",
    "Verifier",
    "WeightedSum",
]
