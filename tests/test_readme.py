"""What the README shows is what happens."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay.rewards
from assay.rewards import Reward

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_prints_what_its_comment_says(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    (block,) = re.findall(r"```python\n(from .*?\n)```\n", README, re.DOTALL)
    expected = re.search(r"# (\[.*\])\n", block)
    assert expected is not None
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.strip() == expected[1], done.stderr


def test_the_tables_name_what_exists() -> None:
    table = README.partition("## Rewards")[2].partition("## Sandbox and judges")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert all(hasattr(assay.rewards, name) for name in named)
    rewards = {
        name
        for name in assay.rewards.__all__
        if isinstance(found := getattr(assay.rewards, name), type)
        and issubclass(found, Reward)
        and found is not Reward
    }
    assert rewards - named == set(), "give these rewards a row in the README's table"


def test_links_and_commands_point_at_something() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("https://") or (ROOT / link).exists(), link
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make ([a-z-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_ci_runs_the_readmes_test_command() -> None:
    assert re.search(r"^make .*\btest$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
