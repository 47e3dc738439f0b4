"""Fingerprints: one hash of everything that changes a score, for caches, logs and manifests."""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import pickle
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Protocol, runtime_checkable

from assay._version import __version__
from assay.errors import ConfigError

#: Modules of values that parquet and data sets bring and that their repr says in full.
_TEXTUAL = frozenset({"datetime", "decimal", "fractions", "uuid"})


@runtime_checkable
class Fingerprinted(Protocol):
    """Anything that knows its own fingerprint."""

    def fingerprint(self) -> str:
        """A hash of everything here that can change a score."""


def fingerprint_of(value: object) -> str:
    """A hexadecimal hash of a configuration value, stable over processes and machines.

    Plain data, dates, decimals, enums, NumPy arrays, files (by content), dataclasses (by class and
    fields, those whose metadata says `fingerprint: False` left out), functions and methods (by
    name, source, defaults and what they close over, but not the globals they read) and objects
    with a `fingerprint()` or `to_dict()` method can be hashed, estimators with `predict()` by their
    pickle.

    Raises:
        ConfigError: Anything else, named by its type.

    >>> fingerprint_of({"a": 1, "b": 2}) == fingerprint_of({"b": 2, "a": 1})
    True
    >>> fingerprint_of(1) == fingerprint_of(1.0)
    False
    """
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


def configuration_fingerprint(value: object) -> str:
    """Fingerprint of an object's class and settings, and of this library's version.

    A dataclass is hashed by its fields; another object by its instance attributes.
    """
    digest = hashlib.sha256()
    _update(digest, ("assay", __version__))
    _update_settings(digest, value)
    return digest.hexdigest()


def _qualified(kind: type | Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _update_settings(digest: Any, value: object) -> None:
    digest.update(b"O" + _qualified(type(value)).encode() + b"(")
    if is_dataclass(value):
        settings = {
            f.name: getattr(value, f.name)
            for f in fields(value)
            if f.metadata.get("fingerprint", True)
        }
    else:
        settings = {k: v for k, v in vars(value).items() if k != "name"}
    for key in sorted(settings):
        digest.update(key.encode() + b"=")
        try:
            _update(digest, settings[key])
        except ConfigError as error:
            raise ConfigError(f"{_qualified(type(value))}.{key}: {error}") from None
    digest.update(b")")


def _update(digest: Any, value: object) -> None:
    if isinstance(value, enum.Enum):
        _update(digest, ("enum", _qualified(type(value)), value.name))
    elif type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        array: Any = value  # numpy itself need not be loaded; its repr changes with its version
        _update(digest, ("numpy", str(array.dtype), array.shape))
        if array.dtype.hasobject:
            _update(digest, array.tolist())
        else:
            digest.update(array.tobytes())
    elif value is None or isinstance(value, bool | int | float | str | bytes):
        text = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(f"{type(value).__name__}{len(text)}:".encode() + text)
    elif isinstance(value, Path):
        digest.update(b"P")
        if value.is_file():
            with value.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            _update(digest, str(value))
    elif type(value).__module__ in _TEXTUAL:
        _update(digest, (_qualified(type(value)), repr(value)))
    elif isinstance(value, Mapping):
        digest.update(b"{")
        for key in sorted(value, key=lambda k: (type(k).__name__, repr(k))):
            _update(digest, key)
            _update(digest, value[key])
        digest.update(b"}")
    elif isinstance(value, Set):
        digest.update(b"S")
        for item in sorted(fingerprint_of(item) for item in value):
            _update(digest, item)
    elif isinstance(value, list | tuple):
        digest.update(b"[")
        for item in value:
            _update(digest, item)
        digest.update(b"]")
    elif isinstance(value, type):
        digest.update(b"T" + _qualified(value).encode())
    elif isinstance(value, Fingerprinted):
        _update(digest, value.fingerprint())
    elif is_dataclass(value):
        _update_settings(digest, value)
    elif inspect.isfunction(value):
        _update_function(digest, value)
    elif inspect.ismethod(value):
        _update(digest, ("method", value.__func__, value.__self__))
    elif inspect.isbuiltin(value):
        _update(digest, ("builtin", value.__module__, value.__qualname__))
    elif isinstance(value, functools.partial):
        _update(digest, ("partial", value.func, value.args, value.keywords))
    elif callable(to_dict := getattr(value, "to_dict", None)):  # calibrators that are saved as JSON
        _update(digest, ("dict", _qualified(type(value)), to_dict()))
    elif callable(getattr(value, "predict", None)):  # fitted by somebody else's library
        _update(digest, ("estimator", _qualified(type(value)), pickle.dumps(value, protocol=5)))
    else:
        raise ConfigError(
            f"cannot fingerprint a {_qualified(type(value))}; give it a method "
            "fingerprint() -> str that hashes what changes a score"
        )


def _update_function(digest: Any, function: FunctionType) -> None:
    digest.update(b"F" + _qualified(function).encode())
    try:
        digest.update(inspect.getsource(function).encode())
        told = function.__name__ != "<lambda>"  # several may share a line
    except (OSError, TypeError):
        told = False
    if not told:
        _update_code(digest, function.__code__)
    _update(digest, (function.__defaults__, function.__kwdefaults__))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        _update(digest, name if content is function else (name, content))


def _update_code(digest: Any, code: CodeType) -> None:
    """What code does, without where it stands and without memory addresses."""
    digest.update(code.co_code)
    _update(digest, (code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _update_code(digest, constant)
        else:
            _update(digest, _constant_text(constant))


def _constant_text(constant: object) -> str:
    if isinstance(constant, tuple | frozenset):
        texts = [_constant_text(item) for item in constant]
        return f"{type(constant).__name__}{texts if isinstance(constant, tuple) else sorted(texts)}"
    return repr(constant)
