"""What each stage of the miniature changes, over paired seeds, with confidence intervals.

    python benchmarks/miniature.py --seeds 5 --output runs/miniature --json table.json

Each seed runs the recipe `tiny` from its own base model and data; a run that was killed goes on. In
addition the complexity stage is run without its gate, from the same checkpoint. A row of the table
compares two checkpoints of the same seed (or the first and the last quarter of a stage's steps):
the mean difference over seeds and its 95% interval by Student's t. What does not differ from 0 is
said to be so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

#: Two-sided 95% quantiles of Student's t by degrees of freedom.
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
UNGATED = "ungated"


@dataclass(frozen=True)
class Comparison:
    """One row: a measure before and after, by seed."""

    question: str
    measure: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    def summary(self) -> dict[str, Any]:
        """Means, the mean paired difference and its interval."""
        differences = [b - a for a, b in zip(self.before, self.after, strict=True)]
        mean, count = statistics.fmean(differences), len(differences)
        half = math.inf
        if count > 1:
            half = T95.get(count - 1, 1.96) * statistics.stdev(differences) / math.sqrt(count)
        return {
            "question": self.question,
            "measure": self.measure,
            "seeds": count,
            "before": statistics.fmean(self.before),
            "after": statistics.fmean(self.after),
            "difference": mean,
            "low": mean - half,
            "high": mean + half,
            "effect": "none seen" if mean - half <= 0 <= mean + half else "seen",
        }


def run_seed(
    seed: int, output: Path, overrides: Sequence[str], *, accept_changes: bool = False
) -> Path:
    """Run the recipe and its ungated variant for one seed; returns the run's folder."""
    from assay.policy.matrix import evaluate_policy
    from assay.policy.pipeline import Pipeline
    from assay.policy.recipe import load_recipe
    from assay.policy.report import write_report
    from assay.policy.stages import code_rl_complexity
    from assay.policy.train_command import calm_libraries

    calm_libraries()
    run = output / f"seed-{seed}"
    recipe = load_recipe("tiny", [f"seed={seed}", f'output_dir="{run}"', *overrides])

    def tell(stage: str, event: str, facts: dict[str, Any]) -> None:
        print(f"{time.strftime('%H:%M:%S')} seed {seed} {stage}: {event}", file=sys.stderr)

    Pipeline(recipe, accept_changes, tell).run()
    write_report(recipe)
    gated = recipe.config(recipe.stage("code-complexity"))
    folder = run / "stages" / UNGATED
    if not (folder / "stage.json").is_file():
        tell(UNGATED, "start", {})
        code_rl_complexity.main(replace(gated, gated=False, output_dir=str(folder)))
    code = next(e for e in recipe.evaluations if e.name == "code")
    evaluate_policy(recipe, code, UNGATED, str(folder), run)
    return run


def measure(
    run: Path, checkpoint: str, kind: str, value: Callable[[Mapping[str, Any]], float]
) -> float:
    """Mean of `value` over the score rows of one checkpoint on one set."""
    from assay.policy.data.row_files import read_rows

    folder = run / "evaluation" / checkpoint / kind
    scores = list(read_rows(folder / "scores.jsonl"))
    return statistics.fmean(value(score) for score in scores)


def tests(score: Mapping[str, Any]) -> float:
    """Share of tests passed, 0 where the format closed the gate."""
    return float(score["parts"]["tests"]["value"] or 0.0)


def solved(score: Mapping[str, Any]) -> float:
    """1 where all tests pass."""
    return float(bool(score["parts"]["tests"]["passed"]))


def fast(score: Mapping[str, Any]) -> float:
    """1 where all tests pass and the bound is met."""
    return solved(score) * float(score["parts"]["time"]["value"] or 0.0)


def flipped(score: Mapping[str, Any]) -> float:
    """1 where the pair-wise judge's verdict turns with the order."""
    return float(score["info"].get("flips", 0))


def gap(score: Mapping[str, Any]) -> float:
    """How far the two orders of the pair-wise judge disagree, in probability."""
    return abs(float(score["info"].get("order_gap", 0.0)))


