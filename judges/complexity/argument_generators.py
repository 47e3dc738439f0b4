"""Arguments of a function, inferred from one example call."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from assay.judges.complexity import shapes
from assay.judges.complexity.input_plan import InputPlan

_SIZE_MAXIMUM = 100_000
_GRID_MAXIMUM = 1000
_VALUE_MAXIMUM = 10**12


@dataclass(frozen=True)
class Arguments:
    """Example arguments whose lists and texts grow; called, it makes new ones.

    Attributes:
        example: The example.
        lengths: Lengths of its lists and texts, one a variable.
    """

    example: tuple[Any, ...]
    lengths: tuple[int, ...]

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *sizes: int, seed: int, shape: str = "random") -> tuple[Any, ...]:
        """Fresh arguments."""
        rng = random.Random(f"{seed} {sizes} {shape}")
        if not self.lengths:
            return tuple(sizes)
        grown = dict(zip(self.lengths, sizes, strict=True))
        return tuple(self._like(one, grown, rng, shape) for one in self.example)

    def _like(self, value: Any, grown: dict[int, int], rng: random.Random, shape: str) -> Any:
        if isinstance(value, str):
            letters = tuple(sorted(set(value))) or ("a",)
            return shapes.text(grown[len(value)], rng, shape, letters)
        if isinstance(value, list | tuple):
            n = grown[len(value)]
            if value and isinstance(value[0], list | tuple):
                width = grown.get(len(value[0]), len(value[0]))
                if len(value[0]) <= 3:
                    width = len(value[0])
                flat = [x for row in value for x in row]
                low, high = min(flat), max(max(flat), 10**6 if len(value[0]) <= 3 else 1)
                return [shapes.integers(width, rng, shape, low, high) for _ in range(n)]
            if value and isinstance(value[0], str):
                letters = tuple(sorted({c for word in value for c in word})) or ("a",)
                return [shapes.text(len(value[0]), rng, "random", letters) for _ in range(n)]
            rising = len(value) > 3 and list(value) == sorted(set(value))
            low = min([0, *value])
            made = shapes.integers(n, rng, shape, low, max([10**6, *value]))
            return sorted(made) if rising else made
        if isinstance(value, int) and not isinstance(value, bool) and value in grown:
            return grown[value]
        return value


def infer_arguments(example: tuple[Any, ...]) -> InputPlan | None:
    """An input plan from the arguments of one call, or None where nothing can grow.

    >>> plan = infer_arguments(([3, 1, 2], 3))
    >>> plan.generate(5, seed=0, shape="equal")[1]
    5
    """
    lengths: list[int] = []
    grid = False
    for value in example:
        if isinstance(value, str | list | tuple):
            if len(value) not in lengths:
                lengths.append(len(value))
            nested = bool(value) and isinstance(value[0], list | tuple)
            if nested and len(value[0]) > 3 and len(value[0]) not in lengths:
                lengths.append(len(value[0]))
            grid = grid or (nested and len(value[0]) > 3)
            if nested and not all(isinstance(x, int) for row in value for x in row):
                return None
            if value and not nested and not isinstance(value[0], int | str):
                return None
        elif not isinstance(value, int):
            return None
    if len(lengths) > 2 or not example:
        return None
    if not lengths:
        names = ("n", "m")[: len(example)]
        if len(example) > 2:
            return None
        most = dict.fromkeys(names, _VALUE_MAXIMUM)
        return InputPlan(Arguments(example, ()), most, ("random",))
    names = ("n", "m")[: len(lengths)]
    most = dict.fromkeys(names, _GRID_MAXIMUM if grid else _SIZE_MAXIMUM)
    return InputPlan(Arguments(tuple(example), tuple(lengths)), most, shapes.SHAPES)
