"""How to make inputs for the program of a dataset row, for judges that run programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.errors import DataError
from assay.sandbox import FunctionTest, StdioTest

if TYPE_CHECKING:
    from assay.judges.complexity.constraints import Constraints
    from assay.judges.complexity.input_plan import InputPlan

_LONGEST_EXAMPLE = 4_000


def inputs_of(
    row: Mapping[str, Any],
    constraints: Constraints,
    *,
    function: bool = False,
    generator_column: str = "generator",
    example_column: str = "example_input",
) -> InputPlan | None:
    r"""An input plan from what a row holds, or None where it holds nothing of use.

    In this order: a generator's text (Python with `generate(n, seed)`, run in the sandbox); an
    example input, from which a generator is inferred; the longest of the row's tests, as an
    example.

    Args:
        row: The dataset row.
        constraints: Maxima of the variables, and bounds between them.
        function: Programs are functions, so inputs are arguments.
        generator_column: Column with the generator.
        example_column: Column with the example: stdin text, or a list of arguments (or its JSON).

    Raises:
        DataError: The generator is not Python or defines no `generate`.

    Example:
        >>> from assay.judges.complexity import Constraints
        >>> row = {"example_input": "3\n5 1 4\n"}
        >>> dict(inputs_of(row, Constraints.of(["n <= 1000"])).maxima)
        {'n': 1000}
    """
    from assay.judges.complexity.argument_generators import infer_arguments
    from assay.judges.complexity.generators import infer
    from assay.judges.complexity.written_generator import written_plan

    bounds = {name: max(2, int(most)) for name, most in constraints.maxima.items()}
    text = row.get(generator_column)
    if isinstance(text, str) and text.strip():
        pairs = tuple(
            (str(small), str(large))
            for small, large in constraints.relations
            if str(small) in bounds and str(large) in bounds
        )
        return written_plan(text, bounds, pairs)
    example = row.get(example_column)
    if example is None:
        example = _longest(row, function=function)
    if function:
        arguments = _arguments(example)
        plan = infer_arguments(arguments) if arguments else None
    else:
        plan = infer(example) if isinstance(example, str) else None
    if plan is None:
        return None
    maxima = {name: min(most, bounds.get(name, most)) for name, most in plan.maxima.items()}
    return replace(plan, maxima=maxima)


def _arguments(example: object) -> tuple[Any, ...] | None:
    if isinstance(example, str):
        try:
            example = json.loads(example)
        except ValueError:
            return None
    return tuple(example) if isinstance(example, list | tuple) else None


def _longest(row: Mapping[str, Any], *, function: bool) -> object:
    """The longest input among the tests that is short enough to be read as a template."""
    from assay.rewards.problem_tests import Tests

    try:
        cases = Tests.from_row(row).cases
    except DataError:  # the reward that runs the tests says so
        return None
    if function:
        found: list[Any] = [c.args for c in cases if isinstance(c, FunctionTest) and not c.kwargs]
    else:
        found = [c.stdin for c in cases if isinstance(c, StdioTest)]
    sized = [(len(str(one)), one) for one in found]
    short = [one for one in sized if one[0] <= _LONGEST_EXAMPLE]
    return max(short, key=lambda one: one[0])[1] if short else None
