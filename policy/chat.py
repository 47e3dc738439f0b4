"""The chat format of the 3B model: ChatML with think tags and Hermes tool calls.

The template is ours, written to the published format, with the markers of what the model writes
that training needs. MiroFlow's protocol of deep search is plain text inside the same turns
(`assay.protocols` reads both), so one template serves both.

Source: the chat format of Nanbeige4.1-3B (arXiv:2602.13367) and Qwen3's template, whose rules it
follows: reasoning of turns before the last query of the user is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.errors import ConfigError

#: Special tokens of the 3B model's vocabulary of 166,144, and their ids.
SPECIAL_TOKENS: Mapping[str, int] = MappingProxyType(
    {
        "<unk>": 0,
        "<|im_start|>": 166100,
        "<|im_end|>": 166101,
        "<think>": 166103,
        "</think>": 166104,
        "<tool_call>": 166105,
        "</tool_call>": 166106,
    }
)
#: Those that `skip_special_tokens` removes; think and tool tags are ordinary added tokens.
CONTROL_TOKENS = ("<unk>", "<|im_start|>", "<|im_end|>")


def chat_template(name: str = "nanbeige") -> str:
    """The text of a template that comes with the library.

    Raises:
        ConfigError: There is none of that name.
    """
    folder = files("assay.policy").joinpath("templates")
    path = folder.joinpath(f"{name}.jinja")
    if not path.is_file():
        names = (p.name for p in folder.iterdir())
        known = sorted(n.removesuffix(".jinja") for n in names if n.endswith(".jinja"))
        raise ConfigError(f"there is no chat template {name!r}; have {known}, or give a file")
    return path.read_text(encoding="utf-8")


def install_template(tokenizer: Any, template: str | None) -> None:
    """Give `tokenizer` a template: a file, one of ours by name, or (None) leave its own.

    Raises:
        ConfigError: No such template, or the tokenizer has none of its own.
    """
    if template is not None:
        path = Path(template)
        text = path.read_text(encoding="utf-8") if path.is_file() else chat_template(template)
        tokenizer.chat_template = text
    elif getattr(tokenizer, "chat_template", None) is None:
        raise ConfigError(
            "the tokenizer has no chat template; set chat_template to a file, or to 'nanbeige'"
        )


def with_system(messages: list[dict[str, Any]], system_prompt: str) -> list[dict[str, Any]]:
    """The conversation with `system_prompt` in front, unless it has a system message or it is "".

    >>> with_system([{"role": "user", "content": "Hi"}], "Be brief.")[0]["role"]
    'system'
    """
    if not system_prompt or (messages and messages[0]["role"] in ("system", "developer")):
        return messages
    return [{"role": "system", "content": system_prompt}, *messages]


def system_tokens(tokenizer: Any, system_prompt: str) -> int:
    """Tokens that `system_prompt` adds to every conversation."""
    if not system_prompt:
        return 0
    plain = [{"role": "user", "content": "x"}]
    lengths = [
        len(tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False))
        for messages in (with_system(plain, system_prompt), plain)
    ]
    return lengths[0] - lengths[1]


#: How `tokenizer.parse_response` reads an assistant turn of this format: think, calls, answer.
RESPONSE_TEMPLATE: Mapping[str, Any] = MappingProxyType(
    {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "reasoning_content": {
                "open": "<think>",
                "close_pattern": r"</think>\s*",
                "content": "text",
            },
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
)


def read_tool_calls(tokenizer: Any) -> None:
    """Let trainers read tool calls out of what the model writes, if the tokenizer cannot yet."""
    import copy

    if getattr(tokenizer, "response_template", None) is None:
        tokenizer.response_template = copy.deepcopy(dict(RESPONSE_TEMPLATE))
