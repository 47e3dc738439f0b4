from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ConfigError
from assay.messages import Sample, ToolCall
from assay.protocols import PROTOCOLS, Hermes, MiroFlow
from assay.rewards import ChatFormat, CodeFormat, Score, Term, WeightedSum
from assay.rewards.chat_format import SPECIAL_TOKENS
from tests.rewards.contract import check_contract
from tests.samples import sample

CALL = Hermes().render_call(ToolCall("find", {"q": "tea"}))
BROKEN = CALL.replace('"find"', "find")
FLAT = {"name": "find", "arguments": '{"q": 1}'}


def score(completion: Any, prompt: Any = "question", **settings: Any) -> Score:
    columns = settings.pop("columns", {})
    return ChatFormat(**settings).evaluate([sample(completion, prompt, **columns)])[0]


def assistant(content: str, **rest: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **rest}


# One turn


@pytest.mark.parametrize(
    "text",
    [
        "4",
        "<think>2+2</think>4",
        "<think>\n2+2\n</think>\n\n4",
        "  \n<think>2+2</think>4",
        "<think></think>4",
        "2+2</think>4",  # the template may have opened it
        CALL,
        f"<think>I need a page</think>\n{CALL}",
        f"Let me look.\n{CALL}\n{CALL}",
        "```html\n<b>tags</b> are fine\n```",
    ],
)
def test_well_formed(text: str) -> None:
    assert score(text) == Score.of(1.0, passed=True)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "empty answer"),
        (" \n", "empty answer"),
        ("<think>2+2", "<think> is never closed"),
        ("<think>2+2</think>", "nothing follows the reasoning"),
        ("<think>2+2</think> \n", "nothing follows the reasoning"),
        ("2+2</think>", "nothing follows the reasoning"),
        ("<think>a</think>b</think>c", "</think> 2 times"),
        ("<think>a<think>b</think>c", "<think> 2 times"),
        ("<think>a</think><think>b</think>c", "</think> 2 times"),
        ("</think>a<think>", "</think> before <think>"),
        ("Well. <think>a</think>b", "text before <think>"),
        ("answer <think>", "<think> is never closed"),
        ("4<|im_end|>", "special token <|im_end|> in the answer"),
        ("<|im_start|>assistant\n4", "special token <|im_start|> in the answer"),
        ("<think>a<|im_end|></think>4", "special token <|im_end|> in the reasoning"),
        (CALL.replace("tea", "<|endoftext|>"), "special token <|endoftext|> in a tool call"),
        ("4 <tools>", "special token <tools> in the answer"),
        ("<tool_response>\nforged\n</tool_response>\n4", "special token <tool_response>"),
        (BROKEN, "tool call 1 of 1 is malformed: line 2, column 10: the call is not JSON"),
        (f"{CALL}\n{BROKEN}", "tool call 2 of 2 is malformed"),
        (CALL[:-5], "no </tool_call> follows"),
        ("4</tool_call>", "</tool_call> closes nothing"),
    ],
)
def test_malformed(text: str, note: str) -> None:
    found = score(text)
    assert (found.value, found.passed) == (0.0, False)
    assert found.note.startswith("turn 0: ")
    assert note in found.note
    assert found.info == {"turns": {"0": found.note.removeprefix("turn 0: ")}}


def test_tool_calls_inside_the_reasoning_are_not_calls() -> None:
    assert score(f"<think>I could write {BROKEN}</think>4").value == 1.0


# Reasoning


def test_required_reasoning() -> None:
    assert score("4", require_think=True).note == "turn 0: no reasoning"
    assert score("<think> </think>4", require_think=True).value == 0.0
    assert score("<think>2+2</think>4", require_think=True).value == 1.0
    assert score([assistant("4", reasoning_content="2+2")], require_think=True).value == 1.0
    assert score([assistant("4", reasoning_content="")], require_think=True).value == 0.0


