"""The trusted process above every test of one submission: pid 1 of the program's pid namespace.

It feeds stdin, drains the outputs with caps, keeps the clocks, and reports what happened. It makes
no verdict and knows no expected output. A program can neither signal it (init ignores what it does
not handle), trace it (it holds capabilities that the program lacks, and the filter), nor reach
its descriptors.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import os
import select
import time

from assay.sandbox import inner_family as family
from assay.sandbox import inner_guest as guest
from assay.sandbox import inner_spawner, wire
from assay.sandbox.inner_stage import collect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.sandbox.inner_meter import Meter
    from assay.sandbox.inner_stage import Folders, Mounts

_STDERR_KEPT = 65536
_CODE_LIMIT = 32 << 20
_CHUNK = 1 << 18
#: How long a program may run before its outputs are looked at; they fit into pipes till then.
_PATIENCE_MS = 3


class Supervisor:
    """Runs the tests of one submission, one after the other."""

    def __init__(
        self,
        task: dict[str, Any],
        meter: Meter,
        stage: Mounts | Folders,
        channel: tuple[int, int],
        spawner: inner_spawner.Spawner | None,
    ) -> None:
        self.task = task
        self.meter = meter
        self.stage = stage
        self.channel = channel
        self.code: bytes | None = None
        self.spawner = spawner
        self.streams = _received(channel[0]) if task["streams"] else []
        limits = task["limits"]
        self.cpu_ns = int(limits["cpu_s"] * 1e9)
        self.wall_ns = int(limits["wall_s"] * 1e9)
        self.output = int(limits["output"])

    def run(self) -> None:
        """Run every test and send one record each."""
        for index, test in enumerate(self.task["tests"]):
            self.stage.fresh()
            if self.task["collect"]:
                os.mkdir(self.stage.tmp + "/out")
            self._test(index, test)
            if self.task["lockstep"] and os.read(self.channel[0], 1) != b"+":
                return

    def _test(self, index: int, test: dict[str, Any]) -> None:
        task = self.task
        pipes = {2: os.pipe()}
        if self.streams:
            pipes[0] = (self.streams[0], -1)
            pipes[1] = (-1, self.streams[1])
        else:
            pipes[0], pipes[1] = os.pipe(), os.pipe()
        if test["kind"] != "stdio":
            pipes[guest.VALUE_FD] = os.pipe()
        wants_code = bool(task["share_code"]) and self.code is None
        if wants_code:
            pipes[guest.CODE_FD] = os.pipe()
        self.meter.start()
        started = time.monotonic_ns()
        child = 0
        if self.spawner is not None:
            child = self.spawner.start(pipes[0][0], pipes[1][1], pipes[2][1])
        else:
            child = os.fork()
        if child == 0:
            try:
                fds = {fd: pair[0 if fd == 0 else 1] for fd, pair in pipes.items()}
                guest.confine(task, fds, self.meter.groups, self.stage)
                if task["argv"]:
                    guest.execute(task, test)
                guest.interpret(task, test, self.code)
            finally:
                os._exit(125)
        for fd, pair in pipes.items():
            os.close(pair[0 if fd == 0 else 1])
        outputs = {fd: pair[0] for fd, pair in pipes.items() if fd and pair[0] >= 0}
        run = _Run(self, child, started, outputs, test["stdin"])
        run.stdin = pipes[0][1]
        run.watch()
        if wants_code and run.code_complete:
            self.code = bytes(run.kept[guest.CODE_FD])
        cpu_ns, peak, killed = self.meter.stop()
        cause = run.cause
        if killed:
            cause = wire.MEMORY
        elif cause in (wire.NONE, wire.WALL) and max(cpu_ns, run.cpu_ns) > self.cpu_ns:
            cause = wire.CPU
        value = bytes(run.kept.get(guest.VALUE_FD, b""))
        if task["collect"] and cause == wire.NONE and run.status == 0:
            value = collect(self.stage.tmp + "/out", 4 * task["limits"]["file"])
        wire.send_record(
            self.channel[1],
            wire.TEST,
            (
                index,
                run.status,
                run.signal,
                cause,
                max(cpu_ns, run.cpu_ns) // 1000,
                (run.ended - started) // 1000,
                max(peak, run.peak) // 1024,
            ),
            bytes(run.kept.get(1, b"")),
            bytes(run.kept[2][-_STDERR_KEPT:]),
            value,
        )


class _Run:
    """One test while it runs: its pipes, its clocks, its end."""

    def __init__(
        self, boss: Supervisor, child: int, started: int, outputs: dict[int, int], stdin: bytes
    ) -> None:
        self.boss = boss
        self.child = child
        self.started = started
        self.ended = started
        self.names = {fd: name for name, fd in outputs.items()}
        self.kept = {name: bytearray() for name in outputs}
        self.open = dict(self.names)
        self.rest = memoryview(stdin)
        self.stdin = -1
        self.status = -1
        self.signal = 0
        self.cause = wire.NONE
        self.cpu_ns = 0
        self.peak = 0
        self.reaped = False
        self.code_complete = False

    def watch(self) -> None:
        """Until the program's first process ends or a limit is passed; then end all of it."""
        boss = self.boss
        deadline = self.started + boss.wall_ns
        poll = select.poll()
        for fd in self.open:
            os.set_blocking(fd, False)
            poll.register(fd, select.POLLIN)
        if self.stdin >= 0:
            self._feed(poll, first=True)
        watched = os.pidfd_open(self.child)
        poll.register(watched, select.POLLIN)
        if self.stdin < 0:  # most programs end before they need us: wake once, not per pipe
            first = select.poll()
            first.register(watched, select.POLLIN)
            if first.poll(_PATIENCE_MS):
                self._reap()
        interval_ms = boss.meter.interval_ms
        while not self.reaped and self.cause == wire.NONE:
            now = time.monotonic_ns()
            left_ms = (deadline - now) // 1_000_000 + 1
            events = poll.poll(max(0, min(left_ms, interval_ms)))  # below 0 means for ever
            for fd, _ in events:
                if fd == watched:
                    self._reap()
                elif fd == self.stdin:
                    self._feed(poll)
                else:
                    self._drain(fd, poll)
            now = time.monotonic_ns()
            if self.reaped:
                break
            if now >= deadline:
                self.cause = wire.WALL
            elif now - self.started >= interval_ms * 1_000_000:
                self._reap_orphans()
                self.cause = self.cause or boss.meter.exceeded(boss.cpu_ns, self.cpu_ns)
                if self.cause == wire.NONE and boss.stage.overfull():
                    self.cause = wire.DISK
        self.ended = time.monotonic_ns()
        os.close(watched)
        family.end_all(self._account)
        for fd in list(self.open):
            self._drain(fd, None)
            os.close(fd)
        if self.stdin >= 0:
            os.close(self.stdin)

    def _feed(self, poll: Any, first: bool = False) -> None:
        try:
            if first:
                os.set_blocking(self.stdin, False)
            while self.rest:
                self.rest = self.rest[os.write(self.stdin, self.rest[:_CHUNK]) :]
        except BlockingIOError:
            if first:
                poll.register(self.stdin, select.POLLOUT)
            return
        except OSError:
            pass  # the program closed its end: its right
        if not first:
            poll.unregister(self.stdin)
        os.close(self.stdin)
        self.stdin = -1

    def _drain(self, fd: int, poll: Any) -> None:
        """Read what is there; past the cap, stdout is an offence and stderr is dropped."""
        name = self.names[fd]
        kept = self.kept[name]
        while True:
            try:
                data = os.read(fd, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                if poll is not None:
                    poll.unregister(fd)
                    os.close(fd)
                    del self.open[fd]
                    self.code_complete = self.code_complete or name == guest.CODE_FD
                return
            kept += data
            if name == 2:
                if len(kept) > 4 * _STDERR_KEPT:
                    del kept[:-_STDERR_KEPT]
            elif len(kept) > (_CODE_LIMIT if name == guest.CODE_FD else self.boss.output):
                if self.cause == wire.NONE:
                    self.cause = wire.OUTPUT
                del kept[self.boss.output :]
                return
            if len(data) < 4096:
                return

    def _account(self, pid: int, status: int, usage: Any) -> None:
        self.cpu_ns += int((usage.ru_utime + usage.ru_stime) * 1e9)
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        if pid == self.child:
            self.reaped = True
            if os.WIFSIGNALED(status):
                self.signal = os.WTERMSIG(status)
            else:
                self.status = os.WEXITSTATUS(status)

    def _reap(self) -> None:
        self._account(*os.wait4(self.child, 0))

    def _reap_orphans(self) -> None:
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._account(pid, status, usage)
        except ChildProcessError:
            return


def _received(channel: int) -> list[int]:
    """The two descriptors that come after the request, for the program's stdin and stdout."""
    import socket

    with socket.socket(fileno=os.dup(channel)) as handle:
        return socket.recv_fds(handle, 1, 2)[1]


def _placed(text: str, stage: Mounts | Folders) -> str:
    return text.replace("{prog}", stage.prog).replace("{tmp}", stage.tmp)


def supervise(
    task: dict[str, Any], meter: Meter, stage: Mounts | Folders, channel: tuple[int, int]
) -> None:
    """Run a submission in this process: pid 1 of a new namespace, or else a child subreaper."""
    bounded = task["address_space"] and not meter.memory
    task["cpu_rlimit"] = guest.bound(task["limits"], bounded, task["extra_processes"])
    task["tmp"] = stage.tmp
    task["argv"] = [_placed(one, stage) for one in task["argv"]]
    task["arguments"] = [_placed(one, stage) for one in task["arguments"]]
    task["path"] = _placed(task["path"], stage)
    task["environment"] = {
        name: _placed(value, stage) for name, value in task["environment"].items()
    }
    spawner = None
    if task["argv"] and task["helper"] and stage.rules >= -1:
        path = f"{stage.prog}/{task['helper']}"
        spawner = inner_spawner.Spawner(path, task, meter.groups, stage.rules)
    meter.used = stage.used
    Supervisor(task, meter, stage, channel, spawner).run()
