"""What the empirical estimator needs to know of a program's inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError


@dataclass(frozen=True)
class InputPlan:
    """Makes fresh inputs of any size.

    Args:
        generate: `generate(*sizes, seed=..., shape=...)` returns stdin text, or a tuple of
            arguments for a program with an `entry`; it may do without `shape`. Trusted code: it
            runs in this process (`written_generator` runs one that is not trusted).
        maxima: Largest size of each variable, in the order of `generate`'s sizes.
        shapes: What `shape` may be; several, or best cases hide worse ones.
        relations: Bounds between variables, as pairs: `("k", "n")` says k <= n.
    """

    generate: Callable[..., str | tuple[Any, ...]]
    maxima: Mapping[str, int]
    shapes: tuple[str, ...] = ("random",)
    relations: tuple[tuple[str, str], ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def make(self, sizes: Sequence[int], seed: int, shape: str) -> str | tuple[Any, ...]:
        """Fresh input.

        >>> InputPlan(lambda n, seed: "x" * n, {"n": 100}).make([3], seed=1, shape="random")
        'xxx'
        """
        if _takes_shape(self.generate):
            return self.generate(*sizes, seed=seed, shape=shape)
        return self.generate(*sizes, seed=seed)

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


def _takes_shape(generate: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(generate).parameters.values()
    except (TypeError, ValueError):  # a callable that does not say
        return True
    return any(p.name == "shape" or p.kind is p.VAR_KEYWORD for p in parameters)
