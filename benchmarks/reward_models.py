"""Scoring with reward models: throughput, both orders of pairs, memory, padding.

    python benchmarks/reward_models.py [--quick] [--json FILE] [--threads N]
    python benchmarks/reward_models.py --part pairwise --prompts 0 1 2 --json FILE

On a CPU, with a Llama of 16 M parameters built on the spot. The workload is 8 prompts of 512 tokens
x 8 rollouts whose lengths are lognormal(5.5, 1.0), capped at 2,048, fixed seed; pairs are
every rollout against the first of its prompt, in both orders. `--quick` takes a quarter of the
rollouts over the whole spread of lengths, the longest among them, and two fifths of every length;
pairs are those of the prompt with the longest rollout. Padding and memory shrink with it, and so do
the ratios: the goals are for the full workload, and `--quick` only says which errors and shares are
wrong at any size.

TRL 1.16 scores a generation batch in one forward pass padded to its longest row
(`GRPOTrainer._calculate_rewards`: no micro-batches, no limit); the same call is timed here, in the
same process. All sides get token ids, so tokenising is no part of any time. `cpu` ratios compare
processor seconds and hold on a busy machine; `wall` ratios are in the JSON.

The whole takes a quarter of an hour on two cores. `--part` and `--prompts` run pieces of it, one a
prompt and each with both sides of its ratio, and `--json FILE` collects them as they come: a figure
is over all pieces that the file holds. A piece of the padded pass is as wide as the whole one; the
engine sees only the piece's rows, which spares it nothing.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.reward_model_workload import (
    LONGEST,
    PROMPT,
    VOCABULARY,
    Rows,
    build,
    engine_for,
    one_by_one,
    padded_forward,
    pairs_of,
    peak_growth,
    timed,
    workload,
)

PARTS = ("pointwise", "pairwise", "memory", "shape")
Piece = dict[str, float]


def pointwise(model: Any, rows: Rows, width: int) -> Piece:
    """Seconds of the engine (mean of two runs), of TRL's path and of batches of one.

    Errors are against batches of one; `rounding` is how far these are from float64.
    """
    sequences = [prompt + completion for prompt, completion in rows]
    engine = engine_for(model)
    first, *ours_a = timed(lambda: engine.score(sequences))
    trl, *theirs = timed(lambda: padded_forward(model, sequences, width))
    alone, *single = timed(lambda: one_by_one(model, sequences))
    exact = one_by_one(copy.deepcopy(model).double(), sequences)
    padding, computed = engine.stats.padding, engine.stats.computed
    _, *ours_b = timed(lambda: engine.score(sequences))
    return {
        "rows": len(sequences),
        "tokens": sum(map(len, sequences)),
        "engine_wall": (ours_a[0] + ours_b[0]) / 2,
        "engine_cpu": (ours_a[1] + ours_b[1]) / 2,
        "trl_wall": theirs[0],
        "trl_cpu": theirs[1],
        "one_by_one_wall": single[0],
        "one_by_one_cpu": single[1],
        "padding": padding,
        "computed": computed,
        "error": max(abs(a[0] - b) for a, b in zip(first, alone, strict=True)),
        "trl_error": max(abs(a - b) for a, b in zip(trl, alone, strict=True)),
        "rounding": max(abs(a - b) for a, b in zip(alone, exact, strict=True)),
    }


def pairwise(model: Any, rows: Rows, width: int) -> Piece:
    """Seconds of both orders: the engine, and one padded forward pass an order."""
    sequences = pairs_of(rows)
    engine = engine_for(model)
    ours, *our_time = timed(lambda: engine.score(sequences))
    firsts, seconds = sequences[::2], sequences[1::2]
    halves, *their_time = timed(
        lambda: [padded_forward(model, order, width) for order in (firsts, seconds)]
    )
    naive = [score for both in zip(*halves, strict=True) for score in both]
    return {
        "rows": len(rows),
        "tokens": sum(map(len, sequences)),
        "engine_wall": our_time[0],
        "engine_cpu": our_time[1],
        "naive_wall": their_time[0],
        "naive_cpu": their_time[1],
        "padding": engine.stats.padding,
        "computed": engine.stats.computed,
        "error": max(abs(a[0] - b) for a, b in zip(ours, naive, strict=True)),
    }


def memory(model: Any, rows: int, length: int) -> Piece:
    """Peak of memory over what the model itself holds, on long completions."""
    made = random.Random(2)
    prompt = [made.randrange(1, VOCABULARY) for _ in range(PROMPT)]
    sequences = [
        prompt + [made.randrange(1, VOCABULARY) for _ in range(length)] for _ in range(rows)
    ]
    ours = peak_growth(lambda: engine_for(model).score(sequences))
    theirs = peak_growth(lambda: padded_forward(model, sequences))
    return {"rows": rows, "engine_mib": ours, "trl_mib": theirs}


def three_billion() -> Piece:
    """A 3 B-shaped model on the meta device: no weight is made."""
    from transformers import LlamaConfig

    from assay.rewards.placement import GIB, memory_of_config

    config = LlamaConfig(
        vocab_size=166_144,
        hidden_size=2_560,
        intermediate_size=10_496,
        num_hidden_layers=32,
        num_attention_heads=20,
        num_key_value_heads=4,
        head_dim=128,
        num_labels=1,
        dtype="bfloat16",
        pad_token_id=0,
    )
    found = memory_of_config(config)
    print(found.table(ranks=8))
    return {
        "parameters": found.parameters,
        "weights_gib": found.weights / GIB,
        "prefix_cache_gib": found.prefix_cache / GIB,
        "micro_batch_gib": found.micro_batch / GIB,
    }


def figures(pieces: Mapping[str, Mapping[str, Piece]]) -> list[tuple[str, float, str, bool]]:
    """(name, value, goal, reached) over all pieces that were measured."""
    found: list[tuple[str, float, str, bool]] = []

    def add(name: str, value: float, goal: str, reached: bool) -> None:
        found.append((name, value, goal, reached))

    points, pairs = list(pieces["pointwise"].values()), list(pieces["pairwise"].values())
    if points:
        over = _sum(points, "trl_cpu") / _sum(points, "engine_cpu")
        add("point-wise throughput over TRL (cpu)", over, ">= 6.7, aim 9", over >= 6.7)
        over = _sum(points, "one_by_one_cpu") / _sum(points, "engine_cpu")
        add("point-wise throughput over batches of one (cpu)", over, "> 1", over > 1)
    if pairs:
        share = _sum(pairs, "engine_cpu") / _sum(pairs, "naive_cpu")
        add("pair-wise both orders, share of naive time (cpu)", share, "<= .25", share <= 0.25)
    for room in pieces["memory"].values():
        share = room["engine_mib"] / room["trl_mib"]
        add("memory peak, share of TRL's", share, "<= .25", share <= 0.25)
    if points or pairs:
        shares = [
            _sum(side, "padding") / (_sum(side, "padding") + _sum(side, "computed"))
            for side in (points, pairs)
            if side
        ]
        add("padding, share of tokens computed", max(shares), "< .05", max(shares) < 0.05)
    if points:
        error = max(piece["error"] for piece in points)
        add("largest error against one-by-one forwards", error, "<= 1e-5", error <= 1e-5)
    return found


def _sum(pieces: Sequence[Piece], name: str) -> float:
    return sum(piece[name] for piece in pieces)


def main() -> int:
    """Run what is asked for; 0 where every figure measured is reached, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a smaller workload, under 50 s")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="only these")
    parser.add_argument("--prompts", nargs="+", type=int, help="these prompts, piece by piece")
    parser.add_argument("--json", type=Path, help="collect all figures there")
    parser.add_argument(
        "--threads", type=int, default=min(2, os.cpu_count() or 1), help="torch threads"
    )
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    quick = arguments.quick
    rows = workload(quick=quick)
    prompts = sorted(set(arguments.prompts or range(len(rows) // 8)))
    if prompts[-1] >= len(rows) // 8 or prompts[0] < 0:
        parser.error(f"--prompts are 0 to {len(rows) // 8 - 1}")
    machine = f"{platform.processor() or platform.machine()}, torch {torch.__version__}"
    about = {"quick": quick, "threads": arguments.threads, "machine": machine}
    pieces = _collected(arguments.json, about)
    model = build()
    size = sum(parameter.numel() for parameter in model.parameters())
    start = time.perf_counter()

    def save() -> None:
        if arguments.json is not None:
            found = figures(pieces)
            report = about | {
                "parameters": size,
                "pieces": pieces,
                "figures": {name: value for name, value, _, _ in found},
                "reached": {name: reached for name, _, _, reached in found},
            }
            draft = arguments.json.with_suffix(".tmp")
            draft.write_text(json.dumps(report, indent=2) + "\n")
            draft.replace(arguments.json)

    if "memory" in arguments.part:
        # Shorter rows in quick mode: TRL's peak grows with rows x length, the engine's does not.
        length = (12, 512) if quick else (64, LONGEST)
        pieces["memory"] = {"all": memory(model, *length)}
        save()
    groups = [[prompt] for prompt in prompts] if arguments.prompts else [prompts]
    if "pointwise" in arguments.part:
        width = max(len(prompt) + len(completion) for prompt, completion in rows)
        for group in groups:
            _add(pieces["pointwise"], group, pointwise(model, _rows(rows, group), width))
            save()
    if "pairwise" in arguments.part:
        if quick:
            longest = max(range(len(rows)), key=lambda i: len(rows[i][1])) // 8
            rows, groups = _rows(rows, [longest]), [[0]]
        width = max(map(len, pairs_of(rows)))
        for group in groups:
            _add(pieces["pairwise"], group, pairwise(model, _rows(rows, group), width))
            save()
    if "shape" in arguments.part:
        pieces["shape"] = {"three billion": three_billion()}
        save()
    found = figures(pieces)
    by_size = {name for name, _, _, _ in found if "throughput over TRL" in name}
    by_size |= {name for name, _, _, _ in found if "share of naive" in name or "peak" in name}
    by_size = by_size if quick else set()
    print(f"\n{size / 1e6:.1f} M parameters, {arguments.threads} threads, {machine}")
    for part in ("pointwise", "pairwise"):
        if pieces[part]:
            measured = sorted(int(p) for name in pieces[part] for p in name.split())
            print(
                f"{part}: prompts {measured}, {_sum(list(pieces[part].values()), 'tokens')} tokens"
            )
    for name, value, goal, reached in found:
        word = "reached" if reached else "below it" if name in by_size else "MISSED"
        print(f"{name:52}{value:12.4g}   {goal:14}{word}")
    print(f"{time.perf_counter() - start:.0f} s")
    if quick:
        print(
            "goals of throughput, pairs and memory are for the full workload: run without --quick"
        )
    return 0 if all(reached or name in by_size for name, _, _, reached in found) else 1


def _collected(path: Path | None, about: Mapping[str, Any]) -> dict[str, dict[str, Piece]]:
    """Pieces of earlier runs of the same kind; of another kind, none."""
    empty: dict[str, dict[str, Piece]] = {part: {} for part in PARTS}
    if path is None or not path.exists():
        return empty
    report = json.loads(path.read_text())
    return report["pieces"] if all(report.get(k) == v for k, v in about.items()) else empty


def _rows(rows: Rows, prompts: Sequence[int]) -> Rows:
    return [row for prompt in prompts for row in rows[8 * prompt : 8 * prompt + 8]]


def _add(pieces: dict[str, Piece], prompts: Sequence[int], piece: Piece) -> None:
    """A piece takes the place of those that share a prompt with it."""
    for other in [name for name in pieces if {*map(int, name.split())} & {*prompts}]:
        del pieces[other]
    pieces[" ".join(map(str, prompts))] = piece


if __name__ == "__main__":
    sys.exit(main())
