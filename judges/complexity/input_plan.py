"""What the empirical estimator needs to know of a program's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError


@dataclass(frozen=True)
class InputPlan:
    """Makes fresh inputs of any size.

    Args:
        generate: `generate(*sizes, seed=..., shape=...)` returns stdin text, or a tuple of
            arguments for a program with an `entry`. Trusted code: it runs in this process.
        maxima: Largest size of each variable, in the order of `generate`'s sizes.
        shapes: What `shape` may be; several, or best cases hide worse ones.
        relations: Bounds between variables, as pairs: `("k", "n")` says k <= n.
    """

    generate: Callable[..., str | tuple[Any, ...]]
    maxima: Mapping[str, int]
    shapes: tuple[str, ...] = ("random",)
    relations: tuple[tuple[str, str], ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not self.maxima or not self.shapes:
            raise ConfigError(
                "an InputPlan needs at least one variable and one shape, got "
                f"maxima={self.maxima!r} and shapes={self.shapes!r}"
            )
        for name, most in self.maxima.items():
            if isinstance(most, bool) or not isinstance(most, int) or most < 2:
                raise ConfigError(
                    f"the maximum of variable {name!r} must be an integer >= 2, got {most!r}"
                )
        unknown = {name for pair in self.relations for name in pair} - set(self.maxima)
        if unknown:
            raise ConfigError(
                f"relations name unknown variables {sorted(unknown)}; known: {sorted(self.maxima)}"
            )
