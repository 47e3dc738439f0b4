"""Runs a recipe's stages in order, each from the checkpoint before it, and resumes when killed.

A finished stage is never run again; one that was killed goes on from its last whole checkpoint.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ConfigError
from assay.loading import split_spec
from assay.policy.checkpoints import write_json_file
from assay.policy.launch.files import launch_file
from assay.policy.matrix import evaluate_policy
from assay.policy.preflight import require_ready
from assay.policy.recipe import Recipe, StageSpec
from assay.policy.run_folder import RunFolder
from assay.policy.run_lock import locked
from assay.policy.stages.stage_config import RESULT_FILE

#: Settings of a stage, in its folder; `config.json` there is the model's.
SETTINGS_FILE = "settings.json"
#: Where `prepare` writes, and the file that says it is done.
PREPARED, PREPARED_FILE = "prepared", "prepared.json"

Tell = Callable[[str, str, dict[str, Any]], None]


def _silent(stage: str, event: str, facts: dict[str, Any]) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Pipeline:
    """A recipe and the folder it runs in.

    Args:
        recipe: What to run.
        accept_changes: Go on although the recipe changed since the run was begun; finished stages
            stay, and an unfinished one whose settings changed begins again.
        tell: Called with a stage's name, `start`, `done`, `skip` or `evaluate`, and facts.

    Example:
        >>> from assay.policy.recipe import load_recipe
        >>> Pipeline(load_recipe("tiny")).folder.path.name
        'tiny'
    """

    recipe: Recipe
    accept_changes: bool = False
    tell: Tell = _silent

    @property
    def folder(self) -> RunFolder:
        """The run on disk."""
        return RunFolder(Path(self.recipe.output_dir))

    def run(self, until: str | None = None) -> dict[str, dict[str, Any]]:
        """Run what is not finished; returns `stage.json` of every stage that is.

        Args:
            until: The last stage to run; None: all.

        Raises:
            ConfigError: The recipe changed, a stage cannot be set up, or another process runs in
                the folder.
            AssayError: A launched stage failed; its output was shown.
        """
        if until is not None:
            self.recipe.stage(until)
        with locked(self.folder.path) as lock:
            names = [stage.name for stage in self.recipe.stages]
            ahead = self.recipe.stages[: None if until is None else names.index(until) + 1]
            require_ready(
                self.recipe,
                [s for s in ahead if self.folder.finished(self.recipe, s.name) is None],
            )
            return self._run(until, lock)

    def _run(self, until: str | None, lock: int) -> dict[str, dict[str, Any]]:
        folder, recipe = self.folder, self.recipe
        folder.begin(recipe, accept_changes=self.accept_changes)
        self._prepare()
        if recipe.evaluations:
            self._evaluate("start", recipe.resolve(recipe.model.path))
        results: dict[str, dict[str, Any]] = {}
        for stage in recipe.stages:
            results[stage.name] = self._stage(stage, lock)
            if stage.kind.policy and recipe.evaluations:
                self._evaluate(stage.name, str(recipe.folder(stage)))
            if stage.name == until:
                break
        for stage in recipe.stages:  # sets whose reward model was trained after a checkpoint
            if stage.kind.policy and recipe.evaluations and stage.name in results:
                self._evaluate(stage.name, str(recipe.folder(stage)))
        if recipe.evaluations:
            self._evaluate("start", recipe.resolve(recipe.model.path))
        return results

    def _stage(self, stage: StageSpec, lock: int) -> dict[str, Any]:
        folder, recipe = self.folder, self.recipe
        done = folder.finished(recipe, stage.name)
        if done is not None:
            self.tell(stage.name, "skip", done)
            return done
        out = recipe.folder(stage)
        config = recipe.config(stage)
        if self.accept_changes:
            _set_aside(out, config)
        out.mkdir(parents=True, exist_ok=True)
        write_json_file(out / SETTINGS_FILE, config.to_json())
        before = folder.state().get(stage.name, {})
        tries, spent = before.get("tries", 0) + 1, before.get("seconds", 0.0)
        running = {"status": "running", "tries": tries, "began": time.time()}
        folder.note(stage.name, kind=stage.kind.name, **running)
        self.tell(stage.name, "start", {"folder": str(out), "tries": tries})
        start = time.monotonic()
        try:
            if stage.launch:
                launch(stage, out / SETTINGS_FILE, lock)
            else:
                stage.kind.run(config)
                _free_memory()
        except BaseException as error:
            failed = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
            seconds = spent + time.monotonic() - start
            folder.note(stage.name, status=failed, seconds=seconds, error=str(error)[:500])
            raise
        done = folder.finished(recipe, stage.name)
        if done is None:
            raise AssayError(f"stage {stage.name!r} ended without {out / RESULT_FILE}")
        folder.note(stage.name, status="done", seconds=spent + time.monotonic() - start, error="")
        self.tell(stage.name, "done", done)
        return done

    def _prepare(self) -> None:
        recipe = self.recipe
        target = self.folder.path / PREPARED
        if not recipe.prepare or (target / PREPARED_FILE).is_file():
            return
        self.tell("prepare", "start", {"folder": str(target)})
        target.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        found = load_function(recipe.prepare)(target, recipe.seed)
        facts = {"by": recipe.prepare, "seconds": round(time.monotonic() - start, 3)}
        write_json_file(target / PREPARED_FILE, facts | {"about": found})
        self.tell("prepare", "done", facts)

    def _evaluate(self, name: str, model: str) -> None:
        for evaluation in self.recipe.evaluations:
            self.tell(name, "evaluate", {"evaluation": evaluation.name})
            evaluate_policy(self.recipe, evaluation, name, model, self.folder.path)
        _free_memory()


def load_function(spec: str) -> Any:
    """`FILE.py:function` or `package.module:function`; the repository's `examples` are found.

    Raises:
        ConfigError: It cannot be imported.
    """
    import importlib

    target, attribute = split_spec(spec)
    root = str(Path(__file__).resolve().parents[1])
    if target.startswith("examples.") and root not in sys.path:
        sys.path.append(root)  # a checkout; an installed library has no examples
    try:
        return getattr(importlib.import_module(target), attribute)
    except ModuleNotFoundError as error:
        hint = "; it comes with the repository, not with the installed library"
        more = hint if target.startswith("examples.") else ""
        raise ConfigError(f"prepare = {spec!r} cannot be imported: {error}{more}") from error
    except AttributeError as error:
        raise ConfigError(f"prepare = {spec!r}: {error}") from error


def launch(stage: StageSpec, config: Path, lock: int) -> None:
    """Run a stage under `accelerate launch`, its configuration read from a file.

    The launcher inherits `lock`, the file descriptor of the run's lock.

    Raises:
        AssayError: It ended with another code than 0.
    """
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += ["--config_file", str(launch_file(stage.launch))]
    if stage.processes is not None:
        command += ["--num_processes", str(stage.processes)]
    command += ["-m", "assay.policy.stages.launched", stage.kind.name, str(config)]
    done = subprocess.run(command, check=False, pass_fds=(lock,))
    if done.returncode:
        raise AssayError(
            f"stage {stage.name!r} failed under accelerate launch with code {done.returncode}; "
            f"run it by itself with: {' '.join(command)}"
        )


def _set_aside(out: Path, config: Any) -> None:
    """Move away what an earlier configuration left, so that the stage begins again."""
    file = out / SETTINGS_FILE
    if not file.is_file() or json.loads(file.read_text()) == config.to_json():
        return
    number = 1
    while (old := out.with_name(f"{out.name}.old-{number}")).exists():
        number += 1
    out.rename(old)


def _free_memory() -> None:
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
