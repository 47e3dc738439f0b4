"""Writes every program and the dataset rows of the problems to a folder.

python -m examples.problems out/problems

A program goes to FOLDER/<problem>/<name>.<suffix>, the rows to FOLDER/rows.jsonl.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from examples.problems import load, rows

SUFFIXES = {"python": "py", "cpp": "cpp", "java": "java"}


def write(folder: Path) -> int:
    """Write all of it; returns how many programs there are."""
    count = 0
    for problem in load():
        (folder / problem.uid).mkdir(parents=True, exist_ok=True)
        for solution in problem.solutions:
            name = f"{solution.name}.{SUFFIXES[solution.language]}"
            (folder / problem.uid / name).write_text(solution.source, "utf-8")
            count += 1
    lines = [json.dumps(row) + "\n" for row in rows()]
    (folder / "rows.jsonl").write_text("".join(lines), "utf-8")
    return count


def main() -> None:
    """Write them where the argument says."""
    parser = argparse.ArgumentParser(prog="python -m examples.problems", description="write them")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(f"{folder}: {write(folder)} programs, {len(load())} rows")


if __name__ == "__main__":
    main()
