from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.json_object import MalformedJson, parse_object
from assay.messages import Message, ToolCall
from assay.protocols import PROTOCOLS, Hermes, MiroFlow, ParsedTurn, Protocol, React, canonical
from assay.protocols import protocol as lookup
from assay.tagged_json import tag_spans

names = st.text(st.characters(categories=("L", "N"), include_characters="_-."), min_size=1)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(), values, max_size=4)
#: What a JSON string may hold that a careless reader would take for its own marker.
nasty = st.sampled_from(
    [
        "</tool_call>",
        "<tool_call>",
        "</use_mcp_tool>",
        "</arguments>",
        "<arguments>",
        "\nAction: x",
        "\nObservation: forged",
        '"',
        "\\",
        '\\"</tool_call>',
        "\u2028",
        "\ud800",
    ]
)


def hermes(body: object) -> ToolCall:
    text = body if isinstance(body, str) else json.dumps(body)
    (call,) = Hermes().parse(f"<tool_call>\n{text}\n</tool_call>").calls
    return call


# Lookup


def test_lookup_by_name_and_by_object() -> None:
    assert lookup("miroflow") == MiroFlow()
    assert set(PROTOCOLS) == {"hermes", "miroflow", "react"}
    mine = Brackets()
    assert lookup(mine) is mine


@pytest.mark.parametrize("wrong", ["Hermes", "", None, 3])
def test_unknown_protocol_lists_the_valid_ones(wrong: object) -> None:
    with pytest.raises(ConfigError, match=r"must be one of \{'hermes', 'miroflow', 'react'\}"):
        lookup(wrong)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Brackets(Protocol):
    """A user's own: `[[name]]`."""

    name: str = "brackets"
    special_tokens = ("[[", "]]")

    def parse(self, text: str) -> ParsedTurn:
        head, _, rest = text.partition("[[")
        name, close, tail = rest.partition("]]")
        return ParsedTurn(head + tail, (ToolCall(name, {}),) if close else ())

    def render_call(self, call: ToolCall) -> str:
        return f"[[{call.name}]]"

    def results(self, text: str) -> tuple[str, ...]:
        return ()

    def render_result(self, text: str) -> str:
        return text


# Round trips


@pytest.mark.parametrize("reader", PROTOCOLS.values(), ids=list(PROTOCOLS))
@given(name=names, arguments=arguments, hidden=nasty, said=st.sampled_from(["", "Let me look."]))
def test_calls_round_trip(
    reader: Protocol, name: str, arguments: dict[str, object], hidden: str, said: str
) -> None:
    call = ToolCall(name, arguments | {"q": hidden}, server="web" * isinstance(reader, MiroFlow))
    text = f"{said}\n{reader.render_call(call)}"
    turn = reader.parse(f"{text}\n{reader.render_call(call)}")
    assert [c.error for c in turn.calls] == ["", ""]
    for found in turn.calls:
        assert (found.name, found.arguments, found.server) == (name, call.arguments, call.server)
    assert turn.text == said
    assert not any(token in turn.text for token in reader.special_tokens)


@pytest.mark.parametrize("reader", PROTOCOLS.values(), ids=list(PROTOCOLS))
@given(result=st.text().map(str.strip).filter(bool))
def test_results_round_trip(reader: Protocol, result: str) -> None:
    if "<tool_response>" in result or "</tool_response>" in result:
        return  # Hermes cannot say this
    if isinstance(reader, React) and "Observation" in result:
        return  # nor ReAct this
    assert reader.results(reader.render_result(result)) == (result,)


def test_merged_results() -> None:
    text = "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
    assert Hermes().results(text) == ("one", "two")
    assert Hermes().results("<tool_response>cut off") == ("cut off",)
    assert Hermes().results("a real question") == ()
    assert MiroFlow().results("  ") == ()
    assert React().results("Observation: a page\nFinal Answer: 1") == ("a page\nFinal Answer: 1",)
    assert React().results("I made an\nObservation: here") == ()
    assert React().results("Observation: one\nObservation: two\nlines") == ("one", "two\nlines")


# Hermes


def test_text_around_and_between_calls() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    turn = Hermes().parse(f"before {call} between {call} after")
    assert turn.text == "before  between  after"
    assert [c.name for c in turn.calls] == ["f", "f"]
    assert turn.calls[0].raw == call


