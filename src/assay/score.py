"""The score that a reward gives: a number, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from assay.errors import ContractError

Status = Literal["scored", "skipped", "gated", "abstained", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Score:
    """What a reward says of one sample. Only a `scored` one has a value.

    Attributes:
        value: A finite number when `status` is `scored`, else None.
        status: `scored`: a number. `skipped`: does not apply to this row. `gated`: its gate was
            closed. `abstained`: the judge could not decide. `failed`: our side broke.
        passed: Full marks, decided on integers (all tests passed); what gates read.
        turns: One value per assistant turn, None where a turn abstained.
        parts: Scores of the components, by name.
        note: Why this number, or why none, for people.
        info: JSON evidence.

    Comparable but not hashable: it holds mappings.

    >>> Score.of(1, passed=True).value
    1.0
    >>> Score.fail("the judge is down").value is None
    True
    """

    value: float | None
    status: Status = "scored"
    passed: bool | None = None
    turns: tuple[float | None, ...] | None = None
    parts: Mapping[str, Score] = field(default_factory=dict)
    note: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ContractError(f"Score.status must be one of {STATUSES}, got {self.status!r}")
        if self.status == "scored":
            object.__setattr__(self, "value", _finite(self.value, "Score.value"))
        elif self.value is not None:
            raise ContractError(
                f"a Score with status {self.status!r} has no value, got {self.value!r}; "
                "a missing score is never a number"
            )
        if self.passed is not None and not isinstance(self.passed, bool):
            object.__setattr__(self, "passed", _as_bool(self.passed))
        if self.turns is not None:
            turns = tuple(None if t is None else _finite(t, "Score.turns") for t in self.turns)
            object.__setattr__(self, "turns", turns)

    @classmethod
    def of(
        cls,
        value: Any,
        *,
        passed: bool | None = None,
        turns: Iterable[float | None] | None = None,
        parts: Mapping[str, Score] | None = None,
        note: str = "",
        info: Mapping[str, Any] | None = None,
    ) -> Score:
        """A scored Score. `value` may be any finite real number, NumPy's and torch's among them."""
        return cls(
            value=value,
            passed=passed,
            turns=None if turns is None else tuple(turns),
            parts=parts or {},
            note=note,
            info=info or {},
        )

    @classmethod
    def skip(cls, note: str, **rest: Any) -> Score:
        """The reward does not apply to this row."""
        return cls(None, "skipped", note=note, **rest)

    @classmethod
    def gate(cls, note: str, **rest: Any) -> Score:
        """The term's gate was closed."""
        return cls(None, "gated", note=note, **rest)

    @classmethod
    def abstain(cls, note: str, **rest: Any) -> Score:
        """The judge could not decide."""
        return cls(None, "abstained", note=note, **rest)

    @classmethod
    def fail(cls, note: str, **rest: Any) -> Score:
        """Our side broke; says nothing about the completion."""
        return cls(None, "failed", note=note, **rest)

    def to_json(self) -> dict[str, Any]:
        """This score as plain JSON values, parts included."""
        return {
            "value": self.value,
            "status": self.status,
            "passed": self.passed,
            "turns": None if self.turns is None else list(self.turns),
            "parts": {name: part.to_json() for name, part in self.parts.items()},
            "note": self.note,
            "info": dict(self.info),
        }


def _finite(value: Any, what: str) -> float:
    if type(value) is not float:
        if isinstance(value, str | bytes | complex) or not hasattr(type(value), "__float__"):
            raise ContractError(f"{what} must be a number, got {type(value).__name__}")
        try:
            value = float(value)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise ContractError(f"{what} must be one number, got {value!r:.80}: {error}") from None
    if not math.isfinite(value):
        raise ContractError(
            f"{what} must be finite, got {value}; for a score that could not be computed return "
            "Score.fail(note) or Score.abstain(note)"
        )
    return float(value)


def _as_bool(value: Any) -> bool:
    if type(value).__name__ in {"bool_", "bool"}:  # NumPy's, without importing it
        return bool(value)
    raise ContractError(f"Score.passed must be True, False or None, got {value!r}")
