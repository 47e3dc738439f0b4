"""Rewards of agentic RL: the verifier's word on the outcome, and the rewards that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.messages import Sample, as_messages
from assay.reward import Reward, Score, column_names
from assay.rewards.composite import derive

#: Column in which a rollout's outcome reaches the rewards.
OUTCOME = "environment_outcome"


@dataclass(frozen=True)
class Verified(Reward):
    """The verifier's value of the environment's final state; `failed` where the environment broke.

    Read from the column that `WithEnvironments` fills.

    Args:
        column: Of the outcome: `{"value", "passed", "note"}`.
    """

    column: str = OUTCOME
    name: str = "outcome"
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", frozenset({self.column}))

    def check(self, dataset: object) -> None:
        """Nothing: the column is made by the rollout."""

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One value per rollout."""
        return [self._one(sample.columns[self.column]) for sample in samples]

    def _one(self, outcome: Any) -> Score:
        if not isinstance(outcome, Mapping):
            return Score.skip("the row has no environment")
        note = str(outcome.get("note", ""))
        if outcome.get("value") is None:
            return Score.fail(note or "the environment failed")
        return Score.of(outcome["value"], passed=outcome.get("passed"), note=note)


@dataclass(frozen=True)
class WithEnvironments(Reward):
    """The outermost reward of agentic RL: hands each rollout's outcome to the rewards inside.

    TRL gives reward functions the environments that its rollouts ran in; this asks them how they
    ended, told the agent's last words, and scores `reward` with that in a column.

    Args:
        reward: What scores, with a `Verified` somewhere inside.
    """

    reward: Reward
    name: str = "agentic"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ConfigError(f"WithEnvironments needs a Reward, got {type(self.reward).__name__}")
        derive(self, self.reward.range, [self.reward])
        columns = frozenset(self.reward.columns) - {OUTCOME}
        object.__setattr__(self, "columns", columns)

    def children(self) -> Mapping[str, Reward]:
        """The reward under its own name."""
        return {self.reward.name: self.reward}

    def check(self, dataset: object) -> None:
        """The inner reward's check, the column of outcomes counted as there."""
        if isinstance(dataset, Sequence):
            self.reward.check([dict(row) | {OUTCOME: None} for row in dataset])
        else:
            names = column_names(dataset) or set()
            self.reward.check(dict.fromkeys([*names, OUTCOME], ()))

    def weights(self) -> Mapping[str, float]:
        """It counts fully."""
        return {self.reward.name: 1.0}

    def __call__(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **kwargs: Any
    ) -> list[float | None]:
        """TRL's contract; `environments` become the column of outcomes."""
        environments = kwargs.get("environments")
        if environments is None:
            environments = [None] * len(completions)
        kwargs[OUTCOME] = [
            _outcome(environment, completion)
            for environment, completion in zip(environments, completions, strict=True)
        ]
        return super().__call__(completions, prompts, **kwargs)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """The inner reward's scores, their turns among them."""
        name = self.reward.name
        return [
            Score(s.value, s.status, s.passed, s.turns, {name: s}, s.note, s.info)
            for s in self.part(name, self.reward, samples)
        ]


def _outcome(environment: Any, completion: Any) -> dict[str, Any] | None:
    """How an episode ended, told the answer that the agent's last message gives."""
    episode = getattr(environment, "_episode", None)
    if episode is None:
        return None
    messages = as_messages(completion, role="assistant")
    last = messages[-1] if messages else None
    answered = last is not None and last.role == "assistant" and not last.tool_calls
    outcome = episode.outcome(last.split()[1] if answered and last is not None else None)
    return {"value": outcome.value, "passed": outcome.passed, "note": outcome.note}
