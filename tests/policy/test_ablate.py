import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.ablate import (
    Ablation,
    Arm,
    ablation_names,
    grid,
    load_ablation,
    run_ablation,
)
from assay.policy.ablation_figures import AblationTable
from assay.policy.recipe import load_recipe
from assay.policy.run_folder import RunFolder
from assay.policy.shared_stages import runs_in, share_beginning
from tests.policy.test_pipeline import as_toml, table


def test_every_shipped_ablation_fits_the_tiny_recipe(tmp_path: Path) -> None:
    assert {"gate", "swap-weight", "trajectories", "judge", "difficulty-filter"} <= set(
        ablation_names()
    )
    for name in ablation_names():
        ablation = load_ablation(name)
        for arm in ablation.arms:
            recipe = ablation.recipe("tiny", arm, ["seed=3"], tmp_path)
            assert recipe.seed == 3
            assert ablation.last(recipe) in [stage.name for stage in recipe.stages]
    with pytest.raises(ConfigError, match=r"no ablation 'gates'; have \['gate'"):
        load_ablation("gates")


def test_arms_differ_in_what_they_say() -> None:
    order = load_ablation("stage-order")
    turned = order.recipe("tiny", order.arms[1], [], Path("x"))
    names = [stage.name for stage in turned.stages]
    assert names.index("code-complexity") < names.index("code-correctness")
    assert order.last(turned) == "code-correctness"
    judge = load_ablation("judge")
    rewards = [
        judge.recipe("tiny", arm, [], Path("x")).stage("code-complexity").settings["reward"]
        for arm in judge.arms
    ]
    assert len(set(rewards)) == 3
    with pytest.raises(ConfigError, match="at least two arms"):
        Ablation("one", [Arm("a")])
    with pytest.raises(ConfigError, match="no setting 'gatd'"):
        bad = Ablation("b", [Arm("a"), Arm("c", ["stages.code-complexity.gatd=true"])])
        bad.recipe("tiny", bad.arms[1], [], Path("x"))


def test_a_grid_takes_every_combination() -> None:
    found = grid(["stages.a.trl.lr=1e-3,1e-4", "seed_words=[1, 2],[3, 4]", "fixed='x,y'"])
    assert [list(arm.set) for arm in found.arms][1] == [
        "stages.a.trl.lr=1e-3",
        "seed_words=[3, 4]",
        "fixed='x,y'",
    ]
    assert len(found.arms) == 4
    for items, message in ((["a.b=1"], "several values"), (["a.b"], "KEY=VALUE,VALUE")):
        with pytest.raises(ConfigError, match=message):
            grid(items)


def _figures(*values: tuple[int, str, float]) -> list[dict[str, Any]]:
    return [{"seed": s, "arm": a, "figures": {"m": v, "other": 0.0}} for s, a, v in values]


def test_the_table_pairs_seeds(tmp_path: Path) -> None:
    # Seeds differ by 10, arms by 1 +- .1: only the paired difference shows the effect.
    rows = _figures((0, "a", 0.0), (0, "b", 1.0), (1, "a", 10.0), (1, "b", 10.9))
    rows += _figures((2, "a", 20.0), (2, "b", 21.1))
    found = AblationTable.of("n", "?", ["a", "b"], rows, ["m"])
    base, line = found.lines
    assert base.effect == "baseline" and line.effect == "seen"
    assert line.change is not None and line.change.estimate == pytest.approx(1.0)
    assert line.change.low == pytest.approx(1 - 4.303 * 0.1 / 3**0.5, abs=1e-3)
    assert line.p == 0.25  # 2 of 8 sign patterns
    assert line.mean.low < 0 < line.mean.high  # unpaired intervals hide it
    for file in found.write(tmp_path):
        assert file.stat().st_size > 100
    assert "| m | b |" in (tmp_path / "ablation.md").read_text()
    same = AblationTable.of("n", "?", ["a", "b"], _figures((0, "a", 1.0), (0, "b", 2.0)))
    assert same.lines[1].effect == "one seed"
    with pytest.raises(DataError, match=r"there are \['m', 'other'\]"):
        AblationTable.of("n", "?", ["a", "b"], rows, ["x*"])


