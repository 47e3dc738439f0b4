from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.policy.recipe import load_recipe, recipe_names, recipe_of
from assay.policy.recipe_keys import changed_keys, set_key


def table(**more: Any) -> dict[str, Any]:
    return {
        "name": "mine",
        "output_dir": "runs/mine",
        "model": "my/base",
        "stages": [
            {"name": "sft", "stage": "sft", "data": "chats.jsonl", "trl": {"max_steps": 3}},
            {
                "name": "rm",
                "stage": "rm-pointwise",
                "data": ["pairs.jsonl"],
            },
            {
                "name": "chat",
                "stage": "pointwise_rl",
                "data": "prompts.jsonl",
                "reward_model": "@rm",
            },
        ],
    } | more


def test_each_stage_starts_from_the_policy_before_it() -> None:
    recipe = recipe_of(table())
    sft, rm, chat = (recipe.config(stage) for stage in recipe.stages)
    assert sft.model == "my/base"
    assert sft.output_dir == "runs/mine/stages/01-sft"
    assert rm.model == "runs/mine/stages/01-sft"
    assert chat.model == "runs/mine/stages/01-sft"  # a reward model is no policy
    assert chat.reward_model == "runs/mine/stages/02-rm"
    assert sft.trl == {"max_steps": 3}


def test_defaults_by_family_and_for_all() -> None:
    defaults = {
        "all": {"chat_template": "nanbeige", "lora": {"r": 4}},
        "rl": {"num_generations": 4, "trl": {"learning_rate": 1e-6, "max_steps": 9}},
    }
    given = table(defaults=defaults)
    given["stages"][2]["trl"] = {"max_steps": 5}
    sft, rm, chat = (recipe_of(given).config(s) for s in recipe_of(given).stages)
    assert sft.chat_template == "nanbeige"
    assert rm.lora == {"r": 4}  # a reward model has no chat_template of its own, but LoRA
    assert (chat.num_generations, chat.trl) == (4, {"learning_rate": 1e-6, "max_steps": 5})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage": []}, "no setting 'stage'; did you mean 'stages'"),
        ({"defaults": {"rll": {}}}, "did you mean 'rl'"),
        (
            {"stages": [{"name": "a", "stage": "sft", "data": "x", "max_lenght": 3}]},
            "stage 'a' .sft. has no setting 'max_lenght'; did you mean 'max_length'",
        ),
        ({"stages": [{"name": "a", "stage": "sftt", "data": "x"}]}, "did you mean 'sft'"),
        ({"stages": [{"name": "a", "stage": "sft"}]}, "needs \\['data'\\]"),
        ({"stages": [{"name": "run", "stage": "sft", "data": "x"}]}, "not run or model"),
        (
            {
                "stages": [
                    {"name": "a", "stage": "sft", "data": "x"},
                    {"name": "a", "stage": "sft", "data": "x"},
                ]
            },
            "several stages are named 'a'",
        ),
        (
            {"stages": [{"name": "a", "stage": "sft", "data": "x", "model": "@b"}]},
            "no stage 'b'",
        ),
        (
            {
                "stages": [
                    {"name": "a", "stage": "sft", "data": "x", "model": "@b"},
                    {"name": "b", "stage": "sft", "data": "x"},
                ]
            },
            "uses @b, which runs after it",
        ),
        ({"evaluations": [{"name": "e", "data": "x"}]}, "one of reward, reward_model and code"),
        (
            {"evaluations": [{"name": "e", "data": "x", "code": "tests"}]},
            "'correctness' or 'complexity', got 'tests'",
        ),
        ({"stages": 3}, "stages must be a list of tables, got 3"),
        ({"stages": ["sft"]}, "each of the recipe: stages must be a table"),
        ({"stages": []}, "stages is empty"),
        ({"evaluations": {"name": "e"}}, "evaluations must be a list of tables"),
        ({"defaults": {"rl": 3}}, r"\[defaults.rl\] must be a table"),
        (
            {"stages": [{"name": "a", "stage": "sft", "data": "x", "processes": "four"}]},
            "stage 'a': processes must be",
        ),
        (
            {"stages": [{"name": "a", "stage": "sft", "data": "x", "plan": 1}]},
            "stage 'a': plan must be a table",
        ),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        recipe_of(table(**change))


def test_set_enters_lists_by_name() -> None:
    given = table()
    for item in (
        "seed=7",
        "stages.sft.trl.max_steps=10",
        "stages.chat.system_prompt=Be brief.",
        'model="other/base"',
    ):
        set_key(given, item)
    recipe = recipe_of(given)
    assert recipe.config(recipe.stage("sft")).trl == {"max_steps": 10}
    assert recipe.config(recipe.stage("sft")).seed == 7
    assert recipe.config(recipe.stage("chat")).system_prompt == "Be brief."
    assert recipe.model.path == "other/base"
    for item, message in (
        ("seed", "KEY=VALUE"),
        ("stages.rl.x=1", "there is no 'rl'; have"),
        ("name.x=1", "'name' is no table"),
        ("stages.sft=1", "name a setting of 'sft'"),
    ):
        with pytest.raises(ConfigError, match=message):
            set_key(given, item)


def test_changed_keys_are_told_by_name() -> None:
    old, new = table(), table()
    new["stages"][2]["reward_model"] = "other"
    new["seed"] = 3
    assert changed_keys(old, new) == ["stages.chat.reward_model", "seed"]
    assert changed_keys(old, json.loads(json.dumps(old))) == []


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_recipes_can_be_configured(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    for stage in recipe.stages:
        config = recipe.config(stage)
        assert config.to_json()["output_dir"].startswith(recipe.output_dir)


def test_the_published_final_mix() -> None:
    recipe = load_recipe("nanbeige-3b")
    sources = recipe.config(recipe.stage("sft-256k")).data
    weights = {source.name: source.weight for source in sources}
    published = {"code": 27, "deep-search": 26, "stem": 23, "tool-use": 13, "general": 10}
    assert weights == published


def test_files_and_unknown_recipes(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('name = "r"\nmodel = "m"\nstages = [{name="s", stage="sft", data="d"}]\n')
    recipe = load_recipe(file, ["output_dir=/tmp/x"])
    assert (recipe.output_dir, recipe.source) == ("/tmp/x", str(file))
    file.write_text("name = ")
    with pytest.raises(ConfigError, match="is not TOML"):
        load_recipe(file)
    with pytest.raises(ConfigError, match="there is no recipe 'nanbeige'; have"):
        load_recipe("nanbeige")
    with pytest.raises(ConfigError, match="cannot read"):
        load_recipe(tmp_path / "none.toml")


def test_shipped_recipes_say_what_is_not_published() -> None:
    import assay.policy

    folder = Path(str(assay.policy.__file__)).parent / "recipes"
    for name in ("nanbeige-3b", "nanbeige-3b-lora"):
        text = (folder / f"{name}.toml").read_text()
        assert "Not published, and therefore OURS" in text
        assert tomllib.loads(text)["model"]["architecture"]["vocab_size"] == 166144
