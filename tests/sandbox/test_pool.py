"""Workers that die while nobody uses them cost no job its verdict."""

from __future__ import annotations

import os
import signal
import time

from assay.sandbox import Bubblewrap, Job, StdioTest, Verdict
from assay.sandbox import pool as pools

SUM = "print(sum(map(int, input().split())))"


def job(number: int) -> Job:
    return Job(f"{SUM}  # {number}", (StdioTest("1 2\n", "3\n"),))


def test_idle_workers_that_were_killed_are_replaced(sandbox: Bubblewrap) -> None:
    with Bubblewrap(workers=2, cgroups=sandbox.cgroups) as box:
        assert {r.verdict for r in box.run([job(i) for i in range(6)])} == {Verdict.AC}
        idle = pools._POOLS.get(box).idle
        assert len(idle) == 2
        for worker in idle:
            os.kill(worker.link.process.pid, signal.SIGKILL)
        time.sleep(0.3)
        # One job meets both of them, one after the other.
        assert box.run([job(6)])[0].verdict is Verdict.AC
