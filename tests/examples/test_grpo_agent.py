"""The agent example trains in its environment, with turn credit off and on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_agent_example_trains_with_and_without_turn_credit(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "from examples.grpo_agent import main; logs = main(steps=3);"
        "off, on = logs['trajectory'], logs['negative'];"
        "assert len(off) == len(on) == 3;"
        "assert all(row['turn_credit/turns'] > 1 for row in off + on);"
        "assert all(row['turn_credit/credit'] == 0 for row in off);"
        "assert all(row['turn_credit/credit/failing'] == -1 for row in on"
        " if 'turn_credit/credit/failing' in row);"
        "assert any(row['turn_credit/failing'] > 0 for row in on);"
        "assert all(row['agent/answer/failed'] == 0 for row in off + on)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "turn credit off" in done.stdout