@pytest.mark.parametrize(
    ("prefilled", "text", "value"),
    [
        (None, "r</think>4", 1.0),
        (True, "r</think>4", 1.0),
        (False, "r</think>4", 0.0),
        (None, "4", 1.0),
        (True, "4", 0.0),  # still thinking
        (False, "4", 1.0),
        (None, "<think>r</think>4", 1.0),
        (True, "<think>r</think>4", 0.0),  # opened twice, closed once
        (False, "<think>r</think>4", 1.0),
    ],
)
def test_prefilled_think(prefilled: bool | None, text: str, value: float) -> None:
    assert score(text, think_prefilled=prefilled).value == value


def test_a_prompt_that_opens_the_reasoning_overrides_the_setting() -> None:
    prompt = "<|im_start|>assistant\n<think>\n"
    for setting in (None, False, True):
        assert score("r</think>4", prompt, think_prefilled=setting).value == 1.0
        assert score("4", prompt, think_prefilled=setting).value == 0.0
    found = score("<think>r</think>4", prompt)
    assert found.note == "turn 0: <think> again, the template had opened it"


def test_reasoning_content_needs_no_tags_and_stands_no_tags() -> None:
    note = "turn 0: a think tag beside reasoning_content"
    assert score([assistant("4", reasoning_content="r")], think_prefilled=True).value == 1.0
    assert score([assistant("r</think>4", reasoning_content="r")]).note == note
    assert score([assistant("4", reasoning_content="<think>r")]).note == note
    assert score([assistant("", reasoning_content="r")]).note.endswith("follows the reasoning")
    assert score([assistant("<think>r</think>4", reasoning_content="")]).value == 1.0


# Truncation and endings


def test_a_truncated_completion_does_not_pass_however_finished_it_looks() -> None:
    found = score("<think>r</think>4.", columns={"truncated": True})
    assert (found.value, found.passed) == (0.0, False)
    assert found.note == "turn 0: truncated: the completion was cut at the length limit"


def test_truncation_is_read_from_the_ids() -> None:
    reward = ChatFormat(eos_token_ids=(2,))
    assert reward(completions=["4.", "4."], completion_ids=[[5, 2], [5, 6]]) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("protocol", "result"),
    [
        ("hermes", {"role": "tool", "content": "result"}),
        ("hermes", {"role": "user", "content": "<tool_response>\nresult\n</tool_response>"}),
        ("miroflow", {"role": "user", "content": "result"}),
        ("react", {"role": "user", "content": "Observation: result"}),
    ],
)
def test_a_completion_that_ends_on_a_result_has_no_answer(
    protocol: str, result: dict[str, str]
) -> None:
    call = PROTOCOLS[protocol].render_call(ToolCall("find", {}, server="web"))
    found = score([assistant(call), result], protocol=protocol)
    assert found.value == 0.0
    assert found.note == "turn 0: no final answer: ends on a tool's result"
    ended = [assistant(call), result, {"role": "user", "content": "thanks"}]
    assert score(ended, protocol=protocol).value == 0.0
    assert score([assistant(call), result, assistant("done")], protocol=protocol).value == 1.0


def test_a_real_user_may_have_the_last_word() -> None:
    for protocol in PROTOCOLS:
        messages = [assistant("done"), {"role": "user", "content": "thanks"}]
        assert score(messages, protocol=protocol).value == 1.0


def test_no_assistant_turn() -> None:
    for completion in ([], [{"role": "tool", "content": "x"}]):
        found = score(completion, per_turn=True)
        assert (found.value, found.turns) == (0.0, None)
        assert found.note == "the completion has no assistant turn"


# Several turns

TRAJECTORY = [
    assistant(f"<think>a</think>{CALL}"),
    {"role": "user", "content": "<tool_response>\nx\n</tool_response>"},
    assistant("", tool_calls=[{"function": FLAT}]),
    {"role": "tool", "content": "y"},
    assistant("<think>b</think>done"),
]


def test_a_good_trajectory() -> None:
    assert score(TRAJECTORY, per_turn=True) == Score.of(1.0, passed=True, turns=(1.0, 1.0, 1.0))
    assert score(TRAJECTORY).turns is None


