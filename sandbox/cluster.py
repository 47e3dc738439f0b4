"""Backend `ray`: the same jobs over a Ray cluster; needs the extra `ray`.

Each node runs one actor with the wrapped sandbox, so that a node's own CPU budget holds there.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, SandboxError
from assay.sandbox import execution
from assay.sandbox.bubblewrap import Bubblewrap
from assay.sandbox.job import Job, Result
from assay.sandbox.pool import duplicates
from assay.sandbox.sandbox import Sandbox
from assay.sandbox.stop import Stop

_POLL_S = 0.2


@dataclass(frozen=True)
class RaySandbox(Sandbox):
    """Runs jobs on every node of a Ray cluster.

    Args:
        sandbox: What each node runs them on.
        chunk: Jobs handed to a node at one time.
        address: The cluster; None for the one that `ray.init()` finds or starts.
    """

    sandbox: Sandbox = field(default_factory=Bubblewrap)
    chunk: int = 16
    address: str | None = None

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ConfigError(f"chunk must be >= 1, got {self.chunk!r}")

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Result]:
        """Run `jobs`; see `Sandbox.run`. A chunk whose node dies is run once more elsewhere."""
        for job in jobs:
            execution.check(job)
        if not jobs:
            return []
        ray = _ray(self.address)
        stop = Stop(deadline_s, cancel)
        first, same = duplicates(jobs)
        chunks = [first[at : at + self.chunk] for at in range(0, len(first), self.chunk)]
        actors = _actors(ray, self.sandbox)
        try:
            results = _work(ray, actors, self.sandbox, jobs, chunks, stop)
        finally:
            for actor in actors:
                ray.kill(actor)
        return [results[index] for index in same]

    def fingerprint(self) -> str:
        """That of what the nodes run."""
        return f"ray-{self.sandbox.fingerprint()}"


def _ray(address: str | None) -> Any:
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ImportError("RaySandbox needs ray: pip install 'assay[ray]'") from None
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    return ray


class _Node:
    """What an actor is: one sandbox on one node."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def run(self, jobs: list[Job]) -> list[Result]:
        return self.sandbox.run(jobs)

    def where(self) -> str:
        ray: Any = importlib.import_module("ray")
        return str(ray.get_runtime_context().get_node_id())


def _actors(ray: Any, sandbox: Sandbox) -> list[Any]:
    """One actor on each living node with CPUs."""
    strategies = importlib.import_module("ray.util.scheduling_strategies")
    made = []
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0:
            place = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
            kind = ray.remote(num_cpus=0, scheduling_strategy=place)(_Node)
            made.append(kind.remote(sandbox))
    if not made:
        raise SandboxError("the Ray cluster has no living node with CPUs; start one: ray start")
    return made


def _work(
    ray: Any,
    actors: list[Any],
    sandbox: Sandbox,
    jobs: Sequence[Job],
    chunks: list[list[int]],
    stop: Stop,
) -> dict[int, Result]:
    results: dict[int, Result] = {}
    waiting = list(reversed(chunks))
    tries: dict[int, int] = {}
    running: dict[Any, tuple[Any, list[int]]] = {}
    idle = list(actors)
    while (waiting or running) and not stop.reason():
        while waiting and idle:
            actor, chunk = idle.pop(), waiting.pop()
            running[actor.run.remote([jobs[index] for index in chunk])] = (actor, chunk)
        if not running:
            raise SandboxError("every node of the Ray cluster died; see `ray status`")
        done, _ = ray.wait(list(running), timeout=_POLL_S)
        for reference in done:
            actor, chunk = running.pop(reference)
            try:
                results.update(zip(chunk, ray.get(reference), strict=True))
                idle.append(actor)
            except ray.exceptions.RayActorError as error:
                tries[chunk[0]] = tries.get(chunk[0], 0) + 1
                if tries[chunk[0]] < 2:
                    waiting.append(chunk)
                    continue
                message = f"the node died twice on this job: {error}"
                for index in chunk:
                    results[index] = execution.internal_error(jobs[index], message, {})
    note = f"not finished: {stop.reason()}"
    for chunk in [*waiting, *(chunk for _, chunk in running.values())]:
        for index in chunk:
            results[index] = execution.internal_error(jobs[index], note, {"backend": "ray"})
    return results
