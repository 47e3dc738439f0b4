"""The table of a run while it runs: stages, steps, reward leaves, throughput, time left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.policy.recipe import Recipe, StageSpec
from assay.policy.run_folder import RunFolder
from assay.policy.stages.progress_log import read_log

if TYPE_CHECKING:
    from rich.table import Table

_HEAD = ("stage", "state", "steps", "reward or loss", "leaves", "tokens/s", "elapsed", "left")


def stage_table(recipe: Recipe) -> Table:
    """The run as it stands on disk."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in _HEAD:
        table.add_column(name, justify="left" if name in ("stage", "state", "leaves") else "right")
    for row in _rows(recipe):
        table.add_row(*row)
    return table


def stage_lines(recipe: Recipe) -> list[str]:
    """The running stages as plain lines."""
    return [
        "  ".join(f"{head} {cell}" for head, cell in zip(_HEAD, row, strict=True) if cell)
        for row in _rows(recipe)
        if row[1] == "running"
    ]


def leaf_values(entry: Mapping[str, float]) -> dict[str, float]:
    """Means of the reward's leaves in one log entry, by path, the whole reward left out."""
    return {
        key.removesuffix("/mean"): value
        for key, value in entry.items()
        if key.endswith("/mean") and f"{key.removesuffix('/mean')}/scored" in entry
    }


def seconds_text(seconds: float) -> str:
    """Seconds for people.

    >>> seconds_text(75), seconds_text(3720)
    ('1:15', '1:02:00')
    """
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _rows(recipe: Recipe) -> Iterator[Sequence[str]]:
    state = RunFolder(Path(recipe.output_dir)).state()
    for stage in recipe.stages:
        yield _row(recipe, stage, state.get(stage.name, {}))


def _row(recipe: Recipe, stage: StageSpec, state: Mapping[str, Any]) -> Sequence[str]:
    entries = read_log(recipe.folder(stage))
    status = str(state.get("status", "waiting"))
    if not entries:
        return (stage.name, status, "", "", "", "", "", "")
    last = entries[-1]
    shown = next((e for e in reversed(entries) if "reward" in e or "loss" in e), last)
    value = shown.get("reward", shown.get("loss"))
    leaves = "  ".join(
        f"{path.split('/')[-1]} {mean:.2f}" for path, mean in leaf_values(shown).items()
    )
    # Speed is that of the current try; a killed one may lie days back.
    entries = [e for e in entries if e["at"] >= state.get("began", 0.0)] or [last]
    elapsed = last["at"] - entries[0]["at"]
    done, total = last["step"], last.get("steps", 0)
    first = entries[0]["step"]
    left = elapsed / (done - first) * (total - done) if done > first and total > done else 0.0
    tokens = next((e["num_tokens"] for e in reversed(entries) if "num_tokens" in e), 0.0)
    start = next((e["num_tokens"] for e in entries if "num_tokens" in e), 0.0)
    rate = (tokens - start) / elapsed if elapsed > 0 else 0.0
    return (
        stage.name,
        status,
        f"{done:.0f}/{total:.0f}",
        "" if value is None else f"{value:.3f}",
        leaves,
        f"{rate:.0f}" if rate else "",
        seconds_text(state.get("seconds", elapsed) or elapsed),
        seconds_text(left) if status == "running" and left else "",
    )
