"""The same programs get the same verdicts on the other backends."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from assay.errors import AssayError, ConfigError, DataError, SandboxError
from assay.sandbox import (
    Bubblewrap,
    Confined,
    FunctionTest,
    Job,
    JudgeProgram,
    Limits,
    StdioTest,
    UnsafeLocal,
    Verdict,
    default_sandbox,
)
from assay.sandbox.choice import sandbox_named
from assay.sandbox.machine_checks import probe
from assay.sandbox.remote import (
    HttpSandbox,
    job_from_json,
    job_to_json,
    result_from_json,
    result_to_json,
)
from assay.sandbox.suite import leftovers
from tests.sandbox.programs import ATTACKS, HONEST

#: What a backend without namespaces and mounts of its own cannot give.
NOT_CONFINED = {
    "multiprocessing": "its locks need /dev/shm",
    "deep_dirs": "Landlock walks up to the root at every step",
    "dev_stdin": "/dev/stdin leads through /proc, which is closed",
    "steal_parent_mem": "",
    "capabilities": "reads /proc/self/status, which is closed",
    "capabilities_after_exec": "reads /proc/self/status, which is closed",
    "steal_cmdline": "lists /proc, which is closed",
    "devices": "lists /dev, which is closed",
}
SLOW = {"sleep_forever", "stderr_flood", "thread_bomb", "mem_children", "fork_chain", "stop_all"}


@pytest.fixture(scope="module")
def confined():
    with Confined(workers=1) as box:
        try:
            box.run([HONEST[0].job()])
        except SandboxError as error:
            pytest.skip(str(error))
        yield box


@pytest.fixture(scope="module")
def docker():
    try:
        box = sandbox_named("docker", workers=1)
        box.fingerprint()
    except (AssayError, ImportError) as error:
        pytest.skip(str(error))
    with box:
        yield box


PROGRAMS = [program for program in ATTACKS + HONEST if program.name not in SLOW]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_on_confined(confined, program):
    if NOT_CONFINED.get(program.name):
        pytest.skip(NOT_CONFINED[program.name])
    check(confined, program)


@pytest.mark.docker
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_on_docker(docker, program):
    with skipped_without_tool_chain():
        check(docker, program)


@contextlib.contextmanager
def skipped_without_tool_chain():
    """A small image has not every language."""
    try:
        yield
    except SandboxError as error:
        if "no tool chain" not in str(error):
            raise
        pytest.skip(str(error))


def check(sandbox, program):
    result = sandbox.run([program.job()])[0]
    shown = [(str(t.verdict), t.reason, t.stdout[:200], t.stderr[-300:]) for t in result.tests]
    assert result.verdict in program.expected, (shown, result.message)
    assert not any(text in test.stdout for test in result.tests for text in program.forbidden), (
        shown
    )
    assert sandbox.run([HONEST[0].job()])[0].verdict is Verdict.AC


def test_confined_says_what_is_not_isolated(confined):
    isolation = confined.run([HONEST[0].job()])[0].isolation
    assert isolation["backend"] == "confined" and isolation["namespaces"] == "none"
    assert "process table" in isolation["not isolated"]


def test_unsafe_needs_the_words():
    with pytest.raises(ConfigError, match="use default_sandbox"):
        UnsafeLocal()
    with pytest.raises(ConfigError):
        UnsafeLocal(i_know_this_is_not_isolated=1)  # type: ignore[arg-type]
    with UnsafeLocal(i_know_this_is_not_isolated=True) as box:
        assert box.run([HONEST[0].job()])[0].verdict is Verdict.AC


def test_choice(monkeypatch):
    assert not isinstance(default_sandbox(), UnsafeLocal)
    assert sandbox_named("bubblewrap", workers=3) == Bubblewrap(workers=3)
    with pytest.raises(ConfigError, match="backend must be one of bubblewrap, docker, confined"):
        sandbox_named("unsafe")


def test_probe():
    checks = {check.name: check for check in probe()}
    assert {"bubblewrap", "cgroups", "user namespaces", "seccomp", "landlock", "c", "rust"} <= set(
        checks
    )
    assert all(check.ok or check.fix for check in checks.values() if check.name != "seccomp")


class Fusion(BaseHTTPRequestHandler):
    """Answers as SandboxFusion does, from the text of the code."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ran = {"status": "Finished", "return_code": 0, "execution_time": 0.1, "stderr": ""}
        answer = {"status": "Success", "compile_result": None, "run_result": ran}
        ran["stdout"] = str(sum(map(int, body["stdin"].split()))) + "\n"
        if "loop" in body["code"]:
            ran |= {"status": "TimeLimitExceeded", "return_code": None}
        if "crash" in body["code"]:
            ran |= {"return_code": 1, "stderr": "Traceback"}
        if "broken" in body["code"]:
            answer |= {"status": "SandboxError", "message": "no space", "run_result": None}
        if "syntax" in body["code"]:
            bad = {"status": "Finished", "return_code": 1, "stderr": "syntax error"}
            answer |= {"compile_result": bad, "run_result": None}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def fusion():
    server = HTTPServer(("127.0.0.1", 0), Fusion)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_sandboxfusion(fusion):
    sandbox = HttpSandbox(fusion, protocol="sandboxfusion")
    tests = (StdioTest("1 2\n", "3\n"), StdioTest("1 3\n", "5\n"))
    sources = ["right", "loop", "crash", "broken", "syntax"]
    results = sandbox.run([Job(source, tests, language="cpp") for source in sources])
    assert [str(result.verdict) for result in results] == ["WA", "TLE", "RE", "IE", "CE"]
    assert [str(test.verdict) for test in results[0].tests] == ["AC", "WA"]
    assert results[4].message == "syntax error"
    with pytest.raises(DataError, match="SandboxFusion runs StdioTest"):
        sandbox.run([Job("x", (FunctionTest("f", (), 1),))])


