"""Runs that begin alike: the finished stages of one are given to another instead of run again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from assay.errors import ConfigError
from assay.policy.matrix import MATRIX
from assay.policy.pipeline import PREPARED, PREPARED_FILE
from assay.policy.recipe import Recipe, StageSpec, recipe_of
from assay.policy.run_folder import RECIPE_FILE, RunFolder
from assay.policy.stages.stage_config import RESULT_FILE


def runs_in(folder: Path) -> list[Recipe]:
    """The recipe of a run, or of every run that lies directly in a folder.

    Raises:
        ConfigError: There is none.
    """
    places = [folder] if (folder / RECIPE_FILE).is_file() else sorted(folder.glob("*/"))
    found = [(place, RunFolder(place).read(RECIPE_FILE)) for place in places]
    recipes = [
        recipe_of(saved["recipe"] | {"output_dir": str(place)}, str(place / RECIPE_FILE))
        for place, saved in found
        if saved is not None
    ]
    if not recipes:
        raise ConfigError(
            f"{folder} is no run and holds none ({RECIPE_FILE} is missing); name the output folder "
            "of `assay train`, or a folder of such folders"
        )
    return recipes


def share_beginning(finished: Recipe, recipe: Recipe) -> int:
    """Give a run the finished stages that it has in common with another one; returns how many.

    Stages are shared as long as they are the same, one after the other; their folders are linked.
    What was evaluated of their checkpoints is copied, but for sets that are scored by a model which
    the two runs train differently.
    """
    if any(
        finished.table.get(key) != recipe.table.get(key)
        for key in ("model", "prepare", "seed", "defaults")
    ):
        return 0
    old, new = Path(finished.output_dir), Path(recipe.output_dir)
    if recipe.prepare and not (old / PREPARED / PREPARED_FILE).is_file():
        return 0
    _link(old / PREPARED, new / PREPARED)
    shared: list[str] = []
    for one, other in zip(finished.stages, recipe.stages, strict=False):
        if (
            not _same(finished, one, recipe, other)
            or not (finished.folder(one) / RESULT_FILE).is_file()
        ):
            break
        _link(finished.folder(one), recipe.folder(other))
        shared.append(one.name)
    for evaluation in recipe.evaluations:
        scorer = (evaluation.reward_model or "").removeprefix("@")
        trained = scorer in [stage.name for stage in recipe.stages]
        if evaluation in finished.evaluations and (not trained or scorer in shared):
            for checkpoint in ("start", *shared):
                place = Path(MATRIX) / checkpoint / evaluation.name
                _copy(old / place, new / place)
    return len(shared)


def _same(old: Recipe, one: StageSpec, new: Recipe, other: StageSpec) -> bool:
    """Whether two stages do the same, each in its own run's folder."""
    return (one.name, one.kind, one.launch, one.processes, _configured(old, one)) == (
        other.name,
        other.kind,
        other.launch,
        other.processes,
        _configured(new, other),
    )


def _configured(recipe: Recipe, stage: StageSpec) -> str:
    """All settings of a stage, defaults included, without the place of the run."""
    text = json.dumps(recipe.config(stage).to_json(), sort_keys=True)
    return text.replace(json.dumps(recipe.output_dir)[1:-1] + "/", "@run/")


def _link(source: Path, target: Path) -> None:
    if source.is_dir() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(source.resolve(), target, target_is_directory=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".part")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(source, draft)
        draft.replace(target)
