"""Fingerprints: one hash of everything that changes a score, for caches, logs and manifests."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from assay._version import __version__
from assay.errors import ConfigError


@runtime_checkable
class Fingerprinted(Protocol):
    """Anything that knows its own fingerprint."""

    def fingerprint(self) -> str:
        """A hash of everything here that can change a score."""


def fingerprint_of(value: object) -> str:
    """A hexadecimal hash of a configuration value, stable over processes and machines.

    Plain data, NumPy arrays, files (by content), dataclasses (by class and fields, those whose
    metadata says `fingerprint: False` left out), functions (by name and source) and objects with
    a `fingerprint()` method can be hashed.

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
    if value is None or isinstance(value, bool | int | float | str | bytes):
        text = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(f"{type(value).__name__}{len(text)}:".encode() + text)
    elif isinstance(value, Path):
        digest.update(b"P")
        if value.is_file():
            with value.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            _update(digest, str(value))
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
    elif type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        array: Any = value  # numpy itself need not be loaded
        _update(digest, ("numpy", str(array.dtype), array.shape))
        digest.update(array.tobytes())
    elif isinstance(value, type):
        digest.update(b"T" + _qualified(value).encode())
    elif isinstance(value, Fingerprinted):
        _update(digest, value.fingerprint())
    elif is_dataclass(value):
        _update_settings(digest, value)
    elif inspect.isfunction(value):
        digest.update(b"F" + _qualified(value).encode())
        try:
            digest.update(inspect.getsource(value).encode())
        except (OSError, TypeError):
            digest.update(value.__code__.co_code + repr(value.__code__.co_consts).encode())
    else:
        raise ConfigError(
            f"cannot fingerprint a {_qualified(type(value))}; give it a method "
            "fingerprint() -> str that hashes what changes a score"
        )
