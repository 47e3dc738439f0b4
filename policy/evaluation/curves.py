"""Curves of an evaluation: pass@k, best-of-N and majority against N, figures against budgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_CURVES = {
    "pass@k": re.compile(r"pass@(\d+)"),
    "best-of-N": re.compile(r"best-of-(\d+)"),
    "majority-of-N": re.compile(r"majority-of-(\d+)"),
    "success within T turns": re.compile(r"success within (\d+) turns"),
}
#: Figures that are drawn against the generation budget, where there are several.
_AGAINST_BUDGET = ("pass@1", "score", "win rate", "success", "overlong", "tokens")

Point = tuple[float, Mapping[str, Any]]


def curves_of(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Point]]:
    """Points (N, interval) of each curve that has at least two.

    >>> ones = {"estimate": 1.0, "low": 0.5, "high": 1.0}
    >>> list(curves_of({"pass@1": ones, "pass@8": ones, "best-of-2": ones}))
    ['pass@k']
    """
    found = {}
    for name, pattern in _CURVES.items():
        points = [
            (float(match[1]), metric)
            for key, metric in metrics.items()
            if (match := pattern.fullmatch(key)) and metric["estimate"] is not None
        ]
        if len(points) > 1:
            found[name] = sorted(points, key=lambda point: point[0])
    return found


def plot_results(found: Mapping[str, Any], path: Path) -> bool:
    """Draw `results.json`'s curves, one line a budget, intervals shaded; False where none has two.

    Args:
        found: What `run_evaluation` returns.
        path: `.svg`, `.png` or `.pdf`.
    """
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[Point]]] = {}
    for result in found["results"]:
        for name, points in curves_of(result["metrics"]).items():
            panels.setdefault(name, {})[f"{result['budget']} tokens"] = points
    for name in _AGAINST_BUDGET:
        points = [
            (float(result["budget"]), result["metrics"][name])
            for result in found["results"]
            if name in result["metrics"] and result["metrics"][name]["estimate"] is not None
        ]
        if len(points) > 1:
            panels[f"{name} by budget"] = {"": points}
    if not panels:
        return False
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.6 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis, (name, lines) in zip(axes, panels.items(), strict=False):
        for label, points in lines.items():
            _line(axis, label, points)
        axis.set_title(name, fontsize=9)
        axis.set_xscale("log", base=2)
        axis.tick_params(labelsize=7)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        if len(lines) > 1:
            axis.legend(fontsize=7, frameon=False)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    figure.savefig(path, format=path.suffix.removeprefix(".") or "svg", metadata={"Date": None})
    return True


def _line(axis: Any, label: str, points: list[Point]) -> None:
    places = [place for place, _ in points]
    (line,) = axis.plot(places, [m["estimate"] for _, m in points], marker="o", markersize=3)
    line.set_label(label)
    known = [(place, m) for place, m in points if m["low"] is not None]
    axis.fill_between(
        [place for place, _ in known],
        [m["low"] for _, m in known],
        [m["high"] for _, m in known],
        color=line.get_color(),
        alpha=0.15,
        linewidth=0,
    )
