"""Pictures of audits: colour-blind safe, readable in print. Needs matplotlib (extra `audit`)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import vector
from assay.calibration.bins import bin_codes
from assay.calibration.gap_bins import GapBin
from assay.calibration.intervals import wilson_interval
from assay.calibration.reliability import reliability_curve
from assay.calibration.standings import Standing

#: Okabe and Ito's palette.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


def plot_reliability(
    p: ArrayLike, y: ArrayLike, bins: int = 10, draws: int = 500, seed: int = 0
) -> Any:
    """Observed against forecast per bin, with the 90% band of a perfect model; a Figure."""
    forecasts = vector("p", p, low=0, high=1)
    curve = reliability_curve(forecasts, y, bins)
    codes = bin_codes(forecasts, bins, "width", (0.0, 1.0))
    generator = np.random.default_rng(seed)
    count = np.bincount(codes, minlength=bins)
    drawn = (
        np.stack(
            [
                np.bincount(
                    codes, weights=generator.random(len(forecasts)) < forecasts, minlength=bins
                )
                for _ in range(draws)
            ]
        )[:, count > 0]
        / count[count > 0]
    )
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    figure, axes = new_axes("forecast P(A)", "share in which A was better")
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    axes.fill_between(curve.forecast, low, high, color=GREY, alpha=0.25, lw=0, label="chance (90%)")
    sizes = 15 + 120 * curve.count / curve.count.max()
    axes.plot(curve.forecast, curve.observed, color=BLUE, lw=1)
    axes.scatter(curve.forecast, curve.observed, s=sizes, color=BLUE, zorder=3, label="judge")
    axes.legend(frameon=False)
    return figure


def plot_order_gap(gaps: ArrayLike) -> Any:
    """Histogram of p_AB + p_BA - 1; right of 0 favours the first place."""
    values = vector("gaps", gaps, low=-1, high=1)
    figure, axes = new_axes("order gap  p_AB + p_BA - 1", "pairs")
    axes.hist(values, bins=np.linspace(-1, 1, 41), color=BLUE)
    axes.axvline(0, color="black", lw=1)
    if len(values):
        mean = values.mean()
        axes.axvline(mean, color=ORANGE, lw=2, ls="--", label=f"mean {mean:+.2f}")
        axes.legend(frameon=False)
    return figure


def plot_bias_by_gap(bins: Sequence[GapBin]) -> Any:
    """Share of flips per bin of the quality gap, with Wilson intervals."""
    figure, axes = new_axes("quality gap", "share of pairs that flip")
    for index, one in enumerate(bins):
        c = one.counts
        found = wilson_interval(c.primacy + c.recency, c.valid)
        if found.defined:
            axes.errorbar(
                index,
                found.estimate,
                yerr=[[found.estimate - found.low], [found.high - found.estimate]],
                fmt="o",
                color=BLUE,
                capsize=3,
            )
    axes.set_xticks(range(len(bins)), [f"{b.low:.2g}-{b.high:.2g}" for b in bins])
    axes.set_ylim(0, 1)
    return figure


def plot_length_bias(log_ratio: ArrayLike, wins_a: ArrayLike, bins: int = 8) -> Any:
    """How often A wins against ln(length A / length B), in bins of equal mass."""
    x = vector("log_ratio", log_ratio)
    y = vector("wins_a", wins_a, low=0, high=1, size=len(x))
    codes = bin_codes(x, bins, "mass", (0.0, 1.0))
    figure, axes = new_axes("ln(length A / length B)", "share in which A wins")
    for code in np.unique(codes):
        inside = codes == code
        found = wilson_interval(float(y[inside].sum()), int(inside.sum()))
        below, above = found.estimate - found.low, found.high - found.estimate
        middle = x[inside].mean()
        axes.errorbar(
            middle, found.estimate, yerr=[[below], [above]], fmt="o", color=BLUE, capsize=3
        )
    axes.axhline(0.5, color=GREY, lw=1, ls="--")
    axes.set_ylim(0, 1)
    return figure


def plot_agreement(names: Sequence[str], agreement: ArrayLike) -> Any:
    """Heat map of a square table of agreement between judges, values written in."""
    table = np.asarray(agreement, dtype=np.float64)
    figure, axes = new_axes("", "")
    axes.imshow(table, cmap="cividis", vmin=min(0.0, float(np.nanmin(table))), vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    for i, j in np.ndindex(table.shape):
        shade = "black" if table[i, j] > 0.6 else "white"
        axes.text(j, i, f"{table[i, j]:.2f}", ha="center", va="center", color=shade)
    return figure


def plot_leaderboard(standings: Sequence[Standing]) -> Any:
    """Elo ratings with their intervals, the best on top."""
    figure, axes = new_axes("Elo rating (mean 1000)", "")
    rows = np.arange(len(standings))[::-1]
    for row, line in zip(rows, standings, strict=True):
        elo = line.elo
        below, above = elo.estimate - elo.low, elo.high - elo.estimate
        axes.errorbar(elo.estimate, row, xerr=[[below], [above]], fmt="o", color=BLUE, capsize=3)
    axes.set_yticks(rows, [f"{line.rank}. {line.player}" for line in standings])
    return figure


def as_png(figure: Any, dpi: int = 110) -> bytes:
    """The figure as a PNG file, for notebooks."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    return file.getvalue()


def as_svg(figure: Any) -> str:
    """The figure as an SVG element to be put into a page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})

    text = file.getvalue()
    return text[text.index("<svg") :]


def new_axes(x: str, y: str) -> tuple[Any, Any]:
    """A figure with one pair of axes, drawn without a window.

    Raises:
        ImportError: No matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plots need matplotlib; install it with: pip install 'assay[audit]'"
        ) from None
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
