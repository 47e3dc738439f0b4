"""The hostile suite on every backend that is here, and the suite runner itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import AssayError, DataError
from assay.sandbox import Bubblewrap, Confined
from assay.sandbox.choice import sandbox_named
from assay.sandbox.suite import load_cases, run_suite

HOSTILE = os.environ.get("ASSAY_HOSTILE", "")
needs_hostile = pytest.mark.skipif(
    not HOSTILE, reason="ASSAY_HOSTILE does not name a folder of hostile programs"
)
needs_bwrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)


def wrong(report):
    return {row.id: row.problems for row in report.rows if row.problems} or report.leftovers


@needs_hostile
@needs_bwrap
def test_hostile_by_the_command(tmp_path):
    """In a process of its own, whose sandboxes are all closed when it looks for leftovers."""
    words = [sys.executable, "-m", "assay", "sandbox", "suite", HOSTILE, "--backend", "bubblewrap"]
    done = subprocess.run([*words, "--json", tmp_path / "report.json"], capture_output=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert done.returncode == 0 and report["ok"] and not report["leftovers"], done.stdout.decode()


@needs_hostile
@needs_bwrap
@pytest.mark.slow
@pytest.mark.parametrize("cgroups", [True, False], ids=["cgroups", "rlimits"])
def test_hostile_on_bubblewrap(cgroups):
    report = run_suite(HOSTILE, Bubblewrap(workers=1, cgroups=cgroups))
    assert not wrong(report) and report.ok


@needs_hostile
@pytest.mark.slow
def test_hostile_on_confined():
    sandbox = Confined(workers=1)
    try:
        sandbox.launch()
    except AssayError as error:
        pytest.skip(str(error))
    assert not wrong(run_suite(HOSTILE, sandbox))


@needs_hostile
@pytest.mark.slow
@pytest.mark.docker
def test_hostile_on_docker():
    try:
        sandbox = sandbox_named("docker", workers=1)
        sandbox.fingerprint()
    except (AssayError, ImportError) as error:
        pytest.skip(str(error))
    assert not wrong(run_suite(HOSTILE, sandbox))


def manifest(folder: Path, **entry) -> Path:
    (folder / "p.py").write_text("print(sum(map(int, input().split())))\n")
    case = {"id": "plain", "language": "python", "file": "p.py", "mode": "stdio"}
    data = {
        "default_limits": {"cpu_s": 2, "wall_s": 6, "mem_mb": 256},
        "default_tests": {"stdio": {"tests": [["1 2\n", "3\n"]]}},
        "cases": [case | {"expected_verdict": ["AC"]} | entry],
    }
    (folder / "manifest.json").write_text(json.dumps(data))
    return folder / "manifest.json"


@needs_bwrap
@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, None),
        ({"expected_verdict": ["WA"]}, "got AC, expected WA"),
        ({"expected_verdict": ["WA"], "also_ok": ["AC"]}, None),
        ({"forbid_stdout": "3"}, "stdout holds '3'"),
        ({"check_absent": ["/usr"]}, "/usr exists"),
        ({"max_wall_s": 0}, "allowed 0 s"),
        ({"repeat": 3}, None),
        ({"tests": [[{"gen": "bytes", "n": 3}, {"gen": "range", "n": 2}]]}, "got RE, expected AC"),
        ({"mode": "complexity"}, None),
    ],
)
def test_runner(tmp_path, entry, problem):
    seen: list = []
    report = run_suite(manifest(tmp_path, **entry), Bubblewrap(workers=1), progress=seen.append)
    assert seen == list(report.rows)
    assert report.ok is (problem is None)
    if problem:
        assert problem in report.rows[0].problems[0]
    assert json.loads(json.dumps(report.as_dict()))["ok"] is report.ok


def test_unusable_manifests(tmp_path):
    with pytest.raises(DataError, match="not a usable manifest"):
        load_cases(tmp_path)
    manifest(tmp_path, file="missing.py")
    with pytest.raises(DataError, match=r"missing\.py"):
        load_cases(tmp_path)
