"""What `assay train RECIPE` does: runs the pipeline under a live table, then writes the report."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

from assay.policy.pipeline import Pipeline
from assay.policy.recipe import Recipe, load_recipe
from assay.policy.report import write_report
from assay.policy.run_table import stage_lines, stage_table


def run_recipe(
    spec: str,
    overrides: Sequence[str] = (),
    *,
    until: str | None = None,
    accept_changes: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Run a recipe; returns the results of its stages and where the report lies.

    Args:
        spec: A recipe's name or file.
        overrides: `a.b=value` items.
        until: The last stage to run.
        accept_changes: Go on although the recipe changed.
        quiet: Print no table.
    """
    calm_libraries()
    recipe = load_recipe(spec, overrides)
    with _Watch(recipe, shown=not quiet) as watch:
        pipeline = Pipeline(recipe, accept_changes=accept_changes, tell=watch.tell)
        results = pipeline.run(until)
    report = write_report(recipe)
    print(f"{report}: stages, curves, evaluations, examples and cost")
    return {"stages": results, "report": str(report)}


class _Watch:
    """Shows the run's table: live on a terminal, else a line at every change and each minute."""

    def __init__(self, recipe: Recipe, *, shown: bool) -> None:
        self._recipe = recipe
        self._shown = shown
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Any = None

    def __enter__(self) -> _Watch:
        if self._shown:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr, highlight=False)
            if console.is_terminal:
                self._live = Live(console=console, refresh_per_second=1, transient=False)
                self._live.start()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        if self._live is not None:
            self._live.update(stage_table(self._recipe))
            self._live.stop()

    def tell(self, stage: str, event: str, facts: dict[str, Any]) -> None:
        """A change of the pipeline, as a line where there is no live table."""
        if not self._shown or self._live is not None:
            return
        detail = facts.get("evaluation") or ""
        if event == "done" and "metrics" in facts:
            detail = f"{facts['steps']} steps, {facts['seconds']:.0f} s"
        print(f"{time.strftime('%H:%M:%S')} {stage}: {event} {detail}".rstrip(), file=sys.stderr)

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(1.0):
            if self._live is not None:
                self._live.update(stage_table(self._recipe))
            elif time.monotonic() - last >= 60:
                last = time.monotonic()
                for line in stage_lines(self._recipe):
                    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr)


def calm_libraries() -> None:
    """Progress bars and warnings of the libraries would tear the table."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=UserWarning, module="trl")
    import datasets
    from transformers.utils import logging as transformers_logging

    datasets.disable_progress_bars()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.getLogger("trl").setLevel(logging.ERROR)
