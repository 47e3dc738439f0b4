"""GRPO with the composed code reward on a tiny Llama, on CPU, in under a minute.

    python examples/grpo_code.py

The model is built on the spot and first learns, by plain fine-tuning, to write programs for two
small problems: right ones, wrong ones, and text that is no program. GRPO then runs eight rollouts
of each problem through `examples/code_reward.py`: the format, behind its gate the tests, in the
sandbox, and behind theirs the time complexity. The log shows every part of the reward at every
step.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore", category=FutureWarning)

PROBLEMS: dict[str, list[tuple[str, str]]] = {
    "sum of two integers": [
        ("1 2\n", "3\n"),
        ("0 0\n", "0\n"),
        ("-5 2\n", "-3\n"),
        ("2 2\n", "4\n"),
    ],
    "product of two integers": [
        ("3 2\n", "6\n"),
        ("0 7\n", "0\n"),
        ("1 1\n", "1\n"),
        ("2 2\n", "4\n"),
    ],
}
READ = "a, b = map(int, input().split())\n"
#: What the model learns to write for either problem: a sum, a product, a maximum, and no program.
ANSWERS = [
    f"```python\n{READ}print(a + b)\n```",
    f"```python\n{READ}print(a * b)\n```",
    f"```python\n{READ}print(max(a, b)\n```",
    "The answer is a number.",
]


def rows() -> list[dict[str, Any]]:
    """One dataset row per problem; tests as a JSON string, so that Arrow leaves them alone."""
    return [
        {
            "prompt": [{"role": "user", "content": f"Print the {name}."}],
            "tests": json.dumps([{"stdin": i, "expected": o} for i, o in tests]),
            "optimal_complexity": "1",
            "uid": name,
        }
        for name, tests in PROBLEMS.items()
    ]


def warm_up(model: Any, tokenizer: Any, folder: str) -> None:
    """Fine-tune until the model writes each of the answers about equally often."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    examples = [
        {"prompt": row["prompt"], "completion": [{"role": "assistant", "content": answer}]}
        for row in rows()
        for answer in ANSWERS
    ]
    SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(examples),
        args=SFTConfig(
            folder,
            max_steps=120,
            per_device_train_batch_size=8,
            learning_rate=1e-2,
            lr_scheduler_type="constant",
            report_to="none",
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_steps=40,
            disable_tqdm=True,
        ),
    ).train()


def leaf_log(prefix: str) -> Any:
    """A callback that prints one short line a step, the metrics under `prefix`."""
    from transformers import TrainerCallback

    class LeafLog(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "reward" not in (logs or {}):
                return
            leaves = [
                f"{key.removeprefix(prefix)} {float(value):.3g}"
                for key, value in logs.items()
                if key.startswith(prefix) and key.endswith(("/mean", "/gated", "/seconds"))
            ]
            print(
                f"step {state.global_step:>3}  reward {float(logs['reward']):.3f}  "
                + "  ".join(leaves),
                flush=True,
            )

    return LeafLog()


def main(steps: int = 20) -> list[dict[str, float]]:
    """Train; returns the trainer's log.

    Args:
        steps: GRPO steps of 8 rollouts for each of the two problems.
    """
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    from examples.code_reward import reward
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer)
    dataset = Dataset.from_list(rows() * steps)
    reward.check(dataset)
    with tempfile.TemporaryDirectory() as folder:
        warm_up(model, tokenizer, folder)
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=[reward],
            args=GRPOConfig(
                folder,
                num_generations=8,
                per_device_train_batch_size=16,
                max_steps=steps,
                max_completion_length=48,
                learning_rate=1e-3,
                lr_scheduler_type="constant",
                logging_steps=1,
                report_to="none",
                use_cpu=True,
                bf16=False,
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=dataset,
            processing_class=tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(leaf_log(f"{reward.name}/"))
        trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


if __name__ == "__main__":
    main()
