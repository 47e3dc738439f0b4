from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.policy.launch.files import launch_file
from assay.policy.pipeline import Pipeline, load_function
from assay.policy.recipe import Recipe, recipe_of
from assay.policy.run_folder import RunFolder
from assay.policy.run_lock import locked
from assay.policy.stages.progress_log import read_log

pytest.importorskip("trl")

ROOT = Path(__file__).parents[2]
PREPARE = """
import json, sys
sys.path.insert(0, {root!r})
from examples.tiny_models import tiny_llama, tiny_tokenizer

def prepare(folder, seed):
    tokenizer = tiny_tokenizer()
    tiny_llama(tokenizer, seed).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    rows = [{{"prompt": f"Say {{w}}", "completion": w * n}} for w in "abcd" for n in (1, 2, 3)]
    (folder / "sft.jsonl").write_text("".join(json.dumps(r) + "\\n" for r in rows))
    rows = [{{"prompt": f"Say {{w}}", "uid": w}} for w in "abcd"]
    (folder / "rl.jsonl").write_text("".join(json.dumps(r) + "\\n" for r in rows))
    with (folder.parent / "prepared.log").open("a") as file:
        file.write("prepared\\n")
"""
REWARD = "from assay.rewards import Length\nreward = Length(target=3)\n"
COMMON = {
    "save_steps": 2,
    "lr_scheduler_type": "constant",
    "gradient_checkpointing": False,
    "per_device_train_batch_size": 8,
}


def table(tmp_path: Path, out: str, steps: int = 6) -> dict[str, Any]:
    (tmp_path / "making.py").write_text(PREPARE.format(root=str(ROOT)))
    (tmp_path / "short.py").write_text(REWARD)
    sys.path.insert(0, str(tmp_path))
    return {
        "name": "test",
        "output_dir": str(tmp_path / out),
        "prepare": "making:prepare",
        "model": "@run/prepared/base",
        "stages": [
            {
                "name": "sft",
                "stage": "sft",
                "data": "@run/prepared/sft.jsonl",
                "max_length": 64,
                "trl": COMMON | {"max_steps": steps, "learning_rate": 1e-2},
            },
            {
                "name": "rl",
                "stage": "pointwise_rl",
                "data": "@run/prepared/rl.jsonl",
                "reward": str(tmp_path / "short.py") + ":reward",
                "num_generations": 4,
                "max_completion_length": 8,
                "truncated": "keep",
                "trl": COMMON | {"max_steps": steps, "learning_rate": 1e-3},
            },
        ],
        "evaluations": [
            {
                "name": "short",
                "data": "@run/prepared/rl.jsonl",
                "reward": str(tmp_path / "short.py") + ":reward",
                "decoding": {"n": 2, "max_new_tokens": 8, "temperature": 1.0},
            }
        ],
    }


def as_toml(value: Any) -> str:
    """A recipe's table as TOML: JSON values are TOML values, but for tables."""
    lines = []
    for key, item in value.items():
        lines.append(f"{key} = {inline(item)}")
    return "\n".join(lines) + "\n"


