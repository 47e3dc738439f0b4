"""Ablations: the same recipe with one thing changed, over paired seeds, with intervals.

    from assay.policy.ablate import load_ablation, run_ablation
    found = run_ablation(load_ablation("gate"), recipe="tiny", seeds=[0, 1, 2], output="runs/gate")

Stages that all arms share are run once a seed; an arm that was cut goes on, and one that is
finished is not run again. Runs of the same recipe that are there already give theirs as well.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.policy.ablation_figures import AblationTable, measured
from assay.policy.config_keys import from_table
from assay.policy.data.row_files import write_rows
from assay.policy.pipeline import Pipeline
from assay.policy.recipe import Recipe, load_recipe, recipe_of
from assay.policy.shared_stages import runs_in, share_beginning
from assay.policy.stages.stage_config import RESULT_FILE


@dataclass(frozen=True)
class Arm:
    """One variant.

    Args:
        name: In tables.
        set: `a.b=value` items that change the recipe.
        order: Stages in the order in which they take the places they have together.
    """

    name: str
    set: Sequence[str] = ()
    order: Sequence[str] = ()


@dataclass(frozen=True)
class Ablation:
    """What is compared.

    Args:
        name: Of the ablation.
        arms: The first one is the baseline.
        question: For people.
        base: `a.b=value` items for all arms.
        until: The last stage to run; `last of A, B` for the one that comes last in an arm's order;
            empty: all.
        measures: Patterns of the figures to report, as in file names; empty: all.
        sweep: Settings of `assay.policy.evaluate.Evaluation` with `checkpoints`, evaluated at every
            budget; None: none.
    """

    name: str
    arms: Sequence[Arm]
    question: str = ""
    base: Sequence[str] = ()
    until: str = ""
    measures: Sequence[str] = ()
    sweep: Mapping[str, Any] | None = None

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        arms = tuple(
            arm if isinstance(arm, Arm) else from_table(Arm, arm, f"ablation {self.name!r}")
            for arm in self.arms
        )
        object.__setattr__(self, "arms", arms)
        names = [arm.name for arm in arms]
        if len(arms) < 2 or len(set(names)) < len(names):
            raise ConfigError(
                f"ablation {self.name!r} needs at least two arms of different names, got {names}"
            )

    def recipe(self, spec: str, arm: Arm, overrides: Sequence[str], folder: Path) -> Recipe:
        """The recipe of an arm.

        Raises:
            ConfigError: A setting that the recipe has not.
        """
        items = [*self.base, *overrides, *arm.set, f"output_dir={folder}"]
        recipe = load_recipe(spec, items)
        return _ordered(recipe, arm.order) if arm.order else recipe

    def last(self, recipe: Recipe) -> str | None:
        """The last stage to run."""
        if not self.until:
            return None
        names = [name.strip() for name in self.until.removeprefix("last of ").split(",")]
        return max(names, key=lambda name: recipe.stages.index(recipe.stage(name)))


@dataclass
class AblationRun:
    """Runs an ablation.

    Args:
        ablation: What to compare.
        recipe: Name or file of the recipe.
        seeds: One run of every arm each.
        output: Folder of all runs and of the table.
        overrides: `a.b=value` items for all arms.
        runs: A finished run, or a folder of runs, of the recipe; their stages are used where an arm
            has the same. None: every stage is run here.
        tell: Called with a line as things begin.
    """

    ablation: Ablation
    recipe: str
    seeds: Sequence[int]
    output: Path
    overrides: Sequence[str] = ()
    runs: Path | None = None
    tell: Callable[[str], None] = lambda line: None
    rows: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> AblationTable:
        """Run every arm for every seed; returns the table.

        Raises:
            ConfigError: Settings that cannot work together.
        """
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be different numbers, got {list(self.seeds)}")
        self.output.mkdir(parents=True, exist_ok=True)
        arms = self.ablation.arms
        for arm in arms:  # refuses what cannot be before anything runs
            self.ablation.last(self.ablation.recipe(self.recipe, arm, self.overrides, self.output))
        earlier = [] if self.runs is None else runs_in(self.runs)
        if earlier and (missing := sorted(set(self.seeds) - {run.seed for run in earlier})):
            raise ConfigError(
                f"there is no run of seed {missing[0]}; {self.runs} has seeds "
                f"{sorted(run.seed for run in earlier)}"
            )
        for seed in self.seeds:
            done = [recipe for recipe in earlier if recipe.seed == seed]
            for number, arm in enumerate(arms):
                self.tell(f"seed {seed}, arm {arm.name!r}")
                folder = self.output / f"seed-{seed}" / f"{number}-{_plain(arm.name)}"
                settings = [*self.overrides, f"seed={seed}"]
                recipe = self.ablation.recipe(self.recipe, arm, settings, folder)
                for other in done:
                    shared = share_beginning(other, recipe)
                    if other in earlier:
                        self.tell(f"  {shared} stages are those of {other.output_dir}")
                Pipeline(recipe, tell=self._tell).run(self.ablation.last(recipe))
                done.append(recipe)
                figures = measured(recipe, self.ablation.last(recipe), self._sweep(recipe))
                self.rows.append({"seed": seed, "arm": arm.name, "figures": figures})
                write_rows(self.output / "figures.jsonl", self.rows)
        table = AblationTable.of(
            self.ablation.name,
            self.ablation.question,
            [arm.name for arm in arms],
            self.rows,
            self.ablation.measures,
        )
        table.write(self.output)
        return table

    def _sweep(self, recipe: Recipe) -> dict[str, float]:
        """Figures of the arm's checkpoints at every budget."""
        from assay.policy.evaluate import Evaluation, run_evaluation

        settings = dict(self.ablation.sweep or {})
        if not settings:
            return {}
        found = {}
        for checkpoint in settings.pop("checkpoints"):
            stage = recipe.stage(checkpoint)
            if not (recipe.folder(stage) / RESULT_FILE).is_file():
                continue
            config = Evaluation.of(
                policy=str(recipe.folder(stage)),
                output_dir=str(Path(recipe.output_dir) / "sweep" / checkpoint),
                **recipe.resolve(settings),
            )
            for result in run_evaluation(config)["results"]:
                for name, metric in result["metrics"].items():
                    if metric["estimate"] is not None:
                        found[f"{checkpoint}@{result['budget']}/{name}"] = metric["estimate"]
        return found

    def _tell(self, stage: str, event: str, facts: dict[str, Any]) -> None:
        if event in ("start", "done"):
            self.tell(f"  {stage}: {event}")


