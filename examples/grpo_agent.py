"""GRPO in an environment with tools, with turn credit off and on, on a tiny Llama on CPU.

    python examples/grpo_agent.py

The model is built on the spot and first learns, by plain fine-tuning, four ways to say how much of
something is in stock: look once and answer; look twice at the same thing; look at something that is
not there first; answer wrongly without looking. The first three end with the right answer, so a
reward of the outcome alone cannot tell them apart. A rule-based critic can: a repeated call and a
call that fails are failing turns. The log shows their share step by step, without turn credit
(mode `trajectory`) and with it (mode `negative`).
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
warnings.filterwarnings("ignore", category=FutureWarning)

STOCK = {"apples": "12", "pears": "7"}


def environment(item: str) -> Any:
    """How much of `item` is in stock, as an environment."""
    from assay.policy.environments import EnvironmentSpec, Finding, Tool, ToolError

    def look(state: dict[str, str], /, item: str) -> str:
        if item not in state:
            raise ToolError(f"no {item}")
        return state[item]

    schema = {
        "type": "object",
        "properties": {"item": {"type": "string"}},
        "required": ["item"],
        "additionalProperties": False,
    }
    return EnvironmentSpec(
        id=f"stock/{item}",
        task=f"{item}?",
        tools=(Tool("look", "Look up how much of something is in stock.", schema, look),),
        start=partial(copy.copy, STOCK),
        verify=lambda state, answer: Finding.of(answer == STOCK[item]),
        max_calls=4,
        oracle=(("look", {"item": item}),),
        answer=STOCK[item],
    )


def reward() -> Any:
    """The right answer, and the turns that the rule critic fails."""
    from assay.judges.turn_critic import RuleCritic
    from assay.rewards import AnswerMatch, Term, TurnReward, WeightedSum

    schemas = environment("apples").schemas()
    critic = RuleCritic(tools=schemas)
    return WeightedSum(
        {"answer": Term(AnswerMatch()), "turns": Term(TurnReward(critic, require="decided"))},
        name="agent",
    )


def rows() -> list[dict[str, Any]]:
    """One dataset row per item."""
    return [
        {"prompt": [{"role": "user", "content": f"{item}?"}], "answer": count, "item": item}
        for item, count in STOCK.items()
    ]


def conversations() -> list[dict[str, Any]]:
    """What the model learns to do before GRPO: each way about equally often."""

    def look(item: str) -> dict[str, Any]:
        call = {"type": "function", "function": {"name": "look", "arguments": {"item": item}}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    def saw(text: str) -> dict[str, Any]:
        return {"role": "tool", "name": "look", "content": text}

    found = []
    for item, count in STOCK.items():
        end = {"role": "assistant", "content": count}
        once = [look(item), saw(count)]
        ways: list[list[dict[str, Any]]] = [
            [*once, end],
            [*once, *once, end],
            [look("plums"), saw("{'error': 'look: no plums'}"), *once, end],
            [{"role": "assistant", "content": "9"}],
        ]
        for way in ways:
            found.append([{"role": "user", "content": f"{item}?"}, *way])
    return [{"messages": messages} for messages in found]


def warm_up(model: Any, tokenizer: Any, steps: int) -> None:
    """Fine-tune on all assistant tokens, in plain torch."""
    import torch

    tools = [{"type": "function", "function": {"name": "look"}}]
    torch.manual_seed(0)
    batch = []
    for row in conversations():
        coded = tokenizer.apply_chat_template(
            row["messages"], tools=tools, tokenize=True, return_dict=True,
            return_assistant_tokens_mask=True,
        )  # fmt: skip
        batch.append((coded["input_ids"], coded["assistant_masks"]))
    width = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([i + [tokenizer.pad_token_id] * (width - len(i)) for i, _ in batch])
    seen = torch.tensor([[1] * len(i) + [0] * (width - len(i)) for i, _ in batch])
    mask = torch.tensor([m + [0] * (width - len(m)) for _, m in batch])
    labels = torch.where(mask == 1, ids, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.train()
    for _ in range(steps):
        loss = model(input_ids=ids, attention_mask=seen, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def starting_point(steps: int = 150) -> tuple[Any, Any]:
    """The tokenizer and the model that both runs start from."""
    from examples.tiny_agent import agent_tokenizer
    from examples.tiny_models import tiny_llama

    texts = [str(row) for row in conversations()] + ['{"name": "look", "arguments": {"item": "'] * 9
    tokenizer = agent_tokenizer(texts)
    model = tiny_llama(tokenizer)
    warm_up(model, tokenizer, steps)
    return model, tokenizer


def trainer(model: Any, tokenizer: Any, folder: str, mode: str, steps: int) -> Any:
    """GRPO with eight rollouts of each of the two items a step."""
    from datasets import Dataset
    from trl import GRPOConfig

    from assay.policy.credit_assignment import TurnCredit
    from assay.policy.environments import environment_factory
    from assay.policy.turn_credit import TurnCreditGRPOTrainer

    factory = environment_factory(
        lambda item, **_: environment(item), environment("apples"), show_task=False,
        owns_reward=False,
    )  # fmt: skip
    return TurnCreditGRPOTrainer(
        model=model,
        reward_funcs=[reward()],
        credit=TurnCredit(mode),  # type: ignore[arg-type]
        environment_factory=factory,
        args=GRPOConfig(
            folder,
            num_generations=8,
            per_device_train_batch_size=16,
            max_steps=steps,
            max_completion_length=160,
            max_tool_calling_iterations=4,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
            logging_steps=1,
            report_to="none",
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(rows() * steps),
        processing_class=tokenizer,
    )


def main(steps: int = 20, warm_up_steps: int = 150) -> dict[str, list[dict[str, float]]]:
    """Train twice from the same start; returns the trainers' logs by mode.

    Args:
        steps: GRPO steps of each run.
        warm_up_steps: Of the fine-tuning before it.
    """
    from transformers import PrinterCallback, set_seed

    model, tokenizer = starting_point(warm_up_steps)
    logs: dict[str, list[dict[str, float]]] = {}
    for mode in ("trajectory", "negative"):
        set_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            run = trainer(copy.deepcopy(model), tokenizer, folder, mode, steps)
            run.remove_callback(PrinterCallback)
            run.train()
        logs[mode] = [entry for entry in run.state.log_history if "reward" in entry]
    print("          turn credit off          turn credit on")
    print("step   right   failing turns    right   failing turns")
    for step in range(0, steps, max(1, steps // 10)):
        cells = [
            f"{entry['agent/answer/mean']:>5.2f}   {entry.get('turn_credit/failing', 0):>8.2f}"
            for entry in (logs["trajectory"][step], logs["negative"][step])
        ]
        print(f"{step + 1:>4}   " + "         ".join(cells), flush=True)
    return logs


if __name__ == "__main__":
    main()
