"""The protocols that come with the library: `Hermes`, `MiroFlow`, `React`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.json_object import MalformedJson, parse_object
from assay.messages import ToolCall
from assay.tagged_json import Lines, tag_spans
from assay.tool_protocol import CallFault, ParsedTurn, Protocol

_MIRO_FIELDS = ("server_name", "tool_name", "arguments")
_MIRO_HEAD = re.compile(
    r"\s*<server_name>([^<]*)</server_name>\s*<tool_name>([^<]*)</tool_name>\s*<arguments>"
)
_REACT_RESULT = re.compile(r"^[ \t]*Observation[ \t]*(?:\d+[ \t]*)?:", re.MULTILINE)
_REACT_KEY = re.compile(
    r"^[ \t]*(Thought|Action Input|Action|Observation|Final Answer)[ \t]*(?:\d+[ \t]*)?:",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Hermes(Protocol):
    r"""`<tool_call>` around a JSON object with `name` and `arguments`, several in a turn.

    Results come back as `<tool_response>` in user turns, several in one.

    Source: the chat templates of Hermes 2 Pro, Qwen3 and Nanbeige4.1.

    >>> turn = Hermes().parse(
    ...     'Let me look.\n<tool_call>\n{"name": "find", "arguments": {"q": "tea"}}\n</tool_call>'
    ... )
    >>> turn.text, turn.calls[0].name, turn.calls[0].arguments
    ('Let me look.', 'find', {'q': 'tea'})
    """

    name: str = "hermes"
    special_tokens = (
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
        "<tools>",
        "</tools>",
    )

    def parse(self, text: str) -> ParsedTurn:
        """Read one assistant turn."""
        return _parse_spans(text, "tool_call", self._call)

    def render_call(self, call: ToolCall) -> str:
        """One `<tool_call>`."""
        body = {"name": call.name, "arguments": dict(call.arguments or {})}
        return f"<tool_call>\n{json.dumps(body, ensure_ascii=False)}\n</tool_call>"

    def results(self, text: str) -> tuple[str, ...]:
        """The content of every `<tool_response>`; one left open runs to the end."""
        pieces = text.split("<tool_response>")[1:]
        return tuple(piece.partition("</tool_response>")[0].strip("\r\n") for piece in pieces)

    def render_result(self, text: str) -> str:
        """One `<tool_response>`."""
        return f"<tool_response>\n{text}\n</tool_response>"

    @staticmethod
    def _call(text: str, body: int) -> ToolCall:
        try:
            value = parse_object(text)
        except MalformedJson as problem:
            raise CallFault(
                f"the call is not JSON: {problem}", body + (problem.position or 0)
            ) from None
        name = value.get("name")
        call = ToolCall(name if isinstance(name, str) else "", None)
        if not call.name.strip():
            raise CallFault("the call needs a 'name' that is text", body, call)
        if "arguments" not in value:
            raise CallFault("the call has no 'arguments'", body, call)
        arguments = value["arguments"]
        if not isinstance(arguments, dict):
            kind = type(arguments).__name__
            raise CallFault(f"'arguments' must be an object, got {kind}", body, call)
        return replace(call, arguments=arguments)


@dataclass(frozen=True)
class MiroFlow(Protocol):
    """`<use_mcp_tool>` with `<server_name>`, `<tool_name>` and `<arguments>` (a JSON object).

    Results come back as plain user turns: after a turn that calls, the whole text is the result.

    Source: the MiroFlow agent framework.

    >>> turn = MiroFlow().parse(
    ...     "<use_mcp_tool><server_name>web</server_name><tool_name>find</tool_name>"
    ...     '<arguments>{"q": "tea"}</arguments></use_mcp_tool>'
    ... )
    >>> turn.calls[0].server, turn.calls[0].name, turn.calls[0].arguments
    ('web', 'find', {'q': 'tea'})
    """

    name: str = "miroflow"
    special_tokens = (
        "<use_mcp_tool>",
        "</use_mcp_tool>",
        "<server_name>",
        "</server_name>",
        "<tool_name>",
        "</tool_name>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
    )

    def parse(self, text: str) -> ParsedTurn:
        """Read one assistant turn."""
        return _parse_spans(text, "use_mcp_tool", self._call)

    def render_call(self, call: ToolCall) -> str:
        """One `<use_mcp_tool>`."""
        arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
        return (
            f"<use_mcp_tool>\n<server_name>{call.server}</server_name>\n"
            f"<tool_name>{call.name}</tool_name>\n<arguments>\n{arguments}\n</arguments>\n"
            "</use_mcp_tool>"
        )

    def results(self, text: str) -> tuple[str, ...]:
        """The whole text."""
        return (text,) if text.strip() else ()

    def render_result(self, text: str) -> str:
        """The result itself."""
        return text

    @staticmethod
    def _call(text: str, body: int) -> ToolCall:
        head = _MIRO_HEAD.match(text)
        if head is None:
            missing = [f"<{t}>" for t in _MIRO_FIELDS if f"<{t}>" not in text]
            found = f"{missing[0]} is missing" if missing else "they are broken or out of order"
            raise CallFault(
                f"the call needs <server_name>, <tool_name>, <arguments> in this order; {found}",
                body,
            )
        call = ToolCall(head[2].strip(), None, server=head[1].strip())
        if not (call.server and call.name):
            raise CallFault("server_name and tool_name may not be empty", body, call)
        close = text.rfind("</arguments>")
        if close < head.end():
            raise CallFault("no </arguments> follows", body + head.end(), call)
        if text[close + len("</arguments>") :].strip():
            raise CallFault("text after </arguments>", body + close, call)
        try:
            return replace(call, arguments=parse_object(text[head.end() : close]))
        except MalformedJson as problem:
            where = body + head.end() + (problem.position or 0)
            raise CallFault(f"arguments: {problem}", where, call) from None


@dataclass(frozen=True)
class React(Protocol):
    r"""`Thought:`, `Action:`, `Action Input:`, `Final Answer:` at line starts.

    `Action: name[input]` is read as well.

    An input that is a JSON object gives the arguments; any other text becomes `{"input": text}`.
    The turn's text is its final answer (or `Action: Finish[answer]`) and what no marker precedes;
    thoughts are left out. Results come back as `Observation:` in user turns, so that a turn which
    writes one itself is malformed.

    Source: Yao et al., ReAct, arXiv:2210.03629; the markers are those of LangChain's agents.

    >>> turn = React().parse("Thought: look it up\nAction: find[tea]")
    >>> turn.calls[0].name, turn.calls[0].arguments
    ('find', {'input': 'tea'})
    >>> React().parse("Thought: done\nFinal Answer: 42").text
    '42'
    """

    name: str = "react"

    def parse(self, text: str) -> ParsedTurn:
        """Read one assistant turn."""
        said: list[str] = []
        calls: list[ToolCall] = []
        sections = _react_sections(text)
        for index, (key, line, value) in enumerate(sections):
            before = sections[index - 1][0] if index else ""
            after, _, given = sections[index + 1] if index + 1 < len(sections) else ("", 0, "")
            if key in ("", "final answer"):
                said.append(value)
            elif key == "action":
                call = _react_call(line, value, given if after == "action input" else None)
                if call.name.lower() == "finish" and after != "action input" and call.arguments:
                    said.append(value.partition("[")[2][:-1].strip())
                else:
                    calls.append(call)
            elif key == "action input" and before != "action":
                calls.append(_react_broken(line, value, "Action Input without an Action"))
            elif key == "observation":
                calls.append(_react_broken(line, value, "the turn writes its own Observation"))
        return ParsedTurn("\n".join(filter(None, said)), tuple(calls))

    def thoughts(self, text: str) -> str:
        """What the turn thinks, without the markers."""
        return "\n".join(value for key, _, value in _react_sections(text) if key == "thought")

    def render_call(self, call: ToolCall) -> str:
        """`Action:` and `Action Input:` with JSON."""
        arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
        return f"Action: {call.name}\nAction Input: {arguments}"

    def results(self, text: str) -> tuple[str, ...]:
        """What follows each `Observation:` of a turn that begins with one."""
        marks = list(_REACT_RESULT.finditer(text))
        if not marks or text[: marks[0].start()].strip():
            return ()
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        return tuple(text[m.end() : end].strip() for m, end in zip(marks, ends, strict=True))

    def render_result(self, text: str) -> str:
        """One `Observation:`."""
        return f"Observation: {text}"


def _parse_spans(text: str, tag: str, read: Callable[[str, int], ToolCall]) -> ParsedTurn:
    """Read every span of `tag` with `read(body, offset)`; faults become the calls' errors."""
    lines = Lines(text)
    pieces: list[str] = []
    calls: list[ToolCall] = []
    at = 0
    for span in tag_spans(text, tag):
        pieces.append(text[at : span.start])
        at = span.end
        error = f"{lines.at(span.start)}: {span.problem}" if span.problem else ""
        try:
            call = read(text[span.body : span.body_end], span.body)
        except CallFault as fault:
            call = fault.call
            error = error or f"{lines.at(fault.offset)}: {fault}"
        calls.append(replace(call, raw=text[span.start : span.end], error=error))
    pieces.append(text[at:])
    return ParsedTurn("".join(pieces).strip(), tuple(calls))


