"""Train a small complexity judge: SFT of a causal LM on (program, expression) rows.

    python examples/train_complexity_judge.py                          # a tiny Llama, made here
    python examples/train_complexity_judge.py --model PATH --rows rows.jsonl --out judge

Rows are JSON lines with `src` (the program), `complexity` (an expression) and `language` (python
where it is missing). The trained model then answers through `LocalModel` and `LLMComplexity`, as
any judge would, and the script reports accuracy, p95 latency of single programs and programs/s in
batches. A tiny model trained for seconds often writes malformed verdicts: they are abstentions.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.judges.complexity.expression import parse
from assay.judges.complexity.llm import LLMComplexity
from assay.judges.complexity.program import Program
from assay.judges.local_model import LocalModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
warnings.filterwarnings("ignore", category=FutureWarning)

Row = tuple[Program, str]

#: Programs of the demonstration; the names vary from row to row.
TEMPLATES = {
    "1": "def {f}({a}):\n    return {a}[0]\n",
    "log n": "def {f}({a}):\n    while {a} > 1:\n        {a} //= 2\n",
    "n": "def {f}({a}):\n    for {i} in {a}:\n        {g}({i})\n",
    "n log n": "def {f}({a}):\n    return sorted({a})\n",
    "n^2": "def {f}({a}):\n  for {i} in {a}:\n    for {j} in {a}:\n      {g}({i}, {j})\n",
}


@dataclass(frozen=True)
class Report:
    """What the trained judge is worth on rows that it has not seen."""

    rows: int
    accuracy: float
    decided: float
    p95_latency_ms: float
    programs_per_s: float
    train_s: float


def demonstration(count: int, seed: int) -> list[Row]:
    """Rows of a few templates with names drawn at random."""
    rng = random.Random(seed)
    rows = []
    for index in range(count):
        names = rng.sample("pqrstuvwxyz", 5)
        expression = list(TEMPLATES)[index % len(TEMPLATES)]
        source = TEMPLATES[expression].format(**dict(zip("faijg", names, strict=True)))
        rows.append((Program(source, "python"), expression))
    return rows


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSON lines file; a label that is no complexity names its line."""
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        row = json.loads(line)
        try:
            expression = str(parse(str(row["complexity"])))
        except (DataError, KeyError) as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        rows.append((Program(row["src"], row.get("language", "python").lower()), expression))
    return rows


def tiny() -> tuple[Any, Any]:
    """A tiny Llama whose tokenizer knows the words of the prompt."""
    import torch
    from tokenizers import ByteLevelBPETokenizer

    from examples.tiny_models import tiny_llama, tiny_tokenizer

    torch.set_num_threads(1)  # a model this small only loses by more
    judge = LLMComplexity(LocalModel("unused"))
    texts = [judge.request(program).messages[0].content for program, _ in demonstration(20, seed=1)]
    tokenizer = tiny_tokenizer()
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, 2000, special_tokens=["<unk>", "<|im_start|>", "<|im_end|>"])
    tokenizer._tokenizer = bpe._tokenizer
    return tiny_llama(tokenizer), tokenizer


def train(model: Any, tokenizer: Any, rows: Sequence[Row], steps: int, out: str) -> float:
    """Fine-tune on the verdicts alone; returns seconds."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    judge = LLMComplexity(LocalModel("unused"), rename=True)
    data = Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": judge.request(program).messages[0].content}],
                "completion": [
                    {"role": "assistant", "content": json.dumps({"expression": expression})}
                ],
            }
            for program, expression in rows
        ]
    )
    arguments = SFTConfig(
        output_dir=out,
        max_steps=steps,
        per_device_train_batch_size=4,
        learning_rate=1e-2 if model.num_parameters() < 1e7 else 2e-5,
        lr_scheduler_type="cosine",
        max_length=min(2048, model.config.max_position_embeddings),
        bf16=False,
        dataloader_pin_memory=False,
        report_to=[],
        save_strategy="no",
        logging_steps=max(1, steps // 5),
        disable_tqdm=True,
        seed=0,
    )
    start = time.monotonic()
    SFTTrainer(model, args=arguments, train_dataset=data, processing_class=tokenizer).train()
    model.eval()
    return time.monotonic() - start


def evaluate(judge: LLMComplexity, rows: Sequence[Row], train_s: float) -> Report:
    """Accuracy over all rows (an undecided one counts as wrong), latency one by one, throughput."""
    programs = [program for program, _ in rows]
    start = time.monotonic()
    estimates = judge.estimate(programs)
    seconds = time.monotonic() - start
    latencies = []
    for program in programs[:64]:
        begin = time.monotonic()
        judge.estimate([program])
        latencies.append(time.monotonic() - begin)
    right = sum(
        e.expression == expression for e, (_, expression) in zip(estimates, rows, strict=True)
    )
    return Report(
        rows=len(rows),
        accuracy=right / len(rows),
        decided=sum(e.expression is not None for e in estimates) / len(rows),
        p95_latency_ms=1000 * sorted(latencies)[math.ceil(0.95 * len(latencies)) - 1],
        programs_per_s=len(rows) / seconds,
        train_s=train_s,
    )


def main(arguments: Sequence[str] | None = None) -> Report:
    """Train, evaluate on the held-out fifth of the rows, print the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--model", help="a folder or hub name; a tiny Llama where left out")
    parser.add_argument("--rows", type=Path, help="JSON lines; generated ones where left out")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--out", type=Path, help="where to save the judge")
    options = parser.parse_args(arguments)
    if options.model is None:
        model, tokenizer = tiny()
    else:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        model = AutoModelForCausalLM.from_pretrained(options.model)
        tokenizer = AutoTokenizer.from_pretrained(options.model)
    rows = demonstration(60, seed=0) if options.rows is None else read_rows(options.rows)
    if len(rows) < 5:
        raise DataError(f"at least 5 rows are needed, a fifth of them held out; got {len(rows)}")
    held_out = rows[::5] if options.rows is not None else rows[: len(rows) // 5]
    training = [row for row in rows if row not in held_out]
    with tempfile.TemporaryDirectory() as scratch:
        train_s = train(model, tokenizer, training, options.steps, scratch)
    if options.out is not None:
        model.save_pretrained(options.out)
        tokenizer.save_pretrained(options.out)
    client = LocalModel(model, tokenizer, max_tokens=24, batch_size=16)
    report = evaluate(LLMComplexity(client, rename=True), held_out, train_s)
    print(json.dumps(asdict(report), indent=2))
    return report


if __name__ == "__main__":
    main()
