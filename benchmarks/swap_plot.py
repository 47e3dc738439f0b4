"""Draws what `swap_consistency.py` measured.

python benchmarks/swap_plot.py swap.json docs/swap-consistency.svg
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PANELS = (
    ("swap_gap", "swap gap: mean |p(AB) + p(BA) - 1|"),
    ("flip_rate", "flip rate: both orders pick one slot"),
    ("accuracy", "accuracy of one pass, by slot"),
    ("resolution", "resolution (at most .25)"),
)
TRAININGS = (
    ("single", "one random order", "#b3461f", "o", "-"),
    ("unlabelled", "one order, the term on unlabelled pairs too", "#d99a2b", "^", "-."),
    ("balanced", "both orders in the batch", "#1f5f8b", "s", "--"),
)


def draw(sections: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """One row of panels a section; bars are 95% intervals over seeds.

    In the panel of accuracies the line is the mean over orders, and the shade lies between pairs
    whose preferred answer is shown first and those where it is second.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "assay"
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["font.size"] = 9
    figure, axes = pyplot.subplots(
        len(sections), len(PANELS), figsize=(13.5, 3.1 * len(sections)), squeeze=False
    )
    for line, (section, rows) in zip(axes, sections.items(), strict=True):
        weights = sorted({row["weight"] for row in rows})
        for axis, (name, title) in zip(line, PANELS, strict=True):
            for objective, label, colour, marker, style in TRAININGS:
                found = [row for row in rows if row["objective"] == objective]
                places = [weights.index(row["weight"]) for row in found]
                if name == "accuracy":
                    axis.fill_between(
                        places,
                        [row["accuracy_preferred_second"] for row in found],
                        [row["accuracy_preferred_first"] for row in found],
                        color=colour,
                        alpha=0.15,
                        linewidth=0,
                    )
                axis.errorbar(
                    places,
                    [row[name] for row in found],
                    yerr=[row[f"{name}_ci"] for row in found],
                    color=colour,
                    marker=marker,
                    linestyle=style,
                    markersize=4,
                    capsize=3,
                    label=label,
                )
            axis.set_xticks(range(len(weights)), [f"{weight:g}" for weight in weights])
            axis.set_title(title, fontsize=9)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(axis="y", alpha=0.25)
            if name != "accuracy":
                axis.set_ylim(bottom=0)
        words = "\n".join(textwrap.wrap(section, 26))
        line[0].set_ylabel(f"{words}\n({rows[0]['seeds']} seeds)")
    for axis in axes[-1]:
        axis.set_xlabel("weight of the swap term")
    lines, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="upper center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / figure.get_figheight()))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python benchmarks/swap_plot.py MEASURED.json PICTURE.svg|png")
    draw(json.loads(Path(sys.argv[1]).read_text())["sections"], Path(sys.argv[2]))
