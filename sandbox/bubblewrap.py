"""The default backend on Linux: long-lived sandboxes made by bubblewrap.

Each worker is one bubblewrap process under an unprivileged uid with user, pid, mount, ipc, uts,
net and cgroup namespaces of its own; inside, a trusted zygote forks a supervisor per submission
and that forks each test. What is in force stands in every result's `isolation`.

What it does not protect from: bugs of the kernel that the filter still lets a program reach;
timing and cache side channels; exhaustion of memory bandwidth. See `docs/sandbox.md`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass

from assay.errors import ConfigError, SandboxError
from assay.sandbox import headers, root
from assay.sandbox.inner_boot import BOOT
from assay.sandbox.link import MOVABLE, Launch
from assay.sandbox.pool import PooledSandbox
from assay.sandbox.toolchain import shown_paths

WAY_OUT = (
    "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install "
    "bubblewrap) and see `assay doctor`; where user namespaces are blocked, allow them "
    "(sysctl kernel.unprivileged_userns_clone=1, "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0) or use Docker"
)
_UNPRIVILEGED_UID = 65534
_CHANNEL_FD = 3

#: Imported once per worker, so that programs which use them start faster.
PRELOAD = ("typing", "collections", "functools", "heapq", "bisect", "math", "itertools", "re")


@dataclass(frozen=True)
class Bubblewrap(PooledSandbox):
    r"""Runs programs in bubblewrap sandboxes.

    Args:
        workers: Sandboxes at one time; None for one per CPU that this process may use.
        python: Interpreter for Python programs; None for the one under this process. Only its
            standard library is shown.
        python_path: Directories of packages that Python programs may import, shown read-only
            (as `/packages/0` and so on).
        cgroups: Whether to use cgroups where they can be written.

    >>> from assay.sandbox import Bubblewrap, Job, StdioTest
    >>> job = Job("print(int(input()) + 1)", (StdioTest("41\n", "42\n"),))
    >>> with Bubblewrap() as sandbox:
    ...     sandbox.run([job])[0].verdict
    <Verdict.AC: 'AC'>
    """

    workers: int | None = None
    python: str | None = None
    python_path: tuple[str, ...] = ()
    cgroups: bool = True

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers must be >= 1 or None for one per CPU, got {self.workers!r}")
        for path in self.python_path:
            if not os.path.isdir(path):
                raise ConfigError(f"python_path must name directories, got {path!r}")

    def size(self) -> int:
        """How many sandboxes at most."""
        return self.workers or len(os.sched_getaffinity(0))

    def launch(self) -> Launch:
        """The command of a worker.

        Raises:
            SandboxError: bubblewrap is not installed.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxError(f"bubblewrap is not installed (no `bwrap` in PATH): {WAY_OUT}")
        interpreter = root.find_interpreter(self.python)
        binds, stage, texts = root.bind_arguments(interpreter, shown_paths())
        inside = tuple(f"/packages/{number}" for number in range(len(self.python_path)))
        for path, place in zip(self.python_path, inside, strict=True):
            path = os.path.realpath(path)
            binds += ["--ro-bind", MOVABLE + path, place]
            stage += [] if root.reachable(path) else [path]
        shown = headers.folder()
        if shown:
            binds += ["--ro-bind", MOVABLE + shown, headers.INSIDE]
            stage += [] if root.reachable(shown) else [shown]
        argv = [program, "--unshare-all", "--uid", "1000", "--gid", "1000", "--cap-add", "ALL"]
        argv += ["--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "box"]
        argv += [*binds, "--proc", "/proc", "--remount-ro", "/", "--clearenv"]
        for name, value in _PYTHON_ENVIRONMENT.items():
            argv += ["--setenv", name, value]
        argv += ["--", interpreter.executable, "-s", "-S", "-P", "-c", BOOT, str(_CHANNEL_FD)]
        return Launch(
            argv=tuple(argv),
            stage=tuple(stage) if os.geteuid() == 0 else (),
            texts=texts,
            uid=_UNPRIVILEGED_UID if os.geteuid() == 0 else None,
            cgroup=self.cgroups,
            headers=shown,
            path=inside,
            preload=PRELOAD,
            hint=WAY_OUT,
            facts={
                "backend": "bubblewrap",
                "namespaces": "user pid mount ipc uts net cgroup",
                "files": "read-only root, private sized tmpfs",
                "network": "none",
            },
        )

    def fingerprint(self) -> str:
        """Backend, interpreter and its modification time, options."""
        interpreter = root.find_interpreter(self.python)
        status = os.stat(interpreter.executable)
        facts = f"bubblewrap {interpreter} {status.st_mtime_ns} {self.python_path}"
        return hashlib.sha256(facts.encode()).hexdigest()[:16]


_PYTHON_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
