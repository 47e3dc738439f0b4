"""The interface of every isolation backend."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from assay.sandbox.job import Job, Result


class Sandbox(ABC):
    """Runs jobs. What a program does is a `Result`; `SandboxError` is raised only when *we* fail.

    A sandbox is a description that can be pickled, compared and sent to another process. Workers
    and containers behind it open lazily in whatever process uses it, and `close()` ends them.
    """

    @abstractmethod
    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Result]:
        """Run `jobs`; one result per job, in the same order.

        Args:
            jobs: Programs with their tests; equal ones are run once.
            deadline_s: Seconds for the whole batch; what is not done by then comes back as IE.
            cancel: Set it from another thread to stop the batch in the same way.

        Raises:
            SandboxError: The sandbox itself could not run (backend missing, kernel refuses).
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything here that can change a verdict: backend, tool chain, versions."""

    def close(self) -> None:  # noqa: B027 - a backend without workers has nothing to end
        """End workers and remove what they left; the sandbox may be used again afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
