"""Tells a person at a terminal, or a log, how a job goes. All of it on stderr."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

#: After so many, bad rows are only counted.
MOST_COMPLAINTS = 20
_EVERY_S = 10.0


class Terminal:
    """A `Listener`: a progress bar where stderr is a terminal, else a line every ten seconds.

    Args:
        console: Writes to stderr.
        quiet: No progress; errors and warnings stay.
    """

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._complaints = 0
        self._total = self._already = self._count = 0
        self._cost = 0.0
        self._begun = self._told = 0.0
        self._told_count = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._begun and not self._quiet and self._count > self._told_count:
            self._tell()
        if self._complaints > MOST_COMPLAINTS:
            more = self._complaints - MOST_COMPLAINTS
            self._console.print(f"... and {more:,} more bad rows", style="yellow")

    @property
    def rows(self) -> int:
        """Rows that this run is done with."""
        return self._count

    def started(self, total: int, done: int) -> None:
        """Scoring begins."""
        self._total, self._already = total, done
        self._begun = self._told = time.monotonic()
        if self._quiet:
            return
        if done:
            self._console.print(f"{done:,} of {total:,} rows have their scores already")
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("scoring"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                _Rate(),
                TextColumn("{task.fields[spent]}"),
                TextColumn("ETA"),
                TimeRemainingColumn(compact=True, elapsed_when_finished=True),
                console=self._console,
                expand=True,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total, completed=done, spent="")

    def advanced(self, rows: int, cost: float = 0.0) -> None:
        """More rows are done."""
        self._count += rows
        self._cost += cost
        if self._bar is not None:
            self._bar.update(self._task, advance=rows, spent=self._spent())
        elif not self._quiet and time.monotonic() - self._told >= _EVERY_S:
            self._tell()

    def bad(self, place: str, reason: str) -> None:
        """A row cannot be scored."""
        self._complaints += 1
        if self._complaints <= MOST_COMPLAINTS:
            self._say(f"{place}: {reason}", "yellow")

    def warned(self, text: str) -> None:
        """Something to know."""
        self._say(f"warning: {text}", "yellow")

    def _spent(self) -> str:
        return f"{self._cost:,.4g} spent" if self._cost else ""

    def _say(self, text: str, style: str) -> None:
        self._console.print(f"[{style}]{escape(text)}[/]", highlight=False, soft_wrap=True)

    def _tell(self) -> None:
        now = time.monotonic()
        rate = self._count / max(now - self._begun, 1e-9)
        left = self._total - self._already - self._count
        eta = f", {_clock(left / rate)} left" if rate and left else ""
        self._console.print(
            f"{self._already + self._count:,} of {self._total:,} rows, {rate:,.1f} rows/s{eta}"
            f"{', ' if self._cost else ''}{self._spent()}",
            highlight=False,
        )
        self._told, self._told_count = now, self._count


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Rows per second."""
        speed = task.finished_speed or task.speed
        return Text("- rows/s" if speed is None else f"{speed:,.1f} rows/s", style="cyan")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
