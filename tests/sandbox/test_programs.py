"""One attack, one test: each program gets the right verdict, and an honest one after it too."""

from __future__ import annotations

import shutil
import time

import pytest

from assay.sandbox import Bubblewrap, Verdict
from tests.sandbox.programs import ATTACKS, COMPILED, HONEST, Program

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
PLAIN = HONEST[0]
TOOLS = {
    "c": "gcc",
    "cpp": "g++",
    "java": "javac",
    "javascript": "node",
    "go": "go",
    "rust": "rustc",
}


@pytest.fixture(scope="module")
def sandbox():
    with Bubblewrap(workers=1) as box:
        yield box


def check(sandbox, program: Program) -> None:
    started = time.monotonic()
    result = sandbox.run([program.job()])[0]
    assert time.monotonic() - started < program.most_s
    shown = [(str(t.verdict), t.reason, t.stdout[:200], t.stderr[-500:]) for t in result.tests]
    assert result.verdict in program.expected, (shown, result.message)
    for test in result.tests:
        for text in program.forbidden:
            assert text not in test.stdout
    for text in program.forbidden:
        assert text not in result.message
    assert sandbox.run([PLAIN.job()])[0].verdict is Verdict.AC


@pytest.mark.parametrize("program", ATTACKS, ids=lambda program: program.name)
def test_attack(sandbox, program):
    check(sandbox, program)


@pytest.mark.parametrize("program", HONEST, ids=lambda program: program.name)
def test_honest(sandbox, program):
    check(sandbox, program)


@pytest.mark.parametrize("program", COMPILED, ids=lambda program: program.name)
def test_compiled(sandbox, program):
    if shutil.which(TOOLS[program.language]) is None:
        pytest.skip(f"{TOOLS[program.language]} is not installed")
    check(sandbox, program)
