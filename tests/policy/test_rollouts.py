"""Rollouts kept on disk: never those of another policy, never another reward's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.messages import Sample
from assay.policy.data.row_files import write_rows
from assay.policy.rollouts import Decoding, kept_samples, weights_mark
from assay.reward import Reward, Score
from assay.rewards import Length

ROWS = [{"uid": "a", "prompt": "?"}, {"uid": "b", "prompt": "!"}]


def _kept(
    folder: Path, checkpoint: str, reward: Reward | None = None, again: bool = False
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    def make() -> list[dict[str, Any]]:
        return [row | {"completion": checkpoint, "truncated": False} for row in ROWS]

    rule = reward or Length(target=1)
    how = Decoding(n=1)
    return kept_samples(folder, make, ROWS, how, rule, checkpoint=checkpoint, again=again)


class Killed(BaseException):
    """What a kill looks like from inside."""


@pytest.mark.parametrize("file", ["rollouts.jsonl", "scores.jsonl"])
def test_a_kill_after_a_file_does_not_pass_it_off_as_another_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    first = _kept(tmp_path, "old")

    def write_and_die(path: Path, rows: Any) -> int:
        count = write_rows(path, rows)
        if path.name == file:
            raise Killed
        return count

    monkeypatch.setattr("assay.policy.rollouts.write_rows", write_and_die)
    with pytest.raises(Killed):
        if file == "rollouts.jsonl":
            _kept(tmp_path, "new")
        else:
            _kept(tmp_path, "old", Length(target=99))
    monkeypatch.undo()
    assert _kept(tmp_path, "old") == first


@dataclass(frozen=True)
class Shaky(Reward):
    """Fails on rows of `broken`, and counts what it is asked."""

    broken: set[str] = field(default_factory=set, metadata={"fingerprint": False})
    asked: list[str] = field(default_factory=list, metadata={"fingerprint": False})
    name: str = "shaky"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        self.asked.extend(str(sample.group) for sample in samples)
        return [Score.fail("down") if s.group in self.broken else Score.of(1.0) for s in samples]


def test_failed_scores_are_asked_for_again_and_no_others(tmp_path: Path) -> None:
    reward = Shaky({"b"})
    assert [score["status"] for score in _kept(tmp_path, "x", reward)[1]] == ["scored", "failed"]
    reward.broken.clear()
    # A stage that goes on finds the scores that it began with; an evaluation asks again.
    assert [score["status"] for score in _kept(tmp_path, "x", reward)[1]] == ["scored", "failed"]
    mended = _kept(tmp_path, "x", reward, again=True)[1]
    assert [score["value"] for score in mended] == [1.0, 1.0]
    assert reward.asked == ["a", "b", "b"]


def test_damaged_notes_are_no_notes(tmp_path: Path) -> None:
    first = _kept(tmp_path, "x")
    (tmp_path / "rollouts.json").write_text("{torn")
    assert _kept(tmp_path, "x") == first


@pytest.mark.parametrize(
    "file", ["model.safetensors", "pytorch_model.bin", "tokenizer_config.json"]
)
def test_a_checkpoint_is_known_by_what_it_holds(tmp_path: Path, file: str) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"1")
    (tmp_path / file).write_bytes(b"1")
    before = weights_mark(tmp_path)
    assert weights_mark(tmp_path) == before
    (tmp_path / file).write_bytes(b"2")
    assert weights_mark(tmp_path) != before
