"""`assay train`: one training stage, or a recipe of many."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError


def train(
    what: Annotated[
        str,
        typer.Argument(
            help="A stage (sft, rm-pointwise, pointwise-rl, code-rl-correctness, ...), a recipe of "
            "the library (tiny, nanbeige-3b, nanbeige-3b-lora) or a recipe's file.",
            metavar="STAGE|RECIPE",
        ),
    ],
    config: Annotated[
        Path | None, typer.Option(help="A stage's settings, as TOML.", metavar="FILE")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="What a stage starts from.", metavar="FOLDER|ID")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="A stage's rows; repeatable.", metavar="FILE")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The folder of the stage or the run.", metavar="FOLDER")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Override a setting: trl.learning_rate=1e-5; of a recipe "
            "stages.NAME.trl.max_steps=10.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="The last stage of a recipe to run.", metavar="NAME")
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Go on with a run whose recipe has changed."),
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the result here, for machines.", metavar="FILE"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No live table.")] = False,
) -> None:
    """Train a stage, or all stages of a recipe; goes on where an earlier try was cut."""
    from assay.policy.recipe import recipe_names
    from assay.policy.stages.registry import STAGES

    if what.replace("-", "_") in STAGES:
        if until is not None or accept_changes:
            raise ConfigError("--until and --accept-changes are for recipes, not for one stage")
        _stage(what, config, model, data or [], output, set_ or [], json_file)
        return
    if not (what.endswith(".toml") or what in recipe_names()):
        stages = ", ".join(name.replace("_", "-") for name in STAGES)
        raise ConfigError(
            f"STAGE|RECIPE must be one of the stages {stages}, one of the recipes "
            f"{', '.join(recipe_names())}, or a .toml file; got {what!r}"
        )
    if config is not None or model is not None or data:
        raise ConfigError("--config, --model and --data are for one stage; a recipe has its own")
    from assay.policy.train_command import run_recipe

    settings = list(set_ or [])
    if output is not None:
        settings.append(f"output_dir={json.dumps(str(output))}")
    result = run_recipe(what, settings, until=until, accept_changes=accept_changes, quiet=quiet)
    write_json(json_file, result)


def plan(
    recipe: Annotated[
        str, typer.Argument(help="A recipe of the library, or its file.", metavar="RECIPE")
    ],
    gpus: Annotated[int, typer.Option(min=1, help="GPUs.", metavar="N")] = 8,
    gpu: Annotated[str, typer.Option(help="Their kind: a100, h100, h200, b200.")] = "h100",
    memory_gb: Annotated[
        float | None, typer.Option(help="Memory of one, in place of its kind's.", metavar="GB")
    ] = None,
    mfu: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of the peak that training reaches.")
    ] = 0.35,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting.", metavar="KEY=VALUE")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the plan here.", metavar="FILE")
    ] = None,
) -> None:
    """Say what a recipe needs: memory per GPU, tokens, FLOPs and time of each stage; fits or not.

    Builds the model's shape without weights. Exits with 1 if a stage does not fit.
    """
    from assay.policy.plan import Cluster, plan_recipe
    from assay.policy.plan_table import print_plan
    from assay.policy.recipe import load_recipe

    cluster = Cluster.of(gpus, gpu, memory_gb=memory_gb, mfu=mfu)
    found = plan_recipe(load_recipe(recipe, set_ or []), cluster)
    print_plan(found)
    write_json(json_file, found.to_json())
    raise typer.Exit(0 if found.fits else 1)


def _stage(
    name: str,
    config: Path | None,
    model: str | None,
    data: list[str],
    output: Path | None,
    settings: list[str],
    json_file: Path | None,
) -> None:
    from assay.policy.config_keys import from_table
    from assay.policy.stages.registry import stage_kind

    kind = stage_kind(name)
    table: dict[str, Any] = {} if config is None else read_toml(config)
    if model is not None:
        table["model"] = model
    if data:
        table["data"] = data
    if output is not None:
        table["output_dir"] = str(output)
    label = kind.config_class().__name__ if config is None else str(config)
    if config is not None:
        label = f"{config}: {kind.config_class().__name__}"
    _override(table, settings)
    trained = kind.run(from_table(kind.config_class(), table, label))
    print(f"{trained.folder}: {trained.steps} steps in {trained.seconds:.0f} s")
    for key, value in trained.metrics.items():
        print(f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}")
    write_json(json_file, trained.to_json())


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def overridden(config: Path, settings: list[str]) -> dict[str, Any]:
    """The top-level settings that `a.b=value` items change, values read as TOML, else as text.

    Raises:
        ConfigError: An item without `=`, or a dotted key below something that is no table.
    """
    given = read_toml(config)
    _override(given, settings)
    tops = {item.partition("=")[0].split(".")[0] for item in settings}
    return {top: given[top] for top in tops}


def _override(table: dict[str, Any], settings: list[str]) -> None:
    from assay.policy.recipe_keys import set_key

    for item in settings:
        set_key(table, item)