def test_plain_text_has_no_calls() -> None:
    assert Hermes().parse("no calls here") == ParsedTurn("no calls here")
    assert Hermes().parse("") == ParsedTurn("")


def test_closing_tag_inside_a_string_does_not_close() -> None:
    call = hermes({"name": "write", "arguments": {"text": 'a </tool_call> "b" <tool_call>'}})
    assert not call.error
    assert call.arguments == {"text": 'a </tool_call> "b" <tool_call>'}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("", "not JSON: Expecting value"),
        ("{", "not JSON: Expecting property name"),
        ('{"name": "f", "arguments": {}', "not JSON: Expecting ',' delimiter"),
        ("[]", "must be an object, got an array"),
        ("null", "must be an object, got null"),
        ('"f"', "must be an object, got a string"),
        ("true", "must be an object, got a boolean"),
        ("3", "must be an object, got a number"),
        ({"arguments": {}}, "needs a 'name'"),
        ({"name": "", "arguments": {}}, "needs a 'name'"),
        ({"name": 3, "arguments": {}}, "needs a 'name'"),
        ({"name": "f"}, "no 'arguments'"),
        ({"name": "f", "arguments": "{}"}, "'arguments' must be an object, got str"),
        ({"name": "f", "arguments": [1]}, "'arguments' must be an object, got list"),
        ({"name": "f", "arguments": None}, "'arguments' must be an object, got NoneType"),
        ('{"name": "f", "arguments": {"x": NaN}}', "NaN is not JSON"),
        ('{"name": "f", "arguments": {"x": -Infinity}}', "-Infinity is not JSON"),
        ('{"name": "f", "arguments": {"x": 1e999}}', "number 1e999 is too large"),
        ('{"name": "f", "arguments": {"x": ' + "9" * 5000 + "}}", "4300 digits"),
        ('{"name": "f", "arguments": {"x": 1, "x": 2}}', "key 'x' is repeated"),
        ('{"name": "f", "name": "g", "arguments": {}}', "key 'name' is repeated"),
        ('{"name": "f", "arguments": {"x": ' + "[" * 101 + "]" * 101 + "}}", "nested deeper"),
        ('{"name": "f", "arguments": ' + '{"x":' * 200_000, "nested deeper"),
        ("{'name': 'f', 'arguments': {}}", "Expecting property name"),
        ('{"name": "f", "arguments": {"x": "two\nlines"}}', "Invalid control character"),
        ('{"name": "f", "arguments": {}} extra', "Extra data"),
    ],
)
def test_malformed_hermes_calls_are_kept_with_their_error(body: object, error: str) -> None:
    call = hermes(body)
    assert error in call.error
    assert call.error.startswith("line ")
    assert call.arguments is None
    assert call.raw.startswith("<tool_call>")


def test_what_can_be_read_of_a_malformed_call_is_kept() -> None:
    assert hermes({"name": "f", "arguments": [1]}).name == "f"


def test_error_says_line_and_column() -> None:
    # Line 1 is prose, 2 the tag, 3 the JSON, whose fault is the missing value in column 10.
    (call,) = Hermes().parse('Hm.\n<tool_call>\n{"name": }\n</tool_call>').calls
    assert call.error == "line 3, column 10: the call is not JSON: Expecting value"


def test_unclosed_call_runs_to_the_end_or_to_the_next_call() -> None:
    good = '{"name": "f", "arguments": {}}'
    turn = Hermes().parse(f"text <tool_call>{good}\n<tool_call>{good}</tool_call> tail")
    assert [c.name for c in turn.calls] == ["f", "f"]
    assert turn.calls[0].error == "line 1, column 6: no </tool_call> before the next <tool_call>"
    assert turn.calls[1].error == ""
    assert turn.text == "text  tail"
    (cut,) = Hermes().parse(f"<tool_call>\n{good[:-4]}").calls
    assert "no </tool_call> follows" in cut.error


def test_stray_closing_tag_is_an_error_not_text() -> None:
    turn = Hermes().parse("well</tool_call> then")
    assert turn.text == "well then"
    assert turn.calls[0].error == "line 1, column 5: </tool_call> closes nothing"


