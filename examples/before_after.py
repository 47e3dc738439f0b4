"""Three programs that are right but slow, and what they become: what R_time says of each.

    python examples/before_after.py

The pairs are like those of the Nanbeige4.1-3B report (arXiv:2602.13367): a binary search gives way
to two pointers, sorted lists and bisection to two scans, simulated swaps to a Fenwick tree. All six
pass every test; the reward of `examples/code_reward.py` tells them apart.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.messages import Sample
from examples.code_reward import reward
from examples.problems import load, rows

#: Problem, the solution before, the solution after.
PAIRS = (
    ("close_pairs", "binary_search", "two_pointers"),
    ("guests_at_once", "sorted_and_bisect", "two_scans"),
    ("bubble_swaps", "simulated", "fenwick"),
)


@dataclass(frozen=True)
class Judged:
    """One program and its scores."""

    problem: str
    solution: str
    optimum: str
    found: str
    tests: float
    time: float
    total: float
    because: tuple[str, ...]


def judge() -> list[Judged]:
    """Score the six programs, each before beside its after."""
    problems = {problem.uid: problem for problem in load()}
    columns = {row["uid"]: row for row in rows()}
    chosen = [(uid, name) for uid, before, after in PAIRS for name in (before, after)]
    samples = []
    for uid, name in chosen:
        (solution,) = (s for s in problems[uid].solutions if s.name == name)
        # The label alone: a program of the reference's structure would match without a judgement.
        row = {k: v for k, v in columns[uid].items() if k not in ("prompt", "optimal_solution")}
        answer = f"```python\n{solution.source}```"
        samples.append(Sample.of(columns[uid]["prompt"], answer, row))
    found = []
    for (uid, name), score in zip(chosen, reward.evaluate(samples), strict=True):
        tests, time = score.parts["tests"], score.parts["time"]
        if score.value is None or tests.value is None or time.value is None:
            raise SystemExit(f"{uid}/{name} has no score: {score.note}; run `assay doctor`")
        found.append(
            Judged(
                uid,
                name,
                str(time.info["optimal"]),
                str(time.info["complexity"]),
                tests.value,
                time.value,
                score.value,
                tuple(time.info["evidence"]),
            )
        )
    return found


def main() -> None:
    """Print one line a program, then the lines that decided."""
    print(f"{'problem':<15} {'program':<18} {'optimum':<9} {'found':<9} R_tests  R_time  R")
    for one in judge():
        print(
            f"{one.problem:<15} {one.solution:<18} {one.optimum:<9} {one.found:<9} "
            f"{one.tests:<8g} {one.time:<7g} {one.total:g}"
        )
        for line in one.because:
            print(f"{'':<16}{line}")


if __name__ == "__main__":
    main()
