"""Tools on offer and whether a call fits them: schemas given, or read off calls that worked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.judges.tool_outcomes import outcome_of
from assay.messages import ToolCall, Trajectory

#: What a share of the calls that worked does, all of them may be asked to do.
MOST = 0.98
#: Fewer calls than this tell nothing of what is required.
FEWEST = 5
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Toolbox:
    """The tools on offer, each with the validator of its arguments.

    Args:
        tools: JSON schemas as servers take them: `{"type": "function", "function": {"name",
            "parameters"}}`, or flat with `parameters`, `input_schema` or `inputSchema`.
        extra_arguments: Let calls have arguments that a schema does not list; else they are
            faults unless the schema says `additionalProperties`.

    Raises:
        DataError: A tool without name, or a schema that is none.
        ImportError: jsonschema is not installed; names the pip command.
    """

    def __init__(
        self, tools: Sequence[Mapping[str, Any]], *, extra_arguments: bool = False
    ) -> None:
        try:
            from jsonschema import Draft202012Validator
            from jsonschema.exceptions import SchemaError, best_match
            from referencing.exceptions import Unresolvable
        except ImportError as error:
            raise ImportError(
                "checking calls against schemas needs jsonschema: pip install 'assay[judges]'"
            ) from error
        self._best, self._unresolved = best_match, Unresolvable
        self._validators: dict[str, Any] = {}
        for tool in tools:
            name, schema = _named_schema(tool)
            if not extra_arguments and schema.get("properties"):
                schema = {"additionalProperties": False, **schema}
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                raise DataError(
                    f"the parameters of tool {name!r} are no JSON schema: {error.message:.200}"
                ) from None
            self._validators[name] = Draft202012Validator(schema)

    @property
    def names(self) -> frozenset[str]:
        """Names of the tools."""
        return frozenset(self._validators)

    def unknown(self, call: ToolCall) -> bool:
        """Whether no tool of that name is on offer; a server's prefix may stand before it."""
        return self._find(call) is None

    def fault(self, call: ToolCall) -> str:
        """Why the arguments do not fit the tool's schema; empty if they do."""
        validator = self._find(call)
        arguments = dict(call.arguments or {})
        try:
            if validator is None or validator.is_valid(arguments):
                return ""
            error = self._best(validator.iter_errors(arguments))
        except self._unresolved as problem:
            raise DataError(
                f"the parameters of tool {call.name!r} refer to what is not in them: "
                f"{problem!s:.160}; put it under `$defs`"
            ) from None
        where = ".".join(str(part) for part in error.absolute_path)
        return f"{where}: {error.message:.200}" if where else f"{error.message:.200}"

    def _find(self, call: ToolCall) -> Any:
        found = self._validators.get(call.name)
        if found is None and call.server:
            for joined in (f"{call.server}.{call.name}", f"{call.server}__{call.name}"):
                found = found or self._validators.get(joined)
        return found


def inferred_tools(
    trajectories: Iterable[Trajectory], *, fewest: int = FEWEST
) -> tuple[dict[str, Any], ...]:
    """Schemas of the tools as the calls that worked use them, for data that comes without.

    A tool is on offer if a call of it worked in two runs, or `fewest` times. An argument is
    required if 98% of at least `fewest` working calls give it; a type is allowed if it is not one
    in fifty or less.

    >>> from assay.messages import Message
    >>> run = Trajectory((Message("assistant", tool_calls=(ToolCall("find", {"q": "tea"}),)),
    ...                   Message("tool", "A leaf.")))
    >>> inferred_tools([run] * 5)[0]["function"]["parameters"]["required"]
    ['q']
    """
    calls: dict[str, list[Mapping[str, Any]]] = {}
    runs: dict[str, set[int]] = {}
    for number, trajectory in enumerate(trajectories):
        for turn in trajectory.turns:
            results = [m for m in turn.results if m.role == "tool"]
            for call, result in zip(turn.message.tool_calls, results, strict=False):
                if not call.error and call.arguments is not None and outcome_of(result) == "ok":
                    calls.setdefault(call.name, []).append(call.arguments)
                    runs.setdefault(call.name, set()).add(number)
    return tuple(
        {
            "type": "function",
            "function": {"name": name, "parameters": _schema_of_objects(given, fewest)},
        }
        for name, given in sorted(calls.items())
        if len(runs[name]) >= 2 or len(given) >= fewest
    )


def _named_schema(tool: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    inner = tool.get("function")
    body: Mapping[str, Any] = inner if isinstance(inner, Mapping) else tool
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise DataError(f"a tool needs a name that is text, got {tool!r:.120}")
    keys = ("parameters", "input_schema", "inputSchema")
    schema: Any = next((body[key] for key in keys if body.get(key) is not None), {})
    if not isinstance(schema, Mapping):
        raise DataError(f"the parameters of tool {name!r} must be an object, got {schema!r:.80}")
    return name, dict(schema)


def _schema_of_objects(objects: Sequence[Mapping[str, Any]], fewest: int) -> dict[str, Any]:
    values: dict[str, list[Any]] = {}
    for given in objects:
        for key, value in given.items():
            values.setdefault(key, []).append(value)
    count = len(objects)
    seen = {k: v for k, v in values.items() if len(v) > (1 - MOST) * count}
    need = math.ceil(MOST * count)
    required = sorted(k for k, v in seen.items() if count >= fewest and len(v) >= need)
    return {
        "type": "object",
        "properties": {k: _schema_of_values(v, fewest) for k, v in sorted(seen.items())},
        "required": required,
        "additionalProperties": count < fewest,
    }


def _schema_of_values(values: Sequence[Any], fewest: int) -> dict[str, Any]:
    kinds: dict[str, int] = {}
    for value in values:
        kinds[_kind(value)] = kinds.get(_kind(value), 0) + 1
    allowed = {kind for kind, count in kinds.items() if count > (1 - MOST) * len(values)}
    if "integer" in allowed and "number" not in allowed:
        allowed = (allowed - {"integer"}) | {"number"}  # 5 and 5.0 are the same to most tools
    schema: dict[str, Any] = {"type": sorted(allowed)}
    if allowed == {"array"}:
        items = [item for value in values if isinstance(value, list) for item in value]
        if items and {_kind(item) for item in items} == {"object"}:
            schema["items"] = _schema_of_objects(items, fewest)
        elif items:
            schema["items"] = _schema_of_values(items, fewest)
    if allowed == {"object"}:
        schema |= _schema_of_objects([v for v in values if isinstance(v, Mapping)], fewest)
    return schema


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "object"
    return _JSON_TYPES.get(type(value), "array")
