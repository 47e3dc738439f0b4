"""A reward per turn from a turn critic: failing turns cost, passing ones are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError, JudgeError
from assay.judge import TurnCritic, TurnVerdict
from assay.messages import Message, Sample, Trajectory
from assay.protocols import Protocol, canonical, protocol
from assay.reward import Reward, Score
from assay.settings import common, nonempty, one_of, real

CRITERIA = ("logical_soundness", "tool_call_accuracy", "informational_gain")


@dataclass(frozen=True)
class TurnReward(Reward):
    """z_t = -cost where the critic fails turn t, 0 where it passes it, None where it abstains.

    The values stand in `Score.turns`, one per assistant turn of the completion; in a `WeightedSum`
    they are the sum's turns, and a trainer with turn credit spreads them over the tokens of the
    turns. `Score.value`, what a trainer without turn credit sees, is 0 by default, so that a
    turn's failure is not charged twice; `total` makes it the mean or the sum of the turns.

    Passing turns are never paid: centring or rewarding them would turn the absence of a fault
    elsewhere into a bonus here.

    Source: the Nanbeige4.1-3B report (arXiv:2602.13367) gives failing turns a negative reward; its
    size is not disclosed, 1 is ours.

    Args:
        critic: Reviews the conversation, prompt included; only the completion's turns are scored.
        cost: Of a failing turn, > 0.
        total: `zero`; `mean` over the turns that were judged; `sum`, which grows with the number
            of turns and is limited by `cap`.
        cap: Most that a `sum` can cost.
        require: `any`: a turn in which some criterion fails and others are undecided fails, and one
            in which none fails but some are undecided abstains. `decided`: such a turn passes if at
            least one criterion was decided (for critics that leave some open by design, such as
            `RuleCritic`).
        protocol: How calls are written where they stand in the text: `hermes`, `miroflow`, `react`
            or a Protocol; None: as `tool_calls`.
        tools_column: Dataset column with the JSON schemas of the tools, where a row has it.
        info_columns: Columns handed to the critic as `Trajectory.info` (`evidence`, ...).
        name: Metric name.

    Example:
        >>> from assay.judges.turn_critic import RuleCritic
        >>> find = {"name": "find", "parameters": {"type": "object", "required": ["q"],
        ...         "properties": {"q": {"type": "string"}}}}
        >>> call = {"function": {"name": "find", "arguments": {"q": 3}}}
        >>> turns = [{"role": "assistant", "content": "", "tool_calls": [call]},
        ...          {"role": "tool", "content": "?"}, {"role": "assistant", "content": "No idea."}]
        >>> reward = TurnReward(RuleCritic(tools=(find,)), cost=0.5)
        >>> reward.evaluate([Sample.of("Tea?", turns)])[0].turns
        (-0.5, None)
    """

    critic: TurnCritic
    cost: float = 1.0
    total: Literal["zero", "mean", "sum"] = "zero"
    cap: float | None = None
    require: Literal["any", "decided"] = "any"
    protocol: str | Protocol | None = None
    tools_column: str = "tools"
    info_columns: tuple[str, ...] = ("evidence",)
    name: str = "turns"
    max_error_rate: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.critic, TurnCritic):
            raise ConfigError(
                f"TurnReward.critic must be a TurnCritic, got {type(self.critic).__name__}; "
                "assay.judges.turn_critic has some"
            )
        real("TurnReward.cost", self.cost)
        if not self.cost > 0:
            raise ConfigError(f"TurnReward.cost must be > 0, got {self.cost}; it is subtracted")
        one_of("TurnReward.total", self.total, ("zero", "mean", "sum"))
        one_of("TurnReward.require", self.require, ("any", "decided"))
        nonempty("TurnReward.tools_column", self.tools_column)
        if self.cap is not None:
            real("TurnReward.cap", self.cap, 0)
        if self.protocol is not None:
            protocol(self.protocol)
        told: Any = self.info_columns
        names = list(told) if isinstance(told, list | tuple | set | frozenset) else []
        if not all(isinstance(name, str) and name for name in names) or (told and not names):
            raise ConfigError(
                f"TurnReward.info_columns must be a tuple of column names, got {told!r:.60}; one "
                "is written ('evidence',)"
            )
        object.__setattr__(self, "info_columns", tuple(names))
        lowest = {"zero": 0.0, "mean": -self.cost}.get(
            self.total, float("-inf") if self.cap is None else -self.cap
        )
        object.__setattr__(self, "range", (lowest, 0.0))
        common(self)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Review all conversations in one call."""
        reviews = self.critic.review([self._trajectory(sample) for sample in samples])
        if len(reviews) != len(samples):
            raise JudgeError(
                f"the critic gave {len(reviews)} reviews for {len(samples)} conversations"
            )
        return [self._score(s, review) for s, review in zip(samples, reviews, strict=True)]

    def value_of(self, verdict: TurnVerdict) -> float | None:
        """The value of one turn."""
        passed = verdict.passed
        if passed is None and self.require == "decided":
            decided = [getattr(verdict, name) for name in CRITERIA]
            passed = True if any(one is not None for one in decided) else None
        return None if passed is None else 0.0 if passed else -float(self.cost)

    def _score(self, sample: Sample, review: Sequence[TurnVerdict]) -> Score:
        own = len(sample.turns)
        before = sum(message.role == "assistant" for message in sample.prompt)
        if len(review) != before + own:
            raise JudgeError(
                f"the critic gave {len(review)} verdicts for {before + own} assistant turns"
            )
        verdicts = list(review[before:])
        if not verdicts:
            return Score.skip("the completion has no assistant turn", turns=())
        turns = [self.value_of(verdict) for verdict in verdicts]
        judged = [value for value in turns if value is not None]
        info = {
            "failing": sum(value < 0 for value in judged),
            "abstained": len(turns) - len(judged),
            "turns": len(turns),
            "by_criterion": {
                name: sum(getattr(verdict, name) is False for verdict in verdicts)
                for name in CRITERIA
            },
            "findings": dict(Counter(f for verdict in verdicts for f in verdict.findings)),
        }
        failing = [i for i, value in enumerate(turns) if value is not None and value < 0]
        note = "; ".join(f"turn {i}: {verdicts[i].reason:.160}" for i in failing[:3])
        if self.total != "zero" and not judged:
            return Score.abstain("the critic abstains on every turn", turns=turns, info=info)
        value = 0.0
        if self.total != "zero":
            value = sum(judged) / (len(judged) if self.total == "mean" else 1)
            if self.total == "sum" and self.cap is not None:
                value = max(value, -float(self.cap))
        return Score.of(value, turns=turns, note=note, info=info)

    def _trajectory(self, sample: Sample) -> Trajectory:
        messages: tuple[Message, ...] = (*sample.prompt, *sample.completion)
        if self.protocol is not None:
            messages = canonical(messages, self.protocol)
        tools: Any = sample.columns.get(self.tools_column) or ()
        info = {name: sample.columns[name] for name in self.info_columns if name in sample.columns}
        return Trajectory(messages, _schemas(tools), info=info)


def _schemas(value: Any) -> tuple[Any, ...]:
    """Schemas in a column: a list of mappings, or JSON text of one; anything else is none."""
    import json

    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return ()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not all(isinstance(tool, dict) for tool in value):
        return ()
    return tuple(value)
