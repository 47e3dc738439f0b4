"""A GRPO run on the tiny Llama whose completions are written in advance, tool loop and all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from datasets import Dataset
from trl import GRPOConfig

from assay.messages import Sample
from assay.policy.turn_credit import TurnCreditGRPOTrainer
from assay.reward import Reward, Score
from examples.tiny_agent import agent_tokenizer
from examples.tiny_models import tiny_llama

GOOD = '<tool_call>{"name": "look", "arguments": {"item": "good"}}</tool_call>'
BAD = '<tool_call>{"name": "look", "arguments": {"item": "bad"}}</tool_call>'
VAGUE = '<tool_call>{"name": "look", "arguments": {"item": "vague"}}</tool_call>'


def look(item: str) -> str:
    """Look an item up.

    Args:
        item: Its name.
    """
    return f"seen {item}"


@dataclass(frozen=True)
class Marked(Reward):
    """1 where the last answer is yes; turns fail that look up `bad`, abstain on `vague`."""

    penalty: float = 1.0
    extra: int = 0
    name: str = "marked"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        values: list[float | None] = []
        for turn in sample.turns:
            items = [
                str(dict(call.arguments or {}).get("item")) for call in turn.message.tool_calls
            ]
            passed = None if "vague" in items else "bad" not in items
            values.append(None if passed is None else (0.0 if passed else -self.penalty))
        return Score.of(
            float(sample.answer.startswith("yes")),
            turns=values + [0.0] * self.extra,
            info={"by_criterion": {"tool_call_accuracy": values.count(-self.penalty)}},
        )


@dataclass
class Script:
    """What each rollout of a batch says, turn by turn; the last one again where it runs out."""

    rollouts: list[list[str]]
    said: list[int] = field(default_factory=list)

    def next(self, row: int) -> str:
        turns = self.rollouts[row % len(self.rollouts)]
        self.said[row] += 1
        return turns[min(self.said[row], len(turns)) - 1]


class ScriptedTrainer(TurnCreditGRPOTrainer):
    """Generation is replaced; everything after it is TRL's and ours."""

    script: Script

    def _generate(self, prompts: list[Any]) -> Any:
        self.script.said = [0] * len(prompts)
        self._so_far: list[list[int]] = []
        return super()._generate(prompts)

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._so_far:
            order, self._so_far = list(range(len(prompt_ids))), [[] for _ in prompt_ids]
        else:  # rows that go on, found by what they have said so far
            order = []
            for ids in prompt_ids:
                rows = (row for row, said in enumerate(self._so_far) if ids[: len(said)] == said)
                order.append(next(row for row in rows if row not in order))
        tokenizer = self.processing_class
        completions = []
        for row, ids in zip(order, prompt_ids, strict=True):
            text = self.script.next(row) + "<|im_end|>"
            completions.append(tokenizer(text, add_special_tokens=False)["input_ids"])
            self._so_far[row] = [*ids, *completions[-1]]
        return completions, None


def trainer(
    folder: Any, rollouts: list[list[str]], reward: Any = None, prompts: int = 1, **settings: Any
) -> ScriptedTrainer:
    """One generation batch of `prompts` groups of `len(rollouts)` completions."""
    given = {key: settings.pop(key) for key in ("credit", "anchor", "tools") if key in settings}
    rows = len(rollouts)
    config = {
        "num_generations": rows,
        "per_device_train_batch_size": rows * prompts,
        "max_steps": 1,
        "max_completion_length": 400,
        "learning_rate": 1e-3,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "logging_steps": 1,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
    }
    tokenizer = agent_tokenizer()
    dataset = [{"prompt": [{"role": "user", "content": f"Look {i}"}]} for i in range(prompts)]
    made = ScriptedTrainer(
        model=tiny_llama(tokenizer),
        reward_funcs=[Marked()] if reward is None else reward,
        args=GRPOConfig(str(folder), **(config | settings)),
        train_dataset=Dataset.from_list(dataset),
        processing_class=tokenizer,
        **({"tools": [look]} | given),
    )
    made.script = Script(rollouts)
    return made


def batch(made: ScriptedTrainer, prompts: int = 1) -> dict[str, Any]:
    """The generation batch as the loss gets it, in input order."""
    rows = [{"prompt": [{"role": "user", "content": f"Look {i}"}]} for i in range(prompts)]
    inputs = [row for row in rows for _ in range(made.num_generations)]
    made.model.train()
    return dict(made._generate_and_score_completions(inputs))
