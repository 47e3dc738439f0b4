"""Says what the tests of HumanEval make of its solutions and of their mutants.

    python examples/humaneval_report.py rows.jsonl scores.jsonl

HumanEval names no optimal complexities, so the time reward is skipped; the last line counts it.

Exit 1 if a canonical solution lacks full marks: then something is wrong with the sandbox, the
reward or this machine, not with the solution.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def report(rows: dict[str, Any], scores: dict[str, Any]) -> tuple[list[str], bool]:
    """Lines to print, and whether all canonical solutions have full marks."""
    kinds = Counter(row["kind"] for row in rows.values())
    passed = Counter(rows[i]["kind"] for i, score in scores.items() if score["passed"] is True)
    whole, right = kinds.pop("canonical"), passed.pop("canonical", 0)
    mutants, alive = kinds.total(), passed.total()
    lines = [f"canonical solutions   {right} of {whole} have full marks"]
    for i, row in rows.items():
        if row["kind"] == "canonical" and (i not in scores or scores[i]["passed"] is not True):
            lines.append(f"  {i}: {scores[i]['note'] if i in scores else 'not scored'}")
    lines.append(f"mutants               {_share(mutants - alive, mutants)} killed by the tests")
    lines += [f"  {kind:<19} {_share(n - passed[kind], n)}" for kind, n in sorted(kinds.items())]
    lines.append(f"survivors             {alive}; some are equivalent to the original")
    lines += [
        f"  {i:<30} {row['change']}"
        for i, row in rows.items()
        if row["kind"] != "canonical" and i in scores and scores[i]["passed"] is True
    ]
    skipped = Counter(score["parts"]["time"]["status"] for score in scores.values())["skipped"]
    if skipped:
        lines.append(
            f"time complexity       skipped on {skipped} programs: rows without an optimum"
        )
    return lines, right == whole


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / max(whole, 1):.1%})"


def main() -> int:
    """Print the report."""
    if len(sys.argv) != 3:
        print("usage: humaneval_report.py ROWS SCORES", file=sys.stderr)
        return 2
    tables = []
    for path in sys.argv[1:]:
        records = map(json.loads, Path(path).read_text().splitlines())
        tables.append({record["id"]: record for record in records})
    lines, right = report(*tables)
    print("\n".join(lines))
    if not right:
        print("a canonical solution lacks full marks; run `assay doctor`", file=sys.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
