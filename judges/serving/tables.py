"""TOML tables into frozen dataclasses: unknown keys, wrong types and missing keys are refused."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import ConfigError

T = TypeVar("T")


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file's tables.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def known_keys(where: str, table: Mapping[str, Any], valid: Collection[str]) -> None:
    """Refuse keys that are not in `valid`, with the nearest one that is.

    >>> known_keys("[server]", {"prot": 1}, ["host", "port"])
    Traceback (most recent call last):
    assay.errors.ConfigError: [server] has no setting 'prot'; did you mean 'port'?
    """
    for key in sorted(table.keys() - set(valid)):
        near = difflib.get_close_matches(key, sorted(valid), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the settings are {sorted(valid)}"
        raise ConfigError(f"{where} has no setting {key!r}; {hint}")


def subtable(where: str, value: Any) -> Mapping[str, Any]:
    """`value`, which must be a table."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table, got {value!r:.80}; write it as [{where}]")
    return value


def read_table(kind: type[T], where: str, table: Any, **given: Any) -> T:
    """A dataclass from a table; fields in `given` are not read from it.

    Lists become tuples. Types of plain fields are checked by the annotation's name.

    Raises:
        ConfigError: Unknown or missing keys, or a value of the wrong type.
    """
    table = subtable(where.strip("[]"), table)
    settings = {f.name: f for f in fields(kind) if f.name not in given}  # type: ignore[arg-type]
    known_keys(where, table, settings)
    values: dict[str, Any] = {}
    for name, setting in settings.items():
        if name in table:
            values[name] = _typed(f"{where} {name}", table[name], str(setting.type))
        elif setting.default is MISSING and setting.default_factory is MISSING:
            raise ConfigError(f"{where} needs {name!r}; the settings are {sorted(settings)}")
    return kind(**values, **given)


def _typed(what: str, value: Any, type_name: str) -> Any:
    optional = type_name.endswith(" | None")
    plain = type_name.removesuffix(" | None")
    if plain == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    checks: dict[str, tuple[type, str]] = {
        "str": (str, "text"),
        "int": (int, "a whole number"),
        "float": (float, "a number"),
        "bool": (bool, "true or false"),
    }
    if plain in checks:
        kind, word = checks[plain]
        if type(value) is not kind:
            also = ", or left out" if optional else ""
            raise ConfigError(f"{what} must be {word}{also}, got {value!r:.80}")
    elif plain == "tuple[str, ...]":
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ConfigError(f"{what} must be a list of texts, got {value!r:.80}")
        return tuple(items)
    return value
