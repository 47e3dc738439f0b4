"""Draws a summary in the terminal: one line a leaf, then what kept rows from full marks."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.judges.summary import LeafSummary, Summary, sparkline
from assay.reward import Reward

#: From here on, the table also shows the outer quantiles.
WIDE = 100
_SHOWN_NOTES = 4
_COLOURS = {
    "scored": "yellow",
    "skipped": "dim",
    "gated": "dim",
    "abstained": "magenta",
    "failed": "red",
}


def print_summary(summary: Summary, reward: Reward, console: Console) -> None:
    """Print both tables."""
    console.print(summary_table(summary, reward, console.width))


def summary_table(summary: Summary, reward: Reward, width: int) -> RenderableType:
    """Both tables, for a terminal of `width` columns."""
    parts: list[RenderableType] = [_scores(summary, reward, width)]
    reasons = _reasons(summary, reward, width)
    if reasons.row_count:
        parts.append(reasons)
    return Group(*parts)


def _table(width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    name = min(40, width - (88 if width >= WIDE else 64))
    table.add_column("reward", no_wrap=True, overflow="ellipsis", max_width=name, min_width=8)
    return table


def _scores(summary: Summary, reward: Reward, width: int) -> Table:
    table, wide = _table(width), width >= WIDE
    for heading in ("scored", "full marks", "mean"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("min", "p10", "p50", "p90", "max") if wide else ("p10", "p50", "p90"):
        table.add_column(heading, justify="right", no_wrap=True, style="dim")
    table.add_column("distribution", no_wrap=True, min_width=12)
    for name, leaf, span in _lines(summary, reward):
        spread = leaf.quantiles()
        shown = spread if wide else spread[1:-1]
        table.add_row(
            Text(name, style="bold" if leaf is summary.total else ""),
            f"{leaf.states['scored']:,}",
            f"{leaf.passed / leaf.judged:.1%}" if leaf.judged else "-",
            _number(leaf.mean()),
            *([_number(value) for value in shown] or ["-"] * (5 if wide else 3)),
            _distribution(leaf, span),
        )
    return table


def _reasons(summary: Summary, reward: Reward, width: int) -> Table:
    table = _table(width)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("most frequent reasons", overflow="fold", ratio=1)
    # The total repeats the leaves' notes, so it speaks only where it is the one leaf.
    lines = [line for line in _lines(summary, reward) if line[1] is not summary.total]
    for name, leaf, _ in lines or _lines(summary, reward):
        notes = leaf.notes.most_common()
        for status, rows in leaf.states.most_common():
            mine = [(note, count) for (state, note), count in notes if state == status]
            if status == "scored":
                rows = sum(count for _, count in mine)
            if status == "scored" and not mine:
                continue
            colour = _COLOURS[status]
            first, *rest = mine[:_SHOWN_NOTES] or [("", 0)]
            table.add_row(name, f"{rows:,}", Text(_state(status, leaf), colour), _note(*first))
            for note, count in rest:
                table.add_row("", "", "", _note(note, count))
            if len(mine) > _SHOWN_NOTES:
                table.add_row("", "", "", Text(f"{len(mine) - _SHOWN_NOTES:,} more", "dim"))
            name = ""
    return table


def _lines(
    summary: Summary, reward: Reward
) -> Iterator[tuple[str, LeafSummary, tuple[float, float]]]:
    yield reward.name, summary.total, reward.range
    leaves = reward.leaves()
    for number, (path, leaf) in enumerate(summary.leaves.items(), start=1):
        branch = "└ " if number == len(summary.leaves) else "├ "
        yield branch + path, leaf, leaves[path].range


def _state(status: str, leaf: LeafSummary) -> str:
    return "below full marks" if status == "scored" and leaf.judged else status


def _note(note: str, count: int) -> Text:
    return (
        Text.assemble((f"{count:,} \N{MULTIPLICATION SIGN} ", "dim"), note) if count else Text("")
    )


def _distribution(leaf: LeafSummary, span: tuple[float, float]) -> Text:
    """A histogram over the declared range, or over what was seen where that has no end."""
    if not leaf.values:
        return Text("")
    low, high = span
    if not math.isfinite(low):
        low = min(leaf.values)
    if not math.isfinite(high):
        high = max(leaf.values)
    return Text(sparkline(leaf.histogram(low, high)), style="cyan", no_wrap=True)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.2e}"
    return f"{value:.3f}"
