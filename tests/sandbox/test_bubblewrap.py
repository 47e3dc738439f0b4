"""Life and death of the sandbox: who may use it, and what is left when something dies."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from assay.errors import ConfigError, DataError, SandboxError
from assay.sandbox import (
    AssertTest,
    Bubblewrap,
    FunctionTest,
    Job,
    Limits,
    StdioTest,
    Verdict,
)
from assay.sandbox.suite import leftovers

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
TESTS = (StdioTest("1 2\n", "3\n"), StdioTest("4 5\n", "9\n"))


def job(source=ADD, tests=TESTS, **settings):
    return Job(source, tests, **settings)


def test_results_in_order(sandbox):
    jobs = [job(ADD + f"#{n}") if n % 2 else job(f"print({n})") for n in range(12)]
    verdicts = [result.verdict for result in sandbox.run(jobs)]
    assert verdicts == [Verdict.AC if n % 2 else Verdict.WA for n in range(12)]


def test_measurements(sandbox):
    source = "x = bytearray(b'1') * (50 << 20)\nimport time\ntime.sleep(0.2)\n" + ADD
    (test,) = sandbox.run([job(source, TESTS[:1])])[0].tests
    assert test.verdict is Verdict.AC and test.exit_status == 0 and test.signal is None
    assert test.wall_s >= 0.2 and 0 < test.cpu_s < test.wall_s
    assert 50 <= test.memory_mb < 120
    assert test.stdout == "3\n" and test.stderr == "" and test.run


def test_isolation_is_reported(sandbox):
    isolation = sandbox.run([job()])[0].isolation
    assert isolation["backend"] == "bubblewrap" and isolation["network"] == "none"
    assert isolation["seccomp"] == "deny list"
    assert isolation["memory"] in ("cgroup-v1", "cgroup-v2", "rlimits and polling")


def test_equal_jobs_run_once(sandbox):
    source = "import os\nprint(os.urandom(8).hex())\n"
    first, second, other = sandbox.run([job(source), job(source), job(source + "#")])
    assert first is second
    assert first.tests[0].stdout != other.tests[0].stdout


def test_equal_means_equal_types(sandbox):
    source = "def f(x):\n    return x\n"
    one = job(source, (FunctionTest("f", (1,), 1),))
    true = job(source, (FunctionTest("f", (True,), 1),))
    assert [r.verdict for r in sandbox.run([one, true])] == [Verdict.AC, Verdict.WA]


def test_stop_after_failures(sandbox):
    tests = tuple(StdioTest(f"{n} 0\n", f"{n if n < 3 else -1}\n") for n in range(8))
    result = sandbox.run([job(tests=tests, stop_after_failures=2)])[0]
    assert [test.run for test in result.tests] == [True] * 5 + [False] * 3
    assert result.passed == 3 and result.total == 8 and result.lower_bound
    assert "stopped after 2" in result.tests[-1].reason


def test_traceback_of_a_program_names_only_the_program(sandbox):
    (test,) = sandbox.run([job("def f():\n    return 1 / 0\nf()\n", TESTS[:1])])[0].tests
    assert test.reason == "ZeroDivisionError: division by zero"
    assert "return 1 / 0" in test.stderr and "assay" not in test.stderr


def test_asserts_that_cannot_be_rewritten_are_forgeable(sandbox):
    source = "def f(x):\n    if x < 0:\n        raise ValueError\n    return x\n"
    raises = "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass"
    tests = (AssertTest("assert f(1) == 1"), AssertTest(raises), AssertTest("assert f(1) == f(2)"))
    result = sandbox.run([job(source, tests)])[0]
    assert [test.verdict for test in result.tests] == [Verdict.AC, Verdict.AC, Verdict.WA]
    assert [test.forgeable for test in result.tests] == [False, True, True]


def test_refused_jobs(sandbox):
    with pytest.raises(DataError, match="no tests"):
        sandbox.run([job(tests=())])
    with pytest.raises(DataError, match="of one kind"):
        sandbox.run([job(tests=(TESTS[0], AssertTest("assert 1")))])
    with pytest.raises(ConfigError, match="language must be one of python"):
        sandbox.run([job(language="cobol")])
    with pytest.raises(DataError, match="needs a Python program"):
        sandbox.run([job(language="c", tests=(FunctionTest("f", (), 1),))])
    with pytest.raises(DataError, match="must be JSON values"):
        sandbox.run([job(tests=(FunctionTest("f", (object(),), 1),))])
    assert sandbox.run([]) == []


def test_without_bubblewrap(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        Bubblewrap(workers=7).run([job()])


def test_pickles_and_compares():
    box = Bubblewrap(workers=3)
    assert pickle.loads(pickle.dumps(box)) == box
    assert box.fingerprint() == Bubblewrap().fingerprint()
    with pytest.raises(ConfigError, match="workers"):
        Bubblewrap(workers=0)


def test_missing_tool_chain_is_our_error(monkeypatch):
    from assay.sandbox import toolchain

    toolchain.find_toolchain.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/bwrap" if name == "bwrap" else None)
    with (
        Bubblewrap(workers=1) as box,
        pytest.raises(SandboxError, match="apt-get install gcc"),
    ):
        box.run([job("int main(void){return 0;}", language="c")])
    toolchain.find_toolchain.cache_clear()


def test_compiled_once(sandbox):
    source = (
        '#include <stdio.h>\nint main(void){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);}\n'
    )
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    first = sandbox.run([job(source, language="c")])[0]
    second = sandbox.run([job(source, TESTS[:1], language="c")])[0]
    assert first.verdict is second.verdict is Verdict.AC
    assert first.compile_s > 0 and second.compile_s == 0


def test_compile_errors_have_a_short_message(sandbox):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    result = sandbox.run([job("int main() { return x; }", language="cpp")])[0]
    assert result.verdict is Verdict.CE and result.tests[0].verdict is Verdict.CE
    assert "was not declared" in result.message and len(result.message) <= 4096
    assert not result.lower_bound


def test_deadline(sandbox):
    started = time.monotonic()
    results = sandbox.run([job("while True:\n    pass\n"), job()], deadline_s=0.7)
    assert time.monotonic() - started < 5
    assert results[0].verdict is Verdict.IE and "deadline" in results[0].message
    assert results[1].verdict is Verdict.AC
    assert sandbox.run([job()])[0].verdict is Verdict.AC


def test_cancellation(sandbox):
    cancel = threading.Event()
    threading.Timer(0.4, cancel.set).start()
    results = sandbox.run([job("import time\ntime.sleep(10)\n")], cancel=cancel)
    assert results[0].verdict is Verdict.IE and "cancelled" in results[0].message


def test_a_worker_that_dies_is_replaced(sandbox):
    sandbox.run([job()])
    for pid in _keepers_of(os.getpid()):
        for child in _children(pid):
            os.kill(child, signal.SIGKILL)
    assert sandbox.run([job(ADD + "# again")])[0].verdict is Verdict.AC


def test_many_threads(sandbox):
    found: list = []

    def use(number):
        found.append(sandbox.run([job(ADD + f"# thread {number}")])[0].verdict)

    threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Verdict.AC] * 8


def _child(queue):
    with Bubblewrap(workers=1) as box:
        queue.put(str(box.run([job()])[0].verdict))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_a_daemon_process(sandbox, method):
    assert sandbox.run([job()])[0].verdict is Verdict.AC
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,), daemon=True)
    process.start()
    assert queue.get(timeout=60) == "AC"
    process.join()
    assert sandbox.run([job(ADD + "# after the fork")])[0].verdict is Verdict.AC


def test_the_same_sandbox_after_a_plain_fork(sandbox):
    assert sandbox.run([job()])[0].verdict is Verdict.AC
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if sandbox.run([job(ADD + "# child")])[0].verdict is Verdict.AC else 2
            sandbox.close()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert sandbox.run([job(ADD + "# parent")])[0].verdict is Verdict.AC


_USER = """
import sys
from assay.sandbox import Bubblewrap, Job, StdioTest
box = Bubblewrap(workers=2)
result = box.run([Job("print(1)", (StdioTest("", "1"),))])[0]
print(result.verdict, flush=True)
if len(sys.argv) > 1:
    loops = [Job(f"while True: {n}", (StdioTest("", ""),)) for n in range(4)]
    box.run(loops)
