"""Scoring with reward models: throughput, both orders of pairs, memory, padding.

    python benchmarks/reward_models.py [--quick] [--json FILE] [--threads N]

On a CPU, with a Llama of 16 M parameters built on the spot. The workload is 8 prompts of 512 tokens
x 8 rollouts whose lengths are lognormal(5.5, 1.0), capped at 2,048, fixed seed; pairs are
every rollout against the first of its prompt, in both orders. `--quick` takes half of the
rollouts over the whole spread of lengths, the longest among them, and a quarter of every length;
pairs are those of the prompt with the longest rollout. Padding and memory shrink with it, and so do
the ratios: the goals are for the full workload, and `--quick` only says which errors and shares are
wrong at any size.

TRL 1.16 scores a generation batch in one forward pass padded to its longest row
(`GRPOTrainer._calculate_rewards`: no micro-batches, no limit); the same call is timed here, in the
same process. All sides get token ids, so tokenising is no part of any time. `cpu` ratios compare
processor seconds and hold on a busy machine; `wall` ratios are in the JSON.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

VOCABULARY = 16_000
PROMPT = 512
LONGEST = 2_048


def build(**settings: Any) -> Any:
    """The reward model."""
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification

    torch.manual_seed(0)
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 384,
        "intermediate_size": 1_024,
        "num_hidden_layers": 6,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8_192,
        "initializer_range": 0.1,
        "pad_token_id": 0,
        "num_labels": 1,
    }
    return LlamaForSequenceClassification(LlamaConfig(**shape | settings)).eval()


Rows = list[tuple[list[int], list[int]]]


def workload(prompts: int = 8, *, quick: bool = False) -> Rows:
    """(prompt, completion) of every rollout, eight to a prompt.

    `quick`: 4 prompts with every second of the 64 lengths, everything a quarter as long.
    """
    made = random.Random(0)
    lengths = [max(1, min(LONGEST, int(made.lognormvariate(5.5, 1.0)))) for _ in range(64)]
    scale = 4 if quick else 1
    if quick:
        prompts, lengths = 4, sorted(lengths)[1::2]
        made.shuffle(lengths)

    def tokens(count: int) -> list[int]:
        return [made.randrange(1, VOCABULARY) for _ in range(max(1, count // scale))]

    rows = []
    for number in range(prompts):
        prompt = tokens(PROMPT)
        rows += [(prompt, tokens(length)) for length in lengths[8 * number : 8 * number + 8]]
    return rows


def with_longest(rows: Rows) -> Rows:
    """The eight rows of the prompt that has the longest completion."""
    longest = max(range(len(rows)), key=lambda i: len(rows[i][1]))
    start = longest - longest % 8
    return rows[start : start + 8]


def padded_forward(model: Any, sequences: list[list[int]]) -> list[float]:
    """TRL's way: one forward pass over everything, padded on the right to the longest row."""
    import torch

    longest = max(map(len, sequences))
    ids = torch.tensor([s + [0] * (longest - len(s)) for s in sequences])
    mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in sequences])
    with torch.inference_mode():
        scores: list[float] = model(input_ids=ids, attention_mask=mask).logits[:, 0].tolist()
    return scores


