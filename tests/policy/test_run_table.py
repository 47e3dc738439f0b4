from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.policy.recipe import recipe_of
from assay.policy.run_folder import RunFolder
from assay.policy.run_table import leaf_values, stage_lines, stage_table


def test_leaves_are_what_a_reward_logs() -> None:
    entry = {
        "step": 3,
        "code/tests/mean": 0.5,
        "code/tests/scored": 8,
        "rewards/code/mean": 1.5,
        "completions/mean_length": 40,
    }
    assert leaf_values(entry) == {"code/tests": 0.5}


def test_a_running_stage(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "name": "t",
        "output_dir": str(tmp_path),
        "model": "m",
        "stages": [
            {"name": "sft", "stage": "sft", "data": "x"},
            {"name": "code", "stage": "code_rl_correctness", "data": "x"},
        ],
    }
    recipe = recipe_of(given)
    folder = recipe.folder(recipe.stage("code"))
    folder.mkdir(parents=True)
    earlier = {"step": 1, "steps": 9, "at": 100.0, "reward": 0.1, "num_tokens": 10}
    now = [
        {
            "step": step,
            "steps": 9,
            "at": 5000.0 + 10 * step,
            "reward": step / 10,
            "code/tests/mean": 0.25,
            "code/tests/scored": 8,
            "num_tokens": 100 * step,
        }
        for step in (3, 5)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(e) + "\n" for e in [earlier, *now]))
    RunFolder(tmp_path).note("code", status="running", began=4000.0)
    (line,) = stage_lines(recipe)
    # two steps in 20 s of this try, 200 tokens; four steps are left: 40 s
    for part in ("stage code", "steps 5/9", "reward or loss 0.500", "tests 0.25", "tokens/s 10"):
        assert part in line
    assert "elapsed 0:20" in line
    assert "left 0:40" in line
    assert stage_table(recipe).row_count == 2
