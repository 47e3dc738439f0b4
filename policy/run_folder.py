"""A run on disk: which stages are done, and with what recipe, versions, data and commit."""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.policy.checkpoints import write_json_file
from assay.policy.recipe import Recipe
from assay.policy.recipe_keys import changed_keys
from assay.policy.stages.stage_config import RESULT_FILE

RECIPE_FILE = "recipe.json"
STATE_FILE = "state.json"
#: Keys of a recipe that change nothing that is trained.
_FREE = ("description", "output_dir")


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run.

    Args:
        path: Holds `recipe.json`, `state.json`, `prepared/`, `stages/` and the report.
    """

    path: Path

    def begin(self, recipe: Recipe, *, accept_changes: bool = False) -> None:
        """Write `recipe.json`, or check that the run was begun with the same recipe.

        Raises:
            ConfigError: It was begun with another one, and `accept_changes` is off.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        table = {key: value for key, value in recipe.table.items() if key not in _FREE}
        table = json.loads(json.dumps(table))
        saved = self.read(RECIPE_FILE)
        about = {
            "recipe": table,
            "stages": {stage.name: recipe.config(stage).to_json() for stage in recipe.stages},
            "versions": versions(),
            "commit": commit(),
            "data": data_fingerprints(recipe),
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        if saved is not None:
            changes = changed_keys(saved["recipe"], table)
            changes += [
                f"content of {name}"
                for name, mark in about["data"].items()
                if saved["data"].get(name, mark) != mark
            ]
            if changes and not accept_changes:
                raise ConfigError(
                    f"{self.path} was begun with another recipe: {', '.join(changes[:8])} changed; "
                    "go back to it, give another output_dir, or go on with --accept-changes "
                    "(finished stages stay as they are)"
                )
            if not changes:
                return
            earlier = saved.get("earlier", [])
            about["earlier"] = [*earlier, {k: v for k, v in saved.items() if k != "earlier"}]
            about["changes"] = changes
        write_json_file(self.path / RECIPE_FILE, about)

    def finished(self, recipe: Recipe, name: str) -> dict[str, Any] | None:
        """What a finished stage left in `stage.json`; None where it is not finished."""
        path = recipe.folder(recipe.stage(name)) / RESULT_FILE
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def note(self, stage: str, **facts: Any) -> None:
        """Update a stage's entry in `state.json`."""
        state = self.read(STATE_FILE) or {}
        state[stage] = state.get(stage, {}) | facts
        write_json_file(self.path / STATE_FILE, state)

    def state(self) -> dict[str, dict[str, Any]]:
        """The entries of all stages."""
        return self.read(STATE_FILE) or {}

    def read(self, name: str) -> dict[str, Any] | None:
        """A JSON file of the run, or None where there is none."""
        path = self.path / name
        if not path.is_file():
            return None
        return dict(json.loads(path.read_text(encoding="utf-8")))


def versions() -> dict[str, str]:
    """Versions of what trains."""
    found = {"assay": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "trl", "peft", "datasets", "accelerate"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> dict[str, Any]:
    """The commit of the working folder, and whether files differ from it; empty outside git."""
    try:
        head = _git("rev-parse", "HEAD")
        return {"commit": head, "changed_files": bool(_git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return {}


def data_fingerprints(recipe: Recipe) -> dict[str, str]:
    """A hash of every data file that is there before the run begins, by path."""
    found = {}
    for path in sorted(
        {path for stage in recipe.stages for path in data_files(recipe.config(stage))}
    ):
        file = Path(path)
        if file.is_file() and Path(recipe.output_dir) not in file.parents:
            found[path] = fingerprint_of(file)
    return found


def data_files(config: Any) -> Iterator[str]:
    """Files that a stage reads its rows from: its own, held out ones, those of replayed domains."""
    for holder in (config, *getattr(config, "replay", ())):
        for source in (*holder.data, *getattr(holder, "held_out_data", ())):
            yield str(getattr(source, "path", source))


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()