def load_ablation(name: str) -> Ablation:
    """An ablation that comes with the library, or the first of a TOML file.

    >>> load_ablation("pass-rate").arms[1].set
    ['stages.code-correctness.binary=true']

    Raises:
        ConfigError: There is none of that name.
    """
    if name.endswith(".toml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot read {name}: {error.strerror or error}") from error
    else:
        text = files("assay.policy").joinpath("ablations.toml").read_text(encoding="utf-8")
    try:
        tables = tomllib.loads(text).get("ablations", [])
    except ValueError as error:
        raise ConfigError(f"{name} is not TOML: {error}") from error
    for table in tables:
        if name.endswith(".toml") or table["name"] == name:
            return from_table(Ablation, table, f"ablation {table.get('name')!r}")
    raise ConfigError(
        f"there is no ablation {name!r}; have {[table['name'] for table in tables]}, a .toml file, "
        "or a recipe with --set KEY=VALUE,VALUE"
    )


def ablation_names() -> list[str]:
    """Ablations that come with the library."""
    text = files("assay.policy").joinpath("ablations.toml").read_text(encoding="utf-8")
    return [str(table["name"]) for table in tomllib.loads(text)["ablations"]]


def grid(items: Sequence[str], until: str = "", measures: Sequence[str] = ()) -> Ablation:
    """Every combination of `a.b=value,value` items as an arm; the first is the baseline.

    >>> [arm.name for arm in grid(["a.x=1,2", "b=u,v"]).arms]
    ['x=1 b=u', 'x=1 b=v', 'x=2 b=u', 'x=2 b=v']

    Raises:
        ConfigError: An item without `=`, or no item with several values.
    """
    choices = []
    for item in items:
        key, sign, text = item.partition("=")
        if not sign or not key:
            raise ConfigError(f"--set is KEY=VALUE,VALUE, got {item!r}")
        choices.append([(key, value) for value in _values(text)])
    arms = []
    for combination in itertools.product(*choices):
        shown = " ".join(f"{key.split('.')[-1]}={value}" for key, value in combination)
        arms.append(Arm(shown, [f"{key}={value}" for key, value in combination]))
    if len(arms) < 2:
        raise ConfigError(f"a grid needs a setting with several values, got {list(items)}")
    return Ablation("grid", arms, until=until, measures=measures)


def run_ablation(
    ablation: Ablation,
    *,
    recipe: str = "tiny",
    seeds: Sequence[int] = (0, 1, 2),
    output: str | Path,
    overrides: Sequence[str] = (),
    runs: str | Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> AblationTable:
    """Run an ablation; see `AblationRun`."""
    place = None if runs is None else Path(runs)
    return AblationRun(ablation, recipe, seeds, Path(output), overrides, place, tell).run()


def _ordered(recipe: Recipe, order: Sequence[str]) -> Recipe:
    table = dict(recipe.table)
    stages = list(table["stages"])
    places = sorted(recipe.stages.index(recipe.stage(name)) for name in order)
    by_name = {stage["name"]: stage for stage in stages}
    for place, name in zip(places, order, strict=True):
        stages[place] = by_name[name]
    return recipe_of(table | {"stages": stages}, recipe.source)


def _values(text: str) -> list[str]:
    """Values at the commas that stand outside brackets and quotes."""
    values, depth, quote, part = [], 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        if char == "," and not depth and not quote:
            values.append(part.strip())
            part = ""
        else:
            part += char
    return [*values, part.strip()]


def _plain(name: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in name.lower())
    return "-".join(part for part in kept.split("-") if part)
