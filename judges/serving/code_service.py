"""The sandbox as the server runs it: so many programs at a time, stopped when the client leaves."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.judges.serving.batcher import Batcher
from assay.judges.serving.config import Batching, Code
from assay.loading import load_object
from assay.sandbox import Job, Result, Sandbox, default_sandbox

if TYPE_CHECKING:
    from assay.judges.serving.metrics import Metrics


@dataclass(frozen=True)
class _Run:
    job: Job
    cancel: threading.Event = field(default_factory=threading.Event)

    __hash__ = None  # type: ignore[assignment]


class CodeService:
    """Runs jobs of requests.

    Args:
        sandbox: Where they run.
        settings: Limits.
        metrics: Counts verdicts.
    """

    name = "sandbox"

    def __init__(self, sandbox: Sandbox, settings: Code, metrics: Metrics) -> None:
        self.sandbox, self.settings, self._metrics = sandbox, settings, metrics
        limits = Batching(queue_items=settings.queue_items, max_wait_ms=0)
        works = [self._work] * settings.concurrency
        self.batcher = Batcher(self.name, works, limits, merge=False)
        metrics.watch(self.name, lambda: self.batcher.waiting)

    @classmethod
    def open(cls, settings: Code, metrics: Metrics) -> CodeService:
        """With the sandbox that the file names, or the best one here.

        Raises:
            ConfigError: The object is no Sandbox.
            SandboxError: No sandbox works here.
        """
        if settings.object is None:
            return cls(default_sandbox(), settings, metrics)
        found, _ = load_object(settings.object, Sandbox, "[code] object")
        if not isinstance(found, Sandbox):
            raise ConfigError(
                f"[code] object {settings.object!r} must be a Sandbox, got {type(found).__name__}"
            )
        return cls(found, settings, metrics)

    async def run(self, job: Job) -> Result:
        """The result of one job."""
        run = _Run(job)
        try:
            results = await self.batcher.submit([run], 1)
        except asyncio.CancelledError:
            run.cancel.set()
            raise
        result: Result = results[0]
        self._metrics.given(self.name, str(result.verdict))
        return result

    def _work(self, requests: list[list[Any]]) -> list[Any]:
        return [self._one(items[0]) for items in requests]

    def _one(self, run: _Run) -> Any:
        try:
            return self.sandbox.run([run.job], cancel=run.cancel)
        except Exception as error:
            return error