def test_a_server_that_is_not_there():
    sandbox = HttpSandbox("http://127.0.0.1:9", timeout_s=1)
    with pytest.raises(SandboxError, match="did not answer"):
        sandbox.run([HONEST[0].job()])
    with pytest.raises(ConfigError, match="url must begin with"):
        HttpSandbox("localhost")


def test_jobs_and_results_travel_as_json(sandbox):
    job = Job(
        "def f(*a, **k):\n    return [list(a), k]\n",
        (FunctionTest("f", (1, [2]), [[1, [2]], {"k": None}], kwargs={"k": None}),),
        checker=None,
        stop_after_failures=2,
    )
    same = job_from_json(json.loads(json.dumps(job_to_json(job))))
    assert same == job
    result = sandbox.run([same])[0]
    assert result.verdict is Verdict.AC
    assert result_from_json(json.loads(json.dumps(result_to_json(result)))) == result
    judged = Job("x", (StdioTest("", ""),), checker=JudgeProgram("pass"))
    assert job_from_json(job_to_json(judged)) == judged
    with pytest.raises(DataError, match="cannot be sent"):
        job_to_json(Job("x", (StdioTest("", ""),), checker=lambda i, o, e: True))
    with pytest.raises(DataError, match="not a job"):
        job_from_json({"kind": "stdio"})
    with pytest.raises(SandboxError, match="not a result"):
        result_from_json({})


_DOCKER_USER = """
from assay.sandbox import Job, StdioTest
from assay.sandbox.choice import sandbox_named
box = sandbox_named("docker", workers=1)
print(box.run([Job("print(1)", (StdioTest("", "1"),))])[0].verdict, flush=True)
box.run([Job("while True: pass", (StdioTest("", ""),))])
"""


@pytest.mark.docker
def test_no_container_is_left_after_kill_9(docker):
    from assay.sandbox.engine import LABEL, connect, sweep

    def owned_by(pid):
        every = client.api.containers(all=True, filters={"label": LABEL})
        return [one for one in every if f" {pid} " in one["Labels"]["assay.owner"]]

    client = connect()
    user = subprocess.Popen([sys.executable, "-c", _DOCKER_USER], stdout=subprocess.PIPE)
    assert user.stdout.readline() == b"AC\n"
    assert owned_by(user.pid)
    user.kill()
    user.wait()
    user.stdout.close()
    sweep(client)
    deadline = time.monotonic() + 20
    while owned_by(user.pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    client.close()


@pytest.mark.docker
def test_docker_compiles_with_the_tools_of_its_image(docker):
    source = '#include <cstdio>\nint main(){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);}\n'
    job = Job(source, (StdioTest("1 2\n", "3\n"),), language="cpp")
    with skipped_without_tool_chain():
        result = docker.run([job])[0]
    assert result.verdict is Verdict.AC
    assert result.isolation["backend"] == "docker"


def test_without_an_engine(monkeypatch):
    pytest.importorskip("docker", reason="docker-py is not installed")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    with pytest.raises(SandboxError, match="no Docker engine answers"):
        sandbox_named("docker").run([HONEST[0].job()])


_CONFINED_USER = """
from assay.sandbox import Confined, Job, StdioTest
box = Confined(workers=1, cgroups=False)
print(box.run([Job("print(1)", (StdioTest("", "1"),))])[0].verdict, flush=True)
forks = "import os, time\\nfor _ in range(20):\\n  if os.fork() == 0:\\n    os.setsid()\\n"
forks += "    break\\ntime.sleep(100)"
box.run([Job(forks, (StdioTest("", ""),))])
"""


def test_no_program_is_left_after_kill_9_of_the_user_of_confined(confined):
    user = subprocess.Popen([sys.executable, "-c", _CONFINED_USER], stdout=subprocess.PIPE)
    assert user.stdout.readline() == b"AC\n"
    time.sleep(1.0)
    below = descendants_of(user.pid)
    assert len(below) > 10
    user.kill()
    user.wait()
    user.stdout.close()
    deadline = time.monotonic() + 20
    while leftovers(user.pid) or any(os.path.exists(f"/proc/{pid}") for pid in below):
        assert time.monotonic() < deadline, leftovers(user.pid)
        time.sleep(0.05)


def descendants_of(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found += [int(name), *descendants_of(int(name))]
    return found


def test_clocks_do_not_stop_while_a_look_takes_long(confined):
    """A deadline that passes between two looks: the wait for the next must not be endless."""
    limits = Limits(cpu_s=5, wall_s=0.15)
    for number in range(25):
        job = Job(f"import time\ntime.sleep(30)\n# {number}", (StdioTest("", ""),), limits=limits)
        assert confined.run([job])[0].verdict is Verdict.TLE
