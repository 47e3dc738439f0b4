"""The picture of probes: effects with intervals, beside what could have been found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from assay.calibration.plots import BLUE, GREY, ORANGE, new_axes
from assay.calibration.probe_estimates import Finding


def plot_findings(findings: Sequence[Finding]) -> Any:
    """Estimates in units of the detectable effect, so that probes of other units share an axis.

    Inside the grey band an effect of four times in five would not have been found. Flagged probes
    (q < .05) are filled.
    """
    shown = [f for f in findings if f.interval.defined and f.detectable > 0]
    figure, axes = new_axes("effect / smallest detectable effect", "")
    figure.set_size_inches(6, 0.8 + 0.32 * max(len(shown), 2))
    axes.axvspan(-1, 1, color=GREY, alpha=0.2, lw=0)
    axes.axvline(0, color="black", lw=1)
    reach = 2.0
    for row, f in enumerate(reversed(shown)):
        middle, low, high = (
            v / f.detectable for v in (f.interval.estimate, f.interval.low, f.interval.high)
        )
        ends = [middle - max(low, middle - 20), min(high, middle + 20) - middle]
        color = ORANGE if f.flagged else BLUE
        axes.errorbar(
            middle,
            row,
            xerr=[[ends[0]], [ends[1]]],
            fmt="o",
            color=color,
            mfc=color if f.flagged else "white",
            capsize=3,
        )
        reach = max(reach, *(abs(v) for v in (low, high) if math.isfinite(v)))
    axes.set_xlim(-1.05 * reach, 1.05 * reach)
    axes.set_yticks(range(len(shown)), [f.probe.replace("_", " ") for f in reversed(shown)])
    return figure
