"""How often the empirical estimator is right on the sixty problems of `examples/problems`.

    python benchmarks/complexity_empirical.py --quick --json out.json

Every solution with a label (right ones and the tricks that are right) is estimated from fresh
inputs of its problem's generator. Prints one line a program that is wrong or undecided, and the
shares by class.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assay.judges.complexity.empirical import EmpiricalEstimator  # noqa: E402
from assay.judges.complexity.expression import parse  # noqa: E402
from assay.judges.complexity.input_plan import InputPlan  # noqa: E402
from assay.judges.complexity.program import Program  # noqa: E402
from assay.sandbox import default_sandbox  # noqa: E402
from examples.problems import Problem, Solution, load  # noqa: E402


def inputs_of(problem: Problem) -> InputPlan:
    """How the estimator makes inputs for a problem."""
    return InputPlan(problem.generate, problem.constraints, problem.shapes, problem.relations)


def measure(
    estimator: EmpiricalEstimator, problem: Problem, solution: Solution, verbose: bool
) -> dict[str, Any]:
    """Estimate one solution and compare with its label."""
    started = time.monotonic()
    program = Program(solution.source, solution.language)
    estimate = estimator.estimate([program], [inputs_of(problem)])[0]
    label = parse(str(solution.complexity))
    right = estimate.expression is not None and parse(estimate.expression) == label
    row = {
        "problem": problem.uid,
        "solution": solution.name,
        "kind": solution.kind,
        "language": solution.language,
        "label": str(label),
        "found": estimate.expression,
        "right": right,
        "confidence": estimate.confidence,
        "flags": list(estimate.flags),
        "seconds": round(time.monotonic() - started, 2),
    }
    if verbose or not right:
        verdict = "right" if right else "undecided" if estimate.expression is None else "WRONG"
        print(
            f"{verdict:9} {problem.uid}/{solution.name} ({solution.language}): "
            f"{row['found']} for {row['label']} {row['seconds']} s",
            flush=True,
        )
        for line in (*estimate.evidence, *(f"flag: {one}" for one in estimate.flags)):
            print(f"            {line}", flush=True)
    return row


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares over all programs and by language, and counts by class."""
    decided = [row for row in rows if row["found"] is not None]
    total, right = Counter[str](), Counter[str]()
    for row in rows:
        total[row["label"]] += 1
        right[row["label"]] += row["right"]
    return {
        "programs": len(rows),
        "decided_share": round(len(decided) / max(1, len(rows)), 4),
        "right_among_decided": round(sum(r["right"] for r in decided) / max(1, len(decided)), 4),
        "by_class": {name: f"{right[name]} of {total[name]}" for name in sorted(total)},
        "seconds_per_program": round(sum(r["seconds"] for r in rows) / max(1, len(rows)), 2),
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller budgets")
    parser.add_argument("--json", type=Path, help="write rows and shares here")
    parser.add_argument("--only", nargs="*", help="names of problems")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th problem")
    parser.add_argument("--verbose", action="store_true", help="print the evidence of all")
    options = parser.parse_args()
    problems = [p for p in load() if not options.only or p.uid in options.only]
    problems = problems[:: options.every]
    with default_sandbox() as sandbox:
        estimator = EmpiricalEstimator(
            sandbox,
            budget_s=5.0 if options.quick else 12.0,
            time_target_s=0.1 if options.quick else 0.4,
        )
        rows: list[dict[str, Any]] = []
        for problem in problems:
            rows += [
                measure(estimator, problem, solution, options.verbose)
                for solution in problem.labelled()
            ]
            if options.json:  # what is known so far, should the run be stopped
                options.json.write_text(json.dumps({**table(rows), "rows": rows}, indent=1) + "\n")
    shares = table(rows)
    by_language = {
        name: table([row for row in rows if row["language"] == name])
        for name in sorted({row["language"] for row in rows})
    }
    print(json.dumps(shares, indent=2))
    for name, one in by_language.items():
        print(f"{name}: {one['programs']} programs, decided {one['decided_share']}, ", end="")
        print(f"right among decided {one['right_among_decided']}")
    if options.json:
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        report = {"machine": machine, **shares, "by_language": by_language, "rows": rows}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
