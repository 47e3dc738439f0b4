"""Checks of constructor arguments: one rule and one form of message for every reward."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.reward import Reward


def real(what: str, value: object, least: float = -math.inf, most: float = math.inf) -> None:
    """Check a finite number in [least, most].

    >>> real("Clip.low", "a")
    Traceback (most recent call last):
    assay.errors.ConfigError: Clip.low must be a finite number, got 'a'
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) and least <= value <= most:  # type: ignore[arg-type,operator]
        return
    bound = f" >= {least:g}" if math.isfinite(least) else ""
    bound += f" and <= {most:g}" if math.isfinite(most) else ""
    raise ConfigError(f"{what} must be a finite number{bound}, got {value!r:.80}")


def whole(what: str, value: object, least: int) -> None:
    """Check a whole number >= least.

    >>> whole("Length.target", 0, 1)
    Traceback (most recent call last):
    assay.errors.ConfigError: Length.target must be a whole number >= 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{what} must be a whole number >= {least}, got {value!r:.80}")


def one_of(what: str, value: object, valid: Collection[object]) -> None:
    """Check a choice.

    >>> one_of("Length.unit", "lines", ("characters", "words"))
    Traceback (most recent call last):
    assay.errors.ConfigError: Length.unit must be one of {'characters', 'words'}, got 'lines'
    """
    if not any(type(value) is type(choice) and value == choice for choice in valid):
        choices = ", ".join(map(repr, valid))
        raise ConfigError(f"{what} must be one of {{{choices}}}, got {value!r:.80}")


def nonempty(what: str, value: object) -> None:
    """Check a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{what} must be non-empty text, got {value!r:.80}")


def common(reward: Reward) -> None:
    """Check the settings that every reward has: name, error rate, end-of-sequence ids, range."""
    kind = type(reward).__name__
    nonempty(f"{kind}.name", reward.name)
    real(f"{kind}.max_error_rate", reward.max_error_rate, 0, 1)
    ids = reward.eos_token_ids
    if not isinstance(ids, tuple | list) or not all(type(one) is int for one in ids):
        raise ConfigError(f"{kind}.eos_token_ids must be a tuple of token ids, got {ids!r:.80}")
    span = reward.range
    numbers = isinstance(span, tuple | list) and all(isinstance(end, int | float) for end in span)
    if not numbers or len(span) != 2 or not span[0] <= span[1]:
        raise ConfigError(f"{kind}.range must be (smallest, largest), got {span!r:.80}")
