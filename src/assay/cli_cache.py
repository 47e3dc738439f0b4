"""The commands `assay cache ...`: a look at a score cache, and making it smaller."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_json

app = typer.Typer(no_args_is_help=True, help="Look after a cache of scores.")

CacheFile = Annotated[Path, typer.Argument(help="The SQLite file.", metavar="FILE")]


@app.command()
def info(
    file: CacheFile,
    check: Annotated[
        bool, typer.Option("--check", help="Read every entry and verify its checksum.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write it here, for machines.", metavar="FILE")
    ] = None,
) -> None:
    """Say what a cache holds; exits with 1 if --check finds damaged entries."""
    from assay.judges.cache_upkeep import inspect

    report = inspect(file, check=check)
    write_json(json_file, asdict(report))
    print(f"{report.entries:,} scores in {report.bytes / (1 << 20):,.1f} MiB")
    if report.oldest_s is not None and report.newest_s is not None:
        print(f"last used {_ago(report.newest_s)} ago, the oldest {_ago(report.oldest_s)} ago")
    if report.damaged is not None:
        print(
            f"{report.damaged:,} damaged; they count as absent, and `assay cache prune` drops them"
        )
        raise typer.Exit(int(report.damaged > 0))


@app.command()
def prune(
    file: CacheFile,
    max_mb: Annotated[
        float | None, typer.Option(min=0.0, help="Size to come down to.", metavar="MIB")
    ] = None,
    unused_days: Annotated[
        float | None,
        typer.Option(min=0.0, help="Drop what was not used for so long.", metavar="DAYS"),
    ] = None,
) -> None:
    """Drop damaged entries and the least recently used ones, and give the space back."""
    from assay.judges.cache_upkeep import prune as prune_file

    removed = prune_file(file, max_mb=max_mb, unused_days=unused_days)
    print(f"{removed:,} scores removed")


@app.command()
def clear(file: CacheFile) -> None:
    """Drop every entry."""
    from assay.judges.cache_upkeep import clear as clear_file

    print(f"{clear_file(file):,} scores removed")


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
