"""The horizon report as a picture: success by length, failures, verdicts along the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.policy.data.horizon import Bin, HorizonReport
from assay.rewards.turn_reward import CRITERIA

FORMATS = (".svg", ".png", ".pdf")


def check_format(path: Path) -> None:
    """Refuse a picture whose suffix says no format that is drawn.

    Raises:
        ConfigError: Another suffix, or no such folder.
    """
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"a picture must end in one of {FORMATS}, got {path.name!r}")
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}")


def draw(report: HorizonReport, path: Path, title: str) -> None:
    """Write the picture; it appears whole or not at all.

    Raises:
        ImportError: matplotlib is not installed; names the pip command.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'assay[audit]'") from error
    matplotlib.rcParams["svg.hashsalt"] = "assay"
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    _success(axes[0][0], report.by_turns, "turns")
    _success(axes[0][1], report.by_depth, "depth (tool calls)")
    _failures(axes[1][0], report)
    _along(axes[1][1], report)
    for axis in axes.flat:
        axis.tick_params(labelsize=8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    figure.suptitle(f"{title}: {len(report.runs)} runs", fontsize=11, x=0.01, ha="left")
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    figure.savefig(part, metadata=metadata, dpi=140)
    part.replace(path)


def _success(axis: Any, bins: tuple[Bin, ...], what: str) -> None:
    axis.set_title(f"success by {what}", fontsize=9, loc="left")
    if not bins:
        axis.text(0.5, 0.5, "no outcomes", ha="center", transform=axis.transAxes, fontsize=9)
        return
    rates = [one.rate for one in bins]
    places = range(len(bins))
    values = [rate.estimate for rate in rates]
    low = [max(rate.estimate - rate.low, 0.0) for rate in rates]
    high = [max(rate.high - rate.estimate, 0.0) for rate in rates]
    axis.bar(places, values, color="#9ec5e8", width=0.7)
    axis.errorbar(places, values, yerr=[low, high], fmt="none", ecolor="0.3", capsize=3, lw=1)
    axis.set_xticks(list(places), [f"{one.label}\nn={one.runs}" for one in bins])
    axis.set_ylim(0, 1)


def _failures(axis: Any, report: HorizonReport) -> None:
    axis.set_title("failed runs by kind", fontsize=9, loc="left")
    if not report.failures:
        axis.text(0.5, 0.5, "none", ha="center", transform=axis.transAxes, fontsize=9)
        return
    names, counts = list(report.failures)[::-1], list(report.failures.values())[::-1]
    axis.barh(names, counts, color="#e8b49e", height=0.7)
    for place, count in enumerate(counts):
        axis.text(count, place, f" {count}", va="center", fontsize=8)


def _along(axis: Any, report: HorizonReport) -> None:
    axis.set_title("share of turns along the run", fontsize=9, loc="left")
    places = [(i + 0.5) / len(report.along) for i in range(len(report.along))]
    sizes = [max(part.turns, 1) for part in report.along]
    lines = {
        "any criterion fails": [p.any_failing for p in report.along],
        **{f"{name.replace('_', ' ')} fails": [p.failing[name] for p in report.along]
           for name in CRITERIA},
        "repeated call": [p.repeated for p in report.along],
    }  # fmt: skip
    styles = ("-", "--", "--", "--", ":")
    for (name, counts), style in zip(lines.items(), styles, strict=True):
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        axis.plot(places, shares, style, label=name, lw=2 if style == "-" else 1.2)
    axis.set_xlim(0, 1)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("position in the run", fontsize=8)
    axis.legend(fontsize=7, frameon=False)
