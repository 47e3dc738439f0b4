"""A trusted function that may hang, served by a plain process with a wall limit for each call.

This is *not* isolation: it is for libraries of our own choosing (a symbolic-maths verifier, say)
that use signals, loop for ever on some inputs, or crash the interpreter. Untrusted programs belong
into a `Sandbox`. The process speaks JSON lines over its own pipes; nothing is pickled.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError, SandboxError

#: Runs in the new interpreter. The first process only watches: it ends the server when the process
#: that opened it dies, by whatever signal. The server keeps its replies on a descriptor of its own,
#: so that a function which prints cannot garble them.
_SERVER = r"""
import json, os, select, signal, sys
parent = int(sys.argv[1])
try:
    watched = [os.pidfd_open(parent)]
except OSError:
    os._exit(1)
if os.getppid() != parent:
    os._exit(1)
server = os.fork()
if server:
    for fd in (0, 1):
        os.close(fd)
    watched.append(os.pidfd_open(server))
    poll = select.poll()
    for fd in watched:
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.kill(server, signal.SIGKILL)
    os._exit(0)
os.close(watched[0])
requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
null = os.open(os.devnull, os.O_RDWR)
os.dup2(null, 0)
os.dup2(null, 1)

def reply(message):
    replies.write(json.dumps(message).encode() + b"\n")
    replies.flush()

try:
    start = json.loads(requests.readline())
    sys.path[:] = start["path"]
    import importlib
    module, _, name = start["target"].partition(":")
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    reply({"ready": True})
except BaseException as error:
    reply({"error": f"{type(error).__name__}: {error}"})
    os._exit(1)
