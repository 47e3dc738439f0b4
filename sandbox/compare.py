"""Comparison of a program's output with the expected one, on bytes, in our own process."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

from assay.errors import ConfigError
from assay.sandbox.job import Comparison
from assay.sandbox.values import close, values_equal

_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf|nan", re.ASCII)
_LONGEST_NUMBER = 400


def outputs_equal(
    stdout: bytes, expected: str, comparison: Comparison, abs_tol: float, rel_tol: float
) -> bool:
    """Whether a program's output is the expected one.

    Args:
        stdout: What the program wrote.
        expected: What it should have written.
        comparison: One of the modes of `Job.comparison`.
        abs_tol: Absolute tolerance for `floats` and for floats in `json`.
        rel_tol: Relative tolerance for the same.
    """
    wanted = expected.encode("utf-8", "surrogatepass")
    if comparison == "exact":
        return stdout == wanted
    if comparison == "tokens":
        return stdout.split() == wanted.split()
    if comparison == "floats":
        got_tokens, wanted_tokens = stdout.split(), wanted.split()
        return len(got_tokens) == len(wanted_tokens) and all(
            _tokens_close(got, want, abs_tol, rel_tol)
            for got, want in zip(got_tokens, wanted_tokens, strict=True)
        )
    if comparison == "unordered":
        return _lines(stdout) == _lines(wanted)
    if comparison == "json":
        try:
            return values_equal(json.loads(stdout), json.loads(wanted), abs_tol, rel_tol)
        except (ValueError, RecursionError):
            return False
    raise ConfigError(
        f"comparison must be one of exact, tokens, floats, unordered, json; got {comparison!r}"
    )


def _lines(text: bytes) -> Counter[bytes]:
    return Counter(b" ".join(line.split()) for line in text.split(b"\n") if line.strip())


def _tokens_close(got: bytes, want: bytes, abs_tol: float, rel_tol: float) -> bool:
    if got == want:
        return True
    if max(len(got), len(want)) > _LONGEST_NUMBER:
        return False
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(want)):
        return False
    numbers = float(got), float(want)
    for token, number in zip((got, want), numbers, strict=True):
        if math.isinf(number) and b"inf" not in token:
            return False  # digits beyond the range of floats are no infinity
    return close(*numbers, abs_tol, rel_tol)
