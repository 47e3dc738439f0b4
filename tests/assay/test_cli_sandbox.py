"""`assay sandbox run` and `assay sandbox suite`, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.errors import SandboxError
from assay.sandbox import default_sandbox

try:
    default_sandbox()
    MISSING = ""
except SandboxError as error:  # pragma: no cover - depends on the machine
    MISSING = str(error)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

SUM = "print(sum(map(int, input().split())))\n"


def assay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "sandbox", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "sum.py"
    path.write_text(SUM)
    return path


def written(folder: Path, value: Any) -> Path:
    path = folder / "tests.json"
    path.write_text(json.dumps(value))
    return path


def test_run_shows_every_verdict_and_exits_by_the_overall_one(program: Path) -> None:
    right = written(program.parent, [{"stdin": "1 2", "expected": "3"}])
    done = assay("run", program, "--tests", right, "--json", program.parent / "out.json")
    assert done.returncode == 0, done.stderr
    assert "AC: 1 of 1 tests accepted" in done.stdout
    assert "isolation:" in done.stdout
    assert json.loads((program.parent / "out.json").read_text())["verdict"] == "AC"
    mixed = [{"stdin": "1 2", "expected": "3"}, {"stdin": "x", "expected": "3"}]
    done = assay("run", program, "--tests", written(program.parent, mixed))
    assert done.returncode == 1
    assert "RE: 1 of 2 tests accepted" in done.stdout


def test_run_takes_a_whole_row(tmp_path: Path) -> None:
    program = tmp_path / "double.py"
    program.write_text("def double(x):\n    return 2 * x\n")
    row = {"tests": [{"args": [2], "expected": 4}], "entry_point": "double"}
    assert assay("run", program, "--tests", written(tmp_path, row)).returncode == 0


@pytest.mark.parametrize(
    ("name", "tests", "message"),
    [
        ("sum.txt", [{"stdin": "", "expected": ""}], "give it with --language"),
        ("sum.py", [], "holds no tests"),
        ("sum.py", [{"stdin": 1}], "'stdin' and 'expected' must be text"),
    ],
)
def test_run_says_what_is_wrong(tmp_path: Path, name: str, tests: Any, message: str) -> None:
    (tmp_path / name).write_text(SUM)
    done = assay("run", tmp_path / name, "--tests", written(tmp_path, tests))
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def manifest(folder: Path, expected: str) -> Path:
    (folder / "sum.py").write_text(SUM)
    (folder / "manifest.json").write_text(
        json.dumps(
            {
                "default_limits": {"cpu_s": 2, "wall_s": 6},
                "default_tests": {"stdio": {"tests": [["1 2\n", "3\n"]]}},
                "cases": [
                    {
                        "id": "honest",
                        "language": "python",
                        "file": "sum.py",
                        "mode": "stdio",
                        "expected_verdict": [expected],
                    }
                ],
            }
        )
    )
    return folder


def test_suite_exits_by_whether_every_verdict_is_right(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = assay("suite", manifest(tmp_path, "AC"), "--json", out, "--backend", "bubblewrap")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 right" in done.stdout
    assert json.loads(out.read_text())["ok"] is True
    done = assay("suite", manifest(tmp_path, "WA"))
    assert done.returncode == 1
    assert "0 of 1 right" in done.stdout


def test_suite_says_what_is_wrong(tmp_path: Path) -> None:
    done = assay("suite", tmp_path)
    assert done.returncode == 1
    assert "is not a usable manifest" in done.stderr
    done = assay("suite", manifest(tmp_path, "AC"), "--only", "nothing")
    assert done.returncode == 2
    assert "no case nothing" in done.stderr
    done = assay("suite", tmp_path, "--backend", "chroot")
    assert done.returncode == 1
    assert "backend must be one of" in done.stderr
