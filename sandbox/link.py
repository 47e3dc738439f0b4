"""What lies between a worker and the inside of its sandbox: a keeper process and a socket."""

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
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import SandboxError

_KEEPER = str(Path(__file__).parent / "keeper.py")
_CHUNK = 1 << 20
_START_S = 30.0
#: Marks an argument of `Launch.argv` as a path that the keeper may have to move.
MOVABLE = "\0"


class LinkError(Exception):
    """The link broke."""


class Link(ABC):
    """A byte stream into a sandbox, and the sandbox's life.

    Attributes:
        start: What the inside has to know, as `inner_zygote.serve` reads it.
    """

    start: dict[str, Any]
    #: Identity of the file system that tool chains are looked up in; "" for this machine's own.
    toolchains: str = ""
    #: Folder of precompiled headers on this machine, "" where there is none.
    headers: str = ""
    #: Whether `send_descriptors` works.
    passes_descriptors: bool = False

    @abstractmethod
    def send(self, data: bytes, wall_s: float) -> None:
        """Send all of `data`.

        Raises:
            LinkError: It broke, or took longer than `wall_s`.
        """

    @abstractmethod
    def receive(self, wall_s: float) -> bytes | None:
        """What is there; None after `wall_s` seconds without anything, b"" at the end.

        Raises:
            LinkError: It broke.
        """

    @abstractmethod
    def trouble(self) -> str:
        """What the sandbox wrote to stderr, bounded, for messages."""

    @abstractmethod
    def close(self, at_once: bool = False) -> None:
        """End the sandbox; returns when nothing of it is left."""

    @abstractmethod
    def abandon(self) -> None:
        """After a fork: close our copies of its descriptors only."""

    def send_descriptors(self, fds: Sequence[int]) -> None:
        """Hand descriptors in, and close ours.

        Raises:
            SandboxError: This kind of link cannot.
        """
        raise SandboxError(
            "interactive jobs need descriptors that this backend cannot pass: use Bubblewrap "
            "or Confined"
        )


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
        headers: Folder of precompiled headers that is shown to compilers, or "".
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
    headers: str = ""
    path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    hint: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> Link:
        """Start a sandbox.

        Raises:
            SandboxError: It did not start.
        """
        return KeeperLink(self)


class KeeperLink(Link):
    """A sandbox held by a keeper process; see `keeper`."""

    passes_descriptors = True

    def __init__(self, launch: Launch) -> None:
        self.headers = launch.headers
        ours, theirs = socket.socketpair()
        self.channel = ours
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
        kept = ("LD_LIBRARY_PATH", "PATH", "TMPDIR")
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
            raise SandboxError(
                f"the sandbox's keeper did not start: {error}; check that {sys.executable} can be "
                "run and that the process limit is not reached"
            ) from error
        finally:
            theirs.close()
        self.start = self._greeting(launch)

    def _greeting(self, launch: Launch) -> dict[str, Any]:
        """What the keeper prepared: one line of `name=value` words."""
        line = bytearray()
        deadline = time.monotonic() + _START_S
        while not line.endswith(b"\n"):
            self.channel.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.channel.recv(1)
            except OSError:
                data = b""
            if not data:
                trouble = self.trouble()
                self.close(at_once=True)
                raise SandboxError(f"the sandbox did not start: {trouble}; {launch.hint}")
            line += data
        kind, *pairs = line.decode().split()
        given = dict(one.split("=", 1) for one in pairs)
        folder = given.pop("folder")
        return {
            "files": {name: int(fd) for name, fd in given.items()},
            "cgroup": kind,
            "folder": folder,
            "path": list(launch.path),
            "preload": list(launch.preload),
            "readable": list(launch.readable),
            "enter": False,
        }

    def send(self, data: bytes, wall_s: float) -> None:
        """See `Link.send`."""
        self.channel.settimeout(wall_s)
        try:
            self.channel.sendall(data)
        except OSError as error:
            raise LinkError(f"cannot send: {error}") from error

    def send_descriptors(self, fds: Sequence[int]) -> None:
        """See `Link.send_descriptors`."""
        try:
            socket.send_fds(self.channel, [b"="], list(fds))
        except OSError as error:
            raise LinkError(f"cannot send: {error}") from error
        finally:
            for fd in fds:
                os.close(fd)

    def receive(self, wall_s: float) -> bytes | None:
        """See `Link.receive`."""
        self.channel.settimeout(wall_s)
        try:
            return self.channel.recv(_CHUNK)
        except TimeoutError:
            return None
        except OSError as error:
            raise LinkError(f"cannot receive: {error}") from error

    def trouble(self) -> str:
        """See `Link.trouble`."""
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

    def close(self, at_once: bool = False) -> None:
        """See `Link.close`."""
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
        """See `Link.abandon`."""
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