def test_only_the_common_beginning_is_shared(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(as_toml(table(tmp_path, "unused")))
    try:
        recipe = str(tmp_path / "r.toml")
        first = load_recipe(recipe, [f"output_dir={tmp_path / 'a'}"])
        changed = ["stages.rl.num_generations=8", f"output_dir={tmp_path / 'b'}"]
        second = load_recipe(recipe, changed)
        assert share_beginning(first, second) == 0  # nothing is finished
        prepared = tmp_path / "a" / "prepared"
        prepared.mkdir(parents=True)
        (prepared / "prepared.json").write_text("{}")
        for stage in first.stages:
            folder = first.folder(stage)
            folder.mkdir(parents=True)
            (folder / "stage.json").write_text("{}")
            place = tmp_path / "a" / "evaluation" / stage.name / "short"
            place.mkdir(parents=True)
            (place / "summary.json").write_text("{}")
        assert share_beginning(first, second) == 1
        assert (second.folder(second.stage("sft")) / "stage.json").is_file()
        assert not second.folder(second.stage("rl")).exists()
        assert (tmp_path / "b" / "evaluation" / "sft" / "short" / "summary.json").is_file()
        assert not (tmp_path / "b" / "evaluation" / "rl").exists()
        other = load_recipe(recipe, ["seed=5", f"output_dir={tmp_path / 'c'}"])
        assert share_beginning(first, other) == 0
    finally:
        sys.path.remove(str(tmp_path))


def test_runs_that_are_there_give_their_stages(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(as_toml(table(tmp_path, "unused")))
    try:
        recipe = str(tmp_path / "r.toml")
        for seed in (0, 1):
            run = load_recipe(recipe, [f"seed={seed}", f"output_dir={tmp_path}/runs/{seed}"])
            RunFolder(Path(run.output_dir)).begin(run)
            prepared = Path(run.output_dir) / "prepared"
            prepared.mkdir()
            (prepared / "prepared.json").write_text("{}")
            for stage in run.stages:
                run.folder(stage).mkdir(parents=True)
                (run.folder(stage) / "stage.json").write_text('{"metrics": {"loss": 1.0}}')
        (tmp_path / "runs" / "notes").mkdir()
        first, second = runs_in(tmp_path / "runs")
        assert (first.seed, second.seed) == (0, 1)
        assert runs_in(tmp_path / "runs" / "1")[0].output_dir == second.output_dir
        spelled = load_recipe(
            recipe, ["seed=1", "stages.rl.beta=0.0", f"output_dir={tmp_path / 'arm'}"]
        )
        assert share_beginning(second, spelled) == 2  # a default that is written out is the same
        changed = load_recipe(
            recipe, ["seed=1", "stages.rl.beta=0.1", f"output_dir={tmp_path / 'other'}"]
        )
        assert share_beginning(second, changed) == 1
        with pytest.raises(ConfigError, match="is no run and holds none"):
            runs_in(tmp_path / "runs" / "notes")
        said: list[str] = []
        sweep = {"recipe": recipe, "output": tmp_path / "out", "runs": tmp_path / "runs"}
        ablation = grid(["stages.rl.beta=0.0,0.1"], until="sft", measures=["sft/loss"])
        ablation = replace(ablation, base=["evaluations=[]"])
        found = run_ablation(ablation, seeds=[1], tell=said.append, **sweep)
        assert [line for line in said if "start" in line] == []  # nothing had to be trained
        assert f"  2 stages are those of {second.output_dir}" in said
        assert found.lines[0].mean.estimate == 1.0
        with pytest.raises(ConfigError, match=r"no run of seed 7; .* has seeds \[0, 1\]"):
            run_ablation(ablation, seeds=[7], **sweep)
    finally:
        sys.path.remove(str(tmp_path))


@pytest.mark.slow
def test_a_grid_runs_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(as_toml(table(tmp_path, "unused", steps=2)))
    try:
        said: list[str] = []
        settings: dict[str, Any] = {
            "recipe": str(tmp_path / "r.toml"),
            "seeds": [0, 1],
            "output": tmp_path / "out",
            "tell": said.append,
        }
        ablation = grid(["stages.rl.trl.learning_rate=1e-3,1e-1"], measures=["short/*"])
        found = run_ablation(ablation, **settings)
        assert found.seeds == 2
        assert said.count("  sft: start") == 2  # once a seed, not once an arm
        assert said.count("  rl: start") == 4
        log = (tmp_path / "out" / "seed-0" / "0-learning-rate-1e-3" / "prepared.log").read_text()
        assert log == "prepared\n"
        said.clear()
        again = run_ablation(ablation, **settings)
        assert not [line for line in said if line.startswith("  ")]  # nothing is run again
        assert again.to_json() == found.to_json()
        written = json.loads((tmp_path / "out" / "ablation.json").read_text())
        assert {line["measure"] for line in written["lines"]} >= {"short/reward", "short/tokens"}
    finally:
        sys.path.remove(str(tmp_path))
