"""`assay ablate`: a recipe with one thing changed, over paired seeds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError


def ablate(
    what: Annotated[
        str,
        typer.Argument(
            help="An ablation of the library (gate, swap-weight, trajectories, judge, "
            "difficulty-filter, stage-order, pass-rate), a .toml file with one, or a recipe with "
            "--set.",
            metavar="ABLATION|RECIPE",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Runs, table and plot go here.", metavar="FOLDER")],
    recipe: Annotated[
        str, typer.Option(help="The recipe that an ablation changes.", metavar="RECIPE")
    ] = "tiny",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Values to try, the first is the baseline; repeat for a grid.",
            metavar="KEY=VALUE,VALUE",
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(help="A setting of all arms; repeatable.", metavar="KEY=VALUE"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each arm.", metavar="N")] = 3,
    first_seed: Annotated[int, typer.Option(help="The first of them.", metavar="N")] = 0,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A finished run of the recipe, or a folder of them (one a seed): stages that an "
            "arm has in common with it are not run again.",
            metavar="FOLDER",
        ),
    ] = None,
    until: Annotated[
        str, typer.Option(help="Of a grid: the last stage to run.", metavar="NAME")
    ] = "",
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of figures to report; repeatable.", metavar="PATTERN"),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the table here.", metavar="FILE")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the table only.")] = False,
) -> None:
    """Run every arm for every seed; a table with 95% intervals over seeds, and a plot.

    What the arms share is trained once a seed. Goes on where an earlier try was cut.
    """
    from dataclasses import replace

    from assay.policy.ablate import ablation_names, grid, load_ablation, run_ablation
    from assay.policy.recipe import recipe_names
    from assay.policy.train_command import calm_libraries

    shipped = what in ablation_names()
    named = what in recipe_names()
    if set_:
        if shipped:
            raise ConfigError(
                f"{what!r} is an ablation with arms of its own; use --fix for a setting of all "
                "arms, or name a recipe"
            )
        ablation, used = grid(set_, until, measure or ()), what
    else:
        if named:
            raise ConfigError(
                f"recipe {what!r} needs values to try: --set KEY=VALUE,VALUE; or name one of "
                f"{ablation_names()}"
            )
        ablation, used = load_ablation(what), recipe
        if measure:
            ablation = replace(ablation, measures=measure)
        if until:
            ablation = replace(ablation, until=until)

    def tell(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr)

    calm_libraries()
    chosen = range(first_seed, first_seed + seeds)
    table = run_ablation(
        ablation,
        recipe=used,
        seeds=chosen,
        output=output,
        overrides=fix or (),
        runs=runs,
        tell=tell,
    )
    print(table.markdown())
    print(
        f"\n{output / 'ablation.md'}, ablation.json, ablation.svg, figures.jsonl", file=sys.stderr
    )
    write_json(json_file, table.to_json())
