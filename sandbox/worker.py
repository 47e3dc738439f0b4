"""One worker: a keeper process, the sandbox it holds, and the channel into it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import SandboxError
from assay.sandbox import inner_boot, wire
from assay.sandbox.stop import Stop

_KEEPER = str(Path(__file__).parent / "keeper.py")
_CHUNK = 1 << 20
_START_S = 30.0
_NEVER = Stop()
#: Marks an argument of `Launch.argv` as a path that the keeper may have to move.
MOVABLE = "\0"


class WorkerLostError(Exception):
    """The worker died, hung or broke the protocol; whether by a program's fault is not known."""


@dataclass(frozen=True)
class Launch:
    """What a backend tells the keeper: how to become a sandbox.

    Attributes:
        argv: The command; arguments that begin with `MOVABLE` are paths on this machine.
        stage: Paths that only root can reach, for the keeper to bind elsewhere.
        reach: The same, for the keeper to make reachable where they are, for the worker only.
        readable: What Landlock lets programs read; () for no Landlock.
        texts: Placeholder in `argv` -> content to pass through a descriptor.
        uid: Unprivileged user to become, or None where we already are unprivileged.
        cgroup: Whether to make cgroups.
        folder: Whether programs get a plain directory, for backends that cannot mount.
        path: Directories that programs may import from.
        preload: Modules imported once, before programs are forked.
        hint: What to tell people when the command does not start.
        facts: What is in force by the launch itself, for `Result.isolation`.
    """

    argv: tuple[str, ...]
    stage: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    texts: Mapping[str, str] | None = None
    uid: int | None = None
    cgroup: bool = True
    folder: bool = False
    path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    hint: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the inside reports of one test: numbers and bytes, no verdict."""

    index: int
    status: int
    signal: int
    cause: int
    cpu_us: int
    wall_us: int
    peak_kb: int
    stdout: bytes
    stderr: bytes
    value: bytes


class Worker:
    """A running sandbox that takes one submission at a time.

    Raises:
        SandboxError: It did not start.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.isolation: dict[str, str] = dict(launch.facts)
        ours, theirs = socket.socketpair()
        self.channel = ours
        self._buffer = bytearray()
        config = {
            "parent": os.getpid(),
            "argv": list(launch.argv),
            "channel": theirs.fileno(),
            "uid": launch.uid,
            "stage": list(launch.stage),
            "texts": dict(launch.texts or {}),
            "limits": [
                [resource.RLIMIT_STACK, 256 << 20],
                [resource.RLIMIT_CORE, 0],
                [resource.RLIMIT_NOFILE, 1024],
            ],
            "cgroup": launch.cgroup,
            "folder": launch.folder,
            "name": "assay-",
            "reach": list(launch.reach),
            "environment": {"PATH": os.defpath, **launch.environment},
        }
        kept = ("LD_LIBRARY_PATH", "PATH")
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, json.dumps(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={name: os.environ[name] for name in kept if name in os.environ},
            )
        except OSError as error:
            ours.close()
            raise SandboxError(f"the sandbox's keeper did not start: {error}") from error
        finally:
            theirs.close()
        try:
            self._greet()
        except WorkerLostError as error:
            trouble = self._trouble()
            self.close()
            raise SandboxError(
                f"the sandbox did not start: {error}; it said {trouble!r}; {launch.hint}"
            ) from error

    def run(
        self,
        request: Mapping[str, Any],
        wall_s: float,
        stop: Stop,
        streams: tuple[int, ...] = (),
    ) -> Iterator[Outcome]:
        """Send one submission and yield what each test did, as it happens.

        Args:
            request: As `inner_supervisor` reads it.
            wall_s: Most seconds between two records, our own safety net above the inner clocks.
            stop: Asked while waiting.
            streams: Descriptors for the program's stdin and stdout, instead of `stdin` bytes;
                closed here.

        Raises:
            StoppedError: It was time to stop; use this worker no more.
            WorkerLostError: No use to go on with this worker.
        """
        self._send(wire.pack_request({**request, "streams": bool(streams)}), wall_s + 30)
        if streams:
            socket.send_fds(self.channel, [b"="], list(streams))
            for fd in streams:
                os.close(fd)
        while True:
            kind, numbers, parts = self._record(wall_s, stop)
            if kind == wire.DONE:
                return
            if kind != wire.TEST:
                raise WorkerLostError(f"{parts[0].decode('utf-8', 'replace')}: {self._trouble()}")
            yield Outcome(*numbers, *parts)

    def answer(self, go_on: bool) -> None:
        """In lockstep: whether to run the next test."""
        self._send(b"+" if go_on else b"-", 30)

    def close(self, at_once: bool = False) -> None:
        """End the sandbox; returns when nothing of it is left.

        Args:
            at_once: Do not wait for the program that runs to reach its limits.
        """
        self.channel.close()
        if at_once:
            self._kill_sandbox()
        try:
            self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self._kill_sandbox()
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def abandon(self) -> None:
        """After a fork: it is the parent's; close our copies of its descriptors only."""
        self.process.returncode = 0
        self.channel.close()
        if self.process.stderr is not None:
            with contextlib.suppress(OSError):
                os.close(self.process.stderr.fileno())

    def _kill_sandbox(self) -> None:
        """Kill the keeper's child, so that the keeper itself can clean up."""
        with contextlib.suppress(OSError, ValueError):
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            for pid in children.read_text().split():
                os.kill(int(pid), 9)

    def _greet(self) -> None:
        deadline = time.monotonic() + _START_S
        while b"\n" not in self._buffer:
            self._receive(deadline)
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        kind, *pairs = line.decode().split()
        given = dict(one.split("=", 1) for one in pairs)
        folder = given.pop("folder")
        files = {name: int(fd) for name, fd in given.items()}
        launch = self.launch
        start = {
            "files": files,
            "cgroup": kind,
            "folder": folder,
            "path": list(launch.path),
            "preload": list(launch.preload),
            "readable": list(launch.readable),
        }
        self._send(inner_boot.start_request(start), _START_S)
        kind_of_record, _, parts = self._record(_START_S)
        if kind_of_record != wire.HELLO:
            raise WorkerLostError("unexpected first record")
        for line_of_facts in parts[0].decode("utf-8", "replace").splitlines():
            name, _, value = line_of_facts.partition("=")
            self.isolation[name] = value

    def _send(self, data: bytes, wall_s: float) -> None:
        self.channel.settimeout(wall_s)
        try:
            self.channel.sendall(data)
        except OSError as error:
            raise WorkerLostError(f"cannot send: {error}; {self._trouble()}") from error

    def _record(self, wall_s: float, stop: Stop = _NEVER) -> tuple[int, wire.Numbers, list[bytes]]:
        deadline = time.monotonic() + wall_s
        size = wire.RECORD.size
        while len(self._buffer) < size:
            self._receive(deadline, stop)
        kind, *fields = wire.RECORD.unpack_from(self._buffer)
        numbers, lengths = tuple(fields[:-3]), fields[-3:]
        end = size + sum(lengths)
        while len(self._buffer) < end:
            self._receive(deadline, stop)
        parts = []
        for length in lengths:
            parts.append(bytes(self._buffer[size : size + length]))
            size += length
        del self._buffer[:end]
        return kind, numbers, parts

    def _receive(self, deadline: float, stop: Stop = _NEVER) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WorkerLostError("no answer in time")
        stop.check()
        self.channel.settimeout(stop.slice_s(left))
        try:
            data = self.channel.recv(_CHUNK)
        except TimeoutError:
            return
        except OSError as error:
            raise WorkerLostError(f"cannot receive: {error}") from error
        if not data:
            raise WorkerLostError(f"the sandbox ended: {self._trouble()}")
        self._buffer += data

    def _trouble(self) -> str:
        """What the keeper and the inside wrote to stderr, bounded."""
        pipe = self.process.stderr
        if pipe is None or pipe.closed:
            return ""
        fd = pipe.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        text = bytearray()
        while len(text) < 8192 and poll.poll(200):
            data = os.read(fd, 4096)
            if not data:
                break
            text += data
        return bytes(text).decode("utf-8", "replace").strip()
