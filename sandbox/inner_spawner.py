"""Starts compiled programs through the C function of `helper`.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Plan(ctypes.Structure):
    _fields_ = (
        ("path", ctypes.c_char_p),
        ("argv", ctypes.POINTER(ctypes.c_char_p)),
        ("envp", ctypes.POINTER(ctypes.c_char_p)),
        ("folder", ctypes.c_char_p),
        ("groups", ctypes.POINTER(ctypes.c_int)),
        ("group_count", ctypes.c_int),
        ("rules", ctypes.c_int),
        ("cpu_seconds", ctypes.c_long),
        ("fds", ctypes.c_int * 3),
    )


class Spawner:
    """The prepared start of one command.

    Args:
        path: The compiled helper.
        task: The submission: `argv`, `environment`, `tmp`, `cpu_rlimit`.
        groups: Open `cgroup.procs` files to join.
        rules: Descriptor of a Landlock ruleset, or -1.

    Raises:
        OSError: It cannot be loaded.
    """

    def __init__(
        self, path: str, task: dict[str, Any], groups: tuple[int, ...], rules: int
    ) -> None:
        self._library = ctypes.PyDLL(path)
        argv = [one.encode() for one in task["argv"]]
        environment = [f"{name}={value}".encode() for name, value in task["environment"].items()]
        self._argv = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
        self._envp = (ctypes.c_char_p * (len(environment) + 1))(*environment, None)
        self._groups = (ctypes.c_int * max(1, len(groups)))(*groups)
        self._plan = _Plan(
            argv[0],
            ctypes.cast(self._argv, ctypes.POINTER(ctypes.c_char_p)),
            ctypes.cast(self._envp, ctypes.POINTER(ctypes.c_char_p)),
            task["tmp"].encode(),
            ctypes.cast(self._groups, ctypes.POINTER(ctypes.c_int)),
            len(groups),
            rules,
            task["cpu_rlimit"][0],
        )
        self._spawn = self._library.spawn
        self._pointer = ctypes.byref(self._plan)

    def start(self, stdin: int, stdout: int, stderr: int) -> int:
        """Start the command on these descriptors; returns its pid.

        Raises:
            OSError: No process could be made.
        """
        pid = int(self._spawn(self._pointer, stdin, stdout, stderr))
        if pid < 0:
            raise OSError("cannot start a process")
        return pid
