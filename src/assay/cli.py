"""The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.

The top edge of the library: it may import every folder, each inside the command that needs it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay import (
    cli_ablate,
    cli_audit,
    cli_audit_judge,
    cli_audit_labels,
    cli_cache,
    cli_complexity,
    cli_data,
    cli_evaluate,
    cli_sandbox,
    cli_score,
    cli_serve,
    cli_train,
)
from assay._version import __version__
from assay.errors import AssayError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(cli_sandbox.app, name="sandbox")
app.add_typer(cli_data.app, name="data")
app.add_typer(cli_audit.app, name="audit")
for command in (
    cli_audit_judge.judge,
    cli_audit_labels.benchmark,
    cli_audit_labels.annotate,
    cli_audit_labels.validate,
):
    cli_audit.app.command()(command)
app.add_typer(cli_cache.app, name="cache")
app.command()(cli_score.score)
app.command()(cli_score.compare)
app.command()(cli_score.explain)
app.command()(cli_complexity.complexity)
app.command()(cli_evaluate.evaluate)
app.command()(cli_ablate.ablate)
app.command()(cli_serve.serve)
app.command()(cli_train.train)
app.command()(cli_train.plan)


def main() -> None:
    """Entry point of the command `assay`."""
    try:
        app()
    except (AssayError, ImportError, OSError) as error:
        if os.environ.get("ASSAY_DEBUG") == "1":
            raise
        if isinstance(error, BrokenPipeError):  # `assay ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            print(f"assay: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Rewards and judges for RL: score files, check what works here."""


@app.command()
def doctor(
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the findings here, for machines.", metavar="FILE"),
    ] = None,
) -> None:
    """Say what works on this machine, and the commands that mend the rest.

    Exits with 0 if Python programs can be scored in a sandbox, else with 1.
    """
    import json

    from rich.console import Console

    from assay.doctor import core_works, examine, print_findings, to_json

    findings = examine()
    if json_file is not None:
        json_file.write_text(json.dumps(to_json(findings), indent=2) + "\n")
    print_findings(findings, Console(highlight=False))
    raise typer.Exit(0 if core_works(findings) else 1)
