import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.messages import Message
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.environments import environment
from assay.policy.evaluate import Evaluation, run_evaluation
from assay.policy.evaluation.results import compare_folders, difference_lines, result_lines
from assay.policy.rollouts import Decoding
from assay.rewards import AnswerMatch, Length
from tests.policy.evaluation.scripted import FirstOrShorter, Playing, Scripted, call

match = AnswerMatch(column="answer")
shortest = Length(target=1)
MATCH = "tests.policy.test_evaluate:match"


def _sums(folder: Path, count: int = 6) -> str:
    rows = [{"uid": f"s{i}", "prompt": f"{i}+1?", "answer": str(i + 1)} for i in range(count)]
    write_rows(folder / "sums.jsonl", rows)
    return str(folder / "sums.jsonl")


def _right_half(row: Mapping[str, Any], number: int, decoding: Decoding) -> str:
    """Right in every second sample; budgets below 3 characters cut the answer."""
    return row["answer"] if number % 2 == 0 else f"{int(row['answer']) + 100}"


def _config(folder: Path, **more: Any) -> Evaluation:
    settings: dict[str, Any] = {
        "policy": "scripted",
        "output_dir": str(folder / "out"),
        "data": _sums(folder),
        "reward": MATCH,
        "decoding": {"n": 4, "max_new_tokens": 64},
    }
    return Evaluation.of(**(settings | more))


def test_every_result_holds_its_decoding_budget_and_intervals(tmp_path: Path) -> None:
    config = _config(tmp_path, budgets=[2, 64], seeds=[0, 1], ks=[1, 2, 8])
    policy = Scripted(_right_half)
    found = run_evaluation(config, sampler=policy)
    assert policy.made == 4  # two budgets, two seeds
    short, long = found["results"]
    assert (short["budget"], long["budget"]) == (2, 64)
    assert long["decoding"] == {"n": 4, "max_new_tokens": 64, "temperature": 0.6, "top_p": 0.95}
    assert short["metrics"]["overlong"]["estimate"] == 0.5
    assert long["metrics"]["overlong"]["estimate"] == 0.0
    # 4 of 8 samples pass: pass@1 = 1/2, pass@2 = 1 - 6/28, pass@8 = 1, best of 8 = 1
    assert long["metrics"]["pass@1"]["estimate"] == 0.5
    assert long["metrics"]["pass@2"]["estimate"] == pytest.approx(1 - 6 / 28)
    assert long["metrics"]["pass@8"]["estimate"] == 1
    assert long["metrics"]["best-of-8"]["estimate"] == 1
    assert long["metrics"]["best-of-2"]["estimate"] == pytest.approx(1 - 6 / 28)
    assert "majority-of-4" in long["metrics"]
    assert long["over_seeds"]["pass@1"]["values"] == [0.5, 0.5]
    assert found["about"]["task"] == "reward" and "torch" in found["about"]["versions"]
    assert any("pass@1 " in line for line in result_lines(found))


def test_what_was_made_is_read_and_another_reward_scores_the_same_samples(tmp_path: Path) -> None:
    config = _config(tmp_path)
    policy = Scripted(_right_half)
    first = run_evaluation(config, sampler=policy)
    again = run_evaluation(config, sampler=policy)
    assert policy.made == 1
    assert again["results"] == first["results"]
    other = replace(config, reward="tests.policy.adapters.rewards_under_test:politeness")
    scored = run_evaluation(other, sampler=policy)
    assert policy.made == 1
    assert scored["results"][0]["metrics"]["pass@1"]["estimate"] == 1
    run_evaluation(config, sampler=Scripted(_right_half, name="other weights"))
    assert policy.made == 1


def test_a_selector_picks_the_best_of_n(tmp_path: Path) -> None:
    shortest = "tests.policy.test_evaluate:shortest"
    config = _config(tmp_path, selector=shortest)
    found = run_evaluation(config, sampler=Scripted(_right_half))
    assert found["results"][0]["metrics"]["best-of-4"]["estimate"] == 1  # right ones are shorter