"""


def test_without_a_terminal_and_with_stdin_closed():
    code = f"import os\nos.close(0)\nos.setsid()\n{_USER}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "AC\n", done.stderr


def test_with_many_open_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    if wanted < 1200:
        pytest.skip(f"at most {wanted} open files are allowed here")
    code = (
        "import os, resource\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({wanted}, {wanted}))\n"
        "held = [os.open('/dev/null', os.O_RDONLY) for _ in range(1100)]\n" + _USER
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "AC\n", done.stderr


def test_nothing_is_left_after_close():
    with Bubblewrap(workers=2, cgroups=True) as box:
        box.run([job(ADD + f"# {n}") for n in range(6)])
        assert _keepers_of(os.getpid())
    mine = Bubblewrap(workers=2)
    mine.close()
    assert not leftovers()


def test_nothing_is_left_after_kill_9_in_mid_batch():
    user = subprocess.Popen([sys.executable, "-c", _USER, "loop"], stdout=subprocess.PIPE)
    assert user.stdout.readline() == b"AC\n"
    time.sleep(1.0)  # the loops are running
    keepers = _keepers_of(user.pid)
    assert len(keepers) == 2
    below = [child for keeper in keepers for child in _children(keeper)]
    assert below
    user.kill()
    user.wait()
    user.stdout.close()
    deadline = time.monotonic() + 15
    while leftovers(user.pid) or any(os.path.exists(f"/proc/{pid}") for pid in (*keepers, *below)):
        assert time.monotonic() < deadline, leftovers(user.pid)
        time.sleep(0.05)


def test_wall_and_cpu_limits_are_separate(sandbox):
    limits = Limits(cpu_s=0.5, wall_s=5)
    sleeper = job("import time\ntime.sleep(0.9)\n" + ADD, TESTS[:1], limits=limits)
    burner = job("while True:\n    pass\n", TESTS[:1], limits=limits)
    slept, burnt = sandbox.run([sleeper, burner])
    assert slept.verdict is Verdict.AC
    assert burnt.verdict is Verdict.TLE and "CPU" in burnt.tests[0].reason
    assert burnt.tests[0].wall_s < 4


def _children(pid, thread=None):
    try:
        with open(f"/proc/{pid}/task/{thread or pid}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:  # it ended in the meantime
        return []


def _keepers_of(pid):
    """Keepers among the children; a child stands with the thread that started it."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        for child in _children(pid, thread):
            with contextlib.suppress(OSError), open(f"/proc/{child}/cmdline", "rb") as file:
                if b"keeper.py" in file.read():
                    found.append(child)
    return found


