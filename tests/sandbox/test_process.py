from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

from assay.errors import ConfigError, SandboxError
from assay.sandbox import BoundedWorker, CallFailure


@pytest.fixture
def worker():
    with_limit = BoundedWorker("math:gcd", wall_s=10)
    yield with_limit
    with_limit.close()


def test_values_in_order(worker):
    assert worker.call([[12, 18], [7, 3], [0, 5]]) == [6, 1, 5]
    assert worker.call([]) == []


def test_an_exception_is_a_failure_of_that_call_only(worker):
    first, second = worker.call([["a", 1], [4, 6]])
    assert first.reason == "error" and "TypeError" in first.message
    assert second == 2


def test_a_hang_is_killed_and_the_next_call_works():
    worker = BoundedWorker("time:sleep", wall_s=0.4)
    started = time.monotonic()
    hung, fine = worker.call([[60], [0.01]])
    assert hung == CallFailure("timeout", "no reply within 0.4 s")
    assert fine is None
    assert time.monotonic() - started < 5
    worker.close()


def test_a_crash_is_reported():
    worker = BoundedWorker("os:_exit")
    assert [one.reason for one in worker.call([[3], [0]])] == ["crashed", "crashed"]
    worker.close()


def test_output_of_the_function_does_not_garble_replies():
    worker = BoundedWorker("builtins:print")
    assert worker.call([["{}"], ["\n\n"]]) == [None, None]
    worker.close()


def test_missing_target():
    with pytest.raises(SandboxError, match="did not become ready: ModuleNotFoundError"):
        BoundedWorker("no_such_module:f").call([[1]])
    with pytest.raises(ConfigError, match="'package.module:function'"):
        BoundedWorker("math")
    with pytest.raises(ConfigError, match="wall_s"):
        BoundedWorker("math:gcd", wall_s=0)


def test_from_threads_and_pickled(worker):
    same = pickle.loads(pickle.dumps(worker))
    assert same == worker
    found: list = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(same.call([[n, 2 * n]])[0]))
        for n in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 9))


def _in_child(queue):
    queue.put(BoundedWorker("math:gcd", wall_s=10).call([[8, 12]]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_a_daemon_process(worker, method):
    assert worker.call([[2, 4]]) == [2]  # open here, so that the fork inherits something
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=_in_child, args=(queue,), daemon=True)
    process.start()
    assert queue.get(timeout=60) == [4]
    process.join()
    assert worker.call([[9, 6]]) == [3]


def test_nothing_is_left_when_the_user_is_killed():
    code = (
        "from assay.sandbox import BoundedWorker\n"
        "w = BoundedWorker('time:sleep', wall_s=100)\n"
        "w.call([[0]])\nprint('up', flush=True)\nw.call([[100]])\n"
    )
    user = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert user.stdout.readline() == b"up\n"
    children = _children_of(user.pid)
    assert children
    user.send_signal(signal.SIGKILL)
    user.wait()
    user.stdout.close()
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _children_of(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(name))
                found += _children_of(int(name))
    return found
