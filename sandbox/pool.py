"""Workers of one process: opened lazily, leased, replaced, and never shared across a fork."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from assay.sandbox import execution, interaction
from assay.sandbox.budget import Budget, cpu_count
from assay.sandbox.javac import WarmJavac
from assay.sandbox.job import Job, Result
from assay.sandbox.link import Launch
from assay.sandbox.sandbox import Sandbox
from assay.sandbox.stop import Stop, StoppedError
from assay.sandbox.worker import Worker, WorkerLostError


class Pool:
    """At most `size` workers of one launch."""

    def __init__(self, launch: Launch, size: int) -> None:
        self.launch = launch
        self.size = size
        self.idle: list[Worker] = []
        self.closed = False
        self.slots = threading.BoundedSemaphore(size)
        self.lock = threading.Lock()
        self.budget = Budget(cpu_count())
        self._judges: Pool | None = None
        self.javac = WarmJavac(launch)

    def judges(self) -> Pool:
        """A second pool of the same kind, so that a job can hold two workers without deadlock."""
        with self.lock:
            if self._judges is None:
                self._judges = Pool(self.launch, self.size)
            return self._judges

    @contextlib.contextmanager
    def lease(self) -> Iterator[Worker]:
        """A worker of one's own; it is dropped if anything goes wrong while it is held.

        Raises:
            SandboxError: A new worker did not start.
        """
        with self.slots:
            with self.lock:
                worker = self.idle.pop() if self.idle else None
            if worker is not None:
                worker.reused = True
            else:
                worker = Worker(self.launch)
                if worker.link.passes_descriptors:
                    worker.javac = self.javac
            try:
                yield worker
            except BaseException:
                worker.close(at_once=True)
                raise
            with self.lock:
                if not self.closed:
                    self.idle.append(worker)
                    return
            worker.close()

    def close(self) -> None:
        """End the idle workers; those that are held end when they are given back."""
        with self.lock:
            self.closed = True
            workers, self.idle = self.idle, []
            judges, self._judges = self._judges, None
        if judges is not None:
            judges.close()
        self.javac.close()
        for worker in workers:
            worker.close()

    def abandon(self) -> None:
        """After a fork: leave the workers to the parent."""
        for worker in self.idle:
            worker.abandon()
        if self._judges is not None:
            self._judges.abandon()
        self.javac.abandon()


class _Pools:
    """The pools of this process by what they launch."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pools: dict[Sandbox, Pool] = {}

    def get(self, sandbox: PooledSandbox) -> Pool:
        with self.lock:
            pool = self.pools.get(sandbox)
            if pool is None:
                pool = Pool(sandbox.launch(), sandbox.size())
                self.pools[sandbox] = pool
            return pool

    def close(self, sandbox: PooledSandbox) -> None:
        with self.lock:
            pool = self.pools.pop(sandbox, None)
        if pool is not None:
            pool.close()

    def close_all(self) -> None:
        for pool in list(self.pools.values()):
            pool.close()

    def abandon(self) -> None:
        pools = self.pools
        self.__init__()  # type: ignore[misc]
        for pool in pools.values():
            pool.abandon()


_POOLS = _Pools()
os.register_at_fork(after_in_child=_POOLS.abandon)
atexit.register(_POOLS.close_all)


class PooledSandbox(Sandbox):
    """A backend whose workers speak the protocol of `wire`; subclasses say how one starts."""

    @abstractmethod
    def launch(self) -> Launch:
        """How a worker starts.

        Raises:
            SandboxError: Something that it needs is missing here.
        """

    @abstractmethod
    def size(self) -> int:
        """How many workers at most."""

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Result]:
        """Run `jobs` over the workers; see `Sandbox.run`."""
        for job in jobs:
            execution.check(job)
        if not jobs:
            return []
        stop = Stop(deadline_s, cancel)
        pool = _POOLS.get(self)
        first, same = duplicates(jobs)
        if len(first) == 1 or pool.size == 1:
            results = {index: _attempt(pool, jobs[index], stop) for index in first}
        else:
            results = _spread(pool, jobs, first, stop)
        return [results[index] for index in same]

    def close(self) -> None:
        """End the workers that this process opened."""
        _POOLS.close(self)


def _spread(pool: Pool, jobs: Sequence[Job], first: list[int], stop: Stop) -> dict[int, Result]:
    with ThreadPoolExecutor(min(pool.size, len(first))) as threads:
        futures = {index: threads.submit(_attempt, pool, jobs[index], stop) for index in first}
        try:
            return {index: future.result() for index, future in futures.items()}
        except BaseException:
            stop.abandoned = True
            raise


def _attempt(pool: Pool, job: Job, stop: Stop) -> Result:
    """Run a job; if the worker is lost, once more on a new one.

    A worker that was idle before may have died unseen (somebody killed it): losing it says nothing
    about the job and does not count. Each such loss leaves one idle worker fewer, so this ends.
    """
    message = ""
    losses = 0
    reused = False
    try:
        while losses < 2:
            stop.check()
            try:
                with pool.budget.slot(stop), pool.lease() as worker:
                    reused = worker.reused
                    if job.interactor is not None:
                        with pool.judges().lease() as judge:
                            return interaction.run_job(worker, judge, job, stop)
                    return execution.run_job(worker, job, stop)
            except WorkerLostError as error:
                losses += not reused
                message = f"the sandbox failed twice on this job; the last time: {error}"
    except StoppedError as error:
        message = f"not finished: {error}"
    return execution.internal_error(job, message, dict(pool.launch.facts))


def duplicates(jobs: Sequence[Job]) -> tuple[list[int], list[int]]:
    """Indices of the distinct jobs, and for each job the index of the one to take.

    Types count: a test that expects 1 is not a test that expects True.
    """
    first: list[int] = []
    same: list[int] = []
    seen: dict[tuple[str, str], list[int]] = {}
    for index, job in enumerate(jobs):
        candidates = seen.setdefault((job.language, job.source), [])
        match = next((one for one in candidates if _identical(jobs[one], job)), None)
        if match is None:
            candidates.append(index)
            first.append(index)
        same.append(index if match is None else match)
    return first, same


def _identical(one: Job, other: Job) -> bool:
    settings = (
        "checker",
        "interactor",
        "limits",
        "comparison",
        "abs_tol",
        "rel_tol",
        "stop_after_failures",
    )
    if any(getattr(one, name) != getattr(other, name) for name in settings):
        return False
    return one.tests is other.tests or (
        len(one.tests) == len(other.tests) and repr(one.tests) == repr(other.tests)
    )
