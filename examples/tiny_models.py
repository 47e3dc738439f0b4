"""A tiny Llama and its tokenizer, built on the spot: real classes, random weights, no download."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
    "{% else %}{{ message['content'] + '<|im_end|>\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def tiny_tokenizer(vocab_size: int = 512) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer in ChatML, trained on a few lines of Python."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    text = [
        "```python\nn = int(input())\nprint(n + 1)\n```",
        "a, b = map(int, input().split())\nprint(a * b)",
        "def solve(x):\n    return [y for y in range(x) if y % 2]",
        "Read two integers and print their sum. Use only the standard library.",
    ]
    bpe = ByteLevelBPETokenizer()
    special = ["<unk>", "<|im_start|>", "<|im_end|>"]
    bpe.train_from_iterator(text, vocab_size=vocab_size, special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        unk_token="<unk>",
        pad_token="<unk>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        chat_template=CHAT_TEMPLATE,
    )


def tiny_llama(tokenizer: PreTrainedTokenizerFast, seed: int = 0) -> LlamaForCausalLM:
    """A two-layer Llama over `tokenizer`'s vocabulary, about 50,000 parameters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
