"""Stages on a tiny Llama: short runs of the real trainers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.stages import code_rl_correctness, complexity_judge, sft
from assay.policy.stages.progress_log import read_log

pytest.importorskip("trl")

TRL = {
    "per_device_train_batch_size": 8,
    "gradient_checkpointing": False,
    "save_strategy": "no",
    "learning_rate": 1e-3,
}
ANSWERS = ["```python\na, b = map(int, input().split())\nprint(a + b)\n```", "No idea."]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    folder = tmp_path_factory.mktemp("base")
    tokenizer = tiny_tokenizer()
    tiny_llama(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def chats(tmp_path: Path) -> str:
    return lines(tmp_path / "chats.jsonl", [{"prompt": "Add.", "completion": a} for a in ANSWERS])


def code(tmp_path: Path) -> str:
    tests = json.dumps([{"stdin": "1 2", "expected": "3"}, {"stdin": "4 4", "expected": "8"}])
    return lines(tmp_path / "code.jsonl", [{"prompt": "Add.", "uid": "add", "tests": tests}])


def test_sft_lora_then_code_rl(base: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    config = sft.SftConfig.of(
        model=base,
        data=chats(tmp_path),
        output_dir=tmp_path / "sft",
        max_length=128,
        lora={"r": 4},
        trl=TRL | {"max_steps": 3},
    )
    result = sft.main(config)
    assert result.steps == 3
    tokens = json.loads((result.folder / "tokens.json").read_text())["chats"]
    assert tokens["rows"] == 2
    assert result.metrics["tokens"] == tokens["tokens"] > tokens["trained"] > 0
    assert (result.folder / "adapter" / "adapter_model.safetensors").is_file()
    AutoModelForCausalLM.from_pretrained(result.folder)  # merged: loads plainly
    rl = code_rl_correctness.main(
        code_rl_correctness.CodeCorrectnessConfig.of(
            model=result.folder,
            data=code(tmp_path),
            output_dir=tmp_path / "rl",
            max_completion_length=8,
            truncated="shape",
            lora={"r": 4},
            filter={"n": 2, "low": 0, "high": 2},
            trl=TRL | {"max_steps": 2},
        )
    )
    assert rl.stage == "code_rl_correctness"
    assert json.loads((rl.folder / "filter.json").read_text())["kept"] == 1
    entries = [entry for entry in read_log(rl.folder) if "reward" in entry]
    assert [entry["step"] for entry in entries] == [1, 2]
    assert entries[0]["reward/task/tests/gated"] + entries[0]["reward/task/tests/scored"] == 8
    # a random model is cut at 8 tokens: no code, and the whole overlong punishment
    cut = entries[0]["completions/clipped_ratio"]
    assert entries[0]["reward/overlong/mean"] <= -cut
    assert entries[0]["monitor/rows"] == 8
    assert 0 <= entries[0]["groups/dropped"] <= 1


def test_a_stage_killed_after_its_last_step_does_no_other(base: Path, tmp_path: Path) -> None:
    config = sft.SftConfig.of(
        model=base,
        data=chats(tmp_path),
        output_dir=tmp_path / "sft",
        max_length=128,
        trl=TRL | {"max_steps": 2, "save_strategy": "steps", "save_steps": 1},
    )
    sft.main(config)
    weights = (tmp_path / "sft" / "model.safetensors").read_bytes()
    for name in ("stage.json", "model.safetensors"):
        (tmp_path / "sft" / name).unlink()
    again = sft.main(config)
    assert (again.steps, again.resumed_from) == (2, "checkpoint-2")
    assert (tmp_path / "sft" / "model.safetensors").read_bytes() == weights
    assert [entry["step"] for entry in read_log(tmp_path / "sft") if "loss" in entry] == [1, 2]


def test_groups_without_signal_leave_the_loss(base: Path, tmp_path: Path) -> None:
    import torch

    from assay.policy.stages.rl_trainer import StageTrainerMixin

    mixin = StageTrainerMixin.__new__(StageTrainerMixin)
    nan = float("nan")
    # groups of two: equal; different; both missing; one missing; equal sum but different parts
    rewards = torch.tensor(
        [
            [1.0, 1],
            [1, 1],
            [0, 1],
            [1, 1],
            [nan, nan],
            [nan, nan],
            [2, 2],
            [nan, nan],
            [0, 1],
            [1, 0],
        ]
    )
    dropped = mixin._without_signal(rewards, 2).tolist()
    assert dropped == [True, True, False, False, True, True, True, True, False, False]


def test_what_stages_refuse(base: Path, tmp_path: Path) -> None:
    given = {"model": base, "output_dir": tmp_path / "o", "trl": TRL}
    with pytest.raises(ConfigError, match="which trl.SFTConfig has not; did you mean 'max_steps'"):
        sft.main(
            sft.SftConfig.of(
                **(given | {"data": chats(tmp_path), "trl": {"max_step": 1}}), max_length=64
            )
        )
    with pytest.raises(DataError, match="of 2 rows 2 are longer than max_length 8"):
        sft.main(sft.SftConfig.of(**given, data=chats(tmp_path), max_length=8))
    config = code_rl_correctness.CodeCorrectnessConfig.of(
        **given, data=code(tmp_path), filter={"n": 2, "low": 2, "high": 2}, max_completion_length=4
    )
    with pytest.raises(DataError, match="the difficulty filter kept none of 1 problems"):
        code_rl_correctness.main(config)


def test_the_complexity_judge_is_trained_on_what_it_is_asked(base: Path, tmp_path: Path) -> None:
    rows = [
        {"src": f"def f{i}(x):\n    for y in x:\n        print(y)\n", "complexity": "O(n)"}
        for i in range(8)
    ]
    config = complexity_judge.ComplexityJudgeConfig.of(
        model=base,
        data=lines(tmp_path / "programs.jsonl", rows),
        output_dir=tmp_path / "judge",
        max_length=2048,
        held_out=0.3,
        trl=TRL | {"max_steps": 1, "per_device_train_batch_size": 2},
    )
    result = complexity_judge.main(config)
    assert result.stage == "complexity_judge"
    assert 0 < result.metrics["held_out"] < 8
    assert 0 <= result.metrics["accuracy"] <= result.metrics["decided"] <= 1
    with pytest.raises(DataError, match="row 1: .*complexity"):
        bad = lines(tmp_path / "bad.jsonl", [{"src": "x"}])
        complexity_judge.main(
            complexity_judge.ComplexityJudgeConfig.of(
                model=base, data=bad, output_dir=tmp_path / "x"
            )
        )


def looks_and_answers(trainer: Any, prompt_ids: Any, *_: Any, **__: Any) -> Any:
    """Generation in its place: every other rollout looks before it answers, the rest guess."""
    texts = [trainer.processing_class.decode(ids) for ids in prompt_ids]
    said = []
    for row, text in enumerate(texts):
        seen = re.findall(r'"left": ([0-9])', text)
        asked = re.findall(r"How many ([a-z]+) are left", text)
        if seen or not asked:
            said.append(f"{seen[-1]}." if seen else "Hello there.")
        elif row % 2:
            said.append("0.")
        else:
            call = {"name": "look", "arguments": {"item": asked[-1]}}
            said.append(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
    ended = [text + trainer.processing_class.eos_token for text in said]
    return trainer.processing_class(ended, add_special_tokens=False)["input_ids"], None


def test_agentic_rl_with_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.policy.stages import agentic_rl
    from assay.policy.turn_credit import TurnCreditGRPOTrainer
    from examples.miniature import build_model, build_tokenizer
    from examples.miniature_agent import agent_conversations, agent_rows, tasks

    monkeypatch.setattr(TurnCreditGRPOTrainer, "_generate_single_turn", looks_and_answers)
    found = tasks(4, 0)
    chat = agent_conversations(found)
    tokenizer = build_tokenizer([m["content"] for row in chat for m in row["messages"]] * 3)
    build_model(tokenizer, 0).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    (tmp_path / "short_answers.py").write_text(
        "from assay.rewards import Length\nreward = Length(target=3)\n"
    )
    config = agentic_rl.AgenticConfig.of(
        model=tmp_path / "base",
        data=lines(tmp_path / "agent.jsonl", agent_rows(found)),
        output_dir=tmp_path / "rl",
        num_generations=4,
        max_completion_length=400,
        credit={"mode": "negative"},
        replay=[
            {
                "domain": "short",
                "data": lines(tmp_path / "chat.jsonl", [{"prompt": "Hi", "uid": "hi"}]),
                "reward": f"{tmp_path / 'short_answers.py'}:reward",
                "share": 0.5,
            }
        ],
        trl=TRL | {"max_steps": 2, "max_tool_calling_iterations": 3},
    )
    result = agentic_rl.main(config)
    assert result.steps == 2
    entries = [entry for entry in read_log(result.folder) if "reward" in entry]
    for entry in entries:
        assert entry["agentic/reward/agent/outcome/scored"] == 4
        assert entry["agentic/reward/short/scored"] == 4
        assert entry["tools/call_frequency"] == 2 / 8  # two of the four looked, once each
        assert entry["tools/failure_frequency"] == 0
        assert entry["agentic/reward/agent/outcome/mean"] == 0.5  # those that looked are right
        assert entry["turn_credit/failing"] > 0  # nothing supports a guess
        assert entry["grad_norm"] > 0
