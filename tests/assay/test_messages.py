from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.messages import Message, Sample, ToolCall, Trajectory, as_messages, turns_of

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


# Messages


def test_a_string_is_one_message_of_its_side() -> None:
    sample = Sample.of("question", "answer")
    assert sample.prompt == (Message("user", "question"),)
    assert sample.completion == (Message("assistant", "answer"),)


def test_a_message_a_mapping_and_a_list_are_read() -> None:
    one = Message("assistant", "hi")
    raw = {"role": "assistant", "content": "hi"}
    assert as_messages(one, role="user") == as_messages(raw, role="user") == (one,)
    assert as_messages([one, raw], role="user") == (one, one)
    assert as_messages([], role="user") == ()
    assert as_messages("", role="user") == (Message("user", ""),)


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", {1, 2}])
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(DataError, match="expected text or a list of messages, got"):
        as_messages(wrong, role="user")


@pytest.mark.parametrize("wrong", ["text", 3, None, [["role", "user"]]])
def test_a_message_must_be_a_mapping(wrong: Any) -> None:
    with pytest.raises(DataError, match="a message must be a mapping"):
        Message.of(wrong)


@pytest.mark.parametrize("role", [None, "", "User", "function", 3, ["user"]])
def test_unknown_roles_are_refused(role: object) -> None:
    with pytest.raises(DataError, match=r"role must be one of \['assistant', 'developer'"):
        Message.of({"role": role, "content": "x"})


def test_content_none_and_text_blocks() -> None:
    blocks = [{"type": "text", "text": "a"}, "b", {"type": "text", "text": "c"}]
    assert Message.of({"role": "user", "content": blocks}).content == "abc"
    assert Message.of({"role": "assistant", "content": None}).content == ""
    assert Message.of({"role": "assistant"}).content == ""


def test_content_that_is_no_text_is_refused_by_its_type() -> None:
    with pytest.raises(DataError, match="block of type 'image_url'"):
        Message.of({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]})
    with pytest.raises(DataError, match="block of type 'int'"):
        Message.of({"role": "user", "content": [3]})
    with pytest.raises(DataError, match="must be text or text blocks, got int"):
        Message.of({"role": "user", "content": 3})


def test_reasoning_fields() -> None:
    base = {"role": "assistant", "content": "4"}
    assert Message.of(base | {"reasoning_content": "2+2"}).reasoning == "2+2"
    assert Message.of(base | {"reasoning": "2+2"}).reasoning == "2+2"
    assert Message.of(base | {"reasoning_content": None, "reasoning": "r"}).reasoning == "r"
    with pytest.raises(DataError, match="reasoning_content must be text, got list"):
        Message.of(base | {"reasoning_content": ["x"]})


# Tool calls


def test_nested_and_flat_calls() -> None:
    nested = ToolCall.of(CALL)
    assert (nested.name, nested.arguments, nested.id, nested.error) == ("f", {"x": 1}, "c1", "")
    flat = ToolCall.of({"name": "f", "arguments": {"x": 1}})
    assert (flat.name, flat.arguments, flat.error) == ("f", {"x": 1}, "")
    assert ToolCall.of(flat) is flat
    assert ToolCall.of({"name": "f", "arguments": ""}).arguments == {}
    assert ToolCall.of({"name": "f"}).arguments == {}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("{", "arguments: Expecting property name"),
        ("[1]", "must be an object, got an array"),
        ([1], "must be an object, got list"),
        (3, "must be an object, got int"),
        ('{"x": NaN}', "NaN is not JSON"),
        ('{"x": 1, "x": 2}', "key 'x' is repeated"),
        ("[" * 100_000, "nested deeper"),
    ],
)
def test_malformed_arguments_are_kept_with_their_error(arguments: object, error: str) -> None:
    call = ToolCall.of({"function": {"name": "f", "arguments": arguments}})
    assert error in call.error
    assert (call.name, call.arguments) == ("f", None)


def test_a_call_without_a_name_is_malformed() -> None:
    assert ToolCall.of({"function": {"arguments": "{}"}}).error == "the call has no name"
    assert ToolCall.of({"name": 3, "arguments": {}}).error == "the call has no name"
    with pytest.raises(DataError, match="a tool call must be a mapping, got str"):
        ToolCall.of("f()")  # type: ignore[arg-type]


