"""Rewards of whole episodes: what an environment's verifier says, and steps that were saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError, DataError
from assay.messages import Sample, Trajectory
from assay.protocols import Protocol, canonical, protocol
from assay.reward import Reward, Score
from assay.settings import common, nonempty, one_of, real

Check = Callable[[Sample], "bool | float | int | Score | Mapping[str, Any] | None"]


@dataclass(frozen=True)
class Verifier(Reward):
    """What an environment's verifier says of an episode, in [low, high].

    `verify` is a function at module level (or another picklable callable) that looks at the sample:
    its messages and the columns that the environment filled, such as the final state. It returns
    True or False (high or low), a number, a Score, a mapping with `value` and optionally `passed`
    and `note`, or None where the row is not its business (skipped). Without `verify`, `column` is
    read: environments leave their verdict there.

    A verifier that raises has failed, on that row alone; it says nothing about the policy.

    Args:
        verify: The check; None reads `column`.
        column: Dataset column with a verdict: true, false or a number; None in a row is abstained.
        low: Smallest value.
        high: Largest value, which counts as passed.
        needs: Further columns that `verify` reads.
        name: Metric name.

    Example:
        >>> reward = Verifier(column="solved")
        >>> reward(completions=["done", "done", "done"], solved=[True, False, 0.5])
        [1.0, 0.0, 0.5]
    """

    verify: Check | None = None
    column: str = "verified"
    low: float = 0.0
    high: float = 1.0
    needs: frozenset[str] = frozenset()
    name: str = "verifier"
    max_error_rate: float = 0.5

    def __post_init__(self) -> None:
        if self.verify is not None and not callable(self.verify):
            raise ConfigError(f"Verifier.verify must be callable, got {self.verify!r:.80}")
        nonempty("Verifier.column", self.column)
        real("Verifier.low", self.low)
        real("Verifier.high", self.high)
        if not self.low < self.high:
            raise ConfigError(f"Verifier needs low < high, got {self.low} and {self.high}")
        needed = frozenset(self.needs) | (frozenset() if self.verify else {self.column})
        object.__setattr__(self, "columns", needed)
        object.__setattr__(self, "range", (float(self.low), float(self.high)))
        common(self)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Verify each episode."""
        return [self._one(sample, index) for index, sample in enumerate(samples)]

    def _one(self, sample: Sample, index: int) -> Score:
        if self.verify is None:
            told = sample.columns[self.column]
            if told is None or (isinstance(told, float) and math.isnan(told)):
                return Score.abstain(f"column {self.column!r} holds no verdict")
            return self._read(told, index)
        try:
            told = self.verify(sample)
        except DataError:
            raise
        except Exception as error:
            return Score.fail(f"the verifier raised {type(error).__name__}: {error}")
        if told is None:
            return Score.skip("the verifier says nothing of this row")
        return self._read(told, index)

    def _read(self, told: Any, index: int) -> Score:
        if isinstance(told, Score):
            return told
        if isinstance(told, Mapping):
            inner = self._read(told.get("value"), index)
            passed = told.get("passed", inner.passed)
            return Score.of(inner.value, passed=passed, note=str(told.get("note", "")))
        if getattr(told, "ndim", None) == 0:  # a NumPy scalar
            told = told.item()
        if isinstance(told, bool):
            return Score.of(self.high if told else self.low, passed=told)
        if isinstance(told, int | float) and self.low <= told <= self.high:
            return Score.of(float(told), passed=told >= self.high)
        raise DataError(
            f"a verdict must be true, false or a number in [{self.low:g}, {self.high:g}], got "
            f"{told!r:.80}",
            index,
        )


@dataclass(frozen=True)
class StepEfficiency(Reward):
    """Fewer steps score more: 1 up to `target` steps, then target / steps; in [0, 1].

    Meant for a gate on success, `Term(StepEfficiency(), weight=0.2, gate="answer")`: a failed run
    is not better for having given up early, and the gate keeps every success above every failure.

    Args:
        target: Steps that are enough; None reads them from `column`.
        column: Dataset column with the fewest steps that a task needs; a row where it is missing
            or None is skipped.
        count: `calls` counts tool calls, `turns` assistant turns.
        protocol: How calls are written where they stand in the text; None: as `tool_calls`.
        name: Metric name.

    Example:
        >>> reward = StepEfficiency(target=2, count="turns")
        >>> turn = {"role": "assistant", "content": "..."}
        >>> reward(completions=[[turn], [turn] * 4])
        [1.0, 0.5]
    """

    target: int | None = None
    column: str = "optimal_steps"
    count: Literal["calls", "turns"] = "calls"
    protocol: str | Protocol | None = None
    name: str = "step_efficiency"
    max_error_rate: float = 0.5
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        one_of("StepEfficiency.count", self.count, ("calls", "turns"))
        if self.target is not None:
            real("StepEfficiency.target", self.target, 0)
        nonempty("StepEfficiency.column", self.column)
        if self.protocol is not None:
            protocol(self.protocol)
        common(self)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Count the steps of each completion."""
        return [self._one(sample, index) for index, sample in enumerate(samples)]

    def _one(self, sample: Sample, index: int) -> Score:
        target: Any = self.target if self.target is not None else sample.columns.get(self.column)
        if target is None or (isinstance(target, float) and math.isnan(target)):
            return Score.skip(f"column {self.column!r} does not say how many steps are enough")
        if isinstance(target, bool) or not isinstance(target, int | float) or target < 0:
            raise DataError(
                f"column {self.column!r} must hold a number of steps >= 0, got {target!r:.40}",
                index,
            )
        messages = sample.completion
        if self.protocol is not None:
            messages = canonical(messages, self.protocol)
        steps = len(sample.turns) if self.count == "turns" else Trajectory(messages).calls
        value = 1.0 if steps <= target else target / steps
        return Score.of(value, note=f"{steps} {self.count}, {target:g} are enough")
