"""Handles: connections and models that open lazily in whatever process uses them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_live: weakref.WeakSet[Handle[object]] = weakref.WeakSet()
# Connections of a parent process: a child must neither use nor close them, so they are kept.
_inherited: list[object] = []


class Handle(Generic[T]):
    """Holds what its owner opens on first use; empty after pickling, in a copy and after a fork.

    >>> handle = Handle()
    >>> handle.get(lambda: "opened"), handle.get(lambda: "opened again")
    ('opened', 'opened')
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._value: T | None = None
        _live.add(self)  # type: ignore[arg-type]

    def get(self, open_: Callable[[], T]) -> T:
        """The open thing; `open_` is called once a process, by one thread."""
        value = self._value
        if value is None:
            with self._lock:
                if self._value is None:
                    self._value = open_()
                value = self._value
        return value

    def drop(self) -> T | None:
        """Forget the open thing and return it, for its owner to close."""
        with self._lock:
            value, self._value = self._value, None
        return value

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        if self._value is not None:
            _inherited.append(self._value)
        self._value = None

    def __reduce__(self) -> tuple[type[Handle[T]], tuple[()]]:
        return type(self), ()

    def __deepcopy__(self, memo: object) -> Handle[T]:
        return type(self)()

    def __repr__(self) -> str:
        return f"Handle({'closed' if self._value is None else 'open'})"


def _after_fork() -> None:
    for handle in list(_live):
        handle._after_fork()


os.register_at_fork(after_in_child=_after_fork)
