"""`assay audit`: what runs, verdicts and judges look like when they are measured."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_folder, write_json

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

    from assay.errors import ConfigError
    from assay.policy.data.horizon_job import HorizonJob

    try:
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
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    report = job.run()
    for table in report.tables():
        Console().print(table)
    write_json(json_file, report.to_json())


@app.command()
def verdicts(
    file: Annotated[
        Path,
        typer.Argument(help="Verdicts: JSONL, a JSON list or CSV, also gzip.", metavar="FILE"),
    ],
    layout: Annotated[
        str | None,
        typer.Option(
            help="plain, llmbar, judgebench, mtbench, arenahard, alpacaeval or rewardbench; told "
            "from the fields if not given.",
            metavar="NAME",
        ),
    ] = None,
    numbering: Annotated[
        str | None,
        typer.Option(
            help="In plain rows of order BA: does A name the answer shown first (position) or the "
            "file's A (original)?",
            metavar="NAME",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=100, help="Draws of whole prompts behind the intervals.", metavar="N")
    ] = 1000,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 unless it holds for every judge, e.g. consistency>=0.8, "
            "abs_position_term<=0.3; repeatable.",
            metavar="LIMIT",
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="No names of pairs in the reports.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for audit.html and audit.json.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Audit verdicts in one or both orders: position, accuracy, calibration, length."""
    from assay.calibration.audit_limits import Limit, broken_limits
    from assay.calibration.audit_text import advice, sentences
    from assay.calibration.verdict_audit import audit_verdicts
    from assay.calibration.verdict_files import LAYOUTS, read_verdicts
    from assay.errors import ConfigError

    try:
        limits = [Limit.parse(text) for text in require or ()]
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    if layout is not None and layout not in LAYOUTS:
        raise typer.BadParameter(f"--layout must be one of {', '.join(LAYOUTS)}, got {layout}")
    if numbering not in (None, "position", "original"):
        raise typer.BadParameter(f"--numbering must be position or original, got {numbering}")
    if not file.is_file():
        raise typer.BadParameter(f"there is no file {file}")
    table = read_verdicts(file, layout=layout, numbering=numbering)  # type: ignore[arg-type]
    audits = audit_verdicts(table, resamples=resamples)
    if redact:
        audits = [replace(audit, flipped=[]) for audit in audits]
    print(f"{len(table):,} verdicts of {len(audits)} judges, layout {table.layout}")
    if table.note:
        print(table.note)
    for audit in audits:
        print(f"\n{audit.judge}")
        for line in (*sentences(audit), *(f"-> {line}" for line in advice(audit))):
            print(f"  {line}")
    broken = broken_limits(audits, limits)
    if output is not None:
        from assay.calibration.audit_html import audit_page

        data = {"file": file.name, "layout": table.layout, "verdicts": len(table)}
        data |= {"judges": [audit.as_json() for audit in audits], "broken": broken}
        page = audit_page(audits, title=file.name, note=table.note, redact=redact)
        plain = json.dumps(data, indent=2, allow_nan=False) + "\n"
        write_folder(output, {"audit.html": page, "audit.json": plain})
        print(f"\n{output / 'audit.html'} and {output / 'audit.json'} are written")
    for line in broken:
        print(f"broken limit: {line}", file=sys.stderr)
    if broken:
        raise typer.Exit(1)
