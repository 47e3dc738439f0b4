"""What `assay score` and `assay compare` do: run a job, or say what it would do, and print."""

from __future__ import annotations

import io
import json
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from assay.errors import AssayError, ConfigError
from assay.judges.exported_results import export as write_export
from assay.judges.job_plan import plan
from assay.judges.job_report import Report
from assay.judges.offline import OfflineJob
from assay.judges.plan_table import print_plan
from assay.judges.progress import Terminal
from assay.judges.score_table import print_summary


def dry_run(job: OfflineJob, *, json_file: Path | None, quiet: bool) -> int:
    """Say what `job` would do; its exit code."""
    _print_anything()
    with Terminal(Console(stderr=True), quiet=quiet) as listener:
        planned = plan(job, listener)
    if json_file is not None:
        _write_json(json_file, planned.to_json())
    if not quiet:
        print_plan(planned, job, Console())
    return 0


def run(job: OfflineJob, *, json_file: Path | None, quiet: bool, export: Path | None = None) -> int:
    """Run `job`; its exit code.

    A finished job's results also go to `export`, in the input's order.

    SIGINT and SIGTERM (a cluster's warning before it kills) end it in good order.
    """
    _print_anything()
    signal.signal(signal.SIGTERM, _interrupt)
    listener = Terminal(Console(stderr=True), quiet=quiet)
    try:
        with listener:
            report = job.run(listener)
    except KeyboardInterrupt:
        done = f"{listener.rows:,} rows were" if listener.rows else "nothing was"
        print(
            f"assay: stopped at once; {done} scored, and {job.output} can be continued with "
            "--resume",
            file=sys.stderr,
        )
        return 1
    except (AssayError, OSError) as error:
        if listener.rows and not isinstance(error, ConfigError):
            print(
                f"assay: what was scored so far is in {job.output}; mend the cause and continue "
                "with the same command and --resume, or --retry-failed where rows failed",
                file=sys.stderr,
            )
        raise
    if json_file is not None:
        _write_json(json_file, report.to_json())
    if not quiet:
        print_summary(report.summary, job.reward, Console())
        print(_closing(report, job), file=sys.stderr)
    if report.stopped:
        why = ""
        if report.overspent:
            why = f" at --max-cost {job.max_cost:g} ({report.summary.cost:,.4g} spent)"
        print(
            f"assay: stopped{why}; {report.already + report.written:,} of {report.selected:,} rows "
            f"are in {job.output}; continue with the same command and --resume",
            file=sys.stderr,
        )
    if report.problem:
        print(
            f"assay: {report.problem}; mend the cause and score those rows again with the same "
            "command and --retry-failed",
            file=sys.stderr,
        )
    if report.waiting:
        print(
            f"assay: {report.waiting:,} rows wait for model replies: submit the requests in the "
            "batch folder, put the results there as results*.jsonl, and run the same command with "
            "--resume",
            file=sys.stderr,
        )
    if export is not None:
        if report.stopped or report.waiting:
            print(f"assay: {export} is not written before the job is done", file=sys.stderr)
        else:
            count = write_export(job.output, job.ids(), export)
            print(f"assay: {count:,} rows in the input's order: {export}", file=sys.stderr)
    return int(report.stopped or bool(report.problem))


def _print_anything() -> None:
    """A table whose bars or file names the terminal cannot show must not fail a finished job."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _closing(report: Report, job: OfflineJob) -> str:
    seconds = report.seconds[""]
    rate = f"{report.written / seconds:,.1f} rows/s" if report.written else "nothing left to do"
    extra = f", {report.already:,} were there before" if report.already else ""
    cost = f", {report.summary.cost:,.4g} spent in all" if report.summary.cost else ""
    bad = f", {report.bad:,} bad rows left out" if report.bad else ""
    return (
        f"{report.written:,} rows scored in {seconds:,.1f} s ({rate}){extra}{bad}{cost}; "
        f"results: {job.output}"
    )


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n")


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
