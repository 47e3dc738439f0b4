"""What the commands that run a job over a file of rows have in common: options, checks, engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.judges.engines import Engine
    from assay.reward import Reward

Input = Annotated[
    str,
    typer.Option(
        help="Rows: JSONL (also gzip), parquet, a saved dataset's folder, or - for stdin.",
        metavar="FILE",
    ),
]
Output = Annotated[Path, typer.Option(help="Scores are appended here, as JSONL.", metavar="FILE")]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="Rename a column, e.g. completion=output; repeatable.", metavar="NEW=OLD"
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many rows.", metavar="N")]
Part = Annotated[
    str, typer.Option(help="Only part i (from 0) of n; groups stay whole.", metavar="i/n")
]
BatchSize = Annotated[
    int, typer.Option(min=1, help="Rows scored and written together.", metavar="N")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an unfinished output.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Resume, and score failed rows again.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Resume although the reward or the input changed.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")]
MaxErrorRate = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Stop when a part of the reward fails on more of its rows.",
        metavar="SHARE",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Begin no further batch once the output's rows cost so much.",
        metavar="AMOUNT",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; score nothing.")]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Write the summary here, for machines.", metavar="FILE"),
]
EngineName = Annotated[
    str,
    typer.Option(
        help="local: here, or in --workers processes. ray: on a Ray cluster. openai-batch: model "
        "replies come from --batch-folder, and what is missing is written there.",
        metavar="ENGINE",
    ),
]
Workers = Annotated[
    str,
    typer.Option(
        help="Processes (or Ray actors) that hold the reward: a number, or gpus for one a GPU.",
        metavar="N",
    ),
]
BatchFolderPath = Annotated[
    Path | None,
    typer.Option(
        "--batch-folder",
        help="Of --engine openai-batch: requests.jsonl is written there, results*.jsonl are read.",
        metavar="FOLDER",
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        help="When all is scored, write the results here in the input's order: .jsonl, .parquet, "
        "or a folder for a saved dataset.",
        metavar="FILE",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


@dataclass(frozen=True)
class JobOptions:
    """Values of the options that every such command has."""

    input: str
    output: Path
    map: Sequence[str]
    limit: int | None
    shard: str
    batch_size: int
    resume: bool
    retry_failed: bool
    force: bool
    strict: bool
    max_error_rate: float | None
    max_cost: float | None
    engine: str
    workers: str
    batch_folder: Path | None
    export: Path | None
    dry_run: bool
    json_file: Path | None
    quiet: bool

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> JobOptions:
        """Those among a command's own arguments (`locals()` at its beginning)."""
        taken = {f.name: arguments[f.name] for f in fields(cls)}
        return cls(**taken | {"map": taken["map"] or ()})


def checked(options: JobOptions, parse_spec: Callable[[], object]) -> dict[str, str]:
    """Refuse what cannot work before anything is loaded; the renamed columns."""
    from assay.judges.rows import parse_rename
    from assay.judges.selection import Shard

    try:
        rename = parse_rename(options.map)
        Shard.parse(options.shard)
        parse_spec()
    except ConfigError as error:
        wrong_usage(error)
    input, output, json_file = options.input, options.output, options.json_file
    if input != "-" and not (Path(input).is_file() or Path(input).is_dir()):
        found = "is no plain file; pipe it into --input -" if Path(input).exists() else ""
        wrong_usage(f"--input: {input} {found}" if found else f"--input: there is no file {input}")
    for option, path in (("--output", output), ("--json", json_file)):
        if path is not None and not path.parent.is_dir():
            wrong_usage(f"{option}: there is no folder {path.parent}")
    if str(output) == "-":
        wrong_usage("--output must name a file: results are continued in it")
    if json_file is not None and json_file.resolve() in (output.resolve(), Path(input).resolve()):
        wrong_usage(f"--json {json_file} is the input or the output; give it another name")
    if options.export is not None:
        own = {"the input": Path(input), "the output": output, "the file of --json": json_file}
        for what, path in own.items():
            if path is not None and options.export.resolve() == path.resolve():
                wrong_usage(f"--export {options.export} is {what}; give it another name")
    if options.max_cost == 0:
        wrong_usage("--max-cost must be above 0")
    if options.engine not in ("local", "ray", "openai-batch"):
        wrong_usage(f"--engine must be local, ray or openai-batch, got {options.engine!r}")
    if (options.engine == "openai-batch") != (options.batch_folder is not None):
        wrong_usage("--engine openai-batch and --batch-folder go together")
    if options.engine == "openai-batch" and options.workers != "1":
        wrong_usage("--engine openai-batch scores in this process; leave --workers out")
    if options.workers != "gpus" and not (options.workers.isdecimal() and int(options.workers)):
        wrong_usage(f"--workers must be a number from 1 on, or gpus; got {options.workers!r}")
    if options.export is not None:
        from assay.judges.exported_results import check_target

        try:
            check_target(options.export)
        except ConfigError as error:
            wrong_usage(error)
    return rename


def run_job(
    options: JobOptions,
    reward: Reward,
    rename: dict[str, str],
    about: dict[str, Any],
    source: Path | None,
) -> NoReturn:
    """Run the job, or say what it would do; ends with its exit code."""
    from assay.judges import score_command
    from assay.judges.offline import OfflineJob
    from assay.judges.selection import Shard
    from assay.judges.spool import spooled

    with spooled(options.input) as (path, label):
        job = OfflineJob(
            reward=reward,
            input=path,
            output=options.output,
            label=label,
            rename=rename,
            shard=Shard.parse(options.shard),
            limit=options.limit,
            batch_size=options.batch_size,
            resume=options.resume or options.retry_failed or options.force,
            retry_failed=options.retry_failed,
            force=options.force,
            strict=options.strict,
            max_error_rate=options.max_error_rate,
            max_cost=options.max_cost,
            about=about,
            source=source,
            engine=_engine(options),
        )
        if options.dry_run:
            code = score_command.dry_run(job, json_file=options.json_file, quiet=options.quiet)
        else:
            code = score_command.run(
                job, json_file=options.json_file, quiet=options.quiet, export=options.export
            )
        raise typer.Exit(code)


def _engine(options: JobOptions) -> Engine | None:
    """Where batches are scored; None for this process."""
    if options.batch_folder is not None:
        from assay.judges.batch_engine import OpenAIBatch

        return OpenAIBatch(options.batch_folder)
    per_gpu = options.workers == "gpus"
    if options.engine == "ray":
        from assay.judges.ray_engine import RayData

        actors = None if per_gpu or options.workers == "1" else int(options.workers)
        return RayData(actors, gpus_per_actor=float(per_gpu))
    if per_gpu or options.workers != "1":
        from assay.judges.process_engine import Processes

        return Processes.per_gpu() if per_gpu else Processes(int(options.workers))
    return None


def wrong_usage(problem: object) -> NoReturn:
    """Say what is wrong with the command line and end with exit code 2."""
    print(f"assay: {problem}", file=sys.stderr)
    raise typer.Exit(2)
