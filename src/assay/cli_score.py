"""The commands `assay score`, `compare` and `explain`: files of rows in, files of scores out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_json
from assay.cli_job import (
    BatchFolderPath,
    BatchSize,
    DryRun,
    EngineName,
    Export,
    Force,
    Input,
    JobOptions,
    JsonFile,
    Limit,
    Map,
    MaxCost,
    MaxErrorRate,
    Output,
    Part,
    Quiet,
    Resume,
    RetryFailed,
    Strict,
    Workers,
    checked,
    run_job,
    wrong_usage,
)
from assay.errors import ConfigError


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
    engine: EngineName = "local",
    workers: Workers = "1",
    batch_folder: BatchFolderPath = None,
    export: Export = None,
    dry_run: DryRun = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Score the completions in a file with a reward.

    A row has `prompt`, `completion` and whatever columns the reward needs. Each line of the output
    is {"id", "value", "status", "passed", "turns", "parts", "note", "info"}; `id` is the row's own
    or its line number. A killed job continues with --resume: nothing is lost or scored twice.
    """
    options = JobOptions.of(locals())
    from assay.loading import load_reward, split_spec

    rename = checked(options, lambda: split_spec(reward))
    loaded = load_reward(reward)
    run_job(options, loaded.reward, rename, {"spec": loaded.spec}, loaded.source)


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
    engine: EngineName = "local",
    workers: Workers = "1",
    batch_folder: BatchFolderPath = None,
    export: Export = None,
    dry_run: DryRun = False,
    json_file: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare the two answers in each row of a file with a judge.

    A row has `prompt`, `a`, `b` and whatever columns the judge reads; --map a=chosen renames. Each
    line of the output is a score whose `value` is P(A preferred) and whose `info` holds choice,
    order gap, agreement and cost; `assay audit verdicts` reads it.
    """
    options = JobOptions.of(locals())
    if order not in ("both", "single"):
        wrong_usage(f"--order must be both or single, got {order!r}")
    from assay.judge import Judge
    from assay.judges import BothOrders, Cached
    from assay.judges.comparison import Comparison
    from assay.loading import load_object, split_spec

    rename = checked(options, lambda: split_spec(judge, "--judge"))

    found, source = load_object(judge, Judge, "--judge")
    if not isinstance(found, Judge):
        raise ConfigError(f"{judge} must be a Judge, got {type(found).__name__}")
    asked = BothOrders(found) if order == "both" and not isinstance(found, BothOrders) else found
    kept: Judge = asked if cache is None else Cached(asked, cache)
    first = rename.pop("a", "a")
    about = {"spec": judge, "order": order}
    run_job(options, Comparison(kept, first=first), rename | {"completion": first}, about, source)


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
