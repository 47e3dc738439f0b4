"""One CPU budget per machine, shared by every process that uses a sandbox.

Eight trainer ranks on eight CPUs must not start sixty-four programs at once: time limits would be
charged for the crowd. A program runs while its process holds a lock on one of as many files as
there are CPUs; a process that dies, by any signal, gives its lock back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assay.errors import ConfigError
from assay.sandbox.cache import default_folder
from assay.sandbox.stop import Stop

_FIRST_WAIT_S, _SHORT_WAIT_S, _LONGEST_WAIT_S = 0.0003, 0.001, 0.005


def cpu_count() -> int:
    """Programs at one time on this machine: `$ASSAY_SANDBOX_CPUS`, else the CPUs we may use.

    Raises:
        ConfigError: The variable is not a whole number >= 1.
    """
    given = os.environ.get("ASSAY_SANDBOX_CPUS")
    if not given:
        return len(os.sched_getaffinity(0))
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(f"ASSAY_SANDBOX_CPUS must be a whole number >= 1, got {given!r}")
    return int(given)


class Budget:
    """The slots of this machine; waiting for one is never charged to a program.

    Args:
        slots: How many.
        folder: Where the lock files lie; by default in the user's cache, by host name.
    """

    def __init__(self, slots: int, folder: Path | None = None) -> None:
        self.slots = slots
        self.folder = _usable(folder or default_folder() / "slots" / socket.gethostname())
        self._next = os.getpid() % slots

    @contextlib.contextmanager
    def slot(self, stop: Stop) -> Iterator[None]:
        """Hold one slot.

        Raises:
            StoppedError: The batch was stopped while waiting.
        """
        fd = self._acquire(stop)
        try:
            yield
        finally:
            os.close(fd)

    def _acquire(self, stop: Stop) -> int:
        """Take the turnstile, then the first slot that is free, and let the next one in.

        Whoever gives a slot back has to queue at the turnstile like everybody else: without it, a
        process with many short jobs would take its own slot again before others look.
        """
        turn = self._lock(("turn",), _LONGEST_WAIT_S, stop)
        try:
            first = self._next
            names = [str((first + offset) % self.slots) for offset in range(self.slots)]
            return self._lock(tuple(names), _SHORT_WAIT_S, stop)
        finally:
            os.close(turn)

    def _lock(self, names: tuple[str, ...], longest_wait_s: float, stop: Stop) -> int:
        """A descriptor that holds the lock of the first of `names` to be free."""
        wait_s = _FIRST_WAIT_S
        while True:
            for name in names:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                fd = os.open(self.folder / f"{name}.lock", flags, 0o600)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return fd
                except OSError:
                    os.close(fd)
            stop.check()
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, longest_wait_s)


def _usable(folder: Path) -> Path:
    """`folder`, or one below the temporary directory where it cannot be made."""
    for one in (folder, Path(tempfile.gettempdir()) / f"assay-locks-{os.getuid()}"):
        try:
            one.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(one, os.W_OK):
                return one
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="assay-locks-"))