def one_by_one(model: Any, sequences: list[list[int]]) -> list[float]:
    """Batches of one: no padding, nothing shared."""
    import torch

    with torch.inference_mode():
        return [model(input_ids=torch.tensor([s])).logits[0, 0].item() for s in sequences]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """A result, its wall seconds and its processor seconds."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def peak_growth(work: Callable[[], Any]) -> float:
    """MiB by which resident memory rose at its highest; Linux keeps and resets the mark."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # freed memory must not hide a growth
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return float(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {name}")


def engine_for(model: Any, **batching: Any) -> Any:
    """A fresh engine, warmed up."""
    from assay.rewards.engine import Batching, Engine
    from assay.rewards.heads import ClassificationHead

    engine = Engine([model], ClassificationHead(), Batching(**batching))
    engine.score([[1, 2, 3]])
    engine.stats.reset()
    return engine


def pointwise(model: Any, rows: Rows) -> dict[str, float]:
    """Throughput against TRL's path and against batches of one."""
    sequences = [prompt + completion for prompt, completion in rows]
    engine = engine_for(model)
    first, *ours_a = timed(lambda: engine.score(sequences))
    trl, *theirs = timed(lambda: padded_forward(model, sequences))
    alone, *single = timed(lambda: one_by_one(model, sequences))
    _, *ours_b = timed(lambda: engine.score(sequences))
    wall, cpu = (statistics.fmean(pair) for pair in zip(ours_a, ours_b, strict=True))
    tokens = sum(map(len, sequences))
    return {
        "tokens": float(tokens),
        "engine_tokens_per_s": tokens / wall,
        "trl_tokens_per_s": tokens / theirs[0],
        "speedup_over_trl_wall": theirs[0] / wall,
        "speedup_over_trl_cpu": theirs[1] / cpu,
        "speedup_over_batches_of_one_wall": single[0] / wall,
        "speedup_over_batches_of_one_cpu": single[1] / cpu,
        "batches_of_one_over_trl_cpu": theirs[1] / single[1],
        "padding_share": engine.stats.padding_share,
        "tokens_computed_share": engine.stats.computed / engine.stats.tokens,
        "largest_error_against_one_by_one": max(
            abs(a[0] - b) for a, b in zip(first, alone, strict=True)
        ),
        "largest_error_of_trl": max(abs(a - b) for a, b in zip(trl, alone, strict=True)),
    }


def pairwise(model: Any, rows: Rows) -> dict[str, float]:
    """Both orders of every rollout against the first of its prompt."""
    mark = [7, 7, 7, 7]
    sequences = []
    prompt, reference = rows[0]
    for other, completion in rows:
        if other is not prompt:
            prompt, reference = other, completion
            continue
        if completion is reference:
            continue
        sequences.append([*prompt, *completion, *mark, *reference, *mark])
        sequences.append([*prompt, *reference, *mark, *completion, *mark])
    engine = engine_for(model)
    ours, *our_time = timed(lambda: engine.score(sequences))
    firsts, seconds = sequences[::2], sequences[1::2]  # one padded forward an order
    halves, *their_time = timed(
        lambda: (padded_forward(model, firsts), padded_forward(model, seconds))
    )
    naive = [score for both in zip(*halves, strict=True) for score in both]
    return {
        "pairs": len(sequences) / 2,
        "time_share_of_naive_wall": our_time[0] / their_time[0],
        "time_share_of_naive_cpu": our_time[1] / their_time[1],
        "padding_share": engine.stats.padding_share,
        "tokens_computed_share": engine.stats.computed / engine.stats.tokens,
        "largest_difference": max(abs(a[0] - b) for a, b in zip(ours, naive, strict=True)),
    }


def memory(model: Any, rows: int, length: int) -> dict[str, float]:
    """Peak of memory over what the model itself holds, on long completions."""
    made = random.Random(2)
    prompt = [made.randrange(1, VOCABULARY) for _ in range(PROMPT)]
    sequences = [
        prompt + [made.randrange(1, VOCABULARY) for _ in range(length)] for _ in range(rows)
    ]
    ours = peak_growth(lambda: engine_for(model).score(sequences))
    theirs = peak_growth(lambda: padded_forward(model, sequences))
    return {"rows": rows, "engine_mib": ours, "trl_mib": theirs, "share": ours / theirs}


def three_billion() -> dict[str, float]:
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


def main() -> int:
    """Run all parts; 0 where every figure is reached, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a smaller workload, under 50 s")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument(
        "--threads", type=int, default=min(2, os.cpu_count() or 1), help="torch threads"
    )
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    model = build()
    size = sum(parameter.numel() for parameter in model.parameters())
    start = time.perf_counter()
    # Shorter rows in quick mode: TRL's peak grows with rows x length, the engine's does not.
    room = memory(model, 12, 512) if arguments.quick else memory(model, 64, LONGEST)
    rows = workload(quick=arguments.quick)
    points = pointwise(model, rows)
    pairs = pairwise(model, with_longest(rows) if arguments.quick else rows)
    large = three_billion()
    figures: list[tuple[str, float, str, bool]] = [
        (
            "point-wise throughput over TRL (cpu)",
            points["speedup_over_trl_cpu"],
            ">= 6.7, aim 9",
            points["speedup_over_trl_cpu"] >= 6.7,
        ),
        (
            "point-wise throughput over batches of one (cpu)",
            points["speedup_over_batches_of_one_cpu"],
            "> 1",
            points["speedup_over_batches_of_one_cpu"] > 1,
        ),
        (
            "pair-wise both orders, share of naive time (cpu)",
            pairs["time_share_of_naive_cpu"],
            "<= .25",
            pairs["time_share_of_naive_cpu"] <= 0.25,
        ),
        ("memory peak, share of TRL's", room["share"], "<= .25", room["share"] <= 0.25),
        (
            "padding, share of tokens computed",
            max(points["padding_share"], pairs["padding_share"]),
            "< .05",
            max(points["padding_share"], pairs["padding_share"]) < 0.05,
        ),
        (
            "largest error against one-by-one forwards",
            points["largest_error_against_one_by_one"],
            "<= 1e-5",
            points["largest_error_against_one_by_one"] <= 1e-5,
        ),
    ]
    by_size = {figures[i][0] for i in (0, 2, 3)} if arguments.quick else set()
    print(
        f"\n{size / 1e6:.1f} M parameters, {points['tokens']:.0f} tokens, {arguments.threads} "
        f"threads, {platform.processor() or platform.machine()}, torch {torch.__version__}"
    )
    for name, value, goal, reached in figures:
        word = "reached" if reached else "below it" if name in by_size else "MISSED"
        print(f"{name:52}{value:12.4g}   {goal:14}{word}")
    print(f"{time.perf_counter() - start:.0f} s")
    if by_size:
        print(
            "goals of throughput, pairs and memory are for the full workload: run without --quick"
        )
    if arguments.json:
        report = {
            "quick": arguments.quick,
            "threads": arguments.threads,
            "parameters": size,
            "pointwise": points,
            "pairwise": pairs,
            "memory": room,
            "three_billion": large,
            "reached": {name: reached for name, _, _, reached in figures},
        }
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(reached or name in by_size for name, _, _, reached in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
