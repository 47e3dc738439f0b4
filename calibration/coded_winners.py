"""Verdicts as small integers: who won, by the place in which it was shown or by its own name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError

#: The first-shown answer (or A) won, the second (or B), neither, or nothing could be read.
FIRST, SECOND, TIE, MISSING = 0, 1, 2, -1

CodeArray = NDArray[np.int8]

_WORDS: dict[str, int] = {
    "A": FIRST,
    "B": SECOND,
    "C": TIE,
    "TIE": TIE,
    "": MISSING,
    "NONE": MISSING,
}


def verdict_codes(what: str, values: Sequence[Any] | NDArray[Any]) -> CodeArray:
    """Verdicts as codes 0 first (A), 1 second (B), 2 tie (C), -1 unparsed; shape (n,).

    Args:
        what: Named in errors.
        values: Words `A`, `B`, `C` or `tie`, empty or None for unparsed; or the codes themselves.

    Raises:
        DataError: Anything else.

    >>> verdict_codes("choice", ["A", "B", "tie", None, ""]).tolist()
    [0, 1, 2, -1, -1]
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{what} must have shape (n,), got {array.shape}; pass one verdict per row")
    if array.dtype.kind in "iu":
        if ((array < MISSING) | (array > TIE)).any():
            raise DataError(
                f"{what} must be codes 0, 1, 2 or -1, got {array.min()} to {array.max()}; pass "
                "'A', 'B', 'tie' or '' instead"
            )
        return array.astype(np.int8)
    if array.dtype.kind == "f" and not len(array):
        return array.astype(np.int8)
    try:
        return np.fromiter((_code(value) for value in values), dtype=np.int8, count=len(array))
    except KeyError as error:
        raise DataError(
            f"{what} must be one of {{'A', 'B', 'tie' (or 'C'), ''}}, got {error.args[0]!r:.60}; "
            "map other words to these, and what could not be parsed to ''"
        ) from None


def opposite(codes: CodeArray) -> CodeArray:
    """The same verdicts with the two answers' places exchanged.

    >>> opposite(verdict_codes("choice", ["A", "B", "tie", ""])).tolist()
    [1, 0, 2, -1]
    """
    return np.array([1, 0, 2, -1], dtype=np.int8)[codes]


def _code(value: Any) -> int:
    word = "" if value is None else str(value)
    code = _WORDS.get(word.upper())
    if code is None:
        raise KeyError(value)
    return code