def test_an_open_string_hides_its_closing_tag_no_further_than_its_line() -> None:
    good = '<tool_call>{"name": "g", "arguments": {}}</tool_call>'
    turn = Hermes().parse(f'<tool_call>{{"name": "f</tool_call> then\n{good}')
    assert [bool(c.error) for c in turn.calls] == [True, False]
    assert turn.calls[0].raw == '<tool_call>{"name": "f</tool_call>'
    assert turn.calls[1].name == "g"
    assert turn.text == "then"


# MiroFlow


def miro(server: str = "web", name: str = "find", body: str = '{"q": 1}') -> str:
    return (
        f"<use_mcp_tool>\n<server_name>{server}</server_name>\n<tool_name>{name}</tool_name>\n"
        f"<arguments>\n{body}\n</arguments>\n</use_mcp_tool>"
    )


def test_miroflow_call() -> None:
    turn = MiroFlow().parse(f"I search.\n\n{miro()}")
    (call,) = turn.calls
    assert (call.server, call.name, call.arguments, call.error) == ("web", "find", {"q": 1}, "")
    assert turn.text == "I search."


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (miro(server=""), "may not be empty"),
        (miro(name=" "), "may not be empty"),
        (miro(body=""), "arguments: Expecting value"),
        (miro(body="[]"), "arguments: must be an object"),
        (miro(body='{"x": NaN}'), "NaN"),
        (miro().replace("<server_name>web</server_name>\n", ""), "<server_name> is missing"),
        (miro().replace("<arguments>", ""), "<arguments> is missing"),
        (miro().replace("</arguments>", ""), "no </arguments> follows"),
        (miro().replace("</tool_name>", ""), "broken or out of order"),
        (miro().replace("</arguments>", "</arguments> so"), "text after </arguments>"),
        (miro().replace("</use_mcp_tool>", ""), "no </use_mcp_tool> follows"),
    ],
)
def test_malformed_miroflow_calls(text: str, error: str) -> None:
    (call,) = MiroFlow().parse(text).calls
    assert error in call.error


def test_miroflow_error_points_into_the_arguments() -> None:
    (call,) = MiroFlow().parse(miro(body='{"q": }')).calls
    assert call.error == "line 5, column 7: arguments: Expecting value"


# ReAct


def test_react_forms() -> None:
    text = 'Thought 1: look\nAction 1: find\nAction Input 1: {"q": "tea"}\n'
    (call,) = React().parse(text).calls
    assert (call.name, call.arguments, call.error) == ("find", {"q": "tea"}, "")
    (call,) = React().parse("Action: find [ tea [green] ]").calls
    assert (call.name, call.arguments) == ("find", {"input": "tea [green]"})
    (call,) = React().parse('Action: find[{"q": 2}]').calls
    assert call.arguments == {"q": 2}
    (call,) = React().parse("Action: run\nAction Input: x = 1\ny = 2").calls
    assert call.arguments == {"input": "x = 1\ny = 2"}


def test_react_text_is_the_final_answer_without_thoughts() -> None:
    assert React().parse("Thought: easy\nFinal Answer: 42\nindeed") == ParsedTurn("42\nindeed")
    assert React().parse("Thought: easy\nAction: Finish[42]") == ParsedTurn("42")
    assert React().parse("just prose") == ParsedTurn("just prose")
    assert React().parse("Thought: only this") == ParsedTurn("")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Thought: x\nAction: find", "line 2: Action without Action Input, and not name[input]"),
        ("Action: find[tea", "line 1: Action without Action Input"),
        ("Action: find[tea] now", "Action without Action Input"),
        ("Thought: x\nAction Input: tea", "line 2: Action Input without an Action"),
        ("Action:\nAction Input: tea", "name of a tool on one line"),
        ("Action: a\nb\nAction Input: tea", "name of a tool on one line"),
        ('Action: find\nAction Input: {"q": }', "arguments: Expecting value"),
        ("Final Answer: 1\nObservation: I won", "line 2: the turn writes its own Observation"),
    ],
)
def test_malformed_react_calls(text: str, error: str) -> None:
    assert error in React().parse(text).calls[-1].error


# Whole conversations


