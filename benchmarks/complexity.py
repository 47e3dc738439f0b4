"""Accuracy of the static and learned complexity estimators, and programs per second on one core.

    ASSAY_DATA=... python benchmarks/complexity.py --quick --json complexity.json

Accuracy on CodeComplex needs the data in the folder that ASSAY_DATA names; without it that part is
skipped, and says so. The rules were developed on one half of the rows (by a hash of the source) and
both halves are reported. Throughput is CPU time on the 40 to 80 line programs there, or on the
library's own problems; the learned figure is cross-validated with similar programs in one fold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from assay.judges.complexity.expression import parse
from assay.judges.complexity.labelled import Labelled, evaluate, read_labelled
from assay.judges.complexity.learned import cross_validate
from assay.judges.complexity.program import Program
from assay.judges.complexity.static import StaticEstimator

ROOT = Path(__file__).resolve().parents[1]
#: Of the folds of the cross-validation; one seed alone is off by a percentage point.
SEEDS = (0, 1, 2)


def own_programs() -> list[Labelled]:
    """The solutions of the library's own problems, where the checkout has them."""
    sys.path.insert(0, str(ROOT))
    try:
        from examples.problems import load
    except ImportError:
        return []
    return [
        Labelled(
            Program(solution.source, solution.language),
            parse(solution.complexity).to_class() or "constant",
        )
        for problem in load()
        for solution in problem.labelled()
        if solution.complexity is not None
    ]


def throughput(programs: list[Program], repeats: int) -> dict[str, float]:
    """Programs and lines per second, best of several runs.

    `programs_per_s` is per second of CPU time; per second of the clock is less where other
    programs want the same core.
    """
    estimator = StaticEstimator()
    estimator.estimate(programs)
    best = clock = float("inf")
    for _ in range(repeats):
        start, began = time.process_time(), time.perf_counter()
        estimator.estimate(programs)
        best = min(best, time.process_time() - start)
        clock = min(clock, time.perf_counter() - began)
    lines = sum(program.source.count("\n") + 1 for program in programs)
    return {
        "programs": len(programs),
        "mean_lines": round(lines / len(programs), 1),
        "programs_per_s": round(len(programs) / best, 1),
        "programs_per_s_of_the_clock": round(len(programs) / clock, 1),
        "lines_per_s": round(lines / best),
    }


def half_of(row: Labelled) -> str:
    """`developed on` or `held out`, by a hash of the source."""
    digest = hashlib.md5(row.program.source.encode(), usedforsecurity=False).hexdigest()
    return "held out" if int(digest, 16) % 2 else "developed on"


def accuracy(console: Console, rows: list[Labelled], learned: bool) -> dict[str, Any]:
    """Tables for both halves, and the cross-validated figures."""
    document: dict[str, Any] = {}
    for half in ("developed on", "held out"):
        chosen = [row for row in rows if half_of(row) == half]
        result = evaluate(chosen, StaticEstimator(), f"static, half {half}")
        console.print(result.table())
        document[half] = result.as_json()
    if learned:
        results = [cross_validate(rows, seed=seed) for seed in SEEDS]
        console.print(results[0].table())
        document["learned"] = results[0].as_json()
        document["learned over seeds"] = {}
        for language in sorted(results[0].confusion):
            found = [result.accuracy(language) for result in results]
            spread = {
                "seeds": list(SEEDS),
                "accuracy": [round(one, 4) for one in found],
                "mean": round(statistics.mean(found), 4),
                "standard_deviation": round(statistics.stdev(found), 4),
            }
            console.print(f"static + learned over seeds, {language}: {spread}")
            document["learned over seeds"][language] = spread
    return document


def main() -> int:
    """Print the tables; write the figures for machines where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no cross-validation, one repeat")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    console = Console(width=120)
    document: dict[str, Any] = {"machine": platform.processor() or platform.machine()}
    own = own_programs()
    if own:
        result = evaluate(own, StaticEstimator(), "static, own problems")
        console.print(result.table())
        document["own problems"] = result.as_json()
    programs = [row.program for row in own]
    data = os.environ.get("ASSAY_DATA")
    if data:
        rows = read_labelled(Path(data, "codecomplex", "labelled.jsonl.gz"))
        document["codecomplex"] = accuracy(console, rows, not options.quick)
        programs = [r.program for r in rows if 40 <= r.program.source.count("\n") <= 80]
    else:
        console.print("accuracy on CodeComplex: skipped, ASSAY_DATA is not set")
    if programs:
        document["throughput"] = throughput(programs, 1 if options.quick else 20)
        console.print(document["throughput"])
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
