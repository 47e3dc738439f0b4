"""`assay sandbox`: run one program with its tests, or a folder of programs with known verdicts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli_files import language_of, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from assay.sandbox.job import Result, TestResult
    from assay.sandbox.suite import Report

app = typer.Typer(no_args_is_help=True, help="Run untrusted programs.", rich_markup_mode=None)

_BACKEND = typer.Option(
    help="bubblewrap, docker or confined; the best one that works here if not given.",
    metavar="NAME",
)
_JSON = typer.Option("--json", help="Write the results here, for machines.", metavar="FILE")
_COLOURS = {"AC": "green", "skipped": "dim", "IE": "bold red", "none": "bold red"}


@app.command()
def suite(
    manifest: Annotated[Path, typer.Argument(help="A manifest, or the folder that holds it.")],
    backend: Annotated[str | None, _BACKEND] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only the case with this id; repeatable.", metavar="ID"),
    ] = None,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Run programs whose right verdicts are known, and say where this sandbox is wrong.

    Exits with 1 on any wrong verdict, internal error, or anything left on the machine.
    `assay.sandbox.suite` describes the manifest.
    """
    from rich.console import Console

    from assay.sandbox.choice import sandbox_named
    from assay.sandbox.suite import Case, Row, run_suite

    chosen = set(only or ())

    def progress(row: Row) -> None:
        print(f"{row.id}: {row.verdict}{' WRONG' if row.problems else ''}", file=sys.stderr)

    def wanted(case: Case) -> bool:
        return not chosen or case.id in chosen

    report = run_suite(manifest, sandbox_named(backend), wanted, progress)
    if chosen and (unknown := sorted(chosen - {row.id for row in report.rows})):
        print(f"assay: no case {', '.join(unknown)} in {manifest}", file=sys.stderr)
        raise typer.Exit(2)
    Console().print(_suite_table(report))
    _summarise(report)
    write_json(json_file, report.as_dict())
    raise typer.Exit(0 if report.ok else 1)


@app.command()
def run(
    program: Annotated[Path, typer.Argument(help="The program's source file.")],
    tests: Annotated[
        Path,
        typer.Option(
            help="JSON: a list of tests, or a row with `tests` and `entry_point`.", metavar="FILE"
        ),
    ],
    language: Annotated[
        str | None, typer.Option(help="By the file's suffix if not given.", metavar="NAME")
    ] = None,
    comparison: Annotated[
        str, typer.Option(help="exact, tokens, floats, unordered or json.", metavar="MODE")
    ] = "tokens",
    cpu_s: Annotated[float, typer.Option(help="CPU seconds of each test.", metavar="S")] = 4.0,
    memory_mb: Annotated[int, typer.Option(help="Memory of each test.", metavar="MIB")] = 512,
    backend: Annotated[str | None, _BACKEND] = None,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Run one program on its tests and show the verdicts. Exits with 1 unless all are accepted."""
    from rich.console import Console

    from assay.errors import DataError
    from assay.rewards import Tests
    from assay.sandbox.choice import sandbox_named
    from assay.sandbox.job import Job, Limits, Verdict

    name = language_of(program, language)
    try:
        row = json.loads(tests.read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"{tests} is not JSON: {error}") from None
    found = Tests.from_row(row if isinstance(row, dict) else {"tests": row})
    if not found.cases:
        raise DataError(f"{tests} holds no tests; see assay.rewards.problem_tests for the forms")
    job = Job(
        program.read_text("utf-8"),
        found.cases,
        language=name,
        limits=Limits(cpu_s=cpu_s, wall_s=3 * cpu_s, memory_mb=memory_mb),
        comparison=found.comparison or comparison,  # type: ignore[arg-type]
        checker=found.checker,
        interactor=found.interactor,
    )
    with sandbox_named(backend) as sandbox:
        (result,) = sandbox.run([job])
    Console().print(_test_table(result))
    print(f"{result.verdict}: {result.passed} of {result.total} tests accepted")
    if result.message:
        print(result.message)
    print("isolation: " + _spelled(result.isolation))
    write_json(json_file, asdict(result))
    raise typer.Exit(0 if result.verdict is Verdict.AC else 1)


def _suite_table(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("case", "language", "right", "got"):
        table.add_column(column)
    table.add_column("s", justify="right")
    table.add_column("why", overflow="ellipsis", no_wrap=True)
    for row in report.rows:
        style = "bold red" if row.problems else _COLOURS.get(row.verdict, "")
        table.add_row(
            row.id,
            row.language,
            " ".join(row.expected),
            Text(row.verdict, style),
            f"{row.seconds:.2f}",
            Text("; ".join(row.problems) or row.reason, "red" if row.problems else "dim"),
        )
    return table


def _summarise(report: Report) -> None:
    ran = [row for row in report.rows if row.verdict != "skipped"]
    wrong = [row for row in ran if row.problems]
    skipped = len(report.rows) - len(ran)
    print(
        f"{len(ran) - len(wrong)} of {len(ran)} right"
        + (f", {skipped} skipped (not for a sandbox)" if skipped else "")
    )
    for left in report.leftovers:
        print(f"left behind: {left}")
    print("isolation: " + _spelled(report.isolation))


def _test_table(result: Result) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("test", "verdict"):
        table.add_column(column)
    for column in ("CPU s", "wall s", "MiB", "exit"):
        table.add_column(column, justify="right")
    table.add_column("why", overflow="fold")
    for index, test in enumerate(result.tests, start=1):
        verdict = str(test.verdict) if test.run else "not run"
        why = test.reason + (" (forgeable)" if test.forgeable else "")
        table.add_row(
            str(index),
            Text(verdict, _COLOURS.get(verdict, "yellow")),
            _number(test.cpu_s, 3),
            _number(test.wall_s, 3),
            _number(test.memory_mb, 0),
            _ending(test),
            Text(why),
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _ending(test: TestResult) -> str:
    if test.signal is not None:
        return f"signal {test.signal}"
    return "" if test.exit_status is None else str(test.exit_status)


def _spelled(isolation: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in isolation.items()) or "unknown"
