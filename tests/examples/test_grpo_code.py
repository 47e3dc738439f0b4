"""The GRPO example runs as a user would run it, and its log shows every part of the reward."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")
ROOT = Path(__file__).parents[2]


def test_the_grpo_example_trains_and_logs_every_leaf(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "from examples.grpo_code import main; log = main(steps=3);"
        "assert len(log) == 3;"
        "assert all(f'code/{leaf}/scored' in row for row in log for leaf in ('format', 'tests'));"
        "assert sum(row['code/tests/scored'] for row in log) > 0;"
        "assert sum(row['code/tests/failed'] for row in log) == 0;"
        "passed = sum(row['code/time/scored'] for row in log);"
        "assert 0 < passed < sum(row['code/tests/scored'] for row in log);"
        "assert sum(row['code/time/gated'] for row in log) > 0"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "tests/mean" in done.stdout
