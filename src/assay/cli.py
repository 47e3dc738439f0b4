"""The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.

The top edge of the library: it may import every folder, each inside the command that needs it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from assay import cli_complexity, cli_data, cli_sandbox, cli_train
from assay._version import __version__
from assay.errors import AssayError, ConfigError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(cli_sandbox.app, name="sandbox")
app.add_typer(cli_data.app, name="data")
app.command()(cli_complexity.complexity)
app.command()(cli_train.train)


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
def score(
    reward: Annotated[
        str, typer.Option(help="The reward: FILE.py:attr or package.module:attr.", metavar="SPEC")
    ],
    input: Annotated[
        str,
        typer.Option(help="Rows: JSONL (also gzip), parquet, or - for stdin.", metavar="FILE"),
    ],
    output: Annotated[
        Path, typer.Option(help="Scores are appended here, as JSONL.", metavar="FILE")
    ],
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="Rename a column, e.g. completion=output; repeatable.", metavar="NEW=OLD"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many rows.", metavar="N")
    ] = None,
    shard: Annotated[
        str, typer.Option(help="Only part i (from 0) of n; groups stay whole.", metavar="i/n")
    ] = "0/1",
    batch_size: Annotated[
        int, typer.Option(min=1, help="Rows scored and written together.", metavar="N")
    ] = 64,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an unfinished output.")
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Resume, and score failed rows again."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Resume although the reward or the input changed."),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    max_error_rate: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Stop when a part of the reward fails on more of its rows.",
            metavar="SHARE",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; score nothing.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the summary here, for machines.", metavar="FILE"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> None:
    """Score the completions in a file with a reward.

    A row has `prompt`, `completion` and whatever columns the reward needs. Each line of the output
    is {"id", "value", "status", "passed", "turns", "parts", "note", "info"}; `id` is the row's own
    or its line number. A killed job continues with --resume: nothing is lost or scored twice.
    """
    from assay.judges.rows import parse_rename
    from assay.judges.selection import Shard
    from assay.loading import load_reward, split_spec

    try:
        rename, part = parse_rename(map or ()), Shard.parse(shard)
        split_spec(reward)
    except ConfigError as error:
        _wrong_usage(error)
    if input != "-" and not Path(input).is_file():
        found = "is no plain file; pipe it into --input -" if Path(input).exists() else ""
        _wrong_usage(f"--input: {input} {found}" if found else f"--input: there is no file {input}")
    for option, path in (("--output", output), ("--json", json_file)):
        if path is not None and not path.parent.is_dir():
            _wrong_usage(f"{option}: there is no folder {path.parent}")
    if str(output) == "-":
        _wrong_usage("--output must name a file: results are continued in it")
    if json_file is not None and json_file.resolve() in (output.resolve(), Path(input).resolve()):
        _wrong_usage(f"--json {json_file} is the input or the output; give it another name")
    loaded = load_reward(reward)
    from assay.judges import score_command
    from assay.judges.offline import OfflineJob
    from assay.judges.spool import spooled

    with spooled(input) as (path, label):
        job = OfflineJob(
            reward=loaded.reward,
            input=path,
            output=output,
            label=label,
            rename=rename,
            shard=part,
            limit=limit,
            batch_size=batch_size,
            resume=resume or retry_failed or force,
            retry_failed=retry_failed,
            force=force,
            strict=strict,
            max_error_rate=max_error_rate,
            about={"spec": loaded.spec},
            source=loaded.source,
        )
        command = score_command.dry_run if dry_run else score_command.run
        raise typer.Exit(command(job, json_file=json_file, quiet=quiet))


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


def _wrong_usage(problem: object) -> NoReturn:
    print(f"assay: {problem}", file=sys.stderr)
    raise SystemExit(2)