def comparisons(runs: Sequence[Path]) -> list[Comparison]:
    """The rows of the table."""
    rows = []

    def add(
        question: str, name: str, before: Callable[[Path], float], after: Callable[[Path], float]
    ) -> None:
        rows.append(Comparison(question, name, tuple(map(before, runs)), tuple(map(after, runs))))

    def summary(checkpoint: str, kind: str, key: str) -> Callable[[Path], float]:
        def read(run: Path) -> float:
            path = run / "evaluation" / checkpoint / kind / "summary.json"
            return float(json.loads(path.read_text())[key])

        return read

    def scored(
        checkpoint: str, kind: str, value: Callable[[Mapping[str, Any]], float]
    ) -> Callable[[Path], float]:
        return lambda run: measure(run, checkpoint, kind, value)

    for key, label in (("truncated", "cut at the limit"), ("repetition", "repetition")):
        add(
            "point-wise RL",
            label,
            summary("sft", "names", key),
            summary("pointwise-rl", "names", key),
        )
    judged = (
        ("win rate against the reference", _value),
        ("flip rate", flipped),
        ("order gap", gap),
    )
    for label, value in judged:
        add(
            "pair-wise RL",
            label,
            scored("pointwise-rl", "names", value),
            scored("pairwise-rl", "names", value),
        )
    for label, value in (("tests passed", tests), ("all tests pass", solved)):
        add(
            "code RL, stage 1",
            label,
            scored("pairwise-rl", "code", value),
            scored("code-correctness", "code", value),
        )
    for label, value in (("all tests pass", solved), ("and within the bound", fast)):
        add(
            "code RL, stage 2",
            label,
            scored("code-correctness", "code", value),
            scored("code-complexity", "code", value),
        )
    for label, value in (("all tests pass", solved), ("and within the bound", fast)):
        add(
            "time reward without the gate, against with it",
            label,
            scored("code-complexity", "code", value),
            scored(UNGATED, "code", value),
        )
    for label, found in (("failing turns", failing), ("tasks done", outcome)):
        add(
            "agentic RL, first and last quarter",
            label,
            logged("agent", found, first=True),
            logged("agent", found, first=False),
        )
    for name, before, after in (
        ("the two chat stages: forgetting", "sft", "pairwise-rl"),
        ("agentic RL: forgetting", "code-complexity", "agent"),
    ):
        add(
            name,
            "all tests pass",
            scored(before, "code", solved),
            scored(after, "code", solved),
        )
    add(
        "code and agentic RL: forgetting",
        "win rate against the reference",
        scored("pairwise-rl", "names", _value),
        scored("agent", "names", _value),
    )
    return rows


def logged(
    stage: str, value: Callable[[Mapping[str, float]], float | None], *, first: bool
) -> Callable[[Path], float]:
    """Mean of `value` over the first or the last quarter of a stage's logged steps."""
    from assay.policy.stages.progress_log import read_log

    def read(run: Path) -> float:
        folder = next((run / "stages").glob(f"*-{stage}"))
        values = [found for e in read_log(folder) if (found := value(e)) is not None]
        part = max(1, len(values) // 4)
        return statistics.fmean(values[:part] if first else values[-part:])

    return read


def failing(entry: Mapping[str, float]) -> float | None:
    """Share of all turns that the critic fails; it says nothing of turns without a fault."""
    if "turn_credit/abstained" not in entry:
        return None
    return entry.get("turn_credit/failing", 0.0) * (1 - entry["turn_credit/abstained"])


def outcome(entry: Mapping[str, float]) -> float | None:
    """Share of tasks done, by the environment's verifier."""
    return entry.get("agentic/agent/outcome/mean")


def _value(score: Mapping[str, Any]) -> float:
    return float(score["value"] or 0.0)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    head = ("stage", "measure", "before", "after", "difference [95%]", "effect")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        interval = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        cells = (
            row["question"],
            row["measure"],
            f"{row['before']:.3f}",
            f"{row['after']:.3f}",
            interval,
            row["effect"],
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what is not there yet, print the table, write it as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("runs/miniature"))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--accept-changes", action="store_true", help="of the recipe")
    parser.add_argument("--only-table", action="store_true", help="of the seeds that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    runs = []
    for seed in seeds:
        run = options.output / f"seed-{seed}"
        if not options.only_table:
            run = run_seed(
                seed, options.output, options.overrides, accept_changes=options.accept_changes
            )
        if (run / "evaluation" / UNGATED / "code" / "summary.json").is_file():
            runs.append(run)
    if not runs:
        raise SystemExit(f"no finished seed in {options.output}")
    found = [row.summary() for row in comparisons(runs)]
    machine = f"{os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"{len(runs)} seeds on {machine}\n\n{table(found)}")
    result = {"machine": machine, "runs": [run.name for run in runs], "rows": found}
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return result


if __name__ == "__main__":
    main()
