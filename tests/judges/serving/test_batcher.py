from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from assay.judges.serving.batcher import Batcher
from assay.judges.serving.config import Batching
from assay.judges.serving.errors import ApiError


class Work:
    """Doubles; waits for its gate; remembers the sizes of its batches."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.sizes: list[list[int]] = []

    def __call__(self, requests: list[list[Any]]) -> list[Any]:
        self.sizes.append([len(items) for items in requests])
        assert self.gate.wait(10)
        return [[item * 2 for item in items] for items in requests]


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, 10))


async def started(work: Work, batches: int) -> None:
    while len(work.sizes) < batches:
        await asyncio.sleep(0.001)


async def first_waits(batcher: Batcher, work: Work) -> asyncio.Task[list[Any]]:
    """One request that keeps the only replica busy."""
    work.gate.clear()
    first = asyncio.create_task(batcher.submit([0], 1))
    await started(work, 1)
    return first


def test_what_waits_shares_a_call() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching())
        first = await first_waits(batcher, work)
        others = [asyncio.create_task(batcher.submit([i, i], 1)) for i in range(5)]
        await asyncio.sleep(0)
        assert batcher.waiting == 10 and batcher.running == 1
        work.gate.set()
        assert await first == [0]
        assert await asyncio.gather(*others) == [[i * 2, i * 2] for i in range(5)]
        assert work.sizes == [[1], [2] * 5]

    run(go())


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        (Batching(max_items=4), [[2, 2], [2, 2], [2]]),
        (Batching(max_tokens=30), [[2, 2, 2], [2, 2]]),
        (Batching(max_items=1), [[2]] * 5),  # a request is never split
    ],
)
def test_batches_keep_their_limits(limits: Batching, sizes: list[list[int]]) -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], limits)
        first = await first_waits(batcher, work)
        others = [asyncio.create_task(batcher.submit([i, i], 10)) for i in range(5)]
        await asyncio.sleep(0)
        work.gate.set()
        await asyncio.gather(first, *others)
        assert work.sizes[1:] == sizes

    run(go())


def test_requests_apart_where_they_may_not_merge() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching(), merge=False)
        first = await first_waits(batcher, work)
        others = [asyncio.create_task(batcher.submit([i], 1)) for i in range(3)]
        await asyncio.sleep(0)
        work.gate.set()
        await asyncio.gather(first, *others)
        assert work.sizes == [[1]] * 4

    run(go())


def test_a_full_queue_says_when_to_come_again() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching(queue_items=4))
        first = await first_waits(batcher, work)
        # One request that is larger than the queue is taken where nothing waits.
        second = asyncio.create_task(batcher.submit([1] * 6, 1))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="6 items wait for 'x', 4 may") as caught:
            await batcher.submit([2], 1)
        assert caught.value.status == 429
        assert int(caught.value.headers()["retry-after"]) >= 1
        work.gate.set()
        await asyncio.gather(first, second)
        assert await batcher.submit([2], 1) == [4]

    run(go())


def test_a_request_whose_client_left_is_not_started() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching())
        first = await first_waits(batcher, work)
        gone = asyncio.create_task(batcher.submit([7], 5))
        stays = asyncio.create_task(batcher.submit([8, 8], 1))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting == 2
        work.gate.set()
        assert await stays == [16, 16]
        await first
        assert work.sizes == [[1], [2]]

    run(go())


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("the queue looked into a request")

    __hash__ = None  # type: ignore[assignment]

    def __mul__(self, number: int) -> int:
        return number


def test_a_request_is_taken_out_without_a_look_at_what_it_holds() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching())
        first = await first_waits(batcher, work)
        stays, gone = (asyncio.create_task(batcher.submit([Incomparable()], 1)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting == 1
        work.gate.set()
        assert await stays == [2]
        await first

    run(go())


def test_a_client_that_leaves_midway_disturbs_nobody() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work], Batching())
        first = await first_waits(batcher, work)
        first.cancel()
        await asyncio.sleep(0)
        work.gate.set()
        assert await batcher.submit([3], 1) == [6]

    run(go())


def test_replicas_work_at_the_same_time() -> None:
    async def go() -> None:
        work = Work()
        batcher = Batcher("x", [work, work], Batching())
        first = await first_waits(batcher, work)
        assert batcher.stuck_s() == 0.0  # one is free
        second = asyncio.create_task(batcher.submit([1], 1))
        await started(work, 2)
        assert batcher.running == 2 and batcher.stuck_s() > 0.0
        work.gate.set()
        assert await asyncio.gather(first, second) == [[0], [2]]

    run(go())


def test_an_exception_goes_to_its_request_and_the_thread_lives_on() -> None:
    def work(requests: list[list[Any]]) -> list[Any]:
        if requests == [["exit"]]:
            raise SystemExit(3)
        return [KeyError("x") if items == ["bad"] else items for items in requests]

    async def go() -> None:
        batcher = Batcher("x", [work], Batching())
        with pytest.raises(KeyError):
            await batcher.submit(["bad"], 1)
        with pytest.raises(RuntimeError, match="SystemExit"):
            await batcher.submit(["exit"], 1)
        assert await batcher.submit(["good"], 1) == ["good"]

    run(go())


def test_dear_batches_wait_for_company_and_cheap_ones_do_not() -> None:
    def work(requests: list[list[Any]]) -> list[Any]:
        sizes.append(len(requests))
        time.sleep(pause_s)
        return requests

    async def go() -> None:
        batcher = Batcher("x", [work], Batching(max_wait_ms=200))
        for _ in range(12):
            await batcher.submit([1], 1)
        sizes.clear()
        first = asyncio.create_task(batcher.submit([1], 1))
        await asyncio.sleep(0.002)
        second = asyncio.create_task(batcher.submit([2], 1))
        await asyncio.gather(first, second)

    sizes: list[int] = []
    pause_s = 0.15
    run(go())
    assert sizes == [2]
    pause_s = 0.0
    run(go())
    assert sizes == [1, 1]
