"""What a stage tells while it runs: one JSON line a logged step, for tables, reports and people."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: One line a logged step, in the stage's folder.
LOG_FILE = "log.jsonl"


def stage_callbacks(folder: str | Path) -> list[Any]:
    """The trainer callbacks of every stage."""
    from transformers import TrainerCallback

    path = Path(folder) / LOG_FILE

    class ProgressLog(TrainerCallback):
        """Appends what the trainer logs; drops lines of steps that a resumed run does again."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                path.parent.mkdir(parents=True, exist_ok=True)
                kept = [e for e in read_log(path.parent) if e["step"] <= state.global_step]
                part = path.with_name(path.name + ".part")
                part.write_text("".join(json.dumps(entry) + "\n" for entry in kept))
                part.replace(path)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if not state.is_world_process_zero or not logs:
                return
            numbers = {
                key: float(value)
                for key, value in logs.items()
                if isinstance(value, int | float) and math.isfinite(value)
            }
            entry = {
                "step": state.global_step,
                "steps": state.max_steps,
                "at": round(time.time(), 2),
                **numbers,
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    return [ProgressLog()]


def quiet(trainer: Any) -> None:
    """Leave printing to whoever reads the log."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def read_log(folder: str | Path) -> list[dict[str, float]]:
    """The entries of a stage's log; a line that a killed process left unfinished is dropped."""
    return list(_entries(Path(folder) / LOG_FILE))


def _entries(path: Path) -> Iterator[dict[str, float]]:
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "step" in entry:
            yield entry
