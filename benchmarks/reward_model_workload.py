"""The model, the rows, the ways of scoring and the clocks of `reward_models.py`."""

from __future__ import annotations

import ctypes
import gc
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VOCABULARY = 16_000
PROMPT = 512
LONGEST = 2_048


def build(**settings: Any) -> Any:
    """The reward model.

    Its weights have a standard deviation of 1/sqrt(hidden size), which keeps the scale of what
    passes through, as training does. With twice that, a forward pass in fp32 is itself 2e-5 from
    one in float64, and no comparison at 1e-5 says anything.
    """
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
        "initializer_range": 0.05,
        "pad_token_id": 0,
        "num_labels": 1,
    }
    return LlamaForSequenceClassification(LlamaConfig(**shape | settings)).eval()


Rows = list[tuple[list[int], list[int]]]


def workload(prompts: int = 8, *, quick: bool = False) -> Rows:
    """(prompt, completion) of every rollout, eight to a prompt.

    `quick`: 2 prompts with every fourth of the 64 lengths, everything two fifths as long.
    """
    made = random.Random(0)
    lengths = [max(1, min(LONGEST, int(made.lognormvariate(5.5, 1.0)))) for _ in range(64)]
    scale = 0.4 if quick else 1.0
    if quick:
        prompts, lengths = 2, sorted(lengths)[3::4]
        made.shuffle(lengths)

    def tokens(count: int) -> list[int]:
        return [made.randrange(1, VOCABULARY) for _ in range(max(1, int(count * scale)))]

    rows = []
    for number in range(prompts):
        prompt = tokens(PROMPT)
        rows += [(prompt, tokens(length)) for length in lengths[8 * number : 8 * number + 8]]
    return rows


def pairs_of(rows: Rows) -> list[list[int]]:
    """Both orders of every rollout against the first of its prompt, one after the other."""
    mark = [7, 7, 7, 7]
    sequences = []
    for start in range(0, len(rows), 8):
        prompt, reference = rows[start]
        for _, completion in rows[start + 1 : start + 8]:
            sequences.append([*prompt, *completion, *mark, *reference, *mark])
            sequences.append([*prompt, *reference, *mark, *completion, *mark])
    return sequences


def padded_forward(model: Any, sequences: list[list[int]], width: int = 0) -> list[float]:
    """TRL's way: one forward pass over everything, padded on the right to the longest row.

    `width`: that of the whole batch, where `sequences` are a part of it.
    """
    import torch

    longest = max(width, *map(len, sequences))
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
