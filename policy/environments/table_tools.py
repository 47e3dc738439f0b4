"""Tools over a small database, written as data: what they read, what they demand, what they change.

A tool is a JSON object:

    {"name", "description", "do": "list", "table", "filter": [fields], "show": [fields]}
    {"name", "description", "do": "get", "table", "key": argument name}
    {"name", "description", "do": "change", "arguments": {name: schema}, "requires": [...],
     "effects": [...]}

Requirement: `{"left": operand, "op": "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in",
"right": operand, "else": message}`. Operand: `{"arg": name}`, `{"cell": [table, key, field]}`,
`{"sum" | "difference" | "product": [operands]}`, `{"join": [operands]}`, or a literal.
Effects: `{"set": [table, key, field], "to": operand}`, `{"add": [table, key, field],
"by": operand}`, `{"append" | "remove": [table, key, field], "value": operand}`,
`{"insert": table, "key": operand, "row": {field: operand}}`, `{"delete": [table, key]}`.

Requirements are all checked before anything changes. No code is run, so that a language model may
write such tools.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assay.errors import ConfigError
from assay.policy.environments.spec import Tool, ToolError

#: Tables by name, rows by key, values by field.
Tables = dict[str, dict[str, dict[str, Any]]]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}
#: Rows that a listing shows at most.
MOST_ROWS = 50


def table_tool(description: Mapping[str, Any]) -> Tool:
    """The tool that a description stands for.

    Raises:
        ConfigError: The description lacks something, or has something that is unknown.
    """
    try:
        name, text, kind = (str(description[key]) for key in ("name", "description", "do"))
        if kind == "list":
            fields = list(description["filter"])
            return Tool(
                name,
                text,
                _schema({f: {"type": "string"} for f in fields}, ()),
                partial(_listing, table=description["table"], show=description.get("show")),
            )
        if kind == "get":
            key = description["key"]
            return Tool(
                name,
                text,
                _schema({key: {"type": "string"}}, (key,)),
                partial(_row_tool, table=description["table"], key=key),
            )
        if kind == "change":
            arguments = dict(description["arguments"])
            change = _Change(description.get("requires", ()), description["effects"])
            return Tool(name, text, _schema(arguments, tuple(arguments)), change, changes=True)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"a table tool is malformed, {error!r}: {description!r:.200}") from None
    raise ConfigError(f"a table tool's `do` must be list, get or change, got {kind!r:.80}")


def _schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _listing(
    state: Tables, /, *, table: str, show: Sequence[str] | None, **wanted: str
) -> list[dict[str, Any]]:
    rows = [
        {"id": key, **(row if show is None else {field: row[field] for field in show})}
        for key, row in _table(state, table).items()
        if all(str(row.get(field)) == value for field, value in wanted.items())
    ]
    return rows[:MOST_ROWS]


def _row_tool(state: Tables, /, *, table: str, key: str, **arguments: str) -> dict[str, Any]:
    return {"id": arguments[key], **_row(state, table, arguments[key])}


def _row(state: Tables, table: str, key: Any) -> dict[str, Any]:
    rows = _table(state, table)
    if key not in rows:
        raise ToolError(f"there is no {key!r} in {table}")
    return rows[key]


def _table(state: Tables, table: str) -> dict[str, dict[str, Any]]:
    if table not in state:
        raise ConfigError(f"there is no table {table!r}; the tables are {sorted(state)}")
    return state[table]


class _Change:
    """A changing tool: requirements first, then all effects."""

    def __init__(self, requires: Sequence[Mapping[str, Any]], effects: Sequence[Any]) -> None:
        self.requires = [dict(rule) for rule in requires]
        self.effects = [dict(effect) for effect in effects]
        if not self.effects:
            raise ConfigError("a changing tool needs effects, got none")
        for rule in self.requires:
            if rule["op"] not in _OPERATORS:
                raise ConfigError(f"op must be one of {sorted(_OPERATORS)}, got {rule['op']!r:.80}")
            _ = rule["left"], rule["right"], rule["else"]
        for effect in self.effects:
            if sum(verb in effect for verb in _VERBS) != 1:
                raise ConfigError(f"an effect has one of {sorted(_VERBS)}, got {effect!r:.200}")

    def __call__(self, state: Tables, /, **arguments: Any) -> dict[str, Any]:
        for rule in self.requires:
            left, right = (value_of(rule[side], state, arguments) for side in ("left", "right"))
            try:
                holds = _OPERATORS[rule["op"]](left, right)
            except TypeError as error:
                raise ConfigError(f"requirement {rule!r:.200} cannot be checked: {error}") from None
            if not holds:
                raise ToolError(str(rule["else"]))
        planned = [self._planned(effect, state, arguments) for effect in self.effects]
        for change in planned:
            change()
        return {"ok": True}

    def _planned(
        self, effect: Mapping[str, Any], state: Tables, arguments: Mapping[str, Any]
    ) -> Callable[[], None]:
        """The effect with all its operands read, so that nothing half-done can be left."""
        verb = next(verb for verb in _VERBS if verb in effect)
        if verb == "insert":
            key = value_of(effect["key"], state, arguments)
            if key in _table(state, effect["insert"]):
                raise ToolError(f"{key!r} exists already in {effect['insert']}")
            row = {f: value_of(v, state, arguments) for f, v in effect["row"].items()}
            return partial(_table(state, effect["insert"]).__setitem__, key, row)
        table, key, *rest = effect[verb]
        key = value_of(key, state, arguments)
        row = _row(state, table, key)
        if verb == "delete":
            return partial(_drop, state[table], key)
        field = rest[0]
        if field not in row:
            raise ConfigError(f"{table} has no field {field!r}, it has {sorted(row)}")
        operand = value_of(effect[_VERBS[verb]], state, arguments)
        return partial(_edit, row, field, verb, operand)


#: Effects and where each one's operand stands.
_VERBS = {
    "set": "to",
    "add": "by",
    "append": "value",
    "remove": "value",
    "insert": "",
    "delete": "",
}


def _drop(rows: dict[str, Any], key: str) -> None:
    del rows[key]


def _edit(row: dict[str, Any], field: str, verb: str, operand: Any) -> None:
    if verb == "set":
        row[field] = operand
    elif verb == "add":
        row[field] = row[field] + operand
    elif verb == "append":
        row[field] = [*row[field], operand]
    else:
        row[field] = [value for value in row[field] if value != operand]


def value_of(operand: Any, state: Tables, arguments: Mapping[str, Any]) -> Any:
    """What an operand stands for.

    Raises:
        ToolError: It looks up a row that is not there.
        ConfigError: It is malformed.

    >>> value_of({"sum": [{"cell": ["cups", {"arg": "cup"}, "ml"]}, 5]},
    ...          {"cups": {"a": {"ml": 20}}}, {"cup": "a"})
    25
    """
    if not isinstance(operand, Mapping):
        return operand
    if len(operand) != 1:
        raise ConfigError(f"an operand has one key, got {operand!r:.200}")
    kind, inner = next(iter(operand.items()))
    if kind == "arg":
        if inner not in arguments:
            raise ConfigError(f"the tool has no argument {inner!r}, it has {sorted(arguments)}")
        return arguments[inner]
    if kind == "cell":
        table, key, field = inner
        row = _row(state, table, value_of(key, state, arguments))
        if field not in row:
            raise ConfigError(f"{table} has no field {field!r}, it has {sorted(row)}")
        return row[field]
    values = [value_of(part, state, arguments) for part in inner]
    if kind == "join":
        return "".join(map(str, values))
    if kind == "sum":
        return sum(values)
    if kind == "difference" and len(values) == 2:
        return values[0] - values[1]
    if kind == "product" and len(values) == 2:
        return values[0] * values[1]
    raise ConfigError(f"unknown operand {operand!r:.200}")
