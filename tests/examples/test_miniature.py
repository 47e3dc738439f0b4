from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from assay.messages import Sample
from assay.policy.stages.rl_rewards import code_reward
from assay.rewards.turn_reward import TurnReward
from examples.miniature import (
    CODE,
    RANKS,
    code_rows,
    in_batches,
    name_prompts,
    names,
    preference_rows,
    programs,
)
from examples.miniature_agent import agent_rows, conversation, tasks
from examples.problems import load


def test_the_four_kinds_of_program_are_what_they_are_called() -> None:
    chosen = [problem for problem in load() if problem.uid in CODE]
    assert len(chosen) == len(CODE)
    rows = {row["uid"]: row for row in code_rows(chosen)}
    samples, kinds = [], []
    for problem in chosen:
        for kind, answer in programs(problem).items():
            row = rows[f"code/{problem.uid}"]
            samples.append(Sample.of(row["prompt"], answer, row))
            kinds.append(kind)
    scores = code_reward(time=True).evaluate(samples)
    found: dict[str, set[float]] = {}
    for kind, score in zip(kinds, scores, strict=True):
        assert score.value is not None, score.note
        found.setdefault(kind, set()).add(score.value)
    assert found["optimal"] == {2.5}
    assert found["slow"] == {2.0}
    assert max(found["wrong"]) < 2
    assert found["broken"] == {0.0}


def test_names_and_preferences() -> None:
    problems = list(load())[:3]
    answers = names(problems[0])
    assert set(answers) == set(RANKS)
    rows = preference_rows(problems, random.Random(0))
    assert len(rows) == 3 * 6  # all pairs of four kinds
    assert all(row["chosen"] != row["rejected"] for row in rows)
    assert [row["reference"] for row in name_prompts(problems[:1])] == [answers["wordy"]]


def test_batches_hold_rows_of_like_length_and_every_pass_holds_all() -> None:
    rows = [{"text": "x" * number} for number in range(40)]
    found = in_batches(rows, random.Random(0), size=4, passes=2, pool=10)
    lengths = [len(row["text"]) for row in found]
    assert sorted(lengths[:40]) == sorted(lengths[40:]) == list(range(40))
    assert lengths[:40] != lengths[40:]
    assert all(max(b) - min(b) == 3 for b in (lengths[i : i + 4] for i in range(0, 80, 4)))
    assert len(in_batches(rows[:6], random.Random(0), passes=1)) == 4  # no short batch


@pytest.mark.parametrize(
    ("way", "turns"),
    [
        ("once", (None, None)),
        ("twice", (None, -1.0, None)),  # nothing new
        ("misnamed", (-1.0, None, None)),  # a wrong argument
        ("guessed", (-1.0,)),  # an answer that nothing supports
    ],
)
def test_the_critic_sees_the_fault_of_each_way(way: str, turns: tuple[float | None, ...]) -> None:
    from assay.judges.turn_critic import RuleCritic

    task = tasks(1, 0)[0]
    messages = conversation(task, way)
    schemas = json.dumps(task.environment().schemas())
    sample = Sample.of(messages[:1], messages[1:], {"tools": schemas})
    (score,) = TurnReward(RuleCritic()).evaluate([sample])
    assert score.turns == turns
    said = str(messages[-1]["content"])
    assert (str(task.answer) in said) is (way != "guessed")


def test_environment_rows_are_read_back() -> None:
    from assay.policy.stages.agentic_rl import environment_of

    found = tasks(4, 3)
    for task, row in zip(found, agent_rows(found), strict=True):
        assert environment_of(row).task == task.task
    assert tasks(4, 3) == found


@pytest.mark.slow
def test_prepare_writes_what_the_recipe_reads(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from assay.policy.recipe import load_recipe
    from examples.miniature import prepare

    folder = tmp_path / "prepared"
    folder.mkdir()
    counts = prepare(folder, 0)
    assert 1e6 < counts["parameters"] < 5e6
    AutoModelForCausalLM.from_pretrained(folder / "base")
    tokenizer = AutoTokenizer.from_pretrained(folder / "base")
    assert len(tokenizer) == counts["vocabulary"]
    recipe = load_recipe("tiny", [f'output_dir="{tmp_path}"'])
    shape = json.loads((folder / "base" / "config.json").read_text())
    planned = recipe.model.architecture
    assert {key: shape[key] for key in planned} == planned
    for stage in recipe.stages:
        for source in recipe.config(stage).data:
            assert Path(getattr(source, "path", source)).is_file()
