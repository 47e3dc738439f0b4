"""The horizon report as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.calibration.intervals import Interval
from assay.policy.data.horizon import Bin, HorizonReport
from assay.policy.data.mistakes import WITHIN, MistakeReport
from assay.rewards.turn_reward import CRITERIA

if TYPE_CHECKING:
    from rich.table import Table


def horizon_tables(report: HorizonReport) -> list[Table]:
    """Success by length and by depth, failures and findings, verdicts along the runs, areas."""
    tables = [_totals(report)]
    if report.by_turns:
        tables.append(_success("turns", report.by_turns))
        tables.append(_success("depth (calls)", report.by_depth))
    if report.failures:
        failed = sum(report.failures.values())
        tables.append(_counts("failed runs", report.failures, failed))
    if report.findings:
        turns = sum(run.turns for run in report.runs)
        tables.append(_counts("findings, turns", report.findings, turns))
    tables.append(_along(report))
    if report.measures:
        table = _table("tells failed runs", "AUC", "95%")
        for measure in report.measures:
            table.add_row(measure.name, f"{measure.value.estimate:.3f}", _ends(measure.value))
        tables.append(table)
    return tables


def mistake_table(report: MistakeReport) -> Table:
    """The step that broke the run: critic and constants."""
    table = _table(
        f"step that broke the run ({report.runs} runs)",
        "guesses",
        "exact",
        "95%",
        f"within {WITHIN}",
        "95%",
        "p exact",
        "p near",
    )
    for way in report.ways:
        table.add_row(
            way.name,
            str(way.guesses),
            f"{way.exact.estimate:.3f}",
            _ends(way.exact),
            f"{way.near.estimate:.3f}",
            _ends(way.near),
            "" if way.p_exact is None else f"{way.p_exact:.3f}",
            "" if way.p_near is None else f"{way.p_near:.3f}",
        )
    verdict = "beats" if report.beats_constant else "does not beat"
    table.caption = f"the critic {verdict} the best constant guess"
    return table


def _totals(report: HorizonReport) -> Table:
    runs = report.runs
    known = [run for run in runs if run.success is not None]
    calls = sum(run.calls for run in runs)
    turns = sum(run.turns for run in runs)
    table = _table("runs", "all")
    table.add_row("runs", str(len(runs)))
    good = sum(bool(run.success) for run in known)
    table.add_row("successes", f"{good} of {len(known)} with a known outcome")
    table.add_row("turns", f"{turns}, longest run {max(run.turns for run in runs)}")
    table.add_row("calls", f"{calls}, most in a run {max(run.calls for run in runs)}")
    repeated = sum(run.repeated for run in runs)
    table.add_row("repeated calls", f"{repeated} ({repeated / max(calls, 1):.1%} of calls)")
    errors = sum(run.errors for run in runs)
    table.add_row("error results", f"{errors} ({errors / max(calls, 1):.1%} of calls)")
    failing = sum(run.failing for run in runs)
    table.add_row("failing turns", f"{failing} ({failing / max(turns, 1):.1%} of turns)")
    return table


def _success(what: str, bins: tuple[Bin, ...]) -> Table:
    table = _table(what, "runs", "success", "95%")
    for one in bins:
        rate = one.rate
        table.add_row(one.label, str(one.runs), f"{rate.estimate:.1%}", _ends(rate))
    return table


def _counts(what: str, counts: Mapping[str, int], total: int) -> Table:
    table = _table(what, "count", "share")
    for name, count in counts.items():
        table.add_row(name, str(count), f"{count / max(total, 1):.1%}")
    return table


def _along(report: HorizonReport) -> Table:
    short = {name: name.split("_")[0] for name in CRITERIA}
    table = _table(
        "tenth of the run",
        "turns",
        "failing",
        *(f"{short[name]} no" for name in CRITERIA),
        *(f"{short[name]} ?" for name in CRITERIA),
        "repeated",
    )
    for number, part in enumerate(report.along, start=1):
        size = max(part.turns, 1)
        table.add_row(
            str(number),
            str(part.turns),
            f"{part.any_failing / size:.1%}",
            *(f"{part.failing[name] / size:.1%}" for name in CRITERIA),
            *(f"{part.undecided[name] / size:.0%}" for name in CRITERIA),
            f"{part.repeated / size:.1%}",
        )
    return table


def _table(first: str, *rest: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for name in rest:
        table.add_column(name, justify="right")
    return table


def _ends(value: Interval) -> str:
    return f"{value.low:.3f}-{value.high:.3f}" if value.defined else ""
