"""The errors of the library.

A message says what is wrong, what was found, and what to do. `ConfigError` and `DataError` are the
caller's to mend and are also `ValueError`; the others mean that something on our side could not do
its work and are also `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class AssayError(Exception):
    """Base class of every error that this library raises on purpose."""


class ConfigError(AssayError, ValueError):
    """A reward, judge, sandbox or recipe was put together in a way that cannot work."""


class DataError(AssayError, ValueError):
    """A dataset or one of its rows lacks something or holds something that cannot be used.

    Attributes:
        index: Position of the offending row in the batch, or None when it is not one row's fault.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> tuple[type[DataError], tuple[str, int | None]]:
        return type(self), (str(self), self.index)


@contextmanager
def places_in(rows: Sequence[int]) -> Iterator[None]:
    """Make a DataError about part of a batch name the row of the whole batch.

    Args:
        rows: Row of the batch for each place of the part.

    >>> try:
    ...     with places_in([4, 7]):
    ...         raise DataError("empty", 1)
    ... except DataError as error:
    ...     error.index
    7
    """
    try:
        yield
    except DataError as error:
        if error.index is not None:
            error.index = rows[error.index]
        raise


class SandboxError(AssayError, RuntimeError):
    """The sandbox could not run a program. What a program does wrong is a result, never this."""


class JudgeError(AssayError, RuntimeError):
    """A judge could not be reached or did not answer in time."""


class RewardError(AssayError, RuntimeError):
    """A reward could not score its rows."""


class ContractError(RewardError):
    """A reward broke the interface: wrong number of scores, wrong type, value out of its range."""
