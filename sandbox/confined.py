"""For containers and Slurm jobs where user namespaces are blocked and no Docker is there.

What holds: seccomp (no sockets but UNIX, no ptrace, no namespaces, no other process's limits),
Landlock (files: the tool chains read-only and one private folder; from ABI 6 also signals and
abstract sockets), resource limits, a session of its own, no capabilities, a clean environment, and
memory, CPU, files and disk watched by polling (by cgroup where one can be written).

What does not: programs share the process table (they see how many there are through side effects,
not through /proc, which is closed to them), the uid, and the temporary folder's disk. /proc, /tmp
and /dev/shm are closed, so programs that need them fail (multiprocessing's locks do).
"""

from __future__ import annotations

import glob
import hashlib
import os
from dataclasses import dataclass

from assay.errors import ConfigError, SandboxError
from assay.sandbox import root
from assay.sandbox.inner_boot import BOOT
from assay.sandbox.inner_landlock import abi_version
from assay.sandbox.link import Launch
from assay.sandbox.pool import PooledSandbox
from assay.sandbox.toolchain import shown_paths

_UNPRIVILEGED_UID = 65534
_ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "alternatives",
    "localtime",
    "passwd",
    "group",
    "ssl/openssl.cnf",
)
_SIGNALS_SINCE = 6


@dataclass(frozen=True)
class Confined(PooledSandbox):
    """Runs programs under Landlock and seccomp, without namespaces.

    Args:
        workers: Programs at one time; None for one per CPU that this process may use.
        python: Interpreter for Python programs; None for the one under this process.
        python_path: Directories of packages that Python programs may import.
        cgroups: Whether to use cgroups where they can be written.
    """

    workers: int | None = None
    python: str | None = None
    python_path: tuple[str, ...] = ()
    cgroups: bool = True

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers must be >= 1 or None for one per CPU, got {self.workers!r}")

    def size(self) -> int:
        """How many programs at most."""
        return self.workers or len(os.sched_getaffinity(0))

    def launch(self) -> Launch:
        """The command of a worker.

        Raises:
            SandboxError: The kernel has no Landlock: programs could read all our files.
        """
        version = abi_version()
        if version == 0:
            raise SandboxError(
                "this kernel has no Landlock, so programs could not be kept from your files; "
                "use Bubblewrap or Docker, or a kernel >= 5.13 with landlock among its LSMs"
            )
        interpreter = root.find_interpreter(self.python)
        signals = "landlock" if version >= _SIGNALS_SINCE else "no signals at all"
        dropped = os.geteuid() == 0
        prefix = [interpreter.prefix, *self.python_path, *shown_paths()]
        return Launch(
            argv=(interpreter.executable, "-s", "-S", "-P", "-c", BOOT, "3"),
            stage=(),
            reach=tuple(path for path in prefix if dropped and not root.reachable(path)),
            uid=_UNPRIVILEGED_UID if dropped else None,
            cgroup=self.cgroups,
            folder=True,
            readable=tuple(_readable(interpreter, (*self.python_path, *shown_paths()))),
            path=self.python_path,
            hint="use Bubblewrap or Docker; see `assay doctor`",
            environment={"LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
            facts={
                "backend": "confined",
                "namespaces": "none",
                "files": f"landlock ABI {version}",
                "network": "none (seccomp)",
                "signals": signals,
                "not isolated": "process table, uid, disk space beyond what polling sees",
            },
        )

    def fingerprint(self) -> str:
        """Backend, interpreter and its modification time, options."""
        interpreter = root.find_interpreter(self.python)
        status = os.stat(interpreter.executable)
        facts = f"confined {interpreter} {status.st_mtime_ns} {self.python_path}"
        return hashlib.sha256(facts.encode()).hexdigest()[:16]


def _readable(interpreter: root.Interpreter, extra: tuple[str, ...]) -> list[str]:
    """What programs may read: tool chains without installed packages.

    Landlock allows and never forbids below what it allows, so folders that hold something to keep
    out are allowed by their other entries.
    """
    paths = [f"/usr/{name}" for name in os.listdir("/usr") if name != "local"]
    paths += ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
    paths += [f"/etc/{name}" for name in _ETC]
    for prefix in (interpreter.prefix, *extra):
        packages = set(root.package_folders(prefix)) - set(extra)
        if prefix == "/usr":
            continue
        paths += _without(prefix, packages)
    return [path for path in paths if os.path.exists(path)]


def _without(folder: str, hidden: set[str]) -> list[str]:
    """`folder`, or its entries where something below it is hidden."""
    if not any(path.startswith(folder + "/") for path in hidden):
        return [folder]
    paths: list[str] = []
    for entry in glob.glob(f"{glob.escape(folder)}/*"):
        if entry not in hidden:
            paths += _without(entry, hidden)
    return paths