def inline(item: Any) -> str:
    if isinstance(item, dict):
        return "{" + ", ".join(f"{k} = {inline(v)}" for k, v in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(inline(v) for v in item) + "]"
    return json.dumps(item)


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def test_a_run_and_what_it_leaves(tmp_path: Path) -> None:
    from assay.policy.matrix import read_matrix
    from assay.policy.report import write_report

    recipe = recipe_of(table(tmp_path, "run", steps=2))
    events: list[tuple[str, str]] = []
    pipeline = Pipeline(recipe, tell=lambda stage, event, facts: events.append((stage, event)))
    results = pipeline.run()
    assert list(results) == ["sft", "rl"]
    assert results["rl"]["steps"] == 2
    run = Path(recipe.output_dir)
    about = json.loads((run / "recipe.json").read_text())
    assert about["recipe"]["stages"][0]["name"] == "sft"
    assert about["versions"]["trl"]
    assert RunFolder(run).state()["sft"]["status"] == "done"
    folder = recipe.folder(recipe.stage("rl"))
    settings = json.loads((folder / "settings.json").read_text())
    assert settings == recipe.config(recipe.stage("rl")).to_json()  # beside the model's config.json
    log = read_log(folder)
    assert [entry["step"] for entry in log if "reward" in entry] == [1, 2]
    assert any("time/rewards_s" in entry for entry in log)
    matrix = read_matrix(run)
    assert set(matrix) == {"start", "sft", "rl"}
    assert matrix["rl"]["short"]["rollouts"] == 8
    assert matrix["rl"]["short"]["decoding"]["temperature"] == 1.0
    page = write_report(recipe).read_text()
    for part in ("Reward leaves", "Evaluation of every checkpoint", "Before and after", "<svg"):
        assert part in page
    markdown = (run / "report.md").read_text()
    assert "| rl | pointwise_rl | done | 2 |" in markdown
    assert "| sft |" in markdown

    # Again: nothing is done twice.
    events.clear()
    assert pipeline.run() == results
    assert {event for _, event in events} == {"skip", "evaluate"}
    assert (run / "prepared.log").read_text() == "prepared\n"

    # Another recipe is refused, told by key, and accepted only if asked for.
    changed = table(tmp_path, "run", steps=2)
    changed["stages"][1]["trl"]["learning_rate"] = 5e-3
    with pytest.raises(ConfigError, match=r"stages\.rl\.trl\.learning_rate changed.*--accept"):
        Pipeline(recipe_of(changed)).run()
    assert Pipeline(recipe_of(changed), accept_changes=True).run()["rl"] == results["rl"]
    about = json.loads((run / "recipe.json").read_text())
    assert about["changes"] == ["stages.rl.trl.learning_rate"]
    assert len(about["earlier"]) == 1

    # A set that is sampled otherwise is sampled so for every checkpoint.
    changed["evaluations"][0]["decoding"]["n"] = 3
    Pipeline(recipe_of(changed), accept_changes=True).run()
    matrix = read_matrix(run)
    assert [matrix[name]["short"]["rollouts"] for name in ("start", "sft", "rl")] == [12, 12, 12]


def test_a_stage_that_fails_is_noted_and_tried_again(tmp_path: Path) -> None:
    given = table(tmp_path, "run", steps=1)
    given["evaluations"] = []
    given["stages"][0]["data"] = "@run/late.jsonl"
    recipe = recipe_of(given)
    with pytest.raises(Exception, match=r"there is no file .*late\.jsonl"):
        Pipeline(recipe).run(until="sft")
    state = RunFolder(Path(recipe.output_dir)).state()["sft"]
    assert (state["status"], state["tries"]) == ("failed", 1)
    (tmp_path / "run" / "late.jsonl").write_text('{"prompt": "Say a", "completion": "a"}\n' * 8)
    assert list(Pipeline(recipe).run(until="sft")) == ["sft"]
    state = RunFolder(Path(recipe.output_dir)).state()["sft"]
    assert (state["status"], state["tries"], state["error"]) == ("done", 2, "")


@pytest.mark.parametrize(
    ("stage", "changes", "message"),
    [
        (0, {"trl": {"max_step": 1}}, r"stage 'sft': .*'max_step'.*did you mean 'max_steps'"),
        (
            1,
            {"trl": {"learning_rate": "1e-5"}},
            "learning_rate must be a finite number, got '1e-5'",
        ),
        (1, {"data": "none.jsonl"}, r"stage 'rl': there is no file none\.jsonl"),
        (1, {"reward": "terse.py:rewards"}, r"stage 'rl': .*has no 'rewards'; its rewards are"),
        (1, {"lora": {"rank": 4}}, "stage 'rl': lora has no setting 'rank'"),
        (1, {"launch": "fdsp"}, "stage 'rl': launch = 'fdsp' is neither a file nor"),
        (1, {"reward": None, "reward_model": "there"}, "there holds no reward model that assay"),
    ],
)
def test_a_stage_that_cannot_be_set_up_is_refused_before_the_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: int,
    changes: dict[str, Any],
    message: str,
) -> None:
    given = table(tmp_path, "run", steps=1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "terse.py").write_text(REWARD)
    given["stages"][stage] |= changes
    with pytest.raises(ConfigError, match=message):
        Pipeline(recipe_of(given)).run()
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    recipe = recipe_of(table(tmp_path, "run", steps=1))
    with locked(tmp_path / "run"), pytest.raises(ConfigError, match="another training works in"):
        Pipeline(recipe).run()
    holder = "import sys, time; print('up', flush=True); time.sleep(60)"
    with locked(tmp_path / "run") as lock:  # what it launched outlives it
        left = subprocess.Popen(
            [sys.executable, "-c", holder], pass_fds=(lock,), stdout=subprocess.PIPE
        )
        assert left.stdout is not None
        left.stdout.readline()
    with pytest.raises(ConfigError, match="another training works in"), locked(tmp_path / "run"):
        pass
    left.kill()
    left.wait()
    with locked(tmp_path / "run"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write in"), locked(tmp_path / "file" / "run"):
        pass


def test_what_cannot_be_found() -> None:
    with pytest.raises(ConfigError, match="comes with the repository"):
        load_function("examples.no_such_module:prepare")
    with pytest.raises(ConfigError, match="no_such_function"):
        load_function("examples.miniature:no_such_function")
    with pytest.raises(ConfigError, match="neither a file nor one of"):
        launch_file("ddpp")
    assert launch_file("fsdp").name == "fsdp.yaml"


def start(recipe: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(recipe.parent)}
    return subprocess.Popen(
        [sys.executable, "-m", "assay", "train", str(recipe), "--quiet"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def kill_after(recipe: Path, folder: Path, checkpoint: str) -> None:
    """Kill -9 the run as soon as `folder` has the checkpoint."""
    process = start(recipe)
    deadline = time.monotonic() + 300
    while not (folder / checkpoint / "trainer_state.json").is_file():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_killed_in_two_stages_it_ends_in_the_same_place(tmp_path: Path) -> None:
    recipes: list[Recipe] = []
    for name in ("whole", "killed"):
        given = table(tmp_path, name, steps=12)
        given["evaluations"] = []
        (tmp_path / f"{name}.toml").write_text(as_toml(given))
        recipes.append(recipe_of(given))
    whole, killed = recipes
    done = start(tmp_path / "whole.toml")
    assert done.wait(timeout=600) == 0, done.communicate()[0]
    sft, rl = (killed.folder(stage) for stage in killed.stages)
    kill_after(tmp_path / "killed.toml", sft, "checkpoint-4")
    assert not (sft / "stage.json").exists()
    kill_after(tmp_path / "killed.toml", rl, "checkpoint-6")
    finished = (sft / "stage.json").read_text()
    assert json.loads(finished)["resumed_from"].startswith("checkpoint-")
    assert not (rl / "stage.json").exists()
    last = start(tmp_path / "killed.toml")
    assert last.wait(timeout=600) == 0, last.communicate()[0]
    assert (sft / "stage.json").read_text() == finished  # not repeated
    assert json.loads((rl / "stage.json").read_text())["resumed_from"].startswith("checkpoint-")
    for stage in ("sft", "rl"):
        first = weights(whole.folder(whole.stage(stage)))
        second = weights(killed.folder(killed.stage(stage)))
        assert first.keys() == second.keys()
        for name, tensor in first.items():
            assert (tensor == second[name]).all(), f"{stage}: {name} differs"
        steps = [e["step"] for e in read_log(killed.folder(killed.stage(stage))) if "loss" in e]
        assert steps == sorted(set(steps))  # no line of a step that was done twice
    assert (Path(killed.output_dir) / "prepared.log").read_text() == "prepared\n"
