"""The interface of judges: opinions on pairs, items, turns and programs, each with its evidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from assay.errors import DataError
from assay.messages import Message, Trajectory

Outcome = Literal["ok", "abstained", "failed"]
Choice = Literal["A", "B", "tie"]
#: P(A preferred) of a bare choice.
P_OF_CHOICE: Mapping[Choice, float] = MappingProxyType({"A": 1.0, "B": 0.0, "tie": 0.5})


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one conversation.

    Attributes:
        prompt: The full multi-turn history.
        a: The answer shown first.
        b: The answer shown second.
        columns: The dataset row.
        id: Where it comes from.
    """

    prompt: tuple[Message, ...]
    a: tuple[Message, ...]
    b: tuple[Message, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    __hash__ = None  # type: ignore[assignment]

    def swapped(self) -> Pair:
        """The same pair in the other order."""
        return Pair(self.prompt, self.b, self.a, self.columns, self.id)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's opinion of a pair, in the order in which it was given.

    Attributes:
        choice: The winner, a tie, or None where the judge could not decide.
        p_a: P(A preferred), in [0, 1], or None.
        order_gap: p_AB + p_BA - 1, > 0 when the judge favours the first slot; None when one order
            was run.
        status: `ok`, `abstained` (cannot be parsed or undecided), or `failed` (our side broke).
        reason: For people.
        raw: The judge's own words, or empty.
        cost: What asking cost, in the client's currency; None where nobody counts.
        agreement: Share of the repeats, or of a panel's weight, that say the same as this verdict,
            in [0, 1]; None where one opinion was asked for.
        info: JSON evidence: model, seeds, tokens, the members' votes, ...
    """

    choice: Choice | None
    p_a: float | None = None
    order_gap: float | None = None
    status: Outcome = "ok"
    reason: str = ""
    raw: str = ""
    cost: float | None = None
    agreement: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _within(self.p_a, 0.0, 1.0, "Verdict.p_a")
        _within(self.order_gap, -1.0, 1.0, "Verdict.order_gap")
        _within(self.agreement, 0.0, 1.0, "Verdict.agreement")
        if (self.status == "ok") != (self.choice is not None):
            raise DataError(
                f"a Verdict has a choice exactly when its status is 'ok', got choice "
                f"{self.choice!r} with status {self.status!r}"
            )

    @property
    def preference(self) -> float | None:
        """`p_a`, or what a bare choice says of it: 1, 0 or .5; None where there is no opinion.

        >>> Verdict("A", 0.7).preference, Verdict("tie").preference
        (0.7, 0.5)
        """
        if self.choice is None:
            return None
        return P_OF_CHOICE[self.choice] if self.p_a is None else self.p_a


@dataclass(frozen=True, slots=True)
class Item:
    """One answer to be graded point-wise."""

    prompt: tuple[Message, ...]
    answer: tuple[Message, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Grade:
    """A judge's grade of an item; `value` is None unless the status is `ok`.

    Attributes:
        value: The grade.
        status: `ok`, `abstained` or `failed`, as of a Verdict.
        criteria: Grade by criterion, None where the judge could not tell.
        reason: For people.
        raw: The judge's own words, or empty.
        cost: What asking cost, in the client's currency; None where nobody counts.
        agreement: Share of the repeats, or of a panel's weight, that gave this grade, in [0, 1];
            None where one opinion was asked for.
        info: JSON evidence: model, seeds, tokens, the members' grades, ...
    """

    value: float | None
    status: Outcome = "ok"
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    reason: str = ""
    raw: str = ""
    cost: float | None = None
    agreement: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _within(self.value, -math.inf, math.inf, "Grade.value")
        _within(self.agreement, 0.0, 1.0, "Grade.agreement")
        if (self.status == "ok") != (self.value is not None):
            raise DataError(
                f"a Grade has a value exactly when its status is 'ok', got {self.value!r} with "
                f"status {self.status!r}"
            )


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """What a critic says of one assistant turn; None means that it abstains on the criterion.

    Attributes:
        logical_soundness: The step follows from what is known, and is no loop.
        tool_call_accuracy: The calls name tools on offer, with arguments that they take.
        informational_gain: What came back was not known before.
        reason: For people.
        raw: The critic's own words, or empty.
        findings: Short names of what was found, those that decided nothing among them.
    """

    logical_soundness: bool | None
    tool_call_accuracy: bool | None
    informational_gain: bool | None
    reason: str = ""
    raw: str = ""
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """False if any criterion fails, None if none fails and one abstains, else True."""
        verdicts = (self.logical_soundness, self.tool_call_accuracy, self.informational_gain)
        if False in verdicts:
            return False
        return None if None in verdicts else True


@dataclass(frozen=True, slots=True)
class Estimate:
    """A time complexity.

    Attributes:
        expression: For example `n log n`, or None where undecided.
        confidence: In [0, 1].
        method: Which estimator said so.
        evidence: Lines and why.
        flags: Disagreements worth a look.
        failed: Our side broke (a model that did not answer); such an estimate is not kept.
    """

    expression: str | None
    confidence: float
    method: str
    evidence: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    failed: bool = False

    def __post_init__(self) -> None:
        _within(self.confidence, 0.0, 1.0, "Estimate.confidence")
        if self.failed and self.expression is not None:
            raise DataError(f"a failed Estimate has no expression, got {self.expression!r}")


class Judge(ABC):
    """Compares pairs, grades items, or both; each method keeps order and length.

    A judge that cannot be parsed abstains: it is never held against the answer.
    """

    @property
    def columns(self) -> frozenset[str] | None:
        """Columns of the row that it reads, or None where it does not say."""
        return None

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair."""
        raise TypeError(f"{type(self).__name__} does not compare pairs")

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item."""
        raise TypeError(f"{type(self).__name__} does not grade single items")

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of model, revision, prompt text and parameters."""


class TurnCritic(ABC):
    """Reviews trajectories turn by turn."""

    @abstractmethod
    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        """One list per trajectory, one verdict per assistant turn."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that changes a verdict."""


def columns_of(judges: Iterable[Judge]) -> frozenset[str] | None:
    """What several judges read together; None where one of them does not say."""
    read = [judge.columns for judge in judges]
    known = [columns for columns in read if columns is not None]
    return frozenset().union(*known) if len(known) == len(read) else None


def total_cost(*costs: float | None) -> float | None:
    """The sum of what is known; None where nothing is.

    >>> total_cost(0.5, None), total_cost(None)
    (0.5, None)
    """
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _within(value: float | None, low: float, high: float, what: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{what} must be a number or None, got {value!r}")
    if math.isnan(value) or math.isinf(value) or not low - 1e-9 <= value <= high + 1e-9:
        raise DataError(f"{what} must lie in [{low}, {high}] and be finite, got {value}")
