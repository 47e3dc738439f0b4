"""Evaluations of odd rows and settings, cut ones, and judges that were down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import Judge, Pair, Verdict
from assay.messages import Message
from assay.policy.data.row_files import write_rows
from assay.policy.evaluate import Evaluation, run_evaluation
from assay.policy.evaluation.metrics import mean_interval
from assay.policy.evaluation.results import read_results
from assay.policy.evaluation.samplers import sampler_of
from tests.policy.evaluation.scripted import Playing, Scripted

MATCH = "tests.policy.test_evaluate:match"


def _config(folder: Path, rows: Sequence[dict[str, Any]], **more: Any) -> Evaluation:
    write_rows(folder / "rows.jsonl", rows)
    settings: dict[str, Any] = {
        "policy": "scripted",
        "output_dir": str(folder / "out"),
        "data": str(folder / "rows.jsonl"),
        "reward": MATCH,
        "decoding": {"n": 2, "max_new_tokens": 64},
    }
    return Evaluation.of(**(settings | more))


def _ones() -> Scripted:
    return Scripted(lambda row, number, decoding: "1")


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (
            [{"uid": 1, "prompt": "a"}, {"uid": "1", "prompt": "b"}],
            "row 2: another row has the uid",
        ),
        ([{"question": "a"}], "row 'rows-0' has no `prompt`"),
        ([{"prompt": 5}], "the prompt of row 'rows-0': expected text"),
        ([], "holds no rows"),
    ],
)
def test_rows_that_cannot_be_evaluated(
    tmp_path: Path, rows: list[dict[str, Any]], what: str
) -> None:
    policy = _ones()
    with pytest.raises(DataError, match=what):
        run_evaluation(_config(tmp_path, rows), sampler=policy)
    assert policy.made == 0


def test_prompts_without_a_uid_are_not_one_prompt(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"uid": None, "prompt": "a"}, {"prompt": "b"}]
    rows = [row | {"answer": "1"} for row in rows]
    found = run_evaluation(_config(tmp_path, rows), sampler=_ones())
    assert found["results"][0]["metrics"]["pass@1"]["units"] == 2


@pytest.mark.parametrize(
    "settings", [{"seeds": ["a"]}, {"seeds": [True]}, {"seeds": []}, {"limit": 0}, {"max_turns": 0}]
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        _config(tmp_path, [{"prompt": "a"}], **settings)


def test_a_model_folder_that_is_missing(tmp_path: Path) -> None:
    for spec in (str(tmp_path / "none"), "./none", "a/b/c"):
        with pytest.raises(ConfigError, match="there is no folder"):
            sampler_of(spec)


def test_values_that_all_agree() -> None:
    assert mean_interval([1.0] * 4).low > 0.3  # a share: Wilson's
    for same in (mean_interval([1.0] * 4, share=False), mean_interval([0.5] * 4)):
        assert same.low != same.low  # NaN: nothing says how certain it is


@dataclass
class Mended(Judge):
    """Abstains on prompt b until it is mended; counts what it is asked."""

    down: bool = True
    asked: list[str] = field(default_factory=list)

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        self.asked += [pair.prompt[0].content for pair in pairs]
        broken = [self.down and pair.prompt[0].content == "b" for pair in pairs]
        return [Verdict(None, status="failed") if one else Verdict("tie") for one in broken]

    def fingerprint(self) -> str:
        return "mended"


def test_pairs_without_a_verdict_are_judged_again_and_no_others(tmp_path: Path) -> None:
    rows = [{"prompt": name, "reference": "2"} for name in "ab"]
    config = _config(tmp_path, rows, task="win-rate", reward=None, judge="unused")
    judge = Mended()
    first = run_evaluation(config, sampler=_ones(), judge=judge)["results"][0]
    assert first["metrics"]["win rate"]["units"] == 1 and "no verdict" in first["notes"][0]
    judge.down = False
    judge.asked.clear()
    again = run_evaluation(config, sampler=_ones(), judge=judge)["results"][0]
    assert again["metrics"]["win rate"]["units"] == 2 and not again["notes"]
    assert set(judge.asked) == {"b"}


def test_a_cut_run_of_environments_goes_on(tmp_path: Path) -> None:
    rows = [{"family": "orders", "environment_seed": seed} for seed in range(3)]
    played: list[int] = []

    def move(messages: Sequence[Message], seed: int) -> Message:
        played.append(seed)
        if len(played) == 4:  # in the second environment
            raise KeyboardInterrupt
        return Message("assistant", "I give up.")

    config = _config(tmp_path, rows, task="environment", reward=None)
    with pytest.raises(KeyboardInterrupt):
        run_evaluation(config, sampler=Playing(move))
    found = run_evaluation(config, sampler=Playing(move))["results"][0]
    assert len(played) == 4 + 4 and found["metrics"]["success"]["units"] == 3


def test_results_that_are_damaged_or_the_output_itself(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    for name in ("results.json", "by_prompt.json"):
        (tmp_path / name).write_text("{torn")
    with pytest.raises(ConfigError, match="are damaged"):
        read_results(tmp_path)
    write_rows(tmp_path / "rows.jsonl", [{"prompt": "a"}])
    arguments = ["evaluate", "http://localhost:9/v1,m", "--data", str(tmp_path / "rows.jsonl")]
    arguments += ["--reward", MATCH, "--output", str(tmp_path / "out"), "-q"]
    for more, what in (
        (["--against", str(tmp_path / "out")], "is --output itself"),
        (["--against", str(tmp_path / "none")], "holds no finished evaluation"),
        (["--plot", "curves.txt"], "draws .svg, .png or .pdf"),
    ):
        done = CliRunner().invoke(app, [*arguments, *more])
        assert isinstance(done.exception, ConfigError) and what in str(done.exception)


def test_runs_whose_environment_failed_are_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    down = True

    def play_rows(sampler: Any, rows: Any, *_: Any, **__: Any) -> list[dict[str, Any]]:
        uid = rows[0]["uid"]
        asked.append(uid)
        passed = None if down and uid == "rows-1" else True
        return [{"uid": uid, "turns": 1, "calls": 0, "value": 1.0, "passed": passed}]

    monkeypatch.setattr("assay.policy.evaluation.tasks.play_rows", play_rows)
    config = _config(tmp_path, [{"family": "orders"}] * 2, task="environment", reward=None)
    policy = Playing(lambda messages, seed: Message("assistant", ""))
    first = run_evaluation(config, sampler=policy)["results"][0]
    assert first["metrics"]["success"]["units"] == 1
    down = False
    again = run_evaluation(config, sampler=policy)["results"][0]
    assert again["metrics"]["success"]["units"] == 2
    assert asked == ["rows-0", "rows-1", "rows-1"]
