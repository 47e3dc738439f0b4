"""`assay train`: one training stage from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError

STAGES = ("rm-pointwise", "rm-pairwise")


def train(
    stage: Annotated[str, typer.Argument(help=f"One of {', '.join(STAGES)}.", metavar="STAGE")],
    config: Annotated[Path, typer.Option(help="Its settings, as TOML.", metavar="FILE")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Override a setting, e.g. trl.learning_rate=1e-5.", metavar="KEY=VALUE"
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the result here, for machines.", metavar="FILE"),
    ] = None,
) -> None:
    """Train a reward model; continues from the last checkpoint in its output folder."""
    if stage not in STAGES:
        raise ConfigError(f"stage must be one of {', '.join(STAGES)}; got {stage!r}")
    from assay.policy import reward_models
    from assay.policy.reward_model_config import PairwiseConfig, PointwiseConfig

    kind = PointwiseConfig if stage == "rm-pointwise" else PairwiseConfig
    overrides = overridden(config, set_ or [])
    trained = reward_models.main(kind.from_toml(config, **overrides))
    print(f"{trained.folder}: trained on {trained.train_rows} rows")
    for name, value in trained.metrics.items():
        print(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
    write_json(json_file, trained.to_json())


def overridden(config: Path, settings: list[str]) -> dict[str, Any]:
    """The top-level settings that `a.b=value` items change, values read as TOML, else as text.

    Raises:
        ConfigError: An item without `=`, or a dotted key below something that is no table.
    """
    try:
        given = tomllib.loads(config.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {config}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{config} is not TOML: {error}") from error
    changed: dict[str, Any] = {}
    for item in settings:
        key, sign, text = item.partition("=")
        if not sign or not key:
            raise ConfigError(f"--set is KEY=VALUE, got {item!r}")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            value = text
        *path, last = key.split(".")
        table = given
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"--set {key}: {name!r} is no table")
        table[last] = value
        top = key.split(".")[0]
        changed[top] = given[top]
    return changed
