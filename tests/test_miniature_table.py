"""What `benchmarks/miniature.py` makes of the runs' figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import miniature
from benchmarks.miniature import Comparison, failing, fast, flipped, logged, solved, table


def test_differences_are_paired_by_seed() -> None:
    seen = Comparison("stage", "tests", (0.1, 0.5, 0.3), (0.3, 0.7, 0.5)).summary()
    assert seen["difference"] == pytest.approx(0.2)
    assert (seen["low"], seen["high"]) == pytest.approx((0.2, 0.2))  # each seed gains as much
    assert (seen["effect"], seen["seeds"]) == ("seen", 3)
    noisy = Comparison("stage", "tests", (0.1, 0.5, 0.3), (0.5, 0.4, 0.3)).summary()
    assert noisy["low"] < 0 < noisy["high"]
    assert noisy["effect"] == "none seen"
    alone = Comparison("stage", "tests", (0.1,), (0.9,)).summary()
    assert alone["effect"] == "none seen"  # one seed shows nothing
    assert "| stage | tests | 0.100 | 0.900 | +0.800 [-inf, +inf] | none seen |" in table([alone])


def test_figures_of_one_rollout() -> None:
    closed = {"tests": {"value": None, "passed": None}, "time": {"value": None}}
    assert [f({"parts": closed}) for f in (miniature.tests, solved, fast)] == [0, 0, 0]
    slow = {"tests": {"value": 1.0, "passed": True}, "time": {"value": 0.0}}
    assert [f({"parts": slow}) for f in (miniature.tests, solved, fast)] == [1, 1, 0]
    assert flipped({"info": {"flips": 1}}) == 1


def test_failing_turns_are_a_share_of_all_turns(tmp_path: Path) -> None:
    # the critic says nothing of turns without a fault: all that it judges fail
    entry = {"turn_credit/failing": 1.0, "turn_credit/abstained": 0.75}
    assert failing(entry) == 0.25
    assert failing({"turn_credit/abstained": 1.0}) == 0
    assert failing({"loss": 1.0}) is None
    folder = tmp_path / "stages" / "08-agent"
    folder.mkdir(parents=True)
    lines = [entry | {"step": n, "turn_credit/abstained": n / 10} for n in range(1, 9)]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert logged("agent", failing, first=True)(tmp_path) == pytest.approx(0.85)
    assert logged("agent", failing, first=False)(tmp_path) == pytest.approx(0.25)
