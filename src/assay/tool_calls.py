"""One tool call of an assistant turn, well formed or kept as it broke."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import DataError
from assay.json_object import MalformedJson, parse_object


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of an assistant turn.

    Attributes:
        name: The tool's name; empty when the call is too broken to tell.
        arguments: Parsed arguments, or None when they could not be parsed.
        id: The call's id where the format has one.
        raw: The text the call was read from.
        error: Where and why it is malformed; empty for a well-formed call.
        server: MCP server name (MiroFlow), empty elsewhere.
    """

    name: str
    arguments: Mapping[str, Any] | None
    id: str = ""
    raw: str = ""
    error: str = ""
    server: str = ""

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, value: ToolCall | Mapping[str, Any]) -> ToolCall:
        """Read an OpenAI-style call, `{"function": {"name", "arguments"}}`, or a flat one.

        Arguments may be a mapping or a JSON string; a malformed call keeps its text and its error.
        What `to_json` wrote is read back as it was.
        """
        if isinstance(value, ToolCall):
            return value
        if not isinstance(value, Mapping):
            raise DataError(f"a tool call must be a mapping, got {type(value).__name__}")
        function = value.get("function")
        body: Mapping[str, Any] = function if isinstance(function, Mapping) else value
        name = body.get("name")
        name = name if isinstance(name, str) else ""
        call_id = str(value.get("id") or "")
        arguments = body.get("arguments")
        raw = arguments if isinstance(arguments, str) else ""
        server = str(value.get("server") or "")
        if isinstance(value.get("error"), str) and value["error"]:
            told = str(value.get("raw") or raw)
            kept = arguments if isinstance(arguments, Mapping) else None
            return cls(name, kept, call_id, told, value["error"], server)
        error = "" if name else "the call has no name"
        if isinstance(arguments, str):
            try:
                arguments = parse_object(arguments) if arguments.strip() else {}
            except MalformedJson as problem:
                where = "" if problem.position is None else f" at character {problem.position}"
                error = error or f"arguments: {problem}{where}"
                arguments = None
        elif arguments is None:
            arguments = {}
        if arguments is not None and not isinstance(arguments, Mapping):
            error = error or f"arguments must be an object, got {type(arguments).__name__}"
            arguments = None
        raw = str(value.get("raw") or raw)
        return cls(name=name, arguments=arguments, id=call_id, raw=raw, error=error, server=server)

    def to_json(self) -> dict[str, Any]:
        """An OpenAI-style call; `error`, `raw` and `server` stand beside it where they say more.

        >>> ToolCall("find", {"q": "tea"}).to_json()["function"]
        {'name': 'find', 'arguments': '{"q": "tea"}'}
        """
        arguments = self.raw
        if self.arguments is not None:
            arguments = json.dumps(dict(self.arguments), ensure_ascii=False)
        call: dict[str, Any] = {
            "type": "function",
            "function": {"name": self.name, "arguments": arguments},
        }
        more = {"id": self.id, "error": self.error, "server": self.server}
        more["raw"] = self.raw if self.raw != arguments else ""
        return call | {key: text for key, text in more.items() if text}
