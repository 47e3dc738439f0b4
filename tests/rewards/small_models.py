"""Small real models with random weights, built on the spot, for tests of reward models."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from examples.tiny_llama import tiny_tokenizer

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
