"""How often the empirical estimator is right on the sixty problems of `examples/problems`.

    python benchmarks/complexity_empirical.py --quick --json out.json
    python benchmarks/complexity_empirical.py --json out.json --resume --seconds 150    # a part

Every solution with a label (right ones and the tricks that are right) is estimated from fresh
inputs of its problem's generator. Prints one line a program that is wrong or undecided, and the
shares by class. A full run takes about an hour of CPU time: `--seconds` ends it early and
`--resume` takes it up again from the file that `--json` names.
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
from assay.judges.complexity.program import Program  # noqa: E402
from assay.sandbox import default_sandbox  # noqa: E402
from examples.problems import Problem, Solution, load  # noqa: E402


def measure(
    estimator: EmpiricalEstimator, problem: Problem, solution: Solution, verbose: bool
) -> dict[str, Any]:
    """Estimate one solution and compare with its label."""
    started = time.monotonic()
    program = Program(solution.source, solution.language)
    estimate = estimator.estimate([program], [problem.inputs])[0]
    label = parse(str(solution.complexity))
    # n + m is n where the problem says m <= n.
    bounds = [f"{small} <= {large}" for small, large in problem.relations]
    found = parse(estimate.expression) if estimate.expression is not None else None
    right = found is not None and found.compare(label, constraints=bounds) == "equal"
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
    """Shares over all programs, counts by class, and which label was found as what."""
    decided = [row for row in rows if row["found"] is not None]
    total, right = Counter[str](), Counter[str]()
    matrix: dict[str, Counter[str]] = {}
    for row in rows:
        total[row["label"]] += 1
        right[row["label"]] += row["right"]
        found = "undecided" if row["found"] is None else parse(row["found"]).to_class()
        label = parse(row["label"]).to_class() or "other"
        matrix.setdefault(label, Counter())[found or "other"] += 1
    return {
        "programs": len(rows),
        "decided_share": round(len(decided) / max(1, len(rows)), 4),
        "right_among_decided": round(sum(r["right"] for r in decided) / max(1, len(decided)), 4),
        "by_class": {name: f"{right[name]} of {total[name]}" for name in sorted(total)},
        "confusion": {label: dict(found) for label, found in sorted(matrix.items())},
        "seconds_per_program": round(sum(r["seconds"] for r in rows) / max(1, len(rows)), 2),
    }


def report(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What `--json` holds."""
    by_language = {
        name: table([row for row in rows if row["language"] == name])
        for name in sorted({row["language"] for row in rows})
    }
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    return {"machine": machine, **table(rows), "by_language": by_language, "rows": rows}


def keep(path: Path | None, rows: list[dict[str, Any]]) -> None:
    """Write the report, whole or not at all."""
    if path is not None:
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(report(rows), indent=1) + "\n")
        part.replace(path)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller budgets")
    parser.add_argument("--json", type=Path, help="write rows and shares here")
    parser.add_argument("--only", nargs="*", help="names of problems")
    parser.add_argument("--language", help="only programs in this language")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th problem")
    parser.add_argument("--verbose", action="store_true", help="print the evidence of all")
    parser.add_argument("--resume", action="store_true", help="skip what --json's file has")
    parser.add_argument("--again", action="store_true", help="with --resume: repeat --only's")
    parser.add_argument("--seconds", type=float, help="start no program after so many seconds")
    options = parser.parse_args()
    problems = [p for p in load() if not options.only or p.uid in options.only]
    wanted = [
        (problem, solution)
        for problem in problems[:: options.every]
        for solution in problem.labelled()
        if options.language in (None, solution.language)
    ]
    rows: list[dict[str, Any]] = []
    if options.resume and options.json and options.json.exists():
        rows = json.loads(options.json.read_text())["rows"]
    if options.again:
        again = {(p.uid, s.name) for p, s in wanted}
        rows = [row for row in rows if (row["problem"], row["solution"]) not in again]
    known = {(row["problem"], row["solution"]) for row in rows}
    wanted = [(p, s) for p, s in wanted if (p.uid, s.name) not in known]
    started = time.monotonic()
    with default_sandbox() as sandbox:
        estimator = EmpiricalEstimator(
            sandbox,
            budget_s=5.0 if options.quick else 12.0,
            time_target_s=0.1 if options.quick else 0.4,
        )
        for done, (problem, solution) in enumerate(wanted):
            if options.seconds and time.monotonic() - started > options.seconds:
                print(f"{len(wanted) - done} programs are left; go on with --resume")
                break
            rows.append(measure(estimator, problem, solution, options.verbose))
            keep(options.json, rows)
        else:
            done = len(wanted)
    whole = report(rows)
    keep(options.json, rows)
    print(
        json.dumps({k: v for k, v in whole.items() if k not in ("rows", "by_language")}, indent=2)
    )
    for name, one in whole["by_language"].items():
        print(f"{name}: {one['programs']} programs, decided {one['decided_share']}, ", end="")
        print(f"right among decided {one['right_among_decided']}")
    return 3 if done < len(wanted) else 0


if __name__ == "__main__":
    raise SystemExit(main())
