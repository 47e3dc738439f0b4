"""What an expression outside the program may name: functions that are safe on plain data."""

from __future__ import annotations

import math
from typing import Any


class EvaluationError(Exception):
    """The expression cannot be evaluated here, or raises."""


class Approximate:
    """What `pytest.approx(value)` stands for: equal within a tolerance, element by element."""

    def __init__(self, value: Any, rel: float = 1e-6, abs: float = 1e-12) -> None:
        self.value, self.rel, self.abs = value, rel, abs

    def __eq__(self, other: object) -> bool:
        return all_close(other, self.value, self.rel, self.abs)

    __hash__ = None  # type: ignore[assignment]


def all_close(got: Any, want: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """|got - want| <= atol + rtol |want| for numbers, and for sequences element by element."""
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return len(got) == len(want) and all(
            all_close(one, other, rtol, atol) for one, other in zip(got, want, strict=True)
        )
    if isinstance(want, list | tuple) or isinstance(got, list | tuple):
        return False
    return bool(abs(got - want) <= atol + rtol * abs(want)) or got == want


def _range(*arguments: int) -> list[int]:
    numbers = range(*arguments)
    if len(numbers) > 1_000_000:
        raise EvaluationError("a range is too long")
    return list(numbers)


def _sorted(items: Any, *, reverse: bool = False) -> list[Any]:
    return sorted(items, reverse=reverse)


_TYPES = (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
_MATH = """acos asin atan ceil cos degrees e exp fabs floor fsum gcd hypot inf isclose isfinite
isinf isnan log log10 log2 nan pi radians sin sqrt tan tau trunc"""
#: What an expression may name and call: builtins first, then functions of modules.
SAFE: dict[str, Any] = {
    **{kind.__name__: kind for kind in _TYPES},
    "abs": abs,
    "all": all,
    "any": any,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "isinstance": isinstance,
    "len": len,
    "max": max,
    "min": min,
    "range": _range,
    "repr": repr,
    "reversed": lambda items: list(reversed(items)),
    "round": round,
    "sorted": _sorted,
    "sum": sum,
    "type": lambda value: type(value),
    "zip": lambda *items: list(zip(*items, strict=False)),
    "approx": Approximate,
    "isclose": math.isclose,
    "pytest.approx": Approximate,
    **{
        f"{module}.{name}": all_close
        for module in ("np", "numpy")
        for name in ("allclose", "isclose")
    },
    **{f"math.{name}": getattr(math, name) for name in _MATH.split()},
    **{f"float.{name}": getattr(float, name) for name in ("is_integer",)},
}
