"""Whether the values of a table of settings have the types that a dataclass states for them."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import ConfigError

#: How messages call what a type takes.
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    type(None): "nothing",
}


def require_types(
    what: str, kind: type, table: Mapping[str, Any], *, numbers_only: bool = False
) -> None:
    """Refuse the first value that is not of its field's type.

    Nothing is converted: "3" is no number, and true is none either. Types that are none of TOML's
    are left to the dataclass itself.

    >>> from assay.sandbox import Limits
    >>> require_types("[limits]", Limits, {"cpu_s": "1"})
    Traceback (most recent call last):
    assay.errors.ConfigError: [limits]: cpu_s must be a finite number, got '1'

    Args:
        what: How messages name the table.
        kind: A dataclass.
        table: Its settings; keys that are no fields are passed over.
        numbers_only: Look only at fields that are numbers; for classes of others, which take more
            than they state.

    Raises:
        ConfigError: A value of another type.
    """
    try:
        hints = get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers only
        return
    for field in fields(kind):
        if numbers_only and not _numeric(hints[field.name]):
            continue
        if field.name in table and not _fits(table[field.name], hints[field.name]):
            wanted = " or ".join(dict.fromkeys(_words(hints[field.name])))
            value = table[field.name]
            raise ConfigError(f"{what}: {field.name} must be {wanted}, got {value!r:.80}")


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return isinstance(value, str)  # which texts there are, the dataclass says better
    if hint in (bool, type(None)):
        return isinstance(value, hint)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    if hint is str:
        return isinstance(value, str | Path)
    plain = origin or hint
    if isinstance(plain, type) and is_dataclass(plain):
        return isinstance(value, plain | Mapping)
    if isinstance(plain, type) and issubclass(plain, Mapping):
        return isinstance(value, Mapping)
    if plain is tuple:  # one file may stand for a list of them, and a table for its sources
        return isinstance(value, str | Path | Mapping | list | tuple)
    return True


def _numeric(hint: Any) -> bool:
    parts = set(get_args(hint) or (hint,)) - {type(None)}
    return parts <= {int, float}


def _words(hint: Any) -> list[str]:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        return [word for part in parts for word in _words(part)]
    if origin is Literal:
        return ["one of " + ", ".join(map(repr, get_args(hint)))]
    if origin is tuple:
        return ["a list"]
    return [_WORDS.get(hint, "a table")]
