from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.policy.checkpoints import last_checkpoint, resume_point, write_json_file


def checkpoint(folder: Path, step: int, state: str | None = None) -> Path:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    (path / "trainer_state.json").write_text(state or json.dumps({"global_step": step}))
    return path


def test_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    checkpoint(tmp_path, 9)
    good = checkpoint(tmp_path, 20)
    checkpoint(tmp_path, 30, '{"global_step": 3')  # killed while it wrote its state
    (tmp_path / "checkpoint-40").mkdir()  # killed before
    (tmp_path / "checkpoint-x").mkdir()
    assert last_checkpoint(tmp_path) == good


def test_other_settings_are_refused(tmp_path: Path) -> None:
    assert resume_point(tmp_path, "a") is None
    good = checkpoint(tmp_path, 2)
    assert resume_point(tmp_path, "a") == str(good)
    with pytest.raises(ConfigError, match="checkpoint-2 of another configuration"):
        resume_point(tmp_path, "b")
    with pytest.raises(ConfigError, match="resume is off"):
        resume_point(tmp_path, "a", resume=False)
    assert resume_point(tmp_path, "a") == str(good)  # a refusal forgets nothing


def test_files_are_whole(tmp_path: Path) -> None:
    write_json_file(tmp_path / "x.json", {"a": Path("b")})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": "b"}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
