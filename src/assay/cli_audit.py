"""`assay audit`: what runs, verdicts and judges look like when they are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_json

app = typer.Typer(
    no_args_is_help=True, help="Measure runs, verdicts and judges.", rich_markup_mode=None
)


@app.callback()
def _root() -> None:
    """Measure runs, verdicts and judges."""


@app.command()
def trajectories(
    file: Annotated[
        Path, typer.Argument(help="Runs: JSONL, a JSON list or parquet.", metavar="FILE")
    ],
    form: Annotated[
        str, typer.Option(help="Form of the rows; told from their columns.", metavar="NAME")
    ] = "auto",
    tools: Annotated[
        Path | None,
        typer.Option(help="JSON list of the tools' schemas, for rows without.", metavar="FILE"),
    ] = None,
    infer_tools: Annotated[
        bool, typer.Option(help="Without any schemas, read them off the calls that worked.")
    ] = True,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Also fail actions without the user's yes, and what was tried in vain."
        ),
    ] = False,
    labelled: Annotated[
        bool,
        typer.Option(
            "--labelled", help="Rows have `history` and `mistake_step`: is that step found?"
        ),
    ] = False,
    success: Annotated[
        float, typer.Option(help="Outcome from which a run is a success.", metavar="X")
    ] = 1.0,
    base_url: Annotated[
        str | None, typer.Option(help="Also ask a model there about each turn.", metavar="URL")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Its name at that URL; or without URL a local folder.", metavar="MODEL"),
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with its key.", metavar="NAME")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many runs.", metavar="N")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Verdicts of every turn go here, as JSONL.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture: .svg, .png or .pdf.", metavar="FILE")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the report here, for machines.", metavar="FILE"),
    ] = None,
) -> None:
    """Success by length and depth, failure kinds, repeated calls, verdicts along the runs."""
    from rich.console import Console

    from assay.policy.data.horizon_job import HorizonJob

    job = HorizonJob(
        file,
        form=form,
        tools=tools,
        infer_tools=infer_tools,
        strict=strict,
        labelled=labelled,
        success=success,
        base_url=base_url,
        model=model,
        api_key_env=api_key_env,
        limit=limit,
        output=output,
        plot=plot,
    )
    report = job.run()
    for table in report.tables():
        Console().print(table)
    write_json(json_file, report.to_json())
