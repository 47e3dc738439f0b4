"""Ends everything that a program started.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def end_all(account: Callable[[int, int, Any], None]) -> None:
    """Kill and reap every process that this one's children left, until none is.

    As the first process of a pid namespace one signal reaches all others at once, even those that
    fork. Elsewhere this process must be a child subreaper; descendants are then found in /proc and
    stopped before they are killed, round after round.

    Args:
        account: Called with the pid, wait status and resource usage of each process reaped.
    """
    alone = os.getpid() == 1
    while True:
        if alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            _kill_descendants()
        try:
            account(*os.wait4(-1, 0))
        except ChildProcessError:
            return


def count_own() -> int:
    """Threads of this user, which count against the limit of processes."""
    own, total = os.getuid(), 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat(f"/proc/{name}").st_uid != own:
                continue
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                total += int(file.read(2048).rpartition(b")")[2].split()[17])
        except (OSError, IndexError):
            continue
    return total


def _kill_descendants() -> None:
    found = descendants()
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in found:
            try:
                os.kill(pid, number)
            except OSError:
                continue


def descendants() -> list[int]:
    """All living processes below this one, by their parents in /proc."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    parent = int(file.read(2048).rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
