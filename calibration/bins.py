"""Bins of forecasts: equal width, or equal mass without splitting ties."""

from __future__ import annotations

from typing import Literal

import numpy as np

from assay.calibration.arrays import FloatArray, IntArray
from assay.errors import DataError

Binning = Literal["width", "mass"]


def bin_codes(p: FloatArray, bins: int, binning: Binning, span: tuple[float, float]) -> IntArray:
    """The bin of every forecast, shape (n,).

    Args:
        p: Forecasts, shape (n,).
        bins: Number of bins, >= 1; empty bins are allowed.
        binning: `width`: bins of equal width over `span`, each closed on the right like those of
            Guo et al., the first on both sides. `mass`: bins with as equal counts as can be without
            putting equal forecasts into different bins.
        span: Ends of the range that `width` divides.

    Raises:
        DataError: bins < 1, or an unknown binning.

    >>> bin_codes(np.array([0.0, 0.1, 0.11, 1.0]), 10, "width", (0, 1)).tolist()
    [0, 0, 1, 9]
    >>> bin_codes(np.array([0.9] * 6), 5, "mass", (0, 1)).tolist()      # ties stay together
    [2, 2, 2, 2, 2, 2]
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise DataError(f"bins must be a whole number >= 1, got {bins!r}; 10 or 15 are usual")
    if binning == "width":
        low, high = span
        edges = np.linspace(low, high, bins + 1)[1:-1]
        # A forecast that misses an edge by rounding (such as .1 * 3) belongs to the edge.
        return np.searchsorted(edges + 1e-12, p, side="left").astype(np.int64)
    if binning == "mass":
        _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2.0
        place = np.minimum((middle * bins / max(len(p), 1)).astype(np.int64), bins - 1)
        codes: IntArray = place[inverse]
        return codes
    raise DataError(f"binning must be one of {{'width', 'mass'}}, got {binning!r}")
