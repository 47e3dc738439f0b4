"""Curves of a run: one picture a stage, one panel a reward leaf, against the step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.policy.recipe import Recipe
from assay.policy.run_table import leaf_values
from assay.policy.stages.progress_log import read_log

#: What is drawn of an RL stage beside its leaves, where it is logged, and how it is called.
_MORE = (
    ("completions/clipped_ratio", "cut at the limit"),
    ("monitor/repetition_mean", "repetition"),
    ("completions/mean_length", "mean length"),
    ("tools/call_frequency", "tool calls a rollout"),
)
#: Most panels side by side; more would be too small to read on a page.
_ACROSS = 5


def stage_plots(recipe: Recipe, folder: Path) -> list[Path]:
    """One SVG a stage that has logged something.

    Source: the shape is that of the report's figure 4: reward parts over the steps of each stage.
    """
    files = []
    for stage in recipe.stages:
        entries = [e for e in read_log(recipe.folder(stage)) if "reward" in e or "loss" in e]
        if len(entries) < 2:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{recipe.stages.index(stage) + 1:02d}-{stage.name}.svg"
        _plot(stage.name, entries, path)
        files.append(path)
    return files


def _plot(name: str, entries: Sequence[dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    curves = _curves(entries)
    width = min(_ACROSS, len(curves))
    height = -(-len(curves) // width)
    figure = Figure(figsize=(2.7 * width + 0.4, 1.9 * height + 0.4), layout="constrained")
    axes: Any = figure.subplots(height, width, squeeze=False).flat
    for axis in axes[len(curves) :]:
        axis.remove()
    for axis, (label, points) in zip(axes, curves, strict=False):
        steps, values = zip(*points, strict=True)
        axis.plot(steps, values, color="0.75", linewidth=0.8)
        axis.plot(steps, _smooth(values), color="tab:blue", linewidth=1.6)
        axis.set_title(label, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    figure.suptitle(name, fontsize=10, x=0.01, ha="left", fontweight="bold")
    figure.supxlabel("step", fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _curves(entries: Sequence[dict[str, float]]) -> list[tuple[str, list[tuple[float, float]]]]:
    keys: dict[str, str] = {}
    if any("reward" in entry for entry in entries):
        keys["reward"] = "reward"
        for entry in entries:
            for leaf in leaf_values(entry):
                keys.setdefault(f"{leaf}/mean", leaf)
        keys |= dict(_MORE)
    else:
        keys = {"loss": "loss", "accuracy": "accuracy", "mean_token_accuracy": "token accuracy"}
    found = []
    for key, label in keys.items():
        points = [(entry["step"], entry[key]) for entry in entries if key in entry]
        if len(points) > 1:
            found.append((label, points))
    return found


def _smooth(values: Sequence[float], share: float = 0.1) -> list[float]:
    """Mean over a window of a tenth of the curve around each point."""
    half = max(1, round(len(values) * share / 2))
    return [
        sum(values[max(0, i - half) : i + half + 1]) / len(values[max(0, i - half) : i + half + 1])
        for i in range(len(values))
    ]
