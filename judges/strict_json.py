r"""Strict JSON lines: what every output row is written with.

A reward's evidence may hold more than JSON can say. The rule, applied only where plain JSON fails:

- NumPy and torch scalars become numbers, arrays and tensors become lists;
- NaN and infinities become the texts `"NaN"`, `"Infinity"`, `"-Infinity"`;
- tuples and other sequences become lists, sets become lists sorted by their JSON text;
- mapping keys become text; a dataclass becomes an object of its fields; an enum its value;
- bytes become text (UTF-8, other bytes as `\xNN`);
- paths, dates and anything else become `str(value)`, cut at 1,000 characters;
- what is nested deeper than 64 levels, or twice inside itself, becomes `"..."`.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

DEPTH = 64
LONGEST = 1000
#: Python refuses to write much longer whole numbers, and few readers take them.
LONGEST_BITS = 4096


def encode_line(value: Any) -> bytes:
    r"""One line of strict JSON in UTF-8, newline included.

    >>> encode_line({"a": (1, 2), "b": float("inf")})
    b'{"a": [1, 2], "b": "Infinity"}\n'
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(plain(value), allow_nan=False, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold: escaped instead
        return json.dumps(json.loads(text)).encode() + b"\n"


def writable(text: str) -> str:
    r"""`text` with lone surrogates, which UTF-8 cannot hold, written as `\uXXXX`.

    >>> writable("caf\u00e9 \ud83d")
    'café \\ud83d'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def plain(value: Any, above: tuple[int, ...] = ()) -> Any:
    """`value` as JSON values, by the rule of this module.

    Args:
        value: Anything.
        above: Identities of what it is nested in.

    >>> plain({1: {2.5, 1.5}, "raw": b"ok"})
    {'1': [1.5, 2.5], 'raw': 'ok'}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, (*above, id(value)))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return _whole(int(value))
    if isinstance(value, float):
        return _real(float(value))
    if len(above) > DEPTH or above.count(id(value)) > 1:
        return "..."
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {_key(k): plain(v, above) for k, v in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Set):
        return sorted((plain(v, above) for v in value), key=lambda v: json.dumps(v))
    if isinstance(value, Sequence):
        return [plain(v, above) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), above) for f in fields(value)}
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and not isinstance(value, type):
        return plain(to_list(), above)
    return str(value)[:LONGEST]


def _key(key: Any) -> str:
    value = plain(key)
    return value if isinstance(value, str) else json.dumps(value)


def _real(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _whole(value: int) -> int | str:
    return value if value.bit_length() <= LONGEST_BITS else hex(value)
