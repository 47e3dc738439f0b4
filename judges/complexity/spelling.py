"""Spells monomials so that `expression.parse` reads them back."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

from assay.judges.complexity.growth import LOG_ALPHA, LOG_STAR, Gauge, Monomial

_CLOSE = 1e-8
_WORD_LAST = re.compile(r"[A-Za-z]\w+$")
_WORD_FIRST = re.compile(r"[A-Za-z]\w")


def spell(of: Monomial) -> str:
    """A monomial in plain text: `n^2 log n`, `2^n`, `n!`.

    >>> from assay.judges.complexity.growth import variable
    >>> spell(variable("n"))
    'n'
    """
    terms = dict(of)
    parts = [*_factorials(terms), *_powers(terms)]
    exponents = [(g, c) for g, c in sorted(terms.items()) if not _is_log(g)]
    return _joined([*(_exponential(g, c) for g, c in exponents), *parts]) or "1"


def _joined(parts: list[str]) -> str:
    """Product; two words need their sign, `rows * cols`."""
    text = "".join(parts[:1])
    for before, part in pairwise(parts):
        words = _WORD_LAST.search(before) and _WORD_FIRST.match(part)
        text += (" * " if words else " ") + part
    return text


def _factorials(terms: dict[Gauge, float]) -> list[str]:
    parts = []
    for gauge in [g for g in terms if len(g) == 2]:
        (first, p), (second, q) = gauge
        name = first[0]
        if (first, second, p, q) != ((name, 0), (name, 1), 1.0, 1.0):
            continue
        after = dict(terms)
        changes = ((gauge, -1.0), ((((name, 0), 1.0),), 1.0), ((((name, 1), 1.0),), -0.5))
        for key, change in changes:
            after[key] = after.get(key, 0.0) + change
            if abs(after[key]) < _CLOSE:
                del after[key]
        if terms[gauge] > 1 - _CLOSE and len(after) < len(terms) + (terms[gauge] < 1 + _CLOSE):
            terms.clear()
            terms.update(after)
            parts.append(f"{name}!")
    return parts


def _powers(terms: dict[Gauge, float]) -> list[str]:
    logs = [(g[0][0], c) for g, c in terms.items() if _is_log(g)]
    logs.sort(key=lambda item: (item[0][1], item[0][0]))
    parts = []
    for (name, level), power in logs:
        if level == LOG_ALPHA:
            base = f"alpha({name})"
        elif level == LOG_STAR:
            base = f"logstar({name})"
        else:
            base = "log " * (level - 1) + name
        if abs(power - 1) < _CLOSE:
            parts.append(base)
        elif abs(power - 0.5) < _CLOSE and level == 1:
            parts.append(f"sqrt({base})")
        else:
            parts.append(f"{base if level == 1 else f'({base})'}^{_number(power)}")
    return parts


def _exponential(gauge: Gauge, coefficient: float) -> str:
    inner = _gauge(gauge)
    simple = len(gauge) == 1 and gauge[0][1] == 1.0 and gauge[0][0][1] == 0
    logs = [(factor, power) for factor, power in gauge if factor[1] == 1]
    if len(logs) == 1 and logs[0][1] == 1.0 and abs(coefficient - 1) < _CLOSE:
        rest = tuple(item for item in gauge if item != logs[0])
        if all(level == 0 for (_, level), _ in rest):
            return f"{logs[0][0][0]}^({_gauge(rest)})"
    base = math.exp(coefficient) if coefficient < 20 else 0.0
    if base > 1.5 and abs(base - round(base)) < _CLOSE * base:
        return f"{round(base)}^{inner}" if simple else f"{round(base)}^({inner})"
    return f"exp({coefficient!r} * {inner})"


def _gauge(gauge: Gauge) -> str:
    parts = []
    for (name, level), power in gauge:
        base = "ln(" * level + name + ")" * level
        parts.append(base if power == 1.0 else f"{f'({base})' if level else base}^{_number(power)}")
    return " * ".join(parts)


def _number(value: float) -> str:
    near = Fraction(value).limit_denominator(12)
    if abs(float(near) - value) > _CLOSE:
        return f"({value!r})"
    if near.denominator == 1:
        return str(near.numerator) if near >= 0 else f"({near.numerator})"
    return f"({near.numerator}/{near.denominator})"


def _is_log(gauge: Gauge) -> bool:
    return len(gauge) == 1 and gauge[0][1] == 1.0 and gauge[0][0][1] >= 1