def test_paired_tests_between_two_policies(tmp_path: Path) -> None:
    before = _config(tmp_path, output_dir=str(tmp_path / "before"))
    after = _config(tmp_path, output_dir=str(tmp_path / "after"))
    run_evaluation(before, sampler=Scripted(lambda row, j, d: "no", name="before"))
    run_evaluation(after, sampler=Scripted(lambda row, j, d: row["answer"], name="after"))
    found = compare_folders(tmp_path / "before", tmp_path / "after")
    change = next(d for d in found["64"] if d.metric == "pass@1")
    assert (change.before, change.after, change.prompts) == (0, 1, 6)
    assert change.p == pytest.approx(2 / 2**6)
    assert any("pass@1" in line for line in difference_lines(found))
    other = replace(after, reward="tests.policy.adapters.rewards_under_test:politeness")
    run_evaluation(other, sampler=Scripted(lambda row, j, d: row["answer"], name="after"))
    with pytest.raises(ConfigError, match="differ in reward"):
        compare_folders(tmp_path / "before", tmp_path / "after")
    hot = replace(after, decoding=replace(after.decoding, temperature=1.0))
    run_evaluation(hot, sampler=Scripted(lambda row, j, d: row["answer"], name="after"))
    with pytest.raises(ConfigError, match=r"decoded differently \(temperature"):
        compare_folders(tmp_path / "before", tmp_path / "after")
    with pytest.raises(ConfigError, match="no finished evaluation"):
        compare_folders(tmp_path / "before", tmp_path / "nowhere")


def test_win_rate_in_both_orders(tmp_path: Path) -> None:
    config = _config(tmp_path, task="win-rate", reward=None, judge="unused")
    policy = Scripted(lambda row, j, d: "four" if j == 0 else "it is four", name="a")
    reference = Scripted(lambda row, j, d: "four", name="b")
    found = run_evaluation(config, sampler=policy, reference=reference, judge=FirstOrShorter())[
        "results"
    ][0]["metrics"]
    # Sample 0 ties with the reference: each order picks the first slot. Samples 1-3 lose.
    assert found["win rate"]["estimate"] == pytest.approx(0.5 / 4)
    assert found["flips"]["estimate"] == pytest.approx(1 / 4)
    assert found["order gap"]["estimate"] == pytest.approx(1 / 4)
    with pytest.raises(DataError, match="has no 'reference' to beat"):
        run_evaluation(
            replace(config, output_dir=str(tmp_path / "x")), sampler=policy, judge=FirstOrShorter()
        )


def test_success_in_environments_by_turns(tmp_path: Path) -> None:
    spec = environment("orders", seed=1)
    write_rows(tmp_path / "env.jsonl", [{"family": "orders", "environment_seed": 1, "uid": "o"}])

    def move(messages: Sequence[Message], seed: int) -> Message:
        made = sum(len(m.tool_calls) for m in messages)
        if seed % 2 or made == len(spec.oracle):  # every second run answers without working
            return Message("assistant", spec.answer)
        name, arguments = spec.oracle[made]
        return call(name, arguments)

    config = Evaluation.of(
        policy="playing",
        output_dir=str(tmp_path / "out"),
        task="environment",
        data=str(tmp_path / "env.jsonl"),
        decoding={"n": 2},
        ks=[1, 2],
    )
    found = run_evaluation(config, sampler=Playing(move))["results"][0]
    metrics = found["metrics"]
    assert metrics["success"]["estimate"] == 0.5
    assert metrics["pass@2"]["estimate"] == 1
    assert metrics["success, 1 turns"]["estimate"] == 0
    assert metrics["success within 1 turns"]["estimate"] == 0
    turns = len(spec.oracle) + 1
    assert metrics["turns"]["estimate"] == (1 + turns) / 2
    inside = [m for name, m in metrics.items() if name.startswith("success, ")]
    assert sum(m["runs"] for m in inside) == 2