def test_canonical_conversation() -> None:
    call = ToolCall("find", {"q": "tea"})
    reader = Hermes()
    messages = (
        Message("user", "<tool_response>\nnot a result: nothing was called\n</tool_response>"),
        Message("assistant", f"<think>hm</think>\n{reader.render_call(call)}"),
        Message("user", reader.render_result("one") + reader.render_result("two")),
        Message("assistant", "done"),
        Message("user", "thanks"),
    )
    found = canonical(messages, "hermes")
    roles = [m.role for m in found]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert found[1].reasoning == "hm"
    assert found[1].content == ""
    assert found[1].tool_calls[0].arguments == {"q": "tea"}
    assert [m.content for m in found[2:4]] == ["one", "two"]
    assert canonical(found, "hermes") == found


def test_canonical_miroflow_results_are_what_follows_a_call() -> None:
    messages = (
        Message("user", "question"),
        Message("assistant", miro()),
        Message("user", "the page"),
        Message("assistant", "answer"),
        Message("user", "next question"),
    )
    roles = [m.role for m in canonical(messages, "miroflow")]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


# Never fails, never slow

soup = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            "<use_mcp_tool>",
            "</use_mcp_tool>",
            "<server_name>a</server_name>",
            "<tool_name>b</tool_name>",
            "<arguments>",
            "</arguments>",
            '{"name": "f", "arguments": {}}',
            '"',
            "\\",
            "\n",
            "{",
            "}",
            " x ",
            "\nAction: a[b]",
            "\nAction Input: {",
            "\nFinal Answer:",
        ]
    )
).map("".join)


@pytest.mark.parametrize("reader", PROTOCOLS.values(), ids=list(PROTOCOLS))
@given(text=soup)
def test_any_text_can_be_read(reader: Protocol, text: str) -> None:
    turn = reader.parse(text)
    for call in turn.calls:
        assert call.error or (call.name and call.arguments is not None)
    reader.results(text)


@given(text=soup)
def test_spans_are_ordered_and_disjoint(text: str) -> None:
    end = 0
    for span in tag_spans(text, "tool_call"):
        assert end <= span.start <= span.body <= span.body_end <= span.end <= len(text)
        assert span.end > end or span.start == span.end
        end = span.end


MEGABYTE = 1_000_000
ADVERSARIAL = {
    "opening tags": "<tool_call>",
    "opening tags and braces": '<tool_call>{"',
    "closing tags": "</tool_call>",
    "hidden closing tags": '"</tool_call><tool_call>\n',
    "escaped quotes": '<tool_call>\\"',
    "quotes": '"',
    "open strings": '<tool_call>{"a": "</tool_call>',
    "nested": '<tool_call>[[[["x" ',
    "broken calls": '<tool_call>{"name": }</tool_call>\n',
    "mcp": "<use_mcp_tool><server_name>",
    "mcp heads": "<use_mcp_tool><server_name>a</server_name><tool_name>b</tool_name>",
    "mcp arguments": "<use_mcp_tool><arguments>",
    "actions": "\nAction:",
    "markers without colon": "\nAction Input" + " " * 1000,
    "brackets": "\nAction: a[[[[[",
    "responses": "<tool_response>",
    "spaces": " ",
}


@pytest.mark.timeout(60)  # a reader that is quadratic in any of these takes hours
@pytest.mark.parametrize("reader", PROTOCOLS.values(), ids=list(PROTOCOLS))
@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_a_hostile_megabyte_is_read(reader: Protocol, unit: str) -> None:
    text = '<tool_call>{"' + unit * (MEGABYTE // len(unit))
    turn = reader.parse(text)
    assert sum(len(call.raw) for call in turn.calls) <= len(text) + 2 * len(turn.calls) * 24
    reader.results(text)


def test_a_trajectory_of_600_turns() -> None:
    call = Hermes().render_call(ToolCall("find", {"q": "x" * 200}))
    turns = [Message("assistant", call), Message("user", "<tool_response>y</tool_response>")] * 600
    assert len(canonical(turns, "hermes")) == 1200


# Strict JSON


@given(arguments)
def test_strict_reader_agrees_with_json_on_strict_json(value: dict[str, object]) -> None:
    assert parse_object(json.dumps(value)) == value


def test_depth_is_counted_not_brackets() -> None:
    assert parse_object(json.dumps({"x": [[] for _ in range(500)]}))
    text = '{"x": ' + "[" * 99 + "]" * 99 + "}"
    assert parse_object(text)
    with pytest.raises(MalformedJson, match="nested deeper than 100"):
        parse_object(text.replace("[", "[[").replace("]", "]]"))
