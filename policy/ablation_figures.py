"""Figures of an ablation's runs: what was measured, the table with intervals, the plot."""

from __future__ import annotations

import fnmatch
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.calibration import Interval
from assay.errors import DataError
from assay.policy.checkpoints import write_json_file
from assay.policy.evaluation.comparison import seeds_interval, sign_flip_p
from assay.policy.matrix import MATRIX
from assay.policy.recipe import Recipe
from assay.policy.stages.stage_config import RESULT_FILE

#: Figures of a stage that say nothing about what it learned.
_SKIPPED = ("total ", "seconds", "tokens", "trained_tokens", "step_time")


def measured(
    recipe: Recipe, until: str | None, sweep: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Figures of one run: `STAGE/metric`, and `SET/metric` at the last checkpoint of the policy."""
    found: dict[str, float] = {}
    checkpoint = "start"
    for stage in recipe.stages:
        file = recipe.folder(stage) / RESULT_FILE
        if file.is_file():
            metrics = json.loads(file.read_text(encoding="utf-8")).get("metrics", {})
            for name, value in metrics.items():
                if _number(value) and not name.startswith(_SKIPPED):
                    found[f"{stage.name}/{name}"] = float(value)
            if stage.kind.policy:
                checkpoint = stage.name
        if stage.name == until:
            break
    for evaluation in recipe.evaluations:
        file = Path(recipe.output_dir) / MATRIX / checkpoint / evaluation.name / "summary.json"
        if file.is_file():
            summary = json.loads(file.read_text(encoding="utf-8"))
            for name, value in summary.items():
                if _number(value):
                    found[f"{evaluation.name}/{name}"] = float(value)
    return found | dict(sweep or {})


@dataclass(frozen=True)
class Line:
    """One figure of one arm.

    Attributes:
        measure: Its name.
        arm: The variant.
        mean: Over seeds, with Student's interval.
        change: Arm minus baseline, paired by seed; None for the baseline.
        p: Of the sign-flip test over seeds; None for the baseline.
    """

    measure: str
    arm: str
    mean: Interval
    change: Interval | None = None
    p: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "measure": self.measure,
            "arm": self.arm,
            "mean": self.mean.as_json(),
            "change": None if self.change is None else self.change.as_json(),
            "p": self.p,
        }

    @property
    def effect(self) -> str:
        """`seen` where the interval of the change leaves 0 out."""
        if self.change is None:
            return "baseline"
        if math.isnan(self.change.low):
            return "one seed"
        return "none seen" if 0.0 in self.change else "seen"


@dataclass(frozen=True)
class AblationTable:
    """The result of an ablation."""

    name: str
    question: str
    arms: Sequence[str]
    seeds: int
    lines: Sequence[Line]

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls,
        name: str,
        question: str,
        arms: Sequence[str],
        rows: Sequence[Mapping[str, Any]],
        measures: Sequence[str] = (),
    ) -> AblationTable:
        """From figures by seed and arm.

        Args:
            name: Of the ablation.
            question: For people.
            arms: The first is the baseline.
            rows: `{"seed", "arm", "figures"}`.
            measures: Patterns; empty: all figures that every arm has for every seed.

        Raises:
            DataError: No figure is there for every arm and seed.
        """
        values: dict[str, dict[str, dict[int, float]]] = {}
        for row in rows:
            for measure, value in row["figures"].items():
                if not measures or any(fnmatch.fnmatchcase(measure, one) for one in measures):
                    values.setdefault(measure, {}).setdefault(row["arm"], {})[row["seed"]] = value
        seeds = sorted({row["seed"] for row in rows})
        lines = []
        for measure, by_arm in values.items():
            if any(len(by_arm.get(arm, {})) < len(seeds) for arm in arms):
                continue
            base = [by_arm[arms[0]][seed] for seed in seeds]
            for arm in arms:
                mine = [by_arm[arm][seed] for seed in seeds]
                moved = [b - a for a, b in zip(base, mine, strict=True)]
                first = arm == arms[0]
                lines.append(
                    Line(
                        measure,
                        arm,
                        seeds_interval(mine),
                        None if first else seeds_interval(moved),
                        None if first else sign_flip_p(moved),
                    )
                )
        if not lines:
            known = sorted({m for row in rows for m in row["figures"]})
            raise DataError(
                f"ablation {name!r}: no figure matches {list(measures)} for every arm and seed; "
                f"there are {known[:40]}"
            )
        return cls(name, question, tuple(arms), len(seeds), tuple(lines))

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "name": self.name,
            "question": self.question,
            "arms": list(self.arms),
            "seeds": self.seeds,
            "lines": [line.to_json() | {"effect": line.effect} for line in self.lines],
        }

    def markdown(self) -> str:
        """The table for people."""
        head = ("measure", "arm", "mean [95%]", "change [95%]", "p", "effect")
        out = [
            f"## {self.name}",
            "",
            self.question,
            "",
            f"Seeds: {self.seeds}; intervals by Student's t.",
        ]
        out += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for line in self.lines:
            change = "" if line.change is None else _shown(line.change, sign=True)
            p = "" if line.p is None else f"{line.p:.3g}"
            cells = (line.measure, line.arm, _shown(line.mean), change, p, line.effect)
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(out)

    def write(self, folder: Path) -> list[Path]:
        """`ablation.json`, `ablation.md` and `ablation.svg`."""
        write_json_file(folder / "ablation.json", self.to_json())
        text = folder / "ablation.md"
        draft = folder / "ablation.md.part"
        draft.write_text(self.markdown() + "\n", encoding="utf-8")
        draft.replace(text)
        return [folder / "ablation.json", text, self.plot(folder / "ablation.svg")]

    def plot(self, path: Path) -> Path:
        """One panel a measure: each arm's mean and interval over seeds, the baseline dashed."""
        from matplotlib.figure import Figure

        measures = list(dict.fromkeys(line.measure for line in self.lines))
        columns = min(3, len(measures))
        count = math.ceil(len(measures) / columns)
        tall = 0.5 + 0.3 * len(self.arms)
        figure = Figure(figsize=(4.4 * columns, count * tall + 0.6), layout="constrained")
        axes = figure.subplots(count, columns, squeeze=False)
        places = list(range(len(self.arms)))[::-1]
        for number, axis in enumerate(axes.flat):
            if number >= len(measures):
                axis.set_axis_off()
                continue
            mine = [line for line in self.lines if line.measure == measures[number]]
            axis.axvline(mine[0].mean.estimate, color="0.7", linestyle="--", linewidth=0.8)
            for place, line in zip(places, mine, strict=True):
                low, high = line.mean.low, line.mean.high
                if not math.isnan(low):
                    axis.plot([low, high], [place, place], color="tab:blue", linewidth=1.5)
                axis.plot([line.mean.estimate], [place], "o", color="tab:blue", markersize=4)
            axis.set_yticks(places, self.arms if number % columns == 0 else [""] * len(places))
            axis.set_ylim(-0.6, len(places) - 0.4)
            axis.set_title(measures[number], fontsize=9)
            axis.tick_params(labelsize=7)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
        figure.suptitle(f"{self.name}, {self.seeds} seeds", fontsize=10)
        figure.savefig(path, format=path.suffix.removeprefix("."), metadata={"Date": None})
        return path


def _shown(found: Interval, *, sign: bool = False) -> str:
    number = f"{found.estimate:+.3f}" if sign else f"{found.estimate:.3f}"
    if math.isnan(found.low):
        return number
    ends = (f"{end:+.3f}" if sign else f"{end:.3f}" for end in (found.low, found.high))
    return f"{number} [{', '.join(ends)}]"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
