from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import TurnVerdict
from assay.messages import Message, ToolCall, Trajectory
from assay.policy.data.horizon_job import HorizonJob, reviewed_row
from assay.policy.stages.turn_critic import (
    TurnCriticConfig,
    critic_rows,
    main,
    reviewed_run,
    trained_critic,
)

RUN = Trajectory(
    (
        Message("user", "When was tea taxed?"),
        Message("assistant", tool_calls=(ToolCall("find", {"q": "tea"}),)),
        Message("tool", "In 1767."),
        Message("assistant", "In 1767."),
    ),
    id="tea",
)
VERDICTS = [TurnVerdict(True, True, True, "Due."), TurnVerdict(True, True, False, "Known.")]


def config(folder: Path, **settings: Any) -> TurnCriticConfig:
    return TurnCriticConfig.of(
        model=str(folder / "base"), data=str(folder / "rows.jsonl"),
        output_dir=str(folder / "critic"), max_length=4096, context_tokens=400, **settings,
    )  # fmt: skip


def test_rows_are_prompts_and_the_replies_that_are_wanted(tmp_path: Path) -> None:
    row = json.loads(json.dumps(reviewed_row(RUN, VERDICTS)))
    trajectory, verdicts = reviewed_run(row)
    assert [v.passed for v in verdicts] == [True, False]
    rows = list(critic_rows([(trajectory, verdicts)], config(tmp_path)))
    reply = json.loads(rows[1]["completion"][0]["content"])
    assert reply["turns"][0]["informational_gain"] == "no" and reply["turns"][0]["turn"] == 1
    assert reply["nonce"] in rows[1]["prompt"][0]["content"]
    failing = list(critic_rows([(trajectory, verdicts)], config(tmp_path, keep_passing=0.0)))
    assert [one["id"] for one in failing] == ["tea#1"]
    undecided = [TurnVerdict(None, None, None)] * 2
    assert list(critic_rows([(trajectory, undecided)], config(tmp_path))) == []


def test_rows_without_verdicts_are_refused() -> None:
    row = reviewed_row(RUN, VERDICTS)
    with pytest.raises(DataError, match="one for each of its 2 turns, got 1"):
        reviewed_run({**row, "verdicts": row["verdicts"][:1]})
    with pytest.raises(DataError, match="must be true, false or null"):
        reviewed_run({**row, "verdicts": [{"logical_soundness": "yes"}] * 2})


def test_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keep_passing is a share"):
        config(tmp_path, keep_passing=2.0)
    with pytest.raises(ConfigError, match="holds no trained turn critic"):
        trained_critic(tmp_path)


def test_a_tiny_model_is_trained_and_its_malformed_replies_abstain(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    words = tiny_tokenizer()
    model = tiny_llama(words)
    model.config.max_position_embeddings = 8192
    model.save_pretrained(tmp_path / "base")
    words.save_pretrained(tmp_path / "base")
    row = json.dumps(reviewed_row(RUN, VERDICTS))
    (tmp_path / "rows.jsonl").write_text(f"{row}\n{row}\n")
    trl = {"max_steps": 2, "per_device_train_batch_size": 1, "save_strategy": "no"}
    result = main(config(tmp_path, trl=trl))
    assert result.stage == "turn_critic" and result.steps == 2
    critic = trained_critic(result.folder, max_tokens=40)
    assert critic.turns_per_call == 1 and critic.max_tokens == 400
    found = HorizonJob(tmp_path / "rows.jsonl", model=str(result.folder), limit=1).run()
    assert found.agreement["asked"] == 2 and found.agreement["turns"] == 2
    (verdicts,) = critic.review([RUN])
    assert len(verdicts) == 2
    for verdict in verdicts:  # two steps teach no JSON: what it says cannot be read
        assert verdict.passed is None and verdict.reason.startswith("unreadable")
