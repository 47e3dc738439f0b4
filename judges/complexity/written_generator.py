"""Input generators that come as text, with a data set's rows: they run in the sandbox."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.judges.complexity.input_plan import InputPlan
from assay.sandbox import Job, Limits, Sandbox, StdioTest, Verdict, default_sandbox

#: Largest size where nothing is said.
DEFAULT_MAXIMUM = 100_000


@dataclass(frozen=True)
class WrittenGenerator:
    """Calls `generate(*sizes, seed)` of a Python text, each time in a fresh sandboxed process.

    What it returns must be the text of stdin, or a list of JSON values: a function's arguments.

    Args:
        source: The text; `generate` may also take `shape`.
        sandbox: Where it runs; None takes the best backend of this machine.
        limits: Of each run.
    """

    source: str
    sandbox: Sandbox | None = field(
        default=None, compare=False, repr=False, metadata={"fingerprint": False}
    )
    limits: Limits = field(
        default_factory=lambda: Limits(cpu_s=10.0, wall_s=30.0, memory_mb=1024, output_mb=64.0)
    )

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *sizes: int, seed: int, shape: str = "random") -> str | tuple[Any, ...]:
        """Fresh input.

        Raises:
            DataError: The generator failed, or returned something else.
            SandboxError: The sandbox could not run it.
        """
        written: list[str] = []

        def keep(stdin: str, stdout: str, expected: str) -> bool:
            written.append(stdout)
            return True

        call = json.dumps([sizes, seed, shape])
        sandbox = self.sandbox or default_sandbox()
        job = Job(self.source + _CALL, (StdioTest(call, ""),), limits=self.limits, checker=keep)
        test = sandbox.run([job])[0].tests[0]
        if test.verdict is not Verdict.AC or not written:
            said = (test.reason or test.stderr[-200:]).strip()
            raise DataError(f"the input generator failed at sizes {sizes}: {test.verdict} {said}")
        try:
            made = json.loads(written[0].rsplit("\n", 1)[-1])
        except ValueError:
            made = None
        if isinstance(made, str):
            return made
        if isinstance(made, list):
            return tuple(made)
        raise DataError(
            f"the input generator must return text or a list of arguments, got {made!r:.80}"
        )


def written_plan(
    source: str,
    maxima: Mapping[str, int] | None = None,
    relations: tuple[tuple[str, str], ...] = (),
    sandbox: Sandbox | None = None,
) -> InputPlan:
    r"""An input plan from a generator's text; `SHAPES = (...)` in it names the shapes it knows.

    Args:
        source: Defines `generate(*sizes, seed)` or `generate(*sizes, seed, shape)`.
        maxima: Largest size of each variable, in the order of its sizes; `n` alone if left out.
        relations: Bounds between variables.
        sandbox: Where it runs.

    Raises:
        DataError: No Python, or no function `generate`.

    >>> text = "SHAPES = ('random', 'equal')\ndef generate(n, seed, shape): return '1\\n' * n"
    >>> written_plan(text).shapes
    ('random', 'equal')
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the input generator is not Python: {error}") from None
    names = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    if "generate" not in names:
        raise DataError(f"the input generator must define generate(n, seed), got {sorted(names)}")
    shapes: tuple[str, ...] = ("random",)
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHAPES":
            try:
                shapes = tuple(str(one) for one in ast.literal_eval(node.value)) or shapes
            except (ValueError, TypeError):
                raise DataError("SHAPES of an input generator must be a tuple of texts") from None
    return InputPlan(
        WrittenGenerator(source, sandbox),
        dict(maxima) if maxima else {"n": DEFAULT_MAXIMUM},
        shapes,
        relations,
    )


_CALL = """

if __name__ == "__main__":
    import inspect, json, sys
    _sizes, _seed, _shape = json.loads(sys.stdin.read())
    _known = inspect.signature(generate).parameters
    _named = {"seed": _seed} | ({"shape": _shape} if "shape" in _known else {})
    _made = json.dumps(generate(*_sizes, **_named))
    sys.stdout.write("\\n" + _made)
"""