def test_tool_calls_of_a_message() -> None:
    message = Message.of({"role": "assistant", "content": None, "tool_calls": [CALL, CALL]})
    assert [call.name for call in message.tool_calls] == ["f", "f"]
    assert Message.of({"role": "assistant", "tool_calls": None}).tool_calls == ()
    assert Message.of({"role": "assistant", "tool_calls": []}).tool_calls == ()


@pytest.mark.parametrize("calls", ["f()", {"name": "f"}, 3])
def test_tool_calls_must_be_a_list(calls: object) -> None:
    with pytest.raises(DataError, match="tool_calls must be a list of calls"):
        Message.of({"role": "assistant", "tool_calls": calls})


# Reasoning and answer


@pytest.mark.parametrize(
    ("text", "prefilled", "reasoning", "answer"),
    [
        ("plain", False, None, "plain"),
        ("<think>r</think>\n\na", False, "r", "a"),
        ("<think>\nr\n</think>a", False, "r", "a"),
        ("r</think>a", False, "r", "a"),  # the template opened it
        ("r</think>a", True, "r", "a"),
        ("<think>cut", False, "cut", ""),
        ("cut", True, "cut", ""),
        ("<think></think>a", False, "", "a"),
        ("<think>r</think>", False, "r", ""),
        ("<think>1</think>x<think>2</think>a", False, "1</think>x<think>2", "a"),
        ("mentions <think> in passing", False, None, "mentions <think> in passing"),
        ("  \n<think>cut", False, "cut", ""),
        ("", False, None, ""),
        ("", True, "", ""),
        ("</think><think>", False, "", "<think>"),
    ],
)
def test_split(text: str, prefilled: bool, reasoning: str | None, answer: str) -> None:
    assert Message("assistant", text).split(prefilled=prefilled) == (reasoning, answer)


def test_split_of_reasoning_content() -> None:
    assert Message("assistant", "a", reasoning="r").split() == ("r", "a")
    assert Message("assistant", "a", reasoning="r").split(prefilled=True) == ("r", "a")
    assert Message("assistant", "a", reasoning="").split(prefilled=True) == ("", "a")


def test_blank_reasoning_content_does_not_hide_think_tags() -> None:
    message = Message("assistant", "<think>r</think>a", reasoning="")
    assert message.split() == ("r", "a")
    assert not message.reasoning_apart


@given(st.text(), st.text())
def test_split_finds_what_was_joined(reasoning: str, answer: str) -> None:
    if "think>" in reasoning + answer:
        return
    found = Message("assistant", f"<think>{reasoning}</think>\n{answer}").split()
    assert found == (reasoning.strip(), answer.lstrip("\r\n"))


# Turns


def test_turns_hold_the_results_that_follow() -> None:
    user, tool = Message("user", "u"), Message("tool", "t")
    first, second = Message("assistant", "1"), Message("assistant", "2")
    turns = turns_of([user, first, tool, user, second])
    assert [(t.index, t.message, t.results) for t in turns] == [
        (0, first, (tool, user)),
        (1, second, ()),
    ]
    assert turns_of([]) == turns_of([user, tool]) == ()


def test_sample_views_read_the_last_assistant_turn() -> None:
    sample = Sample.of(
        [{"role": "user", "content": "q"}],
        [
            {"role": "assistant", "content": "<think>a</think>", "tool_calls": [CALL]},
            {"role": "tool", "content": "result"},
            {"role": "assistant", "content": "<think>b</think>\n```py\nx = 1\n```"},
        ],
    )
    assert sample.reasoning == "b"
    assert sample.code("python") == "x = 1"
    assert [len(turn.results) for turn in sample.turns] == [1, 0]
    assert sample.trajectory() == Trajectory((*sample.prompt, *sample.completion))
    assert len(sample.trajectory().turns) == 2


def test_a_completion_that_ends_on_a_tool_message_keeps_its_turn() -> None:
    messages = [{"role": "assistant", "content": "calling"}, {"role": "tool", "content": "r"}]
    assert Sample.of("q", messages).answer == "calling"


def test_a_completion_without_assistant_turn_has_no_answer() -> None:
    sample = Sample.of("q", [{"role": "tool", "content": "r"}])
    assert (sample.reasoning, sample.answer, sample.turns) == (None, "", ())
    assert Sample.of("q", []).answer == ""


