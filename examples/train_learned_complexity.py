"""Train the learned complexity estimator on labelled programs and say how good it is.

    python examples/train_learned_complexity.py rows.jsonl.gz --output model.npz

Rows are JSON lines with `language`, `src` and `complexity`. Similar programs stay in one fold of
the cross-validation, so that the figures hold for programs that were not seen.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from assay.errors import AssayError
from assay.judges.complexity.labelled import estimator_of, evaluate, read_labelled
from assay.judges.complexity.learned import LearnedEstimator, cross_validate


def main() -> int:
    """Cross-validate, train on everything, and store plain arrays."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=Path, help="labelled programs, .jsonl or .jsonl.gz")
    parser.add_argument("--output", type=Path, help="where to store the model (.npz)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console()
    try:
        rows = read_labelled(options.rows)
        console.print(evaluate(rows, estimator_of("static"), "static").table())
        console.print(
            cross_validate(
                rows, folds=options.folds, trees=options.trees, seed=options.seed
            ).table()
        )
        if options.output is not None:
            estimator = LearnedEstimator.train(rows, trees=options.trees, seed=options.seed)
            estimator.forest.save(options.output)
            console.print(f"stored {options.output} ({options.output.stat().st_size} bytes)")
    except AssayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
