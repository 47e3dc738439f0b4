from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from assay.doctor import Finding, _satisfies, core_works, examine, print_findings, to_json

LONG = "apt-get install bubblewrap " + "x" * 90
EXTRA = 'pip install "assay[train]"'
FINDINGS = [
    Finding("core", "python", True, "3.11.7"),
    Finding("core", "bubblewrap", False, "not in PATH " * 12, LONG),
    Finding("extras", "train", False, "trl 1.15.0 is outside <1.17,>=1.16", EXTRA),
]


def doctor(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", "doctor", *options],
        capture_output=True, text=True, timeout=100, env=os.environ | environment,
    )  # fmt: skip


def drawn(findings: list[Finding], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_findings(findings, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_missing_core_part_means_that_nothing_works() -> None:
    assert not core_works(FINDINGS)
    assert core_works([FINDINGS[0], FINDINGS[2]])
    assert "cannot be scored here yet" in drawn(FINDINGS, 80)
    assert "can be scored here" in drawn([FINDINGS[0], FINDINGS[2]], 80)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_fix_is_never_broken_over_lines(width: int) -> None:
    text = drawn(FINDINGS, width)
    for finding in FINDINGS[1:]:
        assert f"fix: {finding.fix}\n" in text
    others = [line for line in text.splitlines() if "fix: " not in line]
    assert max(map(len, others)) <= width


def test_json_holds_everything_by_section() -> None:
    found = to_json(FINDINGS)
    assert found["core_works"] is False
    assert [check["name"] for check in found["sections"]["core"]] == ["python", "bubblewrap"]
    assert found["sections"]["extras"][0]["fix"] == 'pip install "assay[train]"'


@pytest.mark.parametrize(
    ("version", "specifier", "expected"),
    [
        ("1.16.0", "<1.17,>=1.16", True),
        ("1.16.9", "<1.17,>=1.16", True),
        ("1.17.0", "<1.17,>=1.16", False),
        ("1.15.3", "<1.17,>=1.16", False),
        ("2.13.0+cpu", ">=2.6", True),
        ("2.10", ">=2.9", True),
        ("5.0", ">=5", True),
        ("4.99", ">=5", False),
        ("2.13.0", "==2.13", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, specifier: str, expected: bool) -> None:
    assert _satisfies(version, specifier) is expected


def test_this_machine(tmp_path: Path) -> None:
    done = doctor("--json", str(tmp_path / "doctor.json"))
    found = json.loads((tmp_path / "doctor.json").read_text())
    assert done.returncode == (0 if found["core_works"] else 1), done.stderr
    assert {"core", "sandbox", "languages", "models", "extras"} <= set(found["sections"])
    checks = [check for section in found["sections"].values() for check in section]
    assert all(check["found"] for check in checks)
    core = {check["name"]: check for check in found["sections"]["core"]}
    assert set(core) == {"assay", "python", "scoring"}
    extras = {check["name"] for check in found["sections"]["extras"]}
    assert {"models", "train", "math", "parquet"} <= extras


def test_without_bubblewrap_it_says_what_to_install(tmp_path: Path) -> None:
    """A PATH that holds everything but bwrap; another backend may still work."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*") if Path(folder).is_dir() else ():
            link = programs / program.name
            if program.name != "bwrap" and not link.exists():
                link.symlink_to(program)
    done = doctor("--json", str(tmp_path / "doctor.json"), PATH=str(programs))
    found = json.loads((tmp_path / "doctor.json").read_text())
    assert done.returncode == (0 if found["core_works"] else 1)
    (bubblewrap,) = (c for c in found["sections"]["sandbox"] if c["name"] == "bubblewrap")
    assert (bubblewrap["ok"], bubblewrap["found"]) == (False, "not in PATH")
    assert "bubblewrap" in bubblewrap["fix"]
    (scoring,) = (c for c in found["sections"]["core"] if c["name"] == "scoring")
    assert scoring["ok"] is found["core_works"]
    assert "bubblewrap" not in scoring["found"] or not scoring["ok"]


def test_the_core_works_where_a_sandboxed_program_runs() -> None:
    from assay.rewards import PassRate

    if shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap here")
    scores = PassRate()(
        completions=["```python\nprint(input())\n```"],
        tests=['[{"stdin": "a", "expected": "a"}]'],
    )
    assert core_works(examine()) is (scores == [1.0])
