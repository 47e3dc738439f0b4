"""Where a training goes on: the last checkpoint that was written whole, of the same settings."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.errors import ConfigError

#: Beside the checkpoints: the settings they were made with.
RUN_FILE = "assay_run.json"


def last_checkpoint(folder: str | Path) -> Path | None:
    """The newest whole checkpoint in `folder`, or None.

    The trainer writes `trainer_state.json` last; a process that was killed before or while it did
    so left a checkpoint that cannot be continued, and the one before it is taken.
    """
    found = []
    for path in Path(folder).glob("checkpoint-*"):
        number = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if number and _whole(path, int(number[1])):
            found.append((int(number[1]), path))
    return max(found)[1] if found else None


def resume_point(folder: str | Path, mark: str, *, resume: bool = True) -> str | None:
    """The checkpoint to continue from; `mark` is written beside it for the next time.

    Args:
        folder: Output folder; made if it is not there.
        mark: Fingerprint of everything that changes the weights.
        resume: Whether an earlier run may be continued.

    Raises:
        ConfigError: The folder holds checkpoints of other settings, or `resume` is off.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    last = last_checkpoint(folder)
    run = folder / RUN_FILE
    if last is not None:
        if not resume:
            raise ConfigError(
                f"{folder} holds {last.name} and resume is off; give another output_dir, or set "
                "resume"
            )
        known = json.loads(run.read_text())["configuration"] if run.is_file() else None
        if known != mark:
            raise ConfigError(
                f"{folder} holds {last.name} of another configuration; give another output_dir, "
                "or go back to the settings it was begun with"
            )
    write_json_file(run, {"configuration": mark})
    return None if last is None else str(last)


def train_from(trainer: Any, checkpoint: str | None) -> None:
    """Train, from `checkpoint` if there is one.

    A run may be killed after its last checkpoint and before its result is written. The trainer
    would do one step more than it was told to from there; here it only loads the checkpoint.
    """
    from transformers import TrainerCallback

    class StopWhereNothingIsLeft(TrainerCallback):
        """Leaves the training before the first step that is one too many."""

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if 0 < state.max_steps <= state.global_step:
                raise _NothingLeft

    trainer.add_callback(StopWhereNothingIsLeft())
    with suppress(_NothingLeft):
        trainer.train(resume_from_checkpoint=checkpoint)


class _NothingLeft(Exception):
    """The checkpoint is that of the last step."""


def write_json_file(path: str | Path, data: Any) -> None:
    """Write JSON so that the file holds all of it or what it held before."""
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(json.dumps(data, indent=1, default=str) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _whole(path: Path, step: int) -> bool:
    try:
        state = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(state.get("global_step") == step)