@pytest.mark.parametrize("prompt", ["...<think>", "...<think>\n", "<|im_start|>assistant\n<think>"])
def test_prefilled_think_is_seen_in_the_prompt(prompt: str) -> None:
    sample = Sample.of(prompt, "still thinking")
    assert sample.think_prefilled
    assert (sample.reasoning, sample.answer) == ("still thinking", "")
    assert Sample.of(prompt, "r</think>a").answer == "a"
    assert not Sample.of("what does <think> do?", "x").think_prefilled
    assert not Sample.of([], "x").think_prefilled


def test_bare_code_only_if_asked() -> None:
    assert Sample.of("q", "x = 1").code("python") is None
    assert Sample.of("q", "x = 1").code("python", bare=True) == "x = 1"


# Columns, ids, truncation


def test_uid_becomes_the_group_as_text() -> None:
    assert Sample.of("q", "a", {"uid": 7}).group == "7"
    assert Sample.of("q", "a", {"uid": None}).group is None
    assert Sample.of("q", "a").group is None


def test_ids_of_any_integer_kind() -> None:
    sample = Sample.of("q", "a", completion_ids=np.array([1, 2]))  # type: ignore[arg-type]
    assert sample.completion_ids == (1, 2)
    assert all(type(i) is int for i in sample.completion_ids)


@pytest.mark.parametrize(
    ("columns", "ids", "told", "expected"),
    [
        ({}, [5, 9], None, False),  # 9 ends a completion
        ({}, [5, 6], None, True),
        ({}, [], None, False),
        ({}, None, None, False),
        ({"truncated": False}, [5, 6], None, False),  # the column knows better than the ids
        ({"truncated": True}, [5, 9], None, True),
        ({"truncated": None}, [5, 6], None, True),
        ({"truncated": np.bool_(True)}, None, None, True),
        ({"truncated": 0}, [5, 6], None, False),
        ({"truncated": True}, [5, 6], False, False),
    ],
)
def test_truncated(
    columns: dict[str, Any], ids: list[int] | None, told: bool | None, expected: bool
) -> None:
    sample = Sample.of("q", "a", columns, completion_ids=ids, truncated=told, eos_token_ids=(9,))
    assert sample.truncated is expected


def test_without_end_tokens_nothing_counts_as_truncated() -> None:
    assert not Sample.of("q", "a", completion_ids=[1]).truncated


@pytest.mark.parametrize("told", ["false", "", float("nan"), 2, [True], np.array([True, False])])
def test_truncated_must_be_a_truth_value(told: object) -> None:
    with pytest.raises(DataError, match="'truncated' must be true or false"):
        Sample.of("q", "a", {"truncated": told})


# Values


def test_compared_not_hashed_and_pickled() -> None:
    sample = Sample.of("q", [{"role": "assistant", "tool_calls": [CALL]}], {"x": [1]})
    same = pickle.loads(pickle.dumps(sample))
    assert same == sample
    assert Sample.of("q", "other") != sample
    for value in (sample, sample.completion[0], sample.turns[0], sample.trajectory()):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


def test_arrays_that_pandas_makes_of_lists_are_read_as_lists() -> None:
    calls = np.array([{"name": "f"}, {"name": "g"}], dtype=object)
    blocks = np.array([{"type": "text", "text": "hi"}], dtype=object)
    turns = np.array([{"role": "assistant", "content": blocks, "tool_calls": calls}], dtype=object)
    (message,) = as_messages(turns, role="assistant")
    assert message.content == "hi"
    assert [call.name for call in message.tool_calls] == ["f", "g"]


@pytest.mark.parametrize("uid", [None, float("nan"), np.float64("nan")])
def test_a_missing_uid_is_no_group(uid: Any) -> None:
    assert Sample.of("p", "c", {"uid": uid}).group is None
    assert Sample.of("p", "c", {"uid": np.int64(3)}).group == "3"


@pytest.mark.parametrize("wrong", ["ab", [None], 3])
def test_token_ids_must_be_whole_numbers(wrong: Any) -> None:
    with pytest.raises(DataError, match="completion_ids must be whole numbers"):
        Sample.of("p", "c", completion_ids=wrong)