@pytest.mark.parametrize(
    ("index", "turn", "note"),
    [
        (0, assistant(BROKEN), "turn 0: tool call 1 of 1 is malformed"),
        (2, assistant(""), "turn 1: empty answer"),
        (
            2,
            assistant("", tool_calls=[{"function": {**FLAT, "arguments": "{"}}]),
            "turn 1: tool call 1 of 1 is malformed: arguments:",
        ),
        (4, assistant("<think>b"), "turn 2: <think> is never closed"),
    ],
)
def test_every_turn_is_checked(index: int, turn: dict[str, Any], note: str) -> None:
    found = score([*TRAJECTORY[:index], turn, *TRAJECTORY[index + 1 :]], per_turn=True)
    wrong = index // 2
    assert found.value == 0.0
    assert note in found.note
    assert found.turns == tuple(float(i != wrong) for i in range(3))
    assert list(found.info["turns"]) == [str(wrong)]


def test_several_wrong_turns_are_all_named() -> None:
    found = score([assistant(BROKEN), {"role": "tool", "content": "x"}, assistant("")])
    assert found.note.count("turn ") == 2
    assert "; turn 1: empty answer" in found.note


def test_turns_add_up_in_a_sum() -> None:
    total = WeightedSum(
        {"chat": Term(ChatFormat(per_turn=True), weight=0.5), "code": Term(CodeFormat())}
    )
    found = total.evaluate([sample(TRAJECTORY)])[0]
    assert found.turns == (0.5, 0.5, 0.5)


def test_600_turns() -> None:
    turns = TRAJECTORY[:2] * 600 + TRAJECTORY[-1:]
    found = score(turns, per_turn=True)
    assert found.value == 1.0
    assert found.turns is not None and len(found.turns) == 601


# Protocols and tokens


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_protocol_reads_its_own_calls(name: str) -> None:
    text = PROTOCOLS[name].render_call(ToolCall("find", {"q": 1}, server="web"))
    assert score(text, protocol=name).value == 1.0
    assert score(text, protocol=PROTOCOLS[name]).value == 1.0
    assert score(text[:-1], protocol=name).value == 0.0


def test_the_wrong_protocol_leaks_its_markers() -> None:
    found = score(CALL, protocol="miroflow")
    assert found.note == "turn 0: special token <tool_call> in the answer"
    assert score(MiroFlow().render_call(ToolCall("f", {}, server="s"))).value == 1.0  # just text


def test_react_thoughts_are_no_answer() -> None:
    assert score("Thought: hm", protocol="react").note == "turn 0: empty answer"
    assert score("Thought: hm\nFinal Answer: 4", protocol="react").value == 1.0


def test_own_special_tokens_replace_the_default() -> None:
    assert score("4<eos>", special_tokens=("<eos>",)).value == 0.0
    assert score("4<|im_end|>", special_tokens=("<eos>",)).value == 1.0
    assert score("4<|im_end|>", special_tokens=()).value == 1.0


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_every_default_token_is_caught(token: str) -> None:
    assert score(f"4 {token}").value == 0.0


def test_configuration_errors() -> None:
    with pytest.raises(ConfigError, match="protocol must be one of"):
        ChatFormat(protocol="openai")
    for tokens in ("<eos>", ("",), (3,)):
        with pytest.raises(ConfigError, match="special_tokens must be a sequence of non-empty"):
            ChatFormat(special_tokens=tokens)  # type: ignore[arg-type]


def test_fingerprint_tells_settings_apart() -> None:
    rewards = [
        ChatFormat(),
        ChatFormat(protocol="react"),
        ChatFormat(think_prefilled=True),
        ChatFormat(special_tokens=()),
        ChatFormat(protocol=Hermes()),
    ]
    assert len({reward.fingerprint() for reward in rewards}) == len(rewards)


def test_contract() -> None:
    samples = [
        *(Sample.of("q", text) for text in ("4", "", "<think>x", CALL, BROKEN, "4<|im_end|>")),
        Sample.of("q\n<think>", "r</think>4"),
        Sample.of("q", TRAJECTORY),
        Sample.of("q", "4", {"truncated": True}),
    ]
    check_contract(ChatFormat(per_turn=True), samples)
