"""Tables of a recipe: settings by dotted keys, and in which keys two of them differ."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from assay.errors import ConfigError


def set_key(table: dict[str, Any], item: str) -> None:
    """Set `a.b=value` in a table; the value is read as TOML, else as text.

    >>> table = {"stages": [{"name": "sft", "trl": {}}]}
    >>> set_key(table, "stages.sft.trl.max_steps=10")
    >>> table["stages"][0]["trl"]
    {'max_steps': 10}

    Raises:
        ConfigError: No `=`, or a dotted key below something that is no table.
    """
    key, sign, text = item.partition("=")
    if not sign or not key:
        raise ConfigError(f"--set is KEY=VALUE, got {item!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = text
    *path, last = key.split(".")
    here: Any = table
    for name in path:
        if isinstance(here, list):
            here = _named(here, name, key)
        elif isinstance(here, dict):
            here = here.setdefault(name, {})
        else:
            raise ConfigError(f"--set {key}: {name!r} lies below something that is no table")
    if isinstance(here, list):
        raise ConfigError(f"--set {key}: name a setting of {last!r}, as in {key}.limit=10")
    if not isinstance(here, dict):
        raise ConfigError(f"--set {key}: {path[-1]!r} is no table")
    here[last] = value


def changed_keys(old: Any, new: Any, path: str = "") -> list[str]:
    """Dotted keys in which two recipes' tables differ.

    >>> changed_keys({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}})
    ['a.b', 'c']
    """
    old, new = _keyed(old), _keyed(new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for key in [*old, *(k for k in new if k not in old)]:
            where = f"{path}.{key}" if path else str(key)
            if key not in old or key not in new:
                found.append(where)
            else:
                found += changed_keys(old[key], new[key], where)
        return found
    return [] if old == new else [path]


def _keyed(value: Any) -> Any:
    """A list of named tables by name, so that differences are told by name."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(v, Mapping) and "name" in v for v in value)
    ):
        return {str(v["name"]): v for v in value}
    return value


def _named(tables: list[Any], name: str, key: str) -> Any:
    for table in tables:
        if isinstance(table, dict) and str(table.get("name", table.get("domain"))) == name:
            return table
    names = [t.get("name", t.get("domain")) for t in tables if isinstance(t, dict)]
    raise ConfigError(f"--set {key}: there is no {name!r}; have {names}")
