"""Tables of settings as frozen dataclasses: unknown keys are refused with the nearest valid one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from assay.errors import ConfigError
from assay.policy.config_types import require_types

Config = TypeVar("Config")


def require_known(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse the first key of `given` that is not in `known`, naming the nearest one.

    >>> require_known("[trl]", ["learning_rat"], ["learning_rate", "seed"])
    Traceback (most recent call last):
    assay.errors.ConfigError: [trl] has no setting 'learning_rat'; did you mean 'learning_rate'?

    Raises:
        ConfigError: A key is unknown.
    """
    for key in sorted(set(given) - set(known)):
        near = difflib.get_close_matches(key, sorted(known), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {sorted(known)}"
        raise ConfigError(f"{what} has no setting {key!r}; {hint}")


def from_table(kind: type[Config], table: Mapping[str, Any], what: str = "") -> Config:
    """A dataclass from a table of its fields.

    Args:
        kind: A dataclass.
        table: Its settings.
        what: How messages name the table; the class's name if empty.

    Raises:
        ConfigError: No table, an unknown setting, one that is missing, or one of another type.
    """
    what = what or kind.__name__
    require_table(what, table)
    known = [f for f in fields(kind) if f.init]  # type: ignore[arg-type]
    require_known(what, table, [f.name for f in known])
    missing = [
        f.name
        for f in known
        if f.default is MISSING and f.default_factory is MISSING and f.name not in table
    ]
    if missing:
        raise ConfigError(f"{what} needs {missing}")
    require_types(what, kind, table)
    return kind(**table)


def require_table(what: str, given: object) -> None:
    """Refuse what is no table.

    Raises:
        ConfigError: It is none.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"{what} must be a table of settings, got {given!r:.80}")


def trl_arguments(
    kind: type[Config], table: Mapping[str, Any], own: Mapping[str, Any], names: Mapping[str, str]
) -> Config:
    """TRL's configuration from a `[trl]` table, passed on unchanged, and our own settings.

    Args:
        kind: `trl.SFTConfig`, `trl.GRPOConfig`, ...
        table: The `[trl]` table.
        own: What this library sets, unless the table does.
        names: Keys that only this library sets, and the setting of ours that sets them.

    Raises:
        ConfigError: An unknown key, one that has a setting of its own, a value that is no number
            where one is needed, or settings that TRL refuses together.
    """
    require_trl_keys(kind, table)
    for key in table:
        if key in names:
            raise ConfigError(f"[trl] must not set {key!r}; set {names[key]!r} beside the table")
    try:
        return kind(**(dict(own) | dict(table)))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"trl.{kind.__name__} refuses the settings: {error}") from error


def require_trl_keys(kind: type, table: Mapping[str, Any], what: str = "[trl]") -> None:
    """Refuse keys that TRL's configuration has not, and values of another type.

    Raises:
        ConfigError: There is one.
    """
    require_table(what, table)
    known = sorted(f.name for f in fields(kind))
    for key in sorted(table.keys() - set(known)):
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{what} has {key!r}, which trl.{kind.__name__} has not{hint}")
    require_types(what, kind, table, numbers_only=True)
