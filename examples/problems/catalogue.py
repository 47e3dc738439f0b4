"""Loads the problems and turns them into dataset rows."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.judges.complexity.input_plan import InputPlan

_NOT_PROBLEMS = {"__main__", "catalogue", "shapes"}


@dataclass(frozen=True)
class Solution:
    """One program for a problem.

    Attributes:
        name: Unique within the problem.
        language: A language of `assay.sandbox`.
        source: The program: reads stdin, writes stdout.
        complexity: Its time, for example `n log n`; None where it has no meaning (it is wrong).
        kind: `right`, `wrong`, or the kind of trick (`examples.problems` lists them).
    """

    name: str
    language: str
    source: str
    complexity: str | None
    kind: str = "right"


@dataclass(frozen=True)
class Problem:
    """A problem, its tests, its input generator and its solutions.

    Attributes:
        uid: Name of its module.
        statement: What the solver reads.
        tests: Pairs of stdin and expected stdout.
        constraints: Maximum of each variable of the labels, in the order that `generate` takes.
        relations: Bounds between variables: ("k", "n") says k <= n.
        shapes: Names that `generate` accepts as `shape`.
        generate: `generate(*sizes, seed, shape)` returns fresh stdin text.
        solutions: Right ones first, the best of them first of all.
    """

    uid: str
    statement: str
    tests: tuple[tuple[str, str], ...]
    constraints: Mapping[str, int]
    shapes: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    generate: Callable[..., str]
    solutions: tuple[Solution, ...]

    @property
    def optimal(self) -> Solution:
        """The right solution with the best complexity."""
        return self.solutions[0]

    @property
    def inputs(self) -> InputPlan:
        """How a judge that runs programs makes inputs for this problem."""
        return InputPlan(self.generate, self.constraints, self.shapes, self.relations)

    def of_kind(self, *kinds: str) -> list[Solution]:
        """The solutions of these kinds."""
        return [solution for solution in self.solutions if solution.kind in kinds]

    def labelled(self) -> list[Solution]:
        """The solutions whose complexity is known: right ones and most tricks."""
        return [solution for solution in self.solutions if solution.complexity is not None]


@cache
def load() -> tuple[Problem, ...]:
    """All problems, by name."""
    names = sorted(found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return tuple(
        _read(importlib.import_module(f"examples.problems.{name}"), name)
        for name in names
        if name not in _NOT_PROBLEMS
    )


def rows() -> list[dict[str, Any]]:
    """One dataset row a problem, as the rewards and the data builders read them."""
    return [
        {
            "uid": problem.uid,
            "prompt": [{"role": "user", "content": problem.statement}],
            "tests": json.dumps([{"stdin": i, "expected": o} for i, o in problem.tests]),
            "optimal_complexity": problem.optimal.complexity,
            "optimal_solution": problem.optimal.source,
            "constraints": json.dumps(dict(problem.constraints)),
        }
        for problem in load()
    ]


def inputs_of(row: Mapping[str, Any]) -> InputPlan | None:
    """The input plan of a row of `rows`, as `TimeComplexity(inputs=...)` wants it."""
    return next((problem.inputs for problem in load() if problem.uid == row.get("uid")), None)


def _read(module: ModuleType, uid: str) -> Problem:
    solutions = [
        Solution(name, language, source.lstrip("\n"), complexity)
        for name, (language, complexity, source) in module.SOLUTIONS.items()
    ]
    solutions += [
        Solution(name, language, source.lstrip("\n"), None, "wrong")
        for name, (language, source) in module.WRONG.items()
    ]
    solutions += [
        Solution(name, language, source.lstrip("\n"), complexity, kind)
        for name, (kind, language, complexity, source) in module.TRICKS.items()
    ]
    return Problem(
        uid,
        module.STATEMENT,
        tuple(module.TESTS),
        dict(module.CONSTRAINTS),
        tuple(module.SHAPES),
        tuple(getattr(module, "RELATIONS", ())),
        module.generate,
        tuple(solutions),
    )
