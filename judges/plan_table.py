"""Draws a plan in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.judges.job_plan import LeafPlan, Plan
from assay.judges.offline import OfflineJob


def print_plan(plan: Plan, job: OfflineJob, console: Console) -> None:
    """Print what `job` would do, then what each leaf would take."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("would score", f"{plan.remaining:,} rows, {job.batch_size:,} at a time")
    if plan.groups is not None:
        facts.add_row("groups", f"{plan.groups:,}, each in one batch")
    facts.add_row("from", f"{job.label} ({plan.selected:,} rows selected, {plan.bad:,} bad)")
    facts.add_row("to", f"{job.output} ({_done(plan)})")
    facts.add_row("columns", ", ".join(_columns(plan)) or "none beside prompt and completion")
    console.print(facts)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("leaf", no_wrap=True)
    table.add_column("runs", no_wrap=True)
    table.add_column("needs columns", overflow="fold")
    table.add_column("takes at most", overflow="fold")
    for leaf in plan.leaves:
        table.add_row(
            leaf.path or job.reward.name,
            f"where {leaf.gate} passed" if leaf.gate else "every row",
            _needs(leaf),
            ", ".join(f"{amount:,.10g} {kind}" for kind, amount in leaf.cost.items()) or "-",
        )
    console.print(table)
    console.print("Nothing was scored or written (--dry-run).", style="dim")


def _done(plan: Plan) -> str:
    again = f", {plan.redo:,} to be made again" if plan.redo else ""
    return f"{plan.already:,} rows done{again}"


def _columns(plan: Plan) -> list[str]:
    return [
        name if rows == plan.selected else f"{name} (in {rows:,} rows)"
        for name, rows in sorted(plan.columns.items())
    ]


def _needs(leaf: LeafPlan) -> Text:
    text = Text()
    for name in leaf.columns:
        rows = leaf.missing.get(name, 0)
        if text:
            text.append(", ")
        text.append(name)
        if rows:
            text.append(f" (missing in {rows:,} rows)", style="red")
    return text or Text("-")
