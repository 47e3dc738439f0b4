"""Loads a reward, or another object, by name: `FILE.py:attr` or `package.module:attr`."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.errors import ConfigError
from assay.reward import Reward


@dataclass(frozen=True)
class LoadedReward:
    """A reward and where it came from."""

    reward: Reward
    spec: str
    source: Path | None

    __hash__ = None  # type: ignore[assignment]


def load_reward(spec: str) -> LoadedReward:
    """The Reward that `spec` names.

    A file is imported as Python runs a script: its folder comes first on `sys.path` and the module
    has the file's name, so that it may import its neighbours and that worker processes find its
    classes again when they unpickle them.

    Raises:
        ConfigError: The spec is malformed, the module cannot be imported, or the attribute is
            missing or no Reward.
    """
    found, origin = load_object(spec, Reward)
    if not isinstance(found, Reward):
        raise ConfigError(f"{spec} must be a Reward, got {_kind(found)}")
    return LoadedReward(found, spec, origin)


def load_object(spec: str, kind: type, option: str = "--reward") -> tuple[Any, Path | None]:
    """Whatever `spec` names, and the file it came from; for its type see to it yourself.

    Args:
        spec: `FILE.py:attr` or `package.module:attr`.
        kind: What is looked for; names the candidates where the attribute is missing.
        option: What the spec was given as, for messages.

    Raises:
        ConfigError: The spec is malformed, the module cannot be imported, or has no such attribute.
    """
    target, attribute = split_spec(spec, option)
    is_file = target.endswith(".py") or "/" in target
    module = _import_file(Path(target)) if is_file else _import_module(target)
    missing = object()
    found = getattr(module, attribute, missing)
    if found is missing:
        word = kind.__name__
        names = sorted(name for name, value in vars(module).items() if isinstance(value, kind))
        have = f"its {word.lower()}s are {names}" if names else f"it holds no {word}"
        raise ConfigError(f"{target} has no {attribute!r}; {have}")
    origin = getattr(module, "__file__", None)
    return found, None if origin is None else Path(origin)


def split_spec(spec: str, option: str = "--reward") -> tuple[str, str]:
    """File or module, and attribute.

    >>> split_spec("examples/code_reward.py:reward")
    ('examples/code_reward.py', 'reward')

    Raises:
        ConfigError: Not of that form.
    """
    target, colon, attribute = spec.rpartition(":")
    if not (colon and target and attribute.isidentifier()):
        raise ConfigError(
            f"{option} must be FILE.py:attr or package.module:attr, got {spec!r}; e.g. "
            "examples/code_reward.py:reward"
        )
    return target, attribute


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"cannot load an object: there is no file {path}")
    path = path.resolve()
    name = path.stem
    if "." in name:
        raise ConfigError(f"cannot import {path.name}: a module's name has no dots; rename it")
    known = sys.modules.get(name)
    if known is not None and not _is_from(known, path):
        raise ConfigError(
            f"cannot import {path}: a module {name!r} is loaded already, from "
            f"{getattr(known, '__file__', None) or 'inside Python'}; rename the file"
        )
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
    module = _import_module(name, str(path))
    if not _is_from(module, path):
        raise ConfigError(
            f"cannot import {path}: {name!r} is {getattr(module, '__file__', 'built in')}; rename "
            "the file"
        )
    return module


def _import_module(name: str, label: str = "") -> ModuleType:
    try:
        return importlib.import_module(name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # a script may exit where it is no main program
        place = _line_of(error, label)
        raise ConfigError(
            f"cannot import {label or name}{place}: {type(error).__name__}: {error}"
        ) from error


def _line_of(error: BaseException, label: str) -> str:
    """The line of the file itself at which its import failed."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == label:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""


def _is_from(module: ModuleType, path: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == path


def _kind(found: object) -> str:
    if isinstance(found, type):
        hint = "; name an instance of it" if issubclass(found, Reward) else ""
        return f"the class {found.__name__}{hint}"
    return f"{type(found).__name__}; subclass assay.rewards.Reward and name an instance"
