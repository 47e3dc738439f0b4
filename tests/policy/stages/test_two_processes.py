"""Every stage of the 3B recipe on two processes that share the parameters (FSDP), on CPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.policy.data.horizon_job import reviewed_row
from assay.policy.data.preferences import Preference, write_preferences
from assay.policy.data.row_files import write_rows
from assay.policy.stages.progress_log import read_log
from assay.policy.stages.registry import STAGES, stage_kind

pytest.importorskip("trl")

from tests.policy.stages.test_turn_critic import RUN, VERDICTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TRL = {
    "per_device_train_batch_size": 8,
    "gradient_checkpointing": False,
    "save_strategy": "no",
    "learning_rate": 1e-3,
    "max_steps": 2,
}
CONTEXT = 8192


@dataclass(frozen=True)
class Parts:
    """What the stages start from."""

    base: str
    pointwise: str
    pairwise: str
    rows: Path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A tiny base model that knows tools, two reward models, and rows for every stage."""
    from examples.miniature import build_model, build_tokenizer
    from examples.miniature_agent import agent_conversations, agent_rows, tasks

    folder = tmp_path_factory.mktemp("parts")
    found = tasks(8, 0)
    chat = agent_conversations(found)
    tokenizer = build_tokenizer([m["content"] for row in chat for m in row["messages"]] * 3)
    model = build_model(tokenizer, 0)
    model.config.max_position_embeddings = CONTEXT
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    tests = [{"stdin": "1 2", "expected": "3"}, {"stdin": "4 4", "expected": "8"}]
    chats = [{"prompt": f"Add {i}.", "completion": "1"} for i in range(9)]
    write_rows(folder / "chat.jsonl", chats)
    write_rows(
        folder / "code.jsonl",
        [
            {"prompt": f"{i}: add.", "uid": f"add{i}", "tests": json.dumps(tests)}
            | {"optimal_complexity": "1"}
            for i in range(4)
        ],
    )
    write_rows(
        folder / "arena.jsonl",
        [{"prompt": f"Say {i}", "uid": f"say{i}", "reference": "I say."} for i in range(4)],
    )
    write_rows(folder / "agent.jsonl", agent_rows(found))
    write_preferences(
        folder / "pairs.jsonl",
        [
            Preference.of(f"question {i}", f"{i}", f"not {i}", float(i % 2), source="hand")
            for i in range(24)
        ],
    )
    write_rows(folder / "runs.jsonl", [json.loads(json.dumps(reviewed_row(RUN, VERDICTS)))] * 4)
    write_rows(
        folder / "programs.jsonl",
        [{"src": f"def f{i}(x):\n    print(x)\n", "complexity": "O(n)"} for i in range(8)],
    )
    traced = {"role": "assistant", "reasoning_content": "Count on and on."}
    write_rows(
        folder / "traces.jsonl",
        [
            {"messages": [{"role": "user", "content": f"{i}+1?"}, traced | {"content": str(i + 1)}]}
            for i in range(12)
        ],
    )
    base = str(folder / "base")
    models = {}
    for kind in ("rm_pointwise", "rm_pairwise"):
        config = stage_kind(kind).config_class()
        models[kind] = folder / kind
        stage_kind(kind).run(config.of(**reward_model(base, folder) | {"output_dir": models[kind]}))
    return Parts(base, str(models["rm_pointwise"]), str(models["rm_pairwise"]), folder)


def reward_model(base: str, rows: Path) -> dict[str, Any]:
    return {
        "model": base,
        "data": str(rows / "pairs.jsonl"),
        "max_length": 256,
        "near_duplicates": 2.0,
        "held_out": 0.3,
        "trl": TRL | {"logging_steps": 1},
    }


def settings_of(kind: str, parts: Parts) -> dict[str, Any]:
    def rows(name: str) -> str:
        return str(parts.rows / f"{name}.jsonl")

    arena = {"domain": "replayed", "data": rows("arena"), "reward_model": parts.pairwise}
    replay = [arena | {"share": 0.5}]
    every_problem = {"n": 2, "low": 0, "high": 2}
    own: dict[str, dict[str, Any]] = {
        "sft": {"data": rows("chat"), "max_length": 128},
        "rm_pointwise": reward_model(parts.base, parts.rows),
        "rm_pairwise": reward_model(parts.base, parts.rows),
        "pointwise_rl": {"data": rows("arena"), "reward_model": parts.pointwise},
        "pairwise_rl": {"data": rows("arena"), "reward_model": parts.pairwise},
        "code_rl_correctness": {"data": rows("code"), "filter": every_problem, "replay": replay},
        "code_rl_complexity": {"data": rows("code"), "filter": every_problem, "replay": replay},
        "agentic_rl": {"data": rows("agent"), "replay": replay},
        "turn_critic": {"data": rows("runs"), "max_length": 4096, "context_tokens": 400},
        "complexity_judge": {"data": rows("programs"), "max_length": 4096, "held_out": 0.3},
        "cot_reconstruction": {"data": rows("traces"), "max_length": 2048, "held_out": 0.3}
        | {"trace_tokens": 8, "answer_tokens": 4},
    }
    settings = {"model": parts.base, "trl": TRL} | own[kind]
    if kind.endswith("_rl") or kind.startswith("code_rl"):
        settings |= {"max_completion_length": 8, "truncated": "keep"}
    return settings


