"""The part of JSON Schema that verdicts need, checked without another package.

Keywords: type, enum, const, required, properties, additionalProperties (true or false), items,
minimum, maximum, minLength, maxLength, pattern, minItems, maxItems; title, description and default
say nothing. Any other is refused when the schema is read, so that nothing is silently unchecked.

Source: JSON Schema 2020-12, "Validation".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.errors import ConfigError

_SILENT = frozenset({"title", "description", "default", "$schema"})
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: (
        (isinstance(v, int) and not isinstance(v, bool))
        or (isinstance(v, float) and v.is_integer())
    ),
}
_KEYWORDS = _SILENT | {
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items"),
    *("minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"),
}


def check_schema(schema: Mapping[str, Any], where: str = "schema") -> None:
    """Refuse a schema that `problem` could not check in full.

    Raises:
        ConfigError: An unknown keyword or type; names where it is.
    """
    if not isinstance(schema, Mapping):
        raise ConfigError(f"{where} must be an object, got {type(schema).__name__}")
    if unknown := sorted(schema.keys() - _KEYWORDS):
        raise ConfigError(f"{where} uses {unknown}; only {sorted(_KEYWORDS)} are checked here")
    if unknown := sorted(set(_kinds(schema)) - _TYPES.keys()):
        raise ConfigError(f"{where}.type must be among {sorted(_TYPES)}, got {unknown}")
    if not isinstance(schema.get("additionalProperties", True), bool):
        raise ConfigError(f"{where}.additionalProperties must be true or false")
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, f"{where}.properties.{name}")
    if "items" in schema:
        check_schema(schema["items"], f"{where}.items")


def problem(value: Any, schema: Mapping[str, Any], where: str = "the verdict") -> str:
    """Why `value` breaks `schema`, or an empty text.

    >>> problem({"n": 3}, {"type": "object", "properties": {"n": {"type": "integer"}}})
    ''
    >>> problem({"n": "3"}, {"type": "object", "properties": {"n": {"type": "integer"}}})
    "the verdict.n must be integer, got '3'"
    """
    kinds = _kinds(schema)
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        return f"{where} must be {' or '.join(kinds)}, got {value!r:.60}"
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if allowed is not None and not any(_same(value, option) for option in allowed):
        return f"{where} must be one of {list(allowed)}, got {value!r:.60}"
    if isinstance(value, dict):
        return _object_problem(value, schema, where)
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{where} has {len(value)} items"
        found = (problem(v, schema.get("items", {}), f"{where}[{i}]") for i, v in enumerate(value))
        return next((text for text in found if text), "")
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return f"{where} has {len(value)} characters"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{where} must match {schema['pattern']!r}, got {value!r:.60}"
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            return f"{where} must lie in [{low}, {high}], got {value}"
    return ""


def _object_problem(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> str:
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{where} lacks {missing}"
    properties = schema.get("properties", {})
    if schema.get("additionalProperties", True) is False and (extra := value.keys() - properties):
        return f"{where} has {sorted(extra)} besides {sorted(properties)}"
    found = (
        problem(value[name], inner, f"{where}.{name}")
        for name, inner in properties.items()
        if name in value
    )
    return next((text for text in found if text), "")


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _same(left: Any, right: Any) -> bool:
    """Equality that keeps true and 1 apart."""
    return type(left) is type(right) and bool(left == right)
