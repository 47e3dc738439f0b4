"""A tokenizer for the tiny Llama that can call tools: ChatML with Hermes calls, built on the spot.

Tools are shown by name only: a model of this size cannot read their schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

AGENT_TEMPLATE = (
    "{% if tools %}{{ '<|im_start|>system\\n' }}"
    "{% for tool in tools %}{{ tool['function']['name'] + ' ' }}{% endfor %}"
    "{{ '<|im_end|>\\n' }}{% endif %}"
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}"
    "{{ message['content'] or '' }}"
    "{% for call in message['tool_calls'] or [] %}"
    "{{ '<tool_call>{\"name\": \"' + call['function']['name'] + '\", \"arguments\": ' }}"
    "{{ call['function']['arguments'] | tojson }}{{ '}</tool_call>' }}"
    "{% endfor %}{{ '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
    "{% else %}{{ message['content'] + '<|im_end|>\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

#: How `tokenizer.parse_response` reads an assistant turn back.
RESPONSE_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}


def agent_tokenizer(texts: Sequence[str] = (), vocab_size: int = 512) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with tool calls, trained on `texts`."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    special = ["<unk>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    default = ['{"name": "look", "arguments": {"item": "apples"}}', "The answer is 12."]
    bpe.train_from_iterator([*default, *texts], vocab_size=vocab_size, special_tokens=special)
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        unk_token="<unk>",
        pad_token="<unk>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        chat_template=AGENT_TEMPLATE,
    )
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer  # type: ignore[no-any-return]
