"""The 3B model's chat format, with a tokenizer built to the same template and special tokens."""

from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ConfigError
from assay.messages import Message
from assay.policy.chat import (
    CONTROL_TOKENS,
    SPECIAL_TOKENS,
    install_template,
    system_tokens,
    with_system,
)
from assay.protocols import canonical

pytest.importorskip("transformers")

TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}
USER = {"role": "user", "content": "Tea?"}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from examples.miniature import build_tokenizer

    return build_tokenizer(["Tea is a drink. Find the tea. {}"] * 5)


def text(tokenizer: Any, messages: list[dict[str, Any]], **settings: Any) -> str:
    return str(tokenizer.apply_chat_template(messages, tokenize=False, **settings))


def call(**arguments: Any) -> dict[str, Any]:
    function = {"name": "find", "arguments": arguments}
    return {"type": "function", "function": function}


def test_turns(tokenizer: Any) -> None:
    chat = [
        {"role": "system", "content": "Be brief."},
        USER,
        {"role": "assistant", "content": "Yes."},
    ]
    assert text(tokenizer, chat) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nTea?<|im_end|>\n"
        "<|im_start|>assistant\nYes.<|im_end|>\n"
    )
    assert text(tokenizer, [USER], add_generation_prompt=True).endswith("<|im_start|>assistant\n")


def test_tools_calls_and_results(tokenizer: Any) -> None:
    chat = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [call(q="a"), call(q="b")]},
        {"role": "tool", "content": "one"},
        {"role": "tool", "content": "two"},
    ]
    found = text(tokenizer, chat, tools=[TOOL])
    assert '<tools>\n{"type": "function", "function": {"name": "find"' in found
    assert (
        '<|im_start|>assistant\n<tool_call>\n{"name": "find", "arguments": {"q": "a"}}\n'
        '</tool_call>\n<tool_call>\n{"name": "find", "arguments": {"q": "b"}}\n</tool_call>'
        "<|im_end|>\n"
    ) in found
    assert found.endswith(
        "<|im_start|>user\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n"
        "</tool_response><|im_end|>\n"
    )


def test_reasoning_before_the_last_query_is_dropped(tokenizer: Any) -> None:
    thought = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}
    assert "<think>\nhm\n</think>\n\nYes.<|im_end|>" in text(tokenizer, [USER, thought])
    apart = {"role": "assistant", "content": "Yes.", "reasoning_content": "hm"}
    assert text(tokenizer, [USER, apart]) == text(tokenizer, [USER, thought])
    later = text(tokenizer, [USER, thought, {"role": "user", "content": "Sure?"}])
    assert "hm" not in later
    # a tool's result is no query of the user: the reasoning before it stays
    acting = thought | {"tool_calls": [call(q="a")]}
    assert "hm" in text(tokenizer, [USER, acting, {"role": "tool", "content": "one"}])


def test_hermes_is_read_back(tokenizer: Any) -> None:
    chat = [USER, {"role": "assistant", "content": "I look.", "tool_calls": [call(q="tea")]}]
    written = text(tokenizer, chat).split("<|im_start|>assistant\n")[1].split("<|im_end|>")[0]
    (message,) = canonical((Message("assistant", written),), "hermes")
    assert message.tool_calls[0].name == "find"
    assert message.tool_calls[0].arguments == {"q": "tea"}


def test_miroflow_is_plain_text_in_the_same_turns(tokenizer: Any) -> None:
    written = (
        "<use_mcp_tool><server_name>s</server_name><tool_name>find</tool_name>\n"
        '<arguments>{"q": "tea"}</arguments></use_mcp_tool>'
    )
    chat = [USER, {"role": "assistant", "content": written}]
    found = text(tokenizer, chat).split("<|im_start|>assistant\n")[1].split("<|im_end|>")[0]
    assert found == written
    (message,) = canonical((Message("assistant", found),), "miroflow")
    assert (message.tool_calls[0].server, message.tool_calls[0].name) == ("s", "find")


def test_special_tokens(tokenizer: Any) -> None:
    for token in SPECIAL_TOKENS:
        ids = tokenizer(token, add_special_tokens=False)["input_ids"]
        assert len(ids) == 1, token
        kept = tokenizer.decode(ids, skip_special_tokens=True)
        assert kept == ("" if token in CONTROL_TOKENS else token)
    assert SPECIAL_TOKENS["<|im_end|>"] == 166101


def test_trl_may_use_tools_with_it(tokenizer: Any) -> None:
    utils = pytest.importorskip("trl.chat_template_utils")
    assert utils.supports_tool_calling(tokenizer)
    assert utils.is_chat_template_prefix_preserving(tokenizer)
    assert utils.has_generation_markers(tokenizer.chat_template)


def test_system_prompts(tokenizer: Any) -> None:
    assert with_system([USER], "") == [USER]
    own = [{"role": "system", "content": "Mine."}, USER]
    assert with_system(own, "Other.") == own
    assert system_tokens(tokenizer, "") == 0
    added = system_tokens(tokenizer, "Be brief.")
    framed = tokenizer("<|im_start|>system\nBe brief.<|im_end|>\n", add_special_tokens=False)
    assert added == len(framed["input_ids"])


def test_templates_by_name_or_file(tokenizer: Any, tmp_path: Any) -> None:
    from types import SimpleNamespace

    bare = SimpleNamespace(chat_template=None)
    with pytest.raises(ConfigError, match="has no chat template"):
        install_template(bare, None)
    install_template(bare, "nanbeige")
    assert "<|im_start|>" in bare.chat_template
    (tmp_path / "t.jinja").write_text("x")
    install_template(bare, str(tmp_path / "t.jinja"))
    assert bare.chat_template == "x"
    with pytest.raises(ConfigError, match=r"have \['nanbeige'\]"):
        install_template(bare, "nanbeig")
