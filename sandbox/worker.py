"""One worker: the protocol with the inside of a sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.errors import SandboxError
from assay.sandbox import inner_boot, wire
from assay.sandbox.link import Launch, LinkError
from assay.sandbox.stop import Stop

if TYPE_CHECKING:
    from assay.sandbox.javac import WarmJavac

_START_S = 30.0
_NEVER = Stop()


class WorkerLostError(Exception):
    """The worker died, hung or broke the protocol; whether by a program's fault is not known."""


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

    Attributes:
        isolation: What is in force.
        link: The way into it.
        javac: The compile server that may be used instead of a cold javac.
        reused: It has run a job before and was idle since.

    Raises:
        SandboxError: It did not start.
    """

    def __init__(self, launch: Launch) -> None:
        self.javac: WarmJavac | None = None
        self.reused = False
        self.isolation: dict[str, str] = dict(launch.facts)
        self._buffer = bytearray()
        self.link = launch.open()
        try:
            self._greet()
        except WorkerLostError as error:
            trouble = self.link.trouble()
            self.close(at_once=True)
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
            self._guarded(lambda: self.link.send_descriptors(streams))
        while True:
            kind, numbers, parts = self._record(wall_s, stop)
            if kind == wire.DONE:
                return
            if kind != wire.TEST:
                raise WorkerLostError(
                    f"{parts[0].decode('utf-8', 'replace')}: {self.link.trouble()}"
                )
            yield Outcome(*numbers, *parts)

    def answer(self, go_on: bool) -> None:
        """In lockstep: whether to run the next test."""
        self._send(b"+" if go_on else b"-", 30)

    def close(self, at_once: bool = False) -> None:
        """End the sandbox; returns when nothing of it is left.

        Args:
            at_once: Do not wait for a program that runs.
        """
        self.link.close(at_once)

    def abandon(self) -> None:
        """After a fork: it is the parent's; close our copies of its descriptors only."""
        self.link.abandon()

    def _greet(self) -> None:
        self._send(inner_boot.start_request(self.link.start), _START_S)
        kind, _, parts = self._record(_START_S)
        if kind != wire.HELLO:
            raise WorkerLostError("unexpected first record")
        for line in parts[0].decode("utf-8", "replace").splitlines():
            name, _, value = line.partition("=")
            self.isolation[name] = value

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except LinkError as error:
            raise WorkerLostError(f"{error}; {self.link.trouble()}") from error

    def _send(self, data: bytes, wall_s: float) -> None:
        self._guarded(lambda: self.link.send(data, wall_s))

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
        try:
            data = self.link.receive(stop.slice_s(left))
        except LinkError as error:
            raise WorkerLostError(str(error)) from error
        if data is None:
            return
        if not data:
            raise WorkerLostError(f"the sandbox ended: {self.link.trouble()}")
        self._buffer += data
