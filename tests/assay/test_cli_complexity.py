"""`assay complexity`, as a user types it: files, rows, measuring, training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_java", reason="needs the extra complexity")
LINEAR = "n = int(input())\nfor i in range(n):\n    print(i)\n"
SQUARE = "n = int(input())\nfor i in range(n):\n    for j in range(n):\n        print(i, j)\n"
CONSTANT = "print(int(input()) + 1)\n"


def assay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "complexity", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def test_files_with_the_lines_that_decide(tmp_path: Path) -> None:
    for name, text in (("linear.py", LINEAR), ("square.py", SQUARE)):
        (tmp_path / name).write_text(text)
    out = tmp_path / "out.json"
    done = assay(tmp_path / "linear.py", tmp_path / "square.py", "--json", out)
    assert done.returncode == 0, done.stderr
    assert "O(n^2)" in done.stdout
    rows = json.loads(out.read_text())
    assert [row["class"] for row in rows] == ["linear", "quadratic"]
    assert any("line 3" in line for line in rows[1]["evidence"])


def test_rows_in_rows_out(tmp_path: Path) -> None:
    path = tmp_path / "programs.jsonl"
    rows = [
        {"id": "a", "source": LINEAR, "language": "python"},
        {"src": "def (", "language": "python"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = assay(path)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["id"], first["expression"]) == ("a", "n")
    assert (second["id"], second["expression"], second["class"]) == (2, None, None)


def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.jsonl"
    programs = [(LINEAR, "linear"), (SQUARE, "quadratic"), (CONSTANT, "constant")]
    lines = [
        json.dumps({"language": "python", "src": f"x{i} = {i}\n{text}", "complexity": label})
        for i in range(4)
        for text, label in programs
    ]
    path.write_text("\n".join(lines))
    return path


def test_measuring_on_labelled_programs(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = assay("--labelled", labelled(tmp_path), "--json", out)
    assert done.returncode == 0, done.stderr
    assert "python: 100.0% of 12 right" in done.stdout
    assert json.loads(out.read_text())["languages"]["python"]["accuracy"] == 1.0


def test_training_and_using_the_model(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    model = tmp_path / "model.npz"
    done = assay("--train", labelled(tmp_path), "--output", model)
    assert done.returncode == 0, done.stderr
    (tmp_path / "square.py").write_text(SQUARE)
    done = assay(tmp_path / "square.py", "--method", "learned", "--model", model)
    assert "O(n^2)" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give source files, --labelled FILE or --train FILE"),
        (("--train", "{labelled}"), 2, "--train needs --output"),
        (("{folder}/a.txt",), 1, "cannot tell the language"),
        (("{folder}/a.py", "--method", "guess"), 1, "must be one of static, learned, hybrid"),
        (("{folder}/bad.jsonl",), 1, "bad.jsonl:1 is not JSON"),
        (("{folder}/none.py",), 1, "No such file"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    for name, text in (("a.txt", ""), ("a.py", LINEAR), ("bad.jsonl", "{")):
        (tmp_path / name).write_text(text)
    places = {"folder": str(tmp_path), "labelled": str(labelled(tmp_path))}
    done = assay(*(text.format(**places) for text in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_with_inputs_the_programs_run_as_well(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("input()\nprint(sorted(map(int, input().split()))[0])\n")
    (tmp_path / "example.txt").write_text("5\n3 1 4 1 5\n")
    out = tmp_path / "out.json"
    done = assay(tmp_path / "program.py", "--inputs", tmp_path / "example.txt", "--json", out)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(out.read_text())
    assert row["expression"] == "n log n"
    assert sorted(row["method"].split("+")) == ["empirical", "static"]
    assert any(line.startswith("random: steps") for line in row["evidence"])


def test_inputs_of_no_use_are_refused(tmp_path: Path) -> None:
    program, example = tmp_path / "program.py", tmp_path / "example.txt"
    program.write_text(LINEAR)
    example.write_text("hello world\n")
    done = assay(program, "--inputs", example)
    assert done.returncode == 1
    assert "give a .py file with generate(n, seed)" in done.stderr
    (tmp_path / "generator.py").write_text("def make(n):\n    return ''\n")
    done = assay(program, "--inputs", tmp_path / "generator.py")
    assert (done.returncode, "must define generate" in done.stderr) == (1, True)
    assert assay("--inputs", example, "--labelled", program).returncode == 2
    assert assay(tmp_path / "rows.jsonl", "--inputs", example).returncode == 2
    done = assay(program, "--entry", "f", "--inputs", example)
    assert (done.returncode, "JSON list of arguments" in done.stderr) == (1, True)
