"""Strict reading of one JSON object: what tool-call arguments must be.

Python's own reader takes NaN, infinities, overflowing numbers and repeated keys, and recurses as
deep as the text does. Servers and tools do not, so none of that is a well-formed call here.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

#: Deepest nesting of a well-formed value.
DEPTH = 100


class MalformedJson(ValueError):
    """The text is no strict JSON object.

    Attributes:
        position: Offset of the fault in the text, or None where it is the text as a whole.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that `text` is, white space around it allowed.

    Raises:
        MalformedJson: Not JSON, not an object, NaN or an infinity, a number too large for a float,
            a repeated key, or nested deeper than `DEPTH`.

    >>> parse_object('{"query": "tea", "k": 3}')
    {'query': 'tea', 'k': 3}
    >>> parse_object('{"k": NaN}')
    Traceback (most recent call last):
    assay.json_object.MalformedJson: NaN is not JSON
    """
    try:
        value = _DECODER.decode(text)
    except MalformedJson:
        raise
    except json.JSONDecodeError as error:
        raise MalformedJson(error.msg, error.pos) from None
    except RecursionError:
        raise MalformedJson(f"nested deeper than {DEPTH} levels") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise MalformedJson(str(error)) from None
    if not isinstance(value, dict):
        raise MalformedJson(f"must be an object, got {_kind(value)}")
    if text.count("[") + text.count("{") > DEPTH and _depth_exceeds(value, DEPTH):
        raise MalformedJson(f"nested deeper than {DEPTH} levels")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise MalformedJson(f"key {key!r:.80} is repeated")
            seen.add(key)
    return found


def _constant(name: str) -> NoReturn:
    raise MalformedJson(f"{name} is not JSON")


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise MalformedJson(f"number {digits:.40} is too large")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {list: "an array", str: "a string", bool: "a boolean"}
    return kinds.get(type(value), "a number")


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_real, strict=True
)
