"""Monitors by hand arithmetic, in a trainer's log, in a file, and over a run that goes wrong."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import ConfigError, DataError
from assay.rewards import PairwiseModel, PointwiseModel
from assay.rewards.engine import Batching
from assay.rewards.monitor_log import MonitorReport, read_monitor
from assay.rewards.monitors import Monitored, append, batch_statistics
from assay.rewards.placement import memory_of_config
from assay.rewards.style import STYLE, features_of, repetition
from tests.samples import FromColumn, sample


def test_features_of_style() -> None:
    text = "## Plan\n1. **First** thing!\n2. Second\n```py\nx\n```\nGreat question, of course "
    text += "\U0001f600"
    assert features_of(text) == {
        "length": float(len(text)),
        "repetition": 0.0,
        "headers": 1.0,
        "bullets": 2.0,
        "bold": 1.0,
        "code_fences": 1.0,
        "exclamations": 1.0,
        "emoji": 1.0,
        "pleasing": 2.0,
    }
    assert set(STYLE) < features_of("").keys()
    assert repetition("a a a a a") == 0.5  # two four-grams, one of them different


def test_statistics_by_hand() -> None:
    # Lengths 1, 2, 3 and 11, 12, 13; within groups the reward falls with length, over all it rises.
    values = [3.0, 2.0, 1.0, 9.0, 8.0, 7.0]
    answers = ["x" * n for n in (1, 2, 3, 11, 12, 13)]
    groups = ["a"] * 3 + ["b"] * 3
    found = batch_statistics(values, answers, groups)
    assert found["length_correlation"] == pytest.approx(-1)
    assert found["length_mean"] == 7
    assert found["mean"] == 5
    assert found["zero_variance_groups"] == 0
    assert "bold_correlation" not in found  # it does not vary
    over_all = batch_statistics(values, answers)["length_correlation"]
    assert over_all == pytest.approx(np.corrcoef(values, [1, 2, 3, 11, 12, 13])[0, 1])


def test_missing_scores_are_left_out_and_equal_groups_counted() -> None:
    found = batch_statistics(
        [1.0, 1.0, None, 2.0, 3.0, 5.0], ["x"] * 6, ["a", "a", "a", "b", "b", "c"]
    )
    assert found["rows"] == 5
    assert found["zero_variance_groups"] == 0.5  # a is silent, b is not, c is alone
    assert batch_statistics([None], ["x"]) == {"rows": 0.0}


def test_style_share_of_noise_and_of_style() -> None:
    made = random.Random(0)
    answers = ["**b** " * made.randrange(6) + "! " * made.randrange(6) for _ in range(200)]
    noise = [made.gauss(0, 1) for _ in answers]
    paid = [2.0 * a.count("**b**") + 0.1 * n for a, n in zip(answers, noise, strict=True)]
    assert batch_statistics(noise, answers)["style_r2"] < 0.1
    assert batch_statistics(paid, answers)["style_r2"] > 0.95


def test_held_out_reward() -> None:
    found = batch_statistics([1.0, 2.0, 3.0, 4.0], ["x"] * 4, held_out=[4.0, None, 2.0, 1.0])
    assert found["held_out_mean"] == pytest.approx(7 / 3)
    assert found["held_out_correlation"] == pytest.approx(-1.0)


def test_values_pass_through_and_metrics_reach_the_log(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "monitor.jsonl"
    reward = Monitored(FromColumn("x"), held_out=FromColumn("y"), path=str(path))
    log: dict[str, float] = {}
    got = reward(
        completions=["a", "bb", "ccc", "d"],
        x=[1.0, 2.0, 3.0, "failed"],
        y=[1.0, 1.0, 0.0, 0.0],
        log_metric=log.__setitem__,
    )
    assert got == [1.0, 2.0, 3.0, None]
    assert log["monitored/monitor/length_correlation"] == pytest.approx(1)
    assert log["monitored/from_column/mean"] == 2.0
    (entry,) = map(json.loads, path.read_text().splitlines())
    assert entry["held_out_mean"] == pytest.approx(2 / 3)
    (score, *_) = reward.evaluate([sample(x=1.0, y=0.5)])
    assert score.info == {"held_out": 0.5}
    assert reward.fingerprint() == FromColumn("x").fingerprint()
    with pytest.raises(ConfigError, match="Monitored.held_out must be a Reward, got str"):
        Monitored(FromColumn("x"), held_out="rm")  # type: ignore[arg-type]


def hacked(path: Path, calls: int = 60) -> MonitorReport:
    """A policy that learns to write long answers for a reward that pays by length."""
    made = random.Random(0)
    for call in range(calls):
        answers = ["w" * max(1, int(made.gauss(50 + 4 * call, 10))) for _ in range(16)]
        paid = [len(a) / 50 + made.gauss(0, 0.1) for a in answers]
        true = [made.gauss(1, 0.5) for _ in answers]
        append(str(path), batch_statistics(paid, answers, ["g"] * 16, true))
    return read_monitor(path)


def test_a_hacked_run_is_visible_afterwards(tmp_path: Path) -> None:
    report = hacked(tmp_path / "m.jsonl")
    assert report.calls == 60
    first, last = report.change("length_mean")
    assert last > 2 * first
    assert report.gap()[-1] > 3 > 1 > abs(report.gap()[0] - report.gap()[1])
    text = str(report)
    assert "! the reward has risen" in text
    assert "! length goes along with the reward" in text


def test_a_sound_run_raises_no_warning(tmp_path: Path) -> None:
    made = random.Random(1)
    path = str(tmp_path / "m.jsonl")
    for call in range(40):
        answers = ["w" * made.randrange(20, 60) for _ in range(16)]
        true = [made.gauss(call / 20, 1) for _ in answers]
        paid = [t + made.gauss(0, 0.3) for t in true]
        append(path, batch_statistics(paid, answers, ["g"] * 16, true))
    report = read_monitor(path)
    assert report.warnings() == []
    assert report.change("held_out_correlation")[1] > 0.8


def test_ranks_are_averaged(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text('{"mean": 1.0}\n{"mean": 3.0}\n')
    (tmp_path / "m.rank1.jsonl").write_text('{"mean": 2.0}\n')
    report = read_monitor(tmp_path / "m.jsonl")
    assert report.series["mean"] == [1.5, 3.0]
    assert math.isnan(report.change("none")[0])
    with pytest.raises(DataError, match="no monitor entries"):
        read_monitor(tmp_path / "other.jsonl")
    (tmp_path / "bad.jsonl").write_text("{\n")
    with pytest.raises(DataError, match="line 1: not a monitor entry"):
        read_monitor(tmp_path / "bad.jsonl")


def test_a_line_torn_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    append(str(path), {"rows": 2.0, "mean": 1.0})
    with path.open("a") as file:
        file.write('{"rows": 2.0, "me')
    assert read_monitor(path).series["mean"] == [1.0]
    append(str(path), {"rows": 2.0, "mean": 5.0})  # the run goes on
    assert read_monitor(path).series["mean"] == [1.0, 5.0]


def test_in_grpo(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from assay.rewards import Length
    from tests.rewards.small_models import grpo

    path = tmp_path / "m.jsonl"
    log: dict[str, Any] = grpo(Monitored(Length(target=20), path=str(path)), max_steps=2)
    assert log["monitored/monitor/rows"] == 8
    assert "monitored/monitor/zero_variance_groups" in log
    assert read_monitor(path).calls == 2


def test_memory_of_a_large_model_without_its_weights() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=166_144,
        hidden_size=2560,
        intermediate_size=10_496,
        num_hidden_layers=32,
        num_attention_heads=20,
        num_key_value_heads=4,
        head_dim=128,
        num_labels=1,
        dtype="bfloat16",
        pad_token_id=0,
    )
    memory = memory_of_config(config)
    # 3.93 B parameters less the output embedding (166,144 x 2,560), with a head of 2,560.
    assert memory.parameters == pytest.approx(3.93e9 - 166_144 * 2560, rel=0.01)
    assert memory.weights == 2 * memory.parameters
    # keys and values of a token: 2 x 32 layers x 4 heads x 128 x 2 bytes = 64 KiB
    # of 65,536 tokens, as they are kept and as the rows of a micro-batch continue them
    assert memory.prefix_cache == 2 * 65_536 * 65_536
    bare = PointwiseModel("x", dtype="bfloat16", batching=Batching(reuse_prefix=False))
    assert memory_of_config(config, bare).prefix_cache == 0
    # A verdict is read through the vocabulary's head, which is then part of the model.
    judge = PairwiseModel("x", dtype="bfloat16", head="verdict")
    assert memory_of_config(config, judge).parameters == memory.parameters + (166_144 - 1) * 2560
    table = memory.table(ranks=2)
    assert "offload=True" in table and "RemotePointwiseModel" in table


def test_memory_of_a_handle_and_of_a_model_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from assay.errors import RewardError
    from assay.rewards.placement import memory_of
    from tests.rewards.small_models import reward_model, tokenizer

    model = reward_model()
    model.save_pretrained(tmp_path)
    count = sum(parameter.numel() for parameter in model.parameters())
    for handle in (PointwiseModel(str(tmp_path)), PointwiseModel.of(model, tokenizer())):
        assert memory_of(handle).weights == 4 * count
    assert memory_of(PointwiseModel(str(tmp_path), dtype="bfloat16")).weights == 2 * count
    with pytest.raises(RewardError, match="cannot read the configuration"):
        memory_of(PointwiseModel(str(tmp_path / "none")))
