"""When a batch has to end before it is done: a deadline, or somebody's wish."""

from __future__ import annotations

import threading
import time


class StoppedError(Exception):
    """The batch was stopped while a job ran."""


class Stop:
    """Asked by everything that waits.

    Args:
        deadline_s: Seconds from now, or None.
        cancel: Set by the caller to stop the batch, or None.
    """

    def __init__(
        self, deadline_s: float | None = None, cancel: threading.Event | None = None
    ) -> None:
        self.deadline = None if deadline_s is None else time.monotonic() + deadline_s
        self.cancel = cancel
        self.abandoned = False

    def reason(self) -> str:
        """Why to stop; "" while there is none."""
        if self.abandoned:
            return "the batch was abandoned"
        if self.cancel is not None and self.cancel.is_set():
            return "the batch was cancelled"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "the deadline of the batch passed"
        return ""

    def check(self) -> None:
        """Raise if it is time.

        Raises:
            StoppedError: It is.
        """
        reason = self.reason()
        if reason:
            raise StoppedError(reason)

    def slice_s(self, wanted_s: float) -> float:
        """How long one wait may be before the next look."""
        if self.deadline is not None:
            wanted_s = min(wanted_s, max(0.0, self.deadline - time.monotonic()) + 0.001)
        return min(wanted_s, 0.2)
