"""Small real models with random weights, built on the spot, for tests of reward models."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from examples.tiny_models import tiny_tokenizer

TOOL_TEMPLATE = (
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@cache
def tokenizer(template: str = "") -> Any:
    made = tiny_tokenizer()
    if template:
        made.chat_template = template
    return made


def config(**settings: Any) -> Any:
    from transformers import LlamaConfig

    words = tokenizer()
    return LlamaConfig(
        **{
            "vocab_size": len(words),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 4096,
            "pad_token_id": words.pad_token_id,
            "bos_token_id": words.bos_token_id,
            "eos_token_id": words.eos_token_id,
            "initializer_range": 0.2,
            "num_labels": 1,
        }
        | settings
    )


def reward_model(seed: int = 0, **settings: Any) -> Any:
    """A Llama with a sequence-classification head."""
    import torch
    from transformers import LlamaForSequenceClassification

    torch.manual_seed(seed)
    return LlamaForSequenceClassification(config(**settings)).eval()


def language_model(seed: int = 0, **settings: Any) -> Any:
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(config(**settings)).eval()


def groups(
    prompts: int = 3, rollouts: int = 4, prompt_length: int = 40, seed: int = 0, longest: int = 300
) -> list[list[int]]:
    """Token sequences: groups with a shared prompt, completions from one token to `longest`."""
    made = random.Random(seed)
    words = len(tokenizer())
    sequences = []
    for number in range(prompts):
        prompt = [made.randrange(3, words) for _ in range(prompt_length + 7 * number)]
        for rollout in range(rollouts):
            size = (1, longest)[rollout] if rollout < 2 else made.randrange(2, longest)
            sequences.append([*prompt, *(made.randrange(3, words) for _ in range(size))])
    return sequences


def one_by_one(model: Any, sequences: list[list[int]]) -> list[float]:
    """Hugging Face's own forward, every sequence alone, without a mask."""
    import torch

    with torch.inference_mode():
        return [model(input_ids=torch.tensor([s])).logits[0, 0].item() for s in sequences]


def rows(count: int = 4) -> list[dict[str, Any]]:
    """Dataset rows with a system prompt, a reference and a uid."""
    return [
        {
            "prompt": [
                {"role": "system", "content": "Use only the standard library."},
                {"role": "user", "content": f"Print the number {i} and its sum with {i + 1}."},
            ],
            "reference": f"print({i + i + 1})",
            "uid": f"u{i}",
        }
        for i in range(count)
    ]


def grpo(reward: Any, **settings: Any) -> dict[str, float]:
    """One step of GRPO on a tiny Llama; the trainer's log of it."""
    import os
    import tempfile

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from examples.tiny_models import tiny_llama

    words = tokenizer()
    settings = {
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "gradient_accumulation_steps": 1,
        "max_steps": 1,
        "max_completion_length": 8,
        "logging_steps": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "disable_tqdm": True,
    } | settings
    dataset = Dataset.from_list(rows())
    reward.check(dataset)
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=tiny_llama(words),
            reward_funcs=[reward],
            args=GRPOConfig(folder, **settings),
            train_dataset=dataset,
            processing_class=words,
        )
        trainer.train()
    log: dict[str, float] = trainer.state.log_history[0]
    return log


def check_model_contract(reward: Any, samples: list[Any], *, rows_alone: bool = True) -> None:
    """As `tests.rewards.contract`, with floats of another batch equal to rounding only."""
    import pickle
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from pytest import approx

    values = _values(reward, samples)
    assert len({round(value, 5) for value in values}) > 1, "give samples that score differently"
    assert reward.evaluate([]) == []
    assert _values(reward, samples[::-1])[::-1] == approx(values, abs=1e-5)
    if rows_alone:
        assert [_values(reward, [one])[0] for one in samples] == approx(values, abs=1e-5)
    copied = pickle.loads(pickle.dumps(reward))
    assert copied == reward
    assert copied.fingerprint() == reward.fingerprint()
    assert repr(copied) == repr(reward)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(_values, reward, samples).result(timeout=120) == approx(values, abs=1e-5)


def _values(reward: Any, samples: list[Any]) -> list[float]:
    return [score.value for score in reward.evaluate(samples)]