for line in requests:
    try:
        message = {"value": function(*json.loads(line))}
        json.dumps(message)
    except BaseException as error:
        message = {"error": f"{type(error).__name__}: {error}"[:2000]}
    reply(message)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A call that gave no value.

    Attributes:
        reason: `timeout` (killed at the wall limit), `error` (the function raised) or `crashed`
            (its process ended).
        message: What happened, for people.
    """

    reason: Literal["timeout", "error", "crashed"]
    message: str


@dataclass(frozen=True)
class BoundedWorker:
    """Calls `module:function` in another process; a call that hangs is killed and reported.

    A description: picklable and comparable. Its processes open lazily in whatever process uses it
    (a thread, a daemon, a forked or spawned worker), and end when that process ends.

    Args:
        target: `package.module:function`; arguments and values are JSON.
        wall_s: Wall seconds for one call.
        start_s: Wall seconds for starting the process and importing the module.
        workers: Processes to spread a list of calls over.

    >>> worker = BoundedWorker("math:gcd", wall_s=5.0)
    >>> worker.call([[12, 18], [7, 3]])
    [6, 1]
    >>> worker.close()
    """

    target: str
    wall_s: float = 5.0
    start_s: float = 60.0
    workers: int = 1

    def __post_init__(self) -> None:
        module, colon, name = self.target.partition(":")
        if not (module and colon and name):
            raise ConfigError(
                f"target must be 'package.module:function', got {self.target!r}; "
                "name the function to call"
            )
        if not (self.wall_s > 0 and self.start_s > 0 and self.workers >= 1):
            raise ConfigError(
                "wall_s and start_s must be > 0 and workers >= 1, got "
                f"{self.wall_s!r}, {self.start_s!r}, {self.workers!r}"
            )

    def call(self, calls: Sequence[Sequence[Any]]) -> list[Any]:
        """Call the function once for each list of arguments; same order.

        Returns:
            For each call the JSON value that came back, or a `CallFailure`.

        Raises:
            SandboxError: The process could not be started or could not import the target.
        """
        if not calls:
            return []
        lines = [json.dumps(list(arguments)).encode() + b"\n" for arguments in calls]
        if self.workers == 1 or len(lines) == 1:
            return [self._one(line) for line in lines]
        with ThreadPoolExecutor(min(self.workers, len(lines))) as threads:
            return list(threads.map(self._one, lines))

    def close(self) -> None:
        """End the processes that this process opened for this target; a later call reopens."""
        for server in _SERVERS.take_all(self):
            server.kill()

    def _one(self, line: bytes) -> Any:
        limit = _SERVERS.limit(self)
        with limit:
            server = _SERVERS.take(self) or _Server(self)
            reply = server.ask(line, self.wall_s)
            if isinstance(reply, CallFailure) and reply.reason != "error":
                server.kill()
            else:
                _SERVERS.give(self, server)
        return reply


class _Server:
    """One process serving one target."""

    def __init__(self, worker: BoundedWorker) -> None:
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _SERVER, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(
                f"the process for {worker.target!r} did not start: {error}; check that "
                f"{sys.executable} can be run and that the process limit is not reached"
            ) from error
        self.buffer = bytearray()
        start = {"path": sys.path, "target": worker.target}
        reply = self._exchange(json.dumps(start).encode() + b"\n", worker.start_s)
        if reply != {"ready": True}:
            self.kill()
            found = reply.get("error", reply) if isinstance(reply, dict) else reply
            raise SandboxError(
                f"the process for {worker.target!r} did not become ready: {found}; check that the "
                f"module imports in {sys.executable} within {worker.start_s:g} s"
            )

    def ask(self, line: bytes, wall_s: float) -> Any:
        reply = self._exchange(line, wall_s)
        if isinstance(reply, CallFailure):
            return reply
        if "error" in reply:
            return CallFailure("error", reply["error"])
        return reply["value"]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.close_pipes()

    def close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _exchange(self, line: bytes, wall_s: float) -> Any:
        """Send one line, wait for one line; the clock runs over both."""
        assert self.process.stdin is not None and self.process.stdout is not None
        deadline = time.monotonic() + wall_s
        read_fd, write_fd = self.process.stdout.fileno(), self.process.stdin.fileno()
        os.set_blocking(write_fd, False)
        poll = select.poll()
        poll.register(read_fd, select.POLLIN)
        poll.register(write_fd, select.POLLOUT)
        rest = memoryview(line)
        while True:
            left_ms = (deadline - time.monotonic()) * 1000
            if left_ms <= 0:
                return CallFailure("timeout", f"no reply within {wall_s:g} s")
            for fd, _ in poll.poll(left_ms):
                if fd == write_fd:
                    try:
                        rest = rest[os.write(write_fd, rest) :]
                    except BlockingIOError:
                        continue
                    except OSError:
                        rest = rest[:0]
                    if not rest:
                        poll.unregister(write_fd)
                    continue
                data = os.read(read_fd, 1 << 16)
                if not data:
                    return CallFailure("crashed", "the process ended without a reply")
                self.buffer += data
                if b"\n" in data:
                    reply, _, tail = bytes(self.buffer).partition(b"\n")
                    self.buffer = bytearray(tail)
                    return json.loads(reply)


class _Servers:
    """The idle servers of this process. A forked child starts with none of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: dict[BoundedWorker, list[_Server]] = {}
        self.limits: dict[BoundedWorker, threading.BoundedSemaphore] = {}

    def limit(self, worker: BoundedWorker) -> threading.BoundedSemaphore:
        with self.lock:
            return self.limits.setdefault(worker, threading.BoundedSemaphore(worker.workers))

    def take(self, worker: BoundedWorker) -> _Server | None:
        with self.lock:
            servers = self.idle.get(worker)
            return servers.pop() if servers else None

    def give(self, worker: BoundedWorker, server: _Server) -> None:
        with self.lock:
            self.idle.setdefault(worker, []).append(server)

    def take_all(self, worker: BoundedWorker) -> list[_Server]:
        with self.lock:
            return self.idle.pop(worker, [])

    def kill_all(self) -> None:
        for worker in list(self.idle):
            for server in self.take_all(worker):
                server.kill()

    def forget(self) -> None:
        """After a fork: the servers belong to the parent; only our copies of the pipes close."""
        idle = self.idle
        self.__init__()  # type: ignore[misc]
        for servers in idle.values():
            for server in servers:
                server.process.returncode = 0  # not our child: nothing to wait for
                server.close_pipes()


_SERVERS = _Servers()
os.register_at_fork(after_in_child=_SERVERS.forget)
atexit.register(_SERVERS.kill_all)
