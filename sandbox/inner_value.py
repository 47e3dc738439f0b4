"""Writes the value that a program returned as text, without trusting the value.

Only exact built-in types are read, through the methods of the built-in types themselves, so that
a subclass which lies about itself is written as what it holds. Whatever this module does happens
in the program's own process: its output is an untrusted value and is treated so by the reader.

Runs inside the sandbox: standard library only. The format is JSON; containers are written as
`["l", ...]` list, `["t", ...]` tuple, `["g", ...]` iterator, `["s", ...]` set and
`["d", [key, value], ...]` mapping, and what is not JSON as `["f", "nan"]`,
`["c", real, imaginary]`, `["b", hex]`, `["i", hex]` (a huge integer), `["o", type name]`.
"""

from __future__ import annotations

from _json import encode_basestring_ascii
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ESCAPE = str.encode
#: Iterables of the language that are no containers: written by their items.
_ITERABLES: tuple[type, ...] = (
    type(iter(lambda: 0, 0)),
    type(_ for _ in ""),
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(iter([])),
    type(iter(())),
    type(iter(range(0))),
    type(iter({})),
    type(iter({}.values())),
    type(iter({}.items())),
    type(iter(set())),
    type(iter("")),
    range,
    map,
    filter,
    zip,
    enumerate,
    reversed,
    deque,
)


def dump(value: Any, limit: int) -> bytes:
    """`value` as bytes of JSON.

    Args:
        value: Anything.
        limit: Most bytes of output.

    Raises:
        ValueError: Deeper than 500 levels, or longer than `limit`.
    """
    out: list[str] = []
    room = [limit]
    _write(value, out, room, 500)
    return _ESCAPE("".join(out))


def _write(value: Any, out: list[str], room: list[int], depth: int) -> None:
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    text = _scalar(value)
    if text is not None:
        room[0] -= len(text)
        if room[0] < 0:
            raise ValueError("the value is too large")
        out.append(text)
        return
    if depth <= 0:
        raise ValueError("the value is nested too deeply")
    items: Any
    if isinstance(value, list):
        out.append('["l"')
        items = list.__iter__(value)
    elif isinstance(value, tuple):
        out.append('["t"')
        items = tuple.__iter__(value)
    elif isinstance(value, set):
        out.append('["s"')
        items = set.__iter__(value)
    elif isinstance(value, frozenset):
        out.append('["s"')
        items = frozenset.__iter__(value)
    elif type(value) in _ITERABLES:
        out.append('["g"')
        items = iter(value)
    else:
        out.append('["d"')
        for key, one in dict.items(value):
            out.append(",[")
            _write(key, out, room, depth - 1)
            out.append(",")
            _write(one, out, room, depth - 1)
            out.append("]")
            room[0] -= 4
        out.append("]")
        return
    for item in items:
        out.append(",")
        room[0] -= 1
        _write(item, out, room, depth - 1)
    out.append("]")


def _scalar(value: Any) -> str | None:
    """JSON text of a scalar or of something opaque; None for a container."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    kind = type(value)
    if issubclass(kind, int):
        return int.__repr__(value) if int.bit_length(value) < 14000 else _big(value)
    if issubclass(kind, str):
        return encode_basestring_ascii(str.__str__(value))
    if issubclass(kind, float):
        text = float.__repr__(value)
        return f'["f","{text}"]' if text in ("nan", "inf", "-inf") else text
    if issubclass(kind, complex):
        return f'["c",{_scalar(value.real)},{_scalar(value.imag)}]'
    if issubclass(kind, bytes | bytearray):
        return f'["b","{bytes(value).hex()}"]'
    if issubclass(kind, list | tuple | set | frozenset | dict) or kind in _ITERABLES:
        return None
    name = kind.__name__ if isinstance(kind.__name__, str) else "?"
    return f'["o",{encode_basestring_ascii(str.__str__(name)[:100])}]'


def _big(value: int) -> str:
    return f'["i","{int.__format__(value, "x")}"]'
