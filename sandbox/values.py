"""Plain values: rebuilt from what a program's process wrote, and compared in ours.

Values arrive as text that `inner_value` wrote and are rebuilt from exact built-in types; nothing
of the program's own code takes part.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any


def shown(value: Any) -> str:
    """A short text for people, whatever the value is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer too long for decimal digits
        return "a huge number"


class Opaque:
    """A value that is no plain data, by the name of its type; equal to nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} object>"


def close(got: float, want: float, abs_tol: float, rel_tol: float) -> bool:
    """|got - want| <= max(abs_tol, rel_tol |want|); NaN matches NaN only, infinity itself only."""
    if math.isnan(got) or math.isnan(want):
        return math.isnan(got) and math.isnan(want)
    if math.isinf(got) or math.isinf(want):
        return got == want
    return abs(got - want) <= max(abs_tol, rel_tol * abs(want))


class Items:
    """The items of an iterator: can be gone through, is equal to nothing."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<iterator of {len(self.items)} items>"


def decode_value(data: bytes, exact: bool = False) -> Any:
    """The plain value behind the text that `inner_value.dump` wrote.

    Args:
        data: The text.
        exact: Whether tuples, sets and mappings become what they were (for evaluation by the
            language's own rules), instead of forms that `values_equal` reads.

    Raises:
        ValueError: Not such a text (the program wrote to the channel itself, say).
    """
    try:
        return _rebuild(json.loads(data), _EXACT if exact else _LOOSE)
    except (RecursionError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise ValueError(f"not a value: {type(error).__name__}") from None


def _hashable(items: list[Any]) -> list[Any]:
    """`items`, unless they are made to collide in a hash table."""
    if len(items) > 1000 and any(isinstance(one, int) and abs(one) >> 60 for one in items):
        raise ValueError("not a value: too many large numbers in a set or mapping")
    return items


def _set(items: list[Any]) -> Any:
    return set(_hashable(items))


def _dict(items: list[tuple[Any, Any]]) -> Any:
    _hashable([key for key, _ in items])
    return dict(items)


def _rebuild(node: Any, forms: dict[str, Callable[[Any], Any]]) -> Any:
    if not isinstance(node, list):
        if isinstance(node, dict):
            raise ValueError("not a value: a bare object")
        return node
    tag, *rest = node
    if tag in ("l", "t", "s", "g"):
        return forms[tag]([_rebuild(one, forms) for one in rest])
    if tag == "d":
        return forms[tag]([(_rebuild(key, forms), _rebuild(one, forms)) for key, one in rest])
    if tag == "f":
        return float(rest[0])
    if tag == "i":
        return int(rest[0], 16)
    if tag == "c":
        return complex(_rebuild(rest[0], forms), _rebuild(rest[1], forms))
    if tag == "b":
        return bytes.fromhex(rest[0])
    if tag == "o":
        return Opaque(str(rest[0]))
    raise ValueError(f"not a value: unknown tag {tag!r}")


class Unordered(list[Any]):
    """The elements of a set, whatever they are."""


class Pairs(list[tuple[Any, Any]]):
    """The items of a mapping, whatever its keys are."""


_LOOSE: dict[str, Callable[[Any], Any]] = {
    "l": list,
    "t": list,
    "s": Unordered,
    "d": Pairs,
    "g": Items,
}
_EXACT: dict[str, Callable[[Any], Any]] = {
    "l": list,
    "t": tuple,
    "s": _set,
    "d": _dict,
    "g": Items,
}


def values_equal(got: Any, want: Any, abs_tol: float = 0.0, rel_tol: float = 0.0) -> bool:
    """Whether plain values are equal.

    Lists and tuples are the same thing; 1 and 1.0 are equal, True and 1 are not; NaN equals NaN;
    floats (not pairs of integers) may differ by the tolerance; a set only equals a set; where the
    expected mapping comes from JSON, keys such as 1 and "1" are the same.

    Args:
        got: The program's value, as `decode_value` gives it (or from JSON).
        want: The expected value: plain Python data.
        abs_tol: Absolute tolerance for floats.
        rel_tol: Relative tolerance for floats.

    >>> values_equal([[1, 2.0]], ((1, 2),)), values_equal(True, 1), values_equal(float("nan"), 0)
    (True, False, False)
    """
    try:
        return _equal(got, want, abs_tol, rel_tol)
    except RecursionError:
        return False


def _equal(got: Any, want: Any, abs_tol: float, rel_tol: float) -> bool:
    if isinstance(want, bool) or isinstance(got, bool):
        return isinstance(want, bool) and isinstance(got, bool) and got == want
    if isinstance(want, int) and isinstance(got, int):
        return got == want
    if isinstance(want, int | float) and isinstance(got, int | float):
        return _numbers_equal(got, want, abs_tol, rel_tol)
    if isinstance(want, int | float | complex) and isinstance(got, int | float | complex):
        return got == want or (
            abs(got - want) <= max(abs_tol, rel_tol * abs(want)) and abs_tol + rel_tol > 0
        )
    if want is None or isinstance(want, str):
        return type(got) is type(want) and got == want
    if isinstance(want, bytes | bytearray):
        return isinstance(got, bytes) and got == bytes(want)
    if isinstance(want, Pairs | Mapping) or isinstance(got, Pairs | Mapping):
        return _mappings_equal(got, want, abs_tol, rel_tol)
    if isinstance(want, Unordered | AbstractSet) or isinstance(got, Unordered):
        both = isinstance(want, Unordered | AbstractSet) and isinstance(got, Unordered)
        return both and _sets_equal(list(got), list(want), abs_tol, rel_tol)
    if isinstance(want, Sequence) and isinstance(got, list | tuple):
        return len(got) == len(want) and all(
            _equal(one, other, abs_tol, rel_tol) for one, other in zip(got, want, strict=True)
        )
    return False


def _numbers_equal(got: int | float, want: int | float, abs_tol: float, rel_tol: float) -> bool:
    if got == want:
        return True
    try:
        return close(float(got), float(want), abs_tol, rel_tol)
    except OverflowError:
        return False


def _items(mapping: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(mapping, Pairs):
        return list(mapping)
    return list(mapping.items()) if isinstance(mapping, Mapping) else None


def _mappings_equal(got: Any, want: Any, abs_tol: float, rel_tol: float) -> bool:
    left, right = _items(got), _items(want)
    if left is None or right is None or len(left) != len(right):
        return False
    from_json = all(isinstance(key, str) for key, _ in right)
    table: dict[str, Any] = {}
    for key, value in left:
        table[_key(key, from_json)] = value
    if len(table) != len(left):
        return False
    for key, value in right:
        name = _key(key, from_json)
        if name not in table or not _equal(table[name], value, abs_tol, rel_tol):
            return False
    return True


def _key(key: Any, from_json: bool) -> str:
    """A text that is the same for keys that count as the same."""
    if from_json:
        if isinstance(key, str):
            return "s" + key
        if key is None or isinstance(key, int | float):
            return "s" + json.dumps(key)
    return _canonical(key)


def _canonical(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list | tuple) and not isinstance(value, Unordered | Pairs):
        return "[" + ",".join(_canonical(one) for one in value) + "]"
    if isinstance(value, Unordered | AbstractSet):
        return "{" + ",".join(sorted(_canonical(one) for one in value)) + "}"
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value)
    return f"{type(value).__name__}:{value!r}"


def _sets_equal(left: list[Any], right: list[Any], abs_tol: float, rel_tol: float) -> bool:
    if len(left) != len(right):
        return False
    if Counter(map(_canonical, left)) == Counter(map(_canonical, right)):
        return True
    if len(left) > 200 or abs_tol + rel_tol == 0:
        return False
    rest = list(right)
    for one in left:
        match = next(
            (i for i, other in enumerate(rest) if _equal(one, other, abs_tol, rel_tol)), -1
        )
        if match < 0:
            return False
        del rest[match]
    return True
