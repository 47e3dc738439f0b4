"""Audits measured: published values, coverage, position terms, a million verdicts, calibration.

    python benchmarks/calibration.py --json calibration.json         # all five, some minutes
    python benchmarks/calibration.py --quick                         # fewer simulations
    python benchmarks/calibration.py --only coverage position

`ASSAY_DATA` names the folder with LLMBar's and JudgeBench's verdicts for the first and last.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.calibration import (
    Temperature,
    audit_verdicts,
    cluster_totals,
    clustered_bootstrap,
    cross_fit,
    fit_position_term,
    read_verdicts,
)
from assay.calibration.position import position_indicators, position_statistics
from assay.calibration.position_term import two_order_statistic
from assay.errors import DataError

JUDGEBENCH = {
    "o1-mini-2024-09-12": 65.71,
    "Skywork_Skywork-Reward-Gemma-2-27B": 64.29,
    "Skywork_Skywork-Reward-Llama-3.1-8B": 62.29,
    "internlm_internlm2-20b-reward": 63.43,
    "internlm_internlm2-7b-reward": 59.43,
    "Ray2333_GRM-Gemma-2B-rewardmodel-ft": 59.43,
}
LLMBAR = {
    "GPT-4/Vanilla": 0.03,
    "GPT-4/CoT": 0.10,
    "ChatGPT/CoT": 0.77,
    "PaLM2/CoT": 1.11,
    "LLaMA2/Swap_CoT": -0.38,
    "Falcon/CoT": 2.60,
}


def data_folder() -> Path | None:
    """The folder of real data, or None."""
    folder = os.environ.get("ASSAY_DATA")
    return Path(folder) if folder else None


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def published(quick: bool) -> list[dict[str, Any]]:
    """Accuracy on JudgeBench and position terms on LLMBar, recomputed."""
    folder, rows = data_folder(), []
    if folder is None:
        return []
    for audit in audit_verdicts(
        read_verdicts(folder / "judgebench" / "judgments.jsonl.gz"), resamples=100
    ):
        ours = 100 * audit.figures["both_orders_accuracy"].estimate
        rows.append({"what": audit.judge, "ours": ours, "published": JUDGEBENCH[audit.judge]})
    table = read_verdicts(folder / "llmbar" / "judgments_both_orders.csv.gz")
    for pairs in table.by_judge():
        if pairs.judge in LLMBAR:
            valid = (pairs.ab >= 0) & (pairs.ba >= 0)
            share = [float((side[valid] == 0).mean()) for side in (pairs.ab, pairs.ba)]
            b = sum(np.log(s / (1 - s)) for s in share) / 2
            rows.append({"what": f"b {pairs.judge}", "ours": b, "published": LLMBAR[pairs.judge]})
    return rows


def coverage(quick: bool) -> list[dict[str, Any]]:
    """Coverage of 95% intervals by prompt, beside a bootstrap that draws single games."""
    audits = 200 if quick else 2000
    prompts, pairs = 150, 4
    truths = _truths(prompts * pairs)
    names = ("consistency", "fairness", "position term")
    hits = {how: np.zeros(3) for how in ("by prompt", "by game")}
    for seed in range(audits):
        rows, groups = _clustered(np.random.default_rng(seed), prompts, pairs)
        for how, units in (("by prompt", groups), ("by game", np.arange(len(rows)))):
            found = clustered_bootstrap(
                cluster_totals(rows, units), _statistics, resamples=1000, seed=seed
            )
            hits[how] += [t in f for t, f in zip(truths, found, strict=True)]
    return [
        {"what": f"{name}, {how}", "coverage": float(hits[how][i] / audits), "audits": audits}
        for how in hits
        for i, name in enumerate(names)
    ]


def _statistics(sums: Any) -> Any:
    places = position_statistics(sums)
    return np.column_stack([places[:, :2], two_order_statistic(sums[:, 6:])])


def _clustered(generator: Any, prompts: int, pairs: int) -> tuple[Any, Any]:
    """Pairs of a prompt share how close the answers are and how much the place counts."""
    groups = np.repeat(np.arange(prompts), pairs)
    quality = 1.5 * generator.normal(size=prompts)[groups]
    place = 0.5 + 1.0 * generator.normal(size=prompts)[groups]
    ab = (generator.random(len(groups)) > sigmoid(place + quality)).astype(np.int8)
    ba = (generator.random(len(groups)) > sigmoid(place - quality)).astype(np.int8)
    ones = np.ones(len(groups))
    columns = np.column_stack([position_indicators(ab, ba), ab == 0, ones, ba == 0, ones])
    return columns.astype(float), groups


def _truths(size: int) -> Any:
    rows, _ = _clustered(np.random.default_rng(10**6), 2_000_000, 1)
    # A sample of `size` pairs, in sums: the half counts of the penalty are those of the sample.
    return _statistics(rows.mean(axis=0, keepdims=True) * size)[0]


def position(quick: bool) -> list[dict[str, Any]]:
    """Bias of b on simulated judges with unbalanced orders, by Firth, plain and pooled."""
    simulations, n, rows = (200 if quick else 4000), 2000, []
    for b in (0.0, 0.3, 1.0, 2.0, 3.0):
        per_b = simulations // 5
        sums = {"firth": 0.0, "plain": 0.0, "pooled": 0.0}
        refused = 0
        for seed in range(per_b):
            generator = np.random.default_rng((seed, int(10 * b)))
            better_first = generator.random(n) < 0.8
            gap = np.abs(generator.normal(size=n)) * np.where(better_first, 1.0, -1.0)
            wins = (generator.random(n) < sigmoid(gap + b)).astype(float)
            sums["firth"] += fit_position_term(wins, gap).b
            sums["plain"] += fit_position_term(wins, gap, penalty="none").b
            share = min(max(float(wins.mean()), 0.5 / n), 1 - 0.5 / n)
            sums["pooled"] += float(np.log(share / (1 - share)))
            try:
                fit_position_term(wins[better_first], np.sign(gap[better_first]))
            except DataError:
                refused += 1
        row = {"what": f"b = {b}", "simulations": per_b, "refused": refused / per_b}
        rows.append(row | {f"bias {k}": v / per_b - b for k, v in sums.items()})
    return rows


def million(quick: bool) -> list[dict[str, Any]]:
    """An audit of a million verdicts from a file, beside a loop over pandas' groups."""
    verdicts, loops = (100_000 if quick else 1_000_000), 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.jsonl"
        _write_verdicts(path, verdicts)
        command = [sys.executable, __file__, "--audit-file", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        ours = json.loads(done.stdout)
        start = time.perf_counter()
        _pandas_loop(path, loops)
        per_resample = (time.perf_counter() - start) / loops
    return [
        {
            "what": f"{verdicts:,} verdicts, 1,000 resamples",
            "seconds": ours["seconds"],
            "peak_gb": ours["peak_gb"],
            "pandas_seconds": 1000 * per_resample,
            "ratio": 1000 * per_resample / ours["seconds"],
        }
    ]


def _write_verdicts(path: Path, verdicts: int) -> None:
    generator = np.random.default_rng(0)
    pairs = verdicts // 2
    quality = generator.normal(size=pairs) * 1.5
    with path.open("w") as file:
        for order, sign in (("AB", 1.0), ("BA", -1.0)):
            p = sigmoid(sign * quality + 0.4).round(4)
            first = generator.random(pairs) < p
            for i in range(pairs):
                label = "A" if quality[i] > 0 else "B"
                file.write(
                    f'{{"item": "pair-{i}", "prompt_id": {i // 4}, "order": "{order}", "choice": '
                    f'"{"first" if first[i] else "second"}", "p_first": {p[i]}, '
                    f'"label": "{label}"}}\n'
                )


def _audit_file(path: Path) -> None:
    start = time.perf_counter()
    (audit,) = audit_verdicts(read_verdicts(path), resamples=1000)
    seconds = time.perf_counter() - start
    wanted = ("consistency", "fairness", "position_term", "ece")
    assert all(audit.figures[name].defined for name in wanted)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(json.dumps({"seconds": seconds, "peak_gb": peak}))


def _pandas_loop(path: Path, loops: int) -> None:
    """The same resampling as people write it: concatenate the drawn groups, compute, repeat."""
    import pandas as pd

    frame = pd.read_json(path, lines=True)
    wide = frame.pivot(index=["prompt_id", "item", "label"], columns="order").reset_index()
    wide.columns = ["_".join(c).rstrip("_") for c in wide.columns]
    groups = {name: group for name, group in wide.groupby("prompt_id")}
    names = np.array(list(groups))
    generator = np.random.default_rng(0)
    for _ in range(loops):
        drawn = generator.choice(names, size=len(names))
        sample = pd.concat([groups[name] for name in drawn])
        flips = sample.choice_AB == sample.choice_BA
        first = flips & (sample.choice_AB == "first")
        _ = (1 - flips.mean(), (flips.sum() - 2 * first.sum()) / len(sample))
        shares = [(sample[f"choice_{o}"] == "first").mean() for o in ("AB", "BA")]
        _ = sum(np.log(s / (1 - s)) for s in shares) / 2
        p = (sample.p_first_AB + 1 - sample.p_first_BA) / 2
        bins = pd.cut(p, np.linspace(0, 1, 11), include_lowest=True)
        gap = ((sample.label == "A") - p).groupby(bins, observed=True).agg(["mean", "size"])
        _ = (gap["mean"].abs() * gap["size"]).sum() / len(sample)


def calibrated(quick: bool) -> list[dict[str, Any]]:
    """JudgeBench's reward models before and after a cross-fitted temperature."""
    folder, rows = data_folder(), []
    if folder is None:
        return []
    with gzip.open(folder / "judgebench" / "judgments.jsonl.gz", "rt") as file:
        found = [json.loads(line) for line in file]
    for judge in JUDGEBENCH:
        mine = [row for row in found if row["judge_model"] == judge and row.get("scores")]
        if not mine:
            continue
        d = np.array([row["scores"][0][0] - row["scores"][0][1] for row in mine])
        y = np.array([row["label"] == "A>B" for row in mine], dtype=float)
        fit = cross_fit(Temperature(scale="logit"), d, y)
        rows.append(
            {
                "what": judge,
                "raw_ece": fit.raw.ece,
                "ece": fit.calibrated.ece,
                "null_high": fit.calibrated.null_high,
                "inside": fit.calibrated.inside_null,
                "raw_log_loss": fit.raw.log_loss,
                "log_loss": fit.calibrated.log_loss,
                "raw_accuracy": fit.raw.accuracy,
                "accuracy": fit.calibrated.accuracy,
            }
        )
    return rows


PARTS: dict[str, Callable[[bool], list[dict[str, Any]]]] = {
    "published": published,
    "coverage": coverage,
    "position": position,
    "million": million,
    "calibrated": calibrated,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="audits measured")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--audit-file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.audit_file:
        _audit_file(options.audit_file)
        return
    record: dict[str, Any] = {"cpus": os.cpu_count(), "machine": platform.processor()}
    for name in options.only:
        rows = PARTS[name](options.quick)
        record[name] = rows
        print(f"\n{name}" + ("" if rows else ": skipped, ASSAY_DATA is not set"))
        for row in rows:
            cells = "  ".join(
                f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}"
                for k, v in row.items()
                if k != "what"
            )
            print(f"  {row['what']:<40} {cells}")
    print(f"\n{os.cpu_count()} CPUs, Python {platform.python_version()}, NumPy {np.__version__}")
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