def _react_sections(text: str) -> list[tuple[str, int, str]]:
    """Marker (lower case, empty before the first), its line from 1, and the text up to the next."""
    found: list[tuple[str, int, str]] = []
    key, line, at, counted = "", 1, 0, 0
    for match in _REACT_KEY.finditer(text):
        found.append((key, line, text[at : match.start()].strip()))
        line += text.count("\n", counted, match.start())
        key, at, counted = match[1].lower(), match.end(), match.start()
    found.append((key, line, text[at:].strip()))
    return found


def _react_call(line: int, action: str, given: str | None) -> ToolCall:
    raw = f"Action: {action}" + ("" if given is None else f"\nAction Input: {given}")
    name = action
    if given is None:
        name, bracket, rest = action.partition("[")
        if not (bracket and rest.endswith("]")):
            return _react_broken(line, raw, "Action without Action Input, and not name[input]")
        name, given = name.strip(), rest[:-1].strip()
    if not name or "\n" in name:
        return _react_broken(line, raw, "Action needs the name of a tool on one line")
    if not given.startswith("{"):
        return ToolCall(name, {"input": given}, raw=raw)
    try:
        return ToolCall(name, parse_object(given), raw=raw)
    except MalformedJson as problem:
        return replace(_react_broken(line, raw, f"arguments: {problem}"), name=name)


def _react_broken(line: int, raw: str, error: str) -> ToolCall:
    return ToolCall("", None, raw=raw, error=f"line {line}: {error}")
