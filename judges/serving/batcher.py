"""Dynamic batching: requests that wait at the same time share one call.

While a call runs, requests gather; the next call takes what is there, within the limits on items
and tokens. The event loop only hands over and takes back; calls run on threads of their own, one a
replica. A request whose client has left is not started.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from assay.judges.serving.config import Batching
from assay.judges.serving.errors import ApiError

#: Answers a batch: one list of results, or an exception, for each request's list of items.
Work: TypeAlias = Callable[[list[list[Any]]], list[Any]]
#: A batch waits for company at most this share of what batches take.
WAIT_SHARE = 0.1


@dataclass(slots=True, eq=False)  # a request is itself: the queue must not compare what it holds
class _Request:
    items: list[Any]
    cost: int
    future: asyncio.Future[list[Any]]
    queued: float


class _Worker:
    """A daemon thread that answers one batch after the other; a stuck one holds up no exit."""

    def __init__(self, work: Work, name: str) -> None:
        self._work = work
        self._batches: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.since: float | None = None  # when the batch under way began
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, requests: list[_Request], done: Callable[..., None]) -> None:
        self.since = time.monotonic()
        self._batches.put((requests, asyncio.get_running_loop(), done))

    def close(self) -> None:
        self._batches.put(None)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            requests, loop, done = batch
            try:
                answers = self._work([request.items for request in requests])
            except BaseException as error:  # not even SystemExit of a reward ends the thread
                answers = [error] * len(requests)
            try:
                loop.call_soon_threadsafe(done, self, requests, answers)
            except RuntimeError:  # the loop has closed: nobody waits any more
                return


class Batcher:
    """The queue of one reward or judge.

    Args:
        name: For messages and threads.
        works: One a replica; each is called from one thread only.
        limits: Of batches and of the queue.
        merge: Whether requests may share a call.
        observe: Told items and seconds of each finished batch.
    """

    def __init__(
        self,
        name: str,
        works: Sequence[Work],
        limits: Batching,
        *,
        merge: bool = True,
        observe: Callable[[int, float], None] = lambda items, seconds: None,
    ) -> None:
        self.name, self.limits = name, limits
        self._merge, self._observe = merge, observe
        self._workers = [_Worker(work, f"assay-{name}-{i}") for i, work in enumerate(works)]
        self._idle = list(reversed(self._workers))
        self._queue: deque[_Request] = deque()
        self._items = self._tokens = 0
        self._timer: asyncio.TimerHandle | None = None
        self._usual_s = 0.0  # running mean of a batch
        self._usual_items = 1.0

    @property
    def waiting(self) -> int:
        """Items in the queue."""
        return self._items

    @property
    def running(self) -> int:
        """Batches under way."""
        return len(self._workers) - len(self._idle)

    def stuck_s(self) -> float:
        """How long the oldest batch under way has been running, if no replica is free; else 0."""
        if self._idle:
            return 0.0
        now = time.monotonic()
        return min(now - worker.since for worker in self._workers if worker.since is not None)

    async def submit(self, items: list[Any], cost: int) -> list[Any]:
        """One result per item.

        Args:
            items: At least one.
            cost: Tokens of all of them.

        Raises:
            ApiError: 429 where the queue is full.
        """
        if self._queue and self._items + len(items) > self.limits.queue_items:
            raise ApiError(
                429,
                "busy",
                f"{self._items} items wait for {self.name!r}, {self.limits.queue_items} may; try "
                "again later",
                retry_after_s=self._backlog_s(),
            )
        loop = asyncio.get_running_loop()
        request = _Request(items, cost, loop.create_future(), loop.time())
        self._queue.append(request)
        self._items += len(items)
        self._tokens += cost
        self._kick()
        try:
            return await request.future
        except asyncio.CancelledError:
            self._forget(request)
            raise

    def close(self) -> None:
        """End the threads once they are idle."""
        for worker in self._workers:
            worker.close()

    def _backlog_s(self) -> float:
        per_item = self._usual_s / max(self._usual_items, 1.0)
        return self._items * per_item / len(self._workers)

    def _forget(self, request: _Request) -> None:
        """Take a request whose client left out of the queue, if it is still there."""
        try:
            self._queue.remove(request)
        except ValueError:
            return
        self._items -= len(request.items)
        self._tokens -= request.cost

    def _kick(self) -> None:
        """Start a batch if there is a free replica and reason to wait no longer."""
        while self._idle and self._queue:
            if not self._full():
                wait_s = min(self.limits.max_wait_ms / 1e3, WAIT_SHARE * self._usual_s)
                loop = asyncio.get_running_loop()
                left_s = self._queue[0].queued + wait_s - loop.time()
                if left_s > 1e-4:
                    if self._timer is None:
                        self._timer = loop.call_later(left_s, self._due)
                    return
            self._start()

    def _due(self) -> None:
        self._timer = None
        self._kick()

    def _full(self) -> bool:
        limits = self.limits
        return (
            not self._merge or self._items >= limits.max_items or self._tokens >= limits.max_tokens
        )

    def _start(self) -> None:
        batch: list[_Request] = []
        items = tokens = 0
        limits = self.limits
        while self._queue:
            first = self._queue[0]
            if batch and not (
                self._merge
                and items + len(first.items) <= limits.max_items
                and tokens + first.cost <= limits.max_tokens
            ):
                break
            batch.append(self._queue.popleft())
            items += len(first.items)
            tokens += first.cost
        self._items -= items
        self._tokens -= tokens
        self._idle.pop().put(batch, self._done)

    def _done(self, worker: _Worker, requests: list[_Request], answers: list[Any]) -> None:
        seconds = time.monotonic() - (worker.since or 0.0)
        items = sum(len(request.items) for request in requests)
        self._usual_s += 0.2 * (seconds - self._usual_s)
        self._usual_items += 0.2 * (items - self._usual_items)
        self._observe(items, seconds)
        worker.since = None
        self._idle.append(worker)
        for request, answer in zip(requests, answers, strict=True):
            if request.future.done():
                continue  # its client left
            if isinstance(answer, BaseException):
                request.future.set_exception(
                    answer if isinstance(answer, Exception) else RuntimeError(repr(answer))
                )
            else:
                request.future.set_result(answer)
        self._kick()
