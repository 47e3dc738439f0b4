"""Numbers that follow from records that a run has seen: sums and means of the values of a field.

A sum of some of many values can be nearly any number and tells nothing, so sums of some values
count only while few numbers can be reached so: over all records, or over those that calls named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

#: A field with a number in text that is no JSON: `total: 12.50`.
_FIELD = re.compile(
    r"([^\W\d_]\w*)[\"']?\s*[:=]\s*[\"'$\u20ac\u00a3]?(-?\d{1,12}(?:\.\d{1,4})?)(?![\w.-])"
)
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,4})?")
_MOST = 64  # values beyond which no sums of some of them are looked for
_DENSEST = 0.1  # share of the numbers in reach from which on a sum tells nothing
_NEAR = 0.005


class Figures:
    """The numbers in fields of what was seen; read only when some number asks for them.

    >>> figures = Figures()
    >>> figures.add('[{"id": "O-1", "total": 273}, {"id": "O-2", "total": 201}]')
    >>> figures.explains(474), figures.explains(237), figures.explains(475)
    (True, True, False)
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._fields: dict[str, list[tuple[float, frozenset[str]]]] = {}
        self._sums: dict[str, float] = {}
        self._named: set[str] = set()

    def add(self, text: str) -> None:
        """Take in a text."""
        self._texts.append(text)

    def name(self, arguments: Mapping[str, Any]) -> None:
        """Take in the arguments of a call: they name the records that the run is about."""
        self._named.update(str(value).lower() for value in _scalars(arguments))

    def explains(self, number: float) -> bool:
        """Whether a number is the sum or mean of a field, or the sum of some of its values."""
        for text in self._texts:
            self._read(text)
        self._texts.clear()
        for field, values in self._fields.items():
            whole = self._sums[field]
            if len(values) > 1 and min(abs(whole - number), abs(whole / len(values) - number)) < (
                _NEAR
            ):
                return True
            if is_sum(number, [value for value, _ in values[: _MOST + 1]]):
                return True
            chosen = [value for value, names in values if not names.isdisjoint(self._named)]
            if is_sum(number, chosen):
                return True
        return False

    def _read(self, text: str) -> None:
        try:
            value = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
        except (ValueError, RecursionError):
            value = None
        if value is None:
            for name, digits in _FIELD.findall(text):
                self._put(name, float(digits), frozenset())
            return
        waiting: list[tuple[Any, frozenset[str]]] = [(value, frozenset())]
        while waiting:
            one, above = waiting.pop()
            if isinstance(one, list):
                waiting += [(item, above) for item in one if isinstance(item, dict | list)]
            elif isinstance(one, dict):
                waiting += self._record(one, above)

    def _record(
        self, record: dict[str, Any], above: frozenset[str]
    ) -> list[tuple[Any, frozenset[str]]]:
        """Take in a record's numbers; its parts, which go by its names too."""
        inner = [value for value in record.values() if isinstance(value, dict | list)]
        names = above | {str(v).lower() for v in record.values() if isinstance(v, str | int)}
        for field, value in record.items():
            if isinstance(value, str) and _NUMBER.fullmatch(value):
                value = float(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._put(field, float(value), names)
        return [(value, names) for value in inner]

    def _put(self, field: str, value: float, names: frozenset[str]) -> None:
        if abs(value) < 1e12:  # else no amount, and infinite where JSON has 1e999
            field = field.lower()
            self._fields.setdefault(field, []).append((value, names))
            self._sums[field] = self._sums.get(field, 0.0) + value


def is_sum(number: float, values: list[float]) -> bool:
    """Whether a number is the sum of two or more of the values, and few numbers are.

    >>> is_sum(665, [273, 38, 201, 74, 191]), is_sum(666, [273, 38, 201, 74, 191])
    (True, False)
    >>> is_sum(57, [*range(1, 12)])          # so is every number up to 66
    False
    """
    if not 1 < len(values) <= _MOST:
        return False
    whole = all(value == int(value) for value in values)
    unit = 1 if whole else 100
    if abs(number * unit - round(number * unit)) > _NEAR:
        return False
    cents = [round(value * unit) for value in values]
    if abs(number - sum(values)) < _NEAR:
        return True
    sums = {0}
    span = sum(abs(value) for value in cents)
    for value in cents:
        sums |= {one + value for one in sums}
        if len(sums) > _DENSEST * span:
            return False
    return round(number * unit) in sums


def _scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _scalars(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _scalars(one)
    elif isinstance(value, str | int | float):
        yield value
