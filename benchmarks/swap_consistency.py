"""What the swap-consistency term does to a reward model that learned from slot-biased labels.

    python benchmarks/swap_consistency.py                    # everything, about ten minutes
    python benchmarks/swap_consistency.py --quick --json out.json
    python benchmarks/swap_consistency.py --section llama --json out.json    # joins what is there

Three trainings, each with swap weights 0, .1, .5 and 2 and several paired seeds:

- `single`: ordinary training, each pair in the one random order in which it was labelled;
- `unlabelled`: the same, and the term also acts on as many pairs that nobody labelled (answers
  crossed between training pairs); compared with `single` at weight 0;
- `balanced`: both orders of every pair in the batch. The loss itself is then symmetric, so there
  is little slot bias left for the term to remove; the table says how little.

Shown are means over seeds with 95% intervals (Student's t) on held-out pairs with true labels.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.swap_experiments import (
    SLOT_BIAS,
    TRAININGS,
    WEIGHTS,
    Run,
    drawn_pairs,
    llama_model,
    train_networks,
)
from benchmarks.swap_real_pairs import FILES, real_pairs, why_not

METRICS = (
    "swap_gap",
    "flip_rate",
    "accuracy",
    "accuracy_preferred_first",
    "accuracy_preferred_second",
    "accuracy_both",
    "accuracy_agree",
    "first_slot_rate",
    "resolution",
)
SECTIONS = {
    "drawn": "network, drawn features",
    "llama": "tiny Llama, PairwiseRewardTrainer",
    "real-pandalm": "network, real pairs: pandalm",
    "real": "network, real pairs: pandalm, hh_rlhf, judgebench",
}
#: Quantiles .975 of Student's t by degrees of freedom.
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 14: 2.14}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half-width of the 95% interval; 0 for one value."""
    count = len(values)
    if count < 2:
        return float(np.mean(values)), 0.0
    t = _T.get(count - 1, 2.1 if count < 30 else 1.96)
    return float(np.mean(values)), float(t * np.std(values, ddof=1) / np.sqrt(count))


def summary(runs: Sequence[Run]) -> list[dict[str, object]]:
    """One row an objective and weight, with the factor by which gap and flips fell."""
    rows: list[dict[str, object]] = []
    for objective in ("single", "unlabelled", "balanced"):
        plain = "single" if objective == "unlabelled" else objective
        base = {r.seed: r for r in runs if r.objective == plain and r.weight == 0.0}
        for weight in WEIGHTS:
            found = [r for r in runs if r.objective == objective and r.weight == weight]
            if not found:
                continue
            row: dict[str, object] = {
                "objective": objective,
                "weight": weight,
                "seeds": len(found),
            }
            for name in METRICS:
                mean, half = interval([getattr(r.metrics, name) for r in found])
                row[name], row[f"{name}_ci"] = mean, half
            for name in ("swap_gap", "flip_rate"):
                before = np.mean([getattr(base[r.seed].metrics, name) for r in found])
                after = np.mean([getattr(r.metrics, name) for r in found])
                row[f"{name}_down"] = float(before / max(after, 1e-9))
            gains = [r.metrics.accuracy - base[r.seed].metrics.accuracy for r in found]
            row["accuracy_gain"], row["accuracy_gain_ci"] = interval(gains)
            rows.append(row)
    return rows


def table(rows: Sequence[dict[str, object]]) -> str:
    """The summary for people."""
    heads = {
        "swap_gap": "swap gap",
        "flip_rate": "flip rate",
        "accuracy": "accuracy, 1 pass",
        "accuracy_preferred_first": "  preferred 1st",
        "accuracy_preferred_second": "  preferred 2nd",
        "accuracy_both": "both orders",
        "resolution": "resolution",
    }
    lines = [f"{'training':11}{'weight':>7}" + "".join(f"{head:>19}" for head in heads.values())]
    for row in rows:
        cells = "".join(f"{row[n]:>11.4f} ±{row[n + '_ci']:.4f}" for n in heads)
        lines.append(f"{row['objective']:11}{row['weight']:>7}{cells}")
    return "\n".join(lines)


def verdict(rows: Sequence[dict[str, object]]) -> list[str]:
    """The target in words: both down five times at equal or better accuracy (single order)."""
    lines = []
    for row in rows:
        if row["weight"] == 0.0:
            continue
        gain, half = row["accuracy_gain"], row["accuracy_gain_ci"]
        lines.append(
            f"{row['objective']}, weight {row['weight']}: swap gap / {row['swap_gap_down']:.1f}, "
            f"flip rate / {row['flip_rate_down']:.1f}, accuracy of one pass {gain:+.4f} ±{half:.4f}"
        )
    return lines


def main() -> None:
    """Run the experiments and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only the drawn features, fewer steps")
    parser.add_argument("--section", nargs="+", choices=SECTIONS, help="only these")
    parser.add_argument("--seeds", type=int, default=None, help="seeds of each training")
    parser.add_argument("--steps", type=int, default=None, help="of the networks' training")
    parser.add_argument("--json", type=Path, default=None, help="write all figures there")
    parser.add_argument("--plot", type=Path, default=None, help="write a picture there")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    start = time.perf_counter()
    machine = f"{platform.machine()}, 1 thread, torch {torch.__version__}"
    wanted = options.section or (["drawn"] if options.quick else list(SECTIONS))
    sections: dict[str, list[dict[str, object]]] = {}
    if options.json and options.section and options.json.exists():
        sections = json.loads(options.json.read_text())["sections"]
    steps = options.steps or (300 if options.quick else 800)
    for section in wanted:
        if section.startswith("real") and (missing := why_not()):
            print(f"{SECTIONS[section]} are left out: {missing}", file=sys.stderr)
            continue
        rows = summary(_runs(section, options.seeds or _seeds(section, options.quick), steps))
        sections[SECTIONS[section]] = rows
        print(f"\n{SECTIONS[section]} ({rows[0]['seeds']} seeds)\n{table(rows)}")
        print("\n".join(verdict(rows)), flush=True)
    seconds = time.perf_counter() - start
    print(f"\n{seconds:.0f} s on {machine}")
    sections = {name: sections[name] for name in SECTIONS.values() if name in sections}
    if options.json:
        report = {"machine": machine, "seconds": seconds, "sections": sections}
        options.json.write_text(json.dumps(report, indent=1))
    if options.plot:
        from benchmarks.swap_plot import draw

        draw(sections, options.plot)


def _seeds(section: str, quick: bool) -> int:
    return 3 if section == "llama" else 6 if quick else 10


def _runs(section: str, seeds: int, steps: int) -> list[Run]:
    if section == "llama":
        return _llamas(seeds)
    if section == "drawn":
        train = drawn_pairs(seeds, 4000, SLOT_BIAS, first_seed=0)
        return train_networks(train, drawn_pairs(seeds, 2000, None, first_seed=1000), steps)
    sources = ["pandalm"] if section == "real-pandalm" else list(FILES)
    return train_networks(*real_pairs(seeds, sources), steps)


def _llamas(seeds: int) -> list[Run]:
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            for objective, weight in TRAININGS:
                runs.append(llama_model(weight, objective, seed, 200, folder))
                print(f"  {len(runs)} Llamas trained", file=sys.stderr, flush=True)
    return runs


if __name__ == "__main__":
    main()
