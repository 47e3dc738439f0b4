from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from assay.errors import ConfigError
from assay.sandbox.budget import Budget, cpu_count
from assay.sandbox.stop import Stop, StoppedError


def test_no_more_at_one_time_than_slots(tmp_path):
    budget = Budget(2, tmp_path)
    running, most = [], []

    def work():
        with budget.slot(Stop()):
            running.append(1)
            most.append(len(running))
            time.sleep(0.02)
            running.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 2


def test_waiting_ends_with_the_batch(tmp_path):
    budget = Budget(1, tmp_path)
    with budget.slot(Stop()), pytest.raises(StoppedError, match="deadline"):  # noqa: SIM117
        with Budget(1, tmp_path).slot(Stop(deadline_s=0.1)):
            pass


def test_a_killed_process_gives_its_slot_back(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom assay.sandbox.budget import Budget\n"
        "from assay.sandbox.stop import Stop\n"
        "with Budget(1, Path(sys.argv[1])).slot(Stop()):\n    print('held', flush=True)\n"
        "    time.sleep(100)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(StoppedError), Budget(1, tmp_path).slot(Stop(deadline_s=0.1)):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with Budget(1, tmp_path).slot(Stop(deadline_s=5)):
        pass


def test_count(monkeypatch):
    monkeypatch.setenv("ASSAY_SANDBOX_CPUS", "3")
    assert cpu_count() == 3
    monkeypatch.setenv("ASSAY_SANDBOX_CPUS", "many")
    with pytest.raises(ConfigError, match="ASSAY_SANDBOX_CPUS must be a whole number"):
        cpu_count()


_RANK = """
import sys
from assay.sandbox import Bubblewrap, Job, Limits, StdioTest
limits = Limits(cpu_s=1.0, wall_s=4.0)
busy = "import time\\nend = time.process_time() + 0.3\\n"
busy += "while time.process_time() < end: pass\\nprint(1)"
jobs = [Job(busy + f"#{sys.argv[1]}.{n}", (StdioTest("", "1"),), limits=limits) for n in range(4)]
with Bubblewrap() as box:
    print(*(result.verdict for result in box.run(jobs)))
"""


@pytest.mark.slow
def test_eight_processes_change_no_verdict():
    ranks = [
        subprocess.Popen([sys.executable, "-c", _RANK, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(8)
    ]
    assert [rank.communicate(timeout=240)[0] for rank in ranks] == ["AC AC AC AC\n"] * 8


def test_a_busy_process_does_not_keep_others_waiting(tmp_path):
    greedy, modest = Budget(1, tmp_path), Budget(1, tmp_path)
    done = threading.Event()

    def work():
        while not done.is_set():
            with greedy.slot(Stop()):
                time.sleep(0.005)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        started = time.monotonic()
        for _ in range(20):
            with modest.slot(Stop(deadline_s=20)):
                pass
        assert time.monotonic() - started < 15  # a fair share is 20 turns of about 25 ms
    finally:
        done.set()
        for thread in threads:
            thread.join()
