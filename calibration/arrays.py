"""Checks of arrays: one rule and one form of message for every metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def vector(
    what: str,
    values: ArrayLike,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    size: int | None = None,
) -> FloatArray:
    """A float array of shape (n,), finite and inside [low, high].

    Raises:
        DataError: Wrong shape or length, or a value that is missing, infinite or out of range.

    >>> vector("p", [0.2, 1.2], low=0, high=1)
    Traceback (most recent call last):
    assay.errors.DataError: p must lie in [0, 1], got 1.2 at position 1; leave such rows out
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{what} must be numbers, got {type(values).__name__} with others; leave out rows "
            "without one"
        ) from None
    if array.ndim != 1:
        raise DataError(f"{what} must have shape (n,), got {array.shape}; pass one number per row")
    if size is not None and len(array) != size:
        raise DataError(f"{what} must have {size} values, got {len(array)}; pass one per row")
    wrong = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if wrong.any():
        where = int(np.flatnonzero(wrong)[0])
        span = "be finite" if np.isinf(low) and np.isinf(high) else f"lie in [{low:g}, {high:g}]"
        raise DataError(
            f"{what} must {span}, got {array[where]:g} at position {where}; leave such rows out",
            index=where,
        )
    return array


def group_codes(what: str, groups: Sequence[Any] | NDArray[Any] | None, size: int) -> IntArray:
    """Integers 0..k-1 for the values of `groups`; without groups every row is its own.

    >>> group_codes("prompt", ["p", "q", "p"], 3).tolist()
    [0, 1, 0]
    """
    if groups is None:
        return np.arange(size, dtype=np.int64)
    try:
        array = np.asarray(groups)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or len(array) != size:
        raise DataError(f"{what} must have {size} values, got shape {array.shape}; one per row")
    if array.dtype == object:
        array = array.astype(str)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def sigmoid(x: FloatArray) -> FloatArray:
    """The logistic function of x, without overflow.

    >>> sigmoid(np.array([0.0, 800.0, -800.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    power = np.exp(-np.abs(x))
    found: FloatArray = np.where(x >= 0, 1.0 / (1.0 + power), power / (1.0 + power))
    return found


def logit(p: FloatArray, clip: float = 0.0) -> FloatArray:
    """log(p / (1 - p)), with p clipped to [clip, 1 - clip] first.

    >>> logit(np.array([0.5, 0.0, 1.0]), clip=0.25).round(3).tolist()
    [0.0, -1.099, 1.099]
    """
    inside = np.clip(p, clip, 1.0 - clip)
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(inside) - np.log1p(-inside)
    return found