def launched(
    settings: dict[str, Any],
    folder: Path,
    *command: str,
    timeout_s: float = 500,
) -> subprocess.CompletedProcess[str]:
    """`python -m COMMAND` with the settings, on two processes with the parameters sharded."""
    file = folder / "config.json"
    file.write_text(json.dumps(settings | {"output_dir": str(folder / "out")}, default=str))
    return subprocess.run(
        [
            *(sys.executable, "-m", "accelerate.commands.launch"),
            *("--config_file", str(ROOT / "policy" / "launch" / "fsdp-cpu.yaml")),
            *("-m", *command, str(file)),
        ],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )


def stage(
    kind: str,
    settings: dict[str, Any],
    folder: Path,
    module: str = "tests.policy.stages.sharded_stage",
) -> dict[str, Any]:
    """Run one stage; its `stage.json`."""
    done = launched(settings, folder, module, kind)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads((folder / "out" / "stage.json").read_text())
    assert (result["stage"], result["steps"]) == (kind, 2)
    return result


@pytest.mark.parametrize("kind", STAGES)
def test_stage(parts: Parts, tmp_path: Path, kind: str) -> None:
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    stage(kind, settings_of(kind, parts), tmp_path)
    out = tmp_path / "out"
    loader = AutoModelForSequenceClassification if kind.startswith("rm") else AutoModelForCausalLM
    loader.from_pretrained(out)
    assert changed(out, Path(parts.base))
    logged = [entry for entry in read_log(out) if "loss" in entry]
    assert [entry["step"] for entry in logged] == [1, 2]  # one rank writes
    assert any(entry["grad_norm"] > 0 for entry in logged)


@pytest.mark.parametrize("kind", ["sft", "rm_pairwise"])
def test_a_lora_is_merged(parts: Parts, tmp_path: Path, kind: str) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    stage(kind, settings_of(kind, parts) | {"lora": {"r": 4}}, tmp_path)
    out = tmp_path / "out"
    loader = AutoModelForSequenceClassification if kind.startswith("rm") else AutoModelForCausalLM
    merged = loader.from_pretrained(out)
    assert changed(out, Path(parts.base))
    base = loader.from_pretrained(parts.base, num_labels=merged.config.num_labels)
    alone = PeftModel.from_pretrained(base, str(out / "adapter")).merge_and_unload().state_dict()
    assert all(alone[name].equal(tensor) for name, tensor in merged.state_dict().items())


def test_a_stage_goes_on_from_its_checkpoint(parts: Parts, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    settings = settings_of("sft", parts)
    settings["trl"] = TRL | {"save_strategy": "steps", "save_steps": 1}
    stage("sft", settings, tmp_path)
    out = tmp_path / "out"
    whole = load_file(out / "model.safetensors")
    for left in ("stage.json", "model.safetensors", "checkpoint-2/trainer_state.json"):
        (out / left).unlink()  # as a kill within the second step's save leaves it
    result = stage("sft", settings, tmp_path)
    assert result["resumed_from"] == "checkpoint-1"
    again = load_file(out / "model.safetensors")
    assert all(again[name].equal(tensor) for name, tensor in whole.items())


def test_ranks_call_tools_unequally_often(parts: Parts, tmp_path: Path) -> None:
    settings = settings_of("agentic_rl", parts) | {"max_completion_length": 400, "replay": []}
    settings["trl"] = TRL | {"max_tool_calling_iterations": 3, "max_steps": 2}
    stage("agentic_rl", settings, tmp_path, "tests.policy.stages.uneven_rollouts")
    logged = [entry for entry in read_log(tmp_path / "out") if "reward" in entry]
    # rank 0: four of its eight rollouts look once, two of those again; rank 1: none
    assert [entry["tools/call_frequency"] for entry in logged] == [(4 + 2) / 16] * 2


def changed(folder: Path, base: Path) -> bool:
    """Whether training moved the layers."""
    from safetensors.torch import load_file

    before, after = (load_file(path / "model.safetensors") for path in (base, folder))
    shared = sorted(before.keys() & after.keys())
    assert len(shared) > 10
    return any(not before[name].equal(after[name]) for name in shared)
