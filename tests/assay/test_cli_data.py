"""`assay data` and the settings of `assay train`, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.cli_train import overridden
from assay.errors import ConfigError, SandboxError
from assay.sandbox import default_sandbox

try:
    default_sandbox()
    MISSING = ""
except SandboxError as error:  # pragma: no cover - depends on the machine
    MISSING = str(error)


def assay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_code_from_candidates(tmp_path: Path) -> None:
    right, wrong = "print(int(input()) + 1)", "print(1)"
    row = {
        "prompt": "Print n + 1.",
        "tests": [{"stdin": "1", "expected": "2"}, {"stdin": "5", "expected": "6"}],
        "candidates": [f"```python\n{code}\n```" for code in (wrong, right)],
    }
    problems = written(tmp_path / "problems.jsonl", [row])
    sft, rl = tmp_path / "sft.jsonl", tmp_path / "rl.jsonl"
    done = assay("data", "code", "--input", problems, "--sft", sft, "--rl", rl)
    assert done.returncode == 0, done.stderr
    assert "correct: 1" in done.stdout
    assert read(rl)[0]["optimal_solution"] == right
    assert read(sft)[0]["complexity"] == "1"
    done = assay("data", "code", "--input", problems, "--sft", sft, "--rl", rl, "--author", "x")
    assert done.returncode == 1
    assert "--author is NAME=BASE_URL,MODEL" in done.stderr


def test_filter(tmp_path: Path) -> None:
    rows = [{"id": i, "uid": "p", "prompt": "p", "completion": "c"} for i in range(8)]
    scores = [{"id": i, "status": "scored", "passed": i < 2, "parts": {}} for i in range(8)]
    done = assay(
        *("data", "filter", "--rollouts", written(tmp_path / "rows.jsonl", rows)),
        *("--scores", written(tmp_path / "scores.jsonl", scores)),
        *("--output", tmp_path / "kept.jsonl", "--json", tmp_path / "counts.json"),
    )
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "kept.jsonl") == [{"uid": "p", "prompt": "p", "solved": 2}]
    assert json.loads((tmp_path / "counts.json").read_text())["written"] == 1


def test_preferences_and_exports(tmp_path: Path) -> None:
    pairs = [{"prompt": f"p{i}", "chosen": f"good {i}", "rejected": f"bad {i}"} for i in range(4)]
    out = tmp_path / "out.jsonl"
    done = assay("data", "preferences", written(tmp_path / "in.jsonl", pairs), "--output", out)
    assert done.returncode == 0, done.stderr
    assert len(read(out)) == 4
    rows = [{"id": i, "uid": "p", "prompt": "p", "completion": f"c{i}"} for i in range(3)]
    scores = [{"id": i, "value": float(i), "status": "scored", "passed": None} for i in range(3)]
    done = assay(
        *("data", "preferences", written(tmp_path / "rows.jsonl", rows), "--output", out),
        *("--export", "best_of_n", "--scores", written(tmp_path / "scores.jsonl", scores)),
    )
    assert done.returncode == 0, done.stderr
    assert [row["value"] for row in read(out)] == [2.0]
    done = assay("data", "preferences", tmp_path / "rows.jsonl", "--output", out, "--export", "x")
    assert done.returncode == 2
    assert "--export KIND needs --scores" in done.stderr


def test_settings_are_overridden_by_dotted_keys(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('model = "m"\n[trl]\nlearning_rate = 1e-4\nmax_steps = 3\n')
    found = overridden(config, ["trl.learning_rate=2e-5", "model=other/model", "seed=7"])
    assert found == {
        "trl": {"learning_rate": 2e-5, "max_steps": 3},
        "model": "other/model",
        "seed": 7,
    }
    for item, message in (("seed", "KEY=VALUE"), ("model.x=1", "'model' is no table")):
        with pytest.raises(ConfigError, match=message):
            overridden(config, [item])
    with pytest.raises(ConfigError, match="cannot read"):
        overridden(tmp_path / "none.toml", [])


def test_train_says_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    config = tmp_path / "config.toml"
    config.write_text('model = "m"\ndata = ["d"]\noutput_dir = "o"\nlearning_rat = 1\n')
    done = assay("train", "rm-listwise", "--config", config)
    assert done.returncode == 1
    assert "STAGE|RECIPE must be one of the stages sft, rm-pointwise, rm-pairwise" in done.stderr
    done = assay("train", "rm-pairwise", "--config", config)
    assert done.returncode == 1
    assert "learning_rat" in done.stderr
    assert "Traceback" not in done.stderr