def test_packages_are_shown_on_request_only(tmp_path):
    tmp_path.chmod(0o755)  # the sandbox reads it as another user where we are root
    (tmp_path / "shown_module.py").write_text("VALUE = 3\n")
    source = "import shown_module\nprint(shown_module.VALUE)\n"
    with Bubblewrap(workers=1, python_path=(str(tmp_path),)) as box:
        assert box.run([job(source, TESTS[:1])])[0].verdict is Verdict.AC
    with Bubblewrap(workers=1) as box:
        assert box.run([job(source, TESTS[:1])])[0].verdict is Verdict.RE
        numpy = box.run([job("import numpy\n", TESTS[:1])])[0]
        assert "ModuleNotFoundError" in numpy.tests[0].reason
    with pytest.raises(ConfigError, match="must name directories"):
        Bubblewrap(python_path=("/nonexistent",))


def test_pages_that_forks_share_are_counted_once_without_a_cgroup():
    source = (
        "import os, time\nx = bytearray(b'1') * (100 << 20)\n"
        "for _ in range(4):\n    if os.fork() == 0:\n        time.sleep(0.5)\n        os._exit(0)\n"
        "for _ in range(4):\n    os.wait()\n" + ADD
    )
    limits = Limits(memory_mb=256)
    with Bubblewrap(workers=1, cgroups=False) as box:
        shared = box.run([job(source, TESTS[:1], limits=limits)])[0]
        assert shared.verdict is Verdict.AC, shared.tests[0]
        assert shared.isolation["memory"] == "rlimits and polling"
        written = source.replace("        time.sleep", "        y = bytes(x)\n        time.sleep")
        assert box.run([job(written, TESTS[:1], limits=limits)])[0].verdict is Verdict.MLE