def test_the_safety_set(tmp_path: Path) -> None:
    def say(row: Mapping[str, Any], number: int, decoding: Decoding) -> str:
        if row["kind"] == "harmful":
            return "I'm sorry, but I can't help with that."
        if row["uid"] == "benign/kill-process":
            return "I cannot help with killing."
        if row["uid"].startswith("swap/joke/") and "Germans" in row["group"]:
            return "I'm sorry, I can't do that."
        return "Of course. Here is what I would do in your place."

    config = Evaluation.of(policy="s", output_dir=str(tmp_path), task="safety", decoding={"n": 2})
    found = run_evaluation(config, sampler=Scripted(say))["results"][0]["metrics"]
    assert found["refusal"]["estimate"] == 1
    assert found["over-refusal"]["estimate"] == pytest.approx(1 / 16)
    assert found["refusal gap"]["estimate"] == pytest.approx(1 / 6)
    assert "overlong" in found and found["refusal"]["units"] == 12


def test_what_cannot_be(tmp_path: Path) -> None:
    for settings, message in (
        ({"task": "rewards"}, "task must be one of"),
        ({"task": "code", "data": ()}, "needs data"),
        ({"task": "safety"}, "prompts of its own"),
        ({"reward_model": "rm"}, "either reward or reward_model"),
        ({"task": "win-rate", "reward": None}, "needs a judge"),
        ({"seeds": [1, 1]}, "different numbers"),
        ({"budgets": [4, 4]}, "each value once"),
        ({"ks": [0]}, "ks must be a whole number"),
        ({"polic": 1}, "did you mean 'policy'"),
    ):
        with pytest.raises(ConfigError, match=message):
            _config(tmp_path, **settings)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    monkeypatch.setattr(
        "assay.policy.evaluate.sampler_of", lambda *a, **k: Scripted(_right_half, name="m")
    )
    arguments = ["evaluate", "m", "--data", _sums(tmp_path), "--reward", MATCH, "--n", "4", "-q"]
    arguments += ["--max-new-tokens", "2", "--max-new-tokens", "64", "--k", "1", "--k", "4"]
    arguments += ["--plot", str(tmp_path / "curves.svg"), "--output", str(tmp_path / "one")]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "pass@1" in first.output
    drawn = (tmp_path / "curves.svg").read_text()
    assert "best-of-N" in drawn and "pass@1 by budget" in drawn
    arguments[-1] = str(tmp_path / "two")
    file = tmp_path / "all.json"
    arguments += ["--against", str(tmp_path / "one"), "--json", str(file)]
    second = CliRunner().invoke(app, arguments)
    assert second.exit_code == 0, second.output
    written = json.loads(file.read_text())
    assert written["results"][0]["decoding"]["temperature"] == 0.6
    assert written["against"][str(tmp_path / "one")]["64"][0]["p"] == 1


def test_a_model_in_a_folder_is_sampled_and_plays(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    tiny_llama(tokenizer).save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    decoding = {"n": 2, "max_new_tokens": 4, "temperature": 1.0, "top_p": 1.0}
    common = {"policy": str(tmp_path / "m"), "decoding": decoding, "seeds": [0, 1]}
    config = _config(tmp_path, **common, limit=2)
    found = run_evaluation(config)["results"][0]
    assert found["metrics"]["pass@1"]["units"] == 2
    assert 0 < found["metrics"]["tokens"]["estimate"] <= 4
    rows = list(read_rows(tmp_path / "out" / "budget-4" / "seed-1" / "rollouts.jsonl"))
    assert len(rows) == 4 and all(len(row["completion_ids"]) <= 4 for row in rows)
    assert run_evaluation(config)["results"][0] == found
    write_rows(tmp_path / "env.jsonl", [{"family": "orders", "environment_seed": 1, "uid": "o"}])
    played = _config(
        tmp_path,
        **common,
        task="environment",
        reward=None,
        data=str(tmp_path / "env.jsonl"),
        output_dir=str(tmp_path / "played"),
    )
    metrics = run_evaluation(played)["results"][0]["metrics"]
    assert metrics["success"]["estimate"] == 0 and metrics["turns"]["estimate"] >= 1
