"""Train the learned complexity estimator and say how good it is.

    python examples/train_learned_complexity.py --output judges/complexity/learned_model.npz
    python examples/train_learned_complexity.py rows.jsonl.gz --output model.npz

Without rows it trains on the programs of examples/problems and on variants of them: this is the
model that comes with the library. Rows are JSON lines with `language`, `src` and `complexity`.
Similar programs, and all programs for one problem, stay in one fold of the cross-validation.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assay.errors import AssayError  # noqa: E402
from assay.judges.complexity.expression import parse  # noqa: E402
from assay.judges.complexity.labelled import (  # noqa: E402
    Labelled,
    estimator_of,
    evaluate,
    read_labelled,
)
from assay.judges.complexity.learned import LearnedEstimator, cross_validate  # noqa: E402
from assay.judges.complexity.program import Program  # noqa: E402
from examples.problems import load  # noqa: E402

_UNUSED = {
    "python": (
        "def spare_part(items):\n    return [x for x in items for y in items if x < y]\n",
        "class Spare:\n    def __init__(self, size):\n        self.cells = [0] * size\n",
        "def spare_root(value):\n    return value if value < 2 else spare_root(value // 2)\n",
    ),
}
_CONSTANT_PASS = {
    "python": "for letter in range(26):\n    spare = letter * 7 % 26\n",
}


def own_rows(seed: int) -> tuple[list[Labelled], list[str]]:
    """The solutions of the library's problems with variants, and the problem of each."""
    rows: list[Labelled] = []
    problems: list[str] = []
    for problem in load():
        for solution in problem.labelled():
            label = parse(solution.complexity or "1").to_class()
            if label is None:
                continue
            rng = random.Random(f"{seed} {problem.uid} {solution.name}")
            for source in variants(solution.source, solution.language, rng):
                rows.append(Labelled(Program(source, solution.language), label))
                problems.append(problem.uid)
    return rows, problems


def variants(source: str, language: str, rng: random.Random) -> Iterator[str]:
    """The program itself, then the same with dead code, and with a loop of constant length."""
    yield source
    if language in _UNUSED:
        dead = rng.choice(_UNUSED[language])
        yield dead + source
        if not source.startswith("from __future__"):
            yield source.rstrip("\n") + "\n" + _CONSTANT_PASS[language]


def main() -> int:
    """Cross-validate, train on everything, and store plain arrays."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="?", help="labelled programs, .jsonl or .jsonl.gz")
    parser.add_argument("--output", type=Path, help="where to store the model (.npz)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console()
    try:
        together: list[str] | None = None
        if options.rows is None:
            rows, together = own_rows(options.seed)
        else:
            rows = read_labelled(options.rows)
        console.print(evaluate(rows, estimator_of("static"), "static").table())
        console.print(
            cross_validate(rows, folds=options.folds, seed=options.seed, together=together).table()
        )
        if options.output is not None:
            LearnedEstimator.train(rows).save(options.output)
            console.print(f"stored {options.output} ({options.output.stat().st_size} bytes)")
    except AssayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
