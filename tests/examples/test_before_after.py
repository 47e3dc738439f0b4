"""The report's pairs: both programs pass every test, and only the later one earns R_time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_of_each_pair_only_the_faster_program_earns_the_time_reward() -> None:
    from examples.before_after import judge

    found = judge()
    assert len(found) == 6
    for before, after in zip(found[::2], found[1::2], strict=True):
        assert before.problem == after.problem
        assert (before.tests, before.time, before.total) == (1.0, 0.0, 2.0)
        assert (after.tests, after.time, after.total) == (1.0, 1.0, 2.5)
        assert before.because and after.because


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_it_runs_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "before_after.py"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "fenwick" in done.stdout
