"""The commands `assay score`, `compare` and `explain`: files of rows in, files of scores out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError

Input = Annotated[
    str,
    typer.Option(help="Rows: JSONL (also gzip), parquet, or - for stdin.", metavar="FILE"),
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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]


@dataclass(frozen=True)
class _Options:
    """What `score` and `compare` have in common."""

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
    dry_run: bool
    json_file: Path | None
    quiet: bool


def score(
    reward: Annotated[
        str, typer.Option(help="The reward: FILE.py:attr or package.module:attr.", metavar="SPEC")
    ],
    input: Input,
    output: Output,
    map: Map = None,
    limit: Limit = None,
    shard: Part = "0/1",
    batch_size: BatchSize = 64,
    resume: Resume = False,
    retry_failed: RetryFailed = False,
    force: Force = False,
    strict: Strict = False,
    max_error_rate: MaxErrorRate = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Score the completions in a file with a reward.

    A row has `prompt`, `completion` and whatever columns the reward needs. Each line of the output
    is {"id", "value", "status", "passed", "turns", "parts", "note", "info"}; `id` is the row's own
    or its line number. A killed job continues with --resume: nothing is lost or scored twice.
    """
    from assay.loading import load_reward, split_spec

    options = _Options(
        input,
        output,
        map or (),
        limit,
        shard,
        batch_size,
        resume,
        retry_failed,
        force,
        strict,
        max_error_rate,
        max_cost,
        dry_run,
        json_file,
        quiet,
    )
    rename = _checked(options, lambda: split_spec(reward))
    loaded = load_reward(reward)
    _run(options, loaded.reward, rename, {"spec": loaded.spec}, loaded.source)


def compare(
    judge: Annotated[
        str, typer.Option(help="The judge: FILE.py:attr or package.module:attr.", metavar="SPEC")
    ],
    input: Input,
    output: Output,
    order: Annotated[
        str,
        typer.Option(help="both: run (A, B) and (B, A); single: as they stand.", metavar="ORDER"),
    ] = "both",
    cache: Annotated[
        Path | None, typer.Option(help="Keep opinions in this SQLite file.", metavar="FILE")
    ] = None,
    map: Map = None,
    limit: Limit = None,
    shard: Part = "0/1",
    batch_size: BatchSize = 64,
    resume: Resume = False,
    retry_failed: RetryFailed = False,
    force: Force = False,
    strict: Strict = False,
    max_error_rate: MaxErrorRate = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare the two answers in each row of a file with a judge.

    A row has `prompt`, `a`, `b` and whatever columns the judge reads; --map a=chosen renames. Each
    line of the output is a score whose `value` is P(A preferred) and whose `info` holds choice,
    order gap, agreement and cost; `assay audit verdicts` reads it.
    """
    from assay.loading import split_spec

    options = _Options(
        input,
        output,
        map or (),
        limit,
        shard,
        batch_size,
        resume,
        retry_failed,
        force,
        strict,
        max_error_rate,
        max_cost,
        dry_run,
        json_file,
        quiet,
    )
    if order not in ("both", "single"):
        _wrong_usage(f"--order must be both or single, got {order!r}")
    rename = _checked(options, lambda: split_spec(judge, "--judge"))
    from assay.judge import Judge
    from assay.judges import BothOrders, Cached
    from assay.judges.comparison import Comparison
    from assay.loading import load_object

    found, source = load_object(judge, Judge, "--judge")
    if not isinstance(found, Judge):
        raise ConfigError(f"{judge} must be a Judge, got {type(found).__name__}")
    asked = BothOrders(found) if order == "both" and not isinstance(found, BothOrders) else found
    kept: Judge = asked if cache is None else Cached(asked, cache)
    first = rename.pop("a", "a")
    about = {"spec": judge, "order": order}
    _run(options, Comparison(kept, first=first), rename | {"completion": first}, about, source)


def explain(
    scores: Annotated[Path, typer.Argument(help="Output of a job.", metavar="SCORES")],
    row: Annotated[str, typer.Argument(help="The row's id.", metavar="ROW")],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write row and manifest here, whole.", metavar="FILE"),
    ] = None,
) -> None:
    """Say where one stored score came from: every part, its evidence, and what made the file."""
    from assay.judges.explain import find_row, lines, provenance

    found, made = find_row(scores, row), provenance(scores)
    write_json(json_file, {"row": found, "manifest": made})
    for line in lines(found, made):
        print(line)


def _checked(options: _Options, parse_spec: Any) -> dict[str, str]:
    """Refuse what cannot work before anything is loaded; the renamed columns."""
    from assay.judges.rows import parse_rename
    from assay.judges.selection import Shard

    try:
        rename = parse_rename(options.map)
        Shard.parse(options.shard)
        parse_spec()
    except ConfigError as error:
        _wrong_usage(error)
    input, output, json_file = options.input, options.output, options.json_file
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
    if options.max_cost == 0:
        _wrong_usage("--max-cost must be above 0")
    return rename


def _run(
    options: _Options,
    reward: Any,
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
        )
        command = score_command.dry_run if options.dry_run else score_command.run
        raise typer.Exit(command(job, json_file=options.json_file, quiet=options.quiet))


def _wrong_usage(problem: object) -> NoReturn:
    print(f"assay: {problem}", file=sys.stderr)
    raise typer.Exit(2)
