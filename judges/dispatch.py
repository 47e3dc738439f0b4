"""Runs a batch on threads, with a deadline for each item and one for the batch.

No event loop and no signals: it works in a thread, in a daemon process and under any trainer. A
thread that overruns its item is abandoned (it is a daemon and ends with its own time-outs) and
another takes its place, so that nothing hangs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

R = TypeVar("R")
#: How far a thread may overrun its item before it is abandoned.
GRACE_S = 1.0


class Limit:
    """The time that one item has left.

    Its clock starts at `begin`, so that waiting for a rate limit does not count; the batch's
    deadline always does.
    """

    def __init__(
        self,
        deadline_s: float,
        batch_end: float,
        stop: threading.Event,
        began: Callable[[], None] = lambda: None,
    ) -> None:
        self._deadline_s, self._batch_end, self._stop = deadline_s, batch_end, stop
        self._began = began
        self.started: float | None = None

    def begin(self) -> None:
        """Start the item's clock, once."""
        if self.started is None:
            self.started = time.monotonic()
            self._began()

    @property
    def end(self) -> float:
        """When the item is over, on the monotonic clock."""
        if self.started is None:
            return self._batch_end
        return min(self._batch_end, self.started + self._deadline_s)

    def remaining_s(self) -> float:
        """Seconds left."""
        return self.end - time.monotonic()

    def sleep(self, seconds: float) -> bool:
        """Wait, unless that takes longer than is left or the batch is over; says whether it did."""
        if seconds >= self.remaining_s() or self._stop.is_set():
            return False
        return seconds <= 0 or not self._stop.wait(seconds)


class Dispatch(Generic[R]):
    """One batch on its way.

    Args:
        count: Items.
        work: Does item i within its limit; what it raises is raised by `run`.
        late: The result of item i that did not end in time, from the reason.
        concurrency: Threads at most.
        deadline_s: For each item.
        batch_deadline_s: For all of them, or None.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[int, Limit], R],
        late: Callable[[int, str], R],
        *,
        concurrency: int,
        deadline_s: float,
        batch_deadline_s: float | None = None,
    ) -> None:
        self._count, self._work, self._late = count, work, late
        self._concurrency = max(1, min(concurrency, count))
        self._deadline_s, self._batch_deadline_s = deadline_s, batch_deadline_s
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._next = 0
        self._running: dict[int, Limit] = {}
        self._results: dict[int, R] = {}
        self._error: BaseException | None = None
        self._batch_end = float("inf")

    def run(self) -> list[R]:
        """Results in order; returns at the batch's deadline at the latest."""
        if self._batch_deadline_s is not None:
            self._batch_end = time.monotonic() + self._batch_deadline_s
        try:
            for _ in range(self._concurrency):
                self._start_thread()
            with self._changed:
                while self._open():
                    pause_s = self._check()
                    if self._open():  # the look may have failed the last ones
                        self._changed.wait(pause_s)
        finally:
            self._stop.set()
        if self._error is not None:
            raise self._error
        return [self._results[i] for i in range(self._count)]

    def _open(self) -> bool:
        return len(self._results) < self._count and self._error is None

    def _start_thread(self) -> None:
        threading.Thread(target=self._loop, name="assay-dispatch", daemon=True).start()

    def _look(self) -> None:
        """Let the watcher see that an item's clock has started."""
        with self._changed:
            self._changed.notify()

    def _loop(self) -> None:
        while True:
            with self._changed:
                index = self._next
                if index >= self._count or self._stop.is_set():
                    return
                self._next += 1
                limit = Limit(self._deadline_s, self._batch_end, self._stop, self._look)
                self._running[index] = limit
            try:
                result = self._work(index, limit)
            except BaseException as error:
                with self._changed:
                    self._error = self._error or error
                    self._changed.notify()
                return
            with self._changed:
                if index in self._results:
                    return  # abandoned: another thread has taken this one's place
                self._results[index] = result
                del self._running[index]
                self._changed.notify()

    def _check(self) -> float:
        """Fail what is over; returns seconds until the next item could be."""
        now = time.monotonic()
        if now >= self._batch_end:
            for index in range(self._count):
                if index not in self._results:
                    begun = "not finished" if index in self._running else "not begun"
                    reason = f"{begun} at the batch deadline of {self._batch_deadline_s} s"
                    self._results[index] = self._late(index, reason)
            return 0.0
        nearest = self._batch_end
        for index, limit in list(self._running.items()):
            if limit.started is None:
                continue
            end = limit.started + self._deadline_s + GRACE_S
            if now >= end:
                reason = f"not finished at its deadline of {self._deadline_s} s"
                self._results[index] = self._late(index, reason)
                del self._running[index]
                self._start_thread()
            else:
                nearest = min(nearest, end)
        return min(nearest - now, threading.TIMEOUT_MAX)
