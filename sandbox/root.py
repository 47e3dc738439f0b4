"""What a program sees of the file system: a read-only root with the tool chains and little else."""

from __future__ import annotations

import glob
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.sandbox.link import MOVABLE

_PASSWD = "root:x:0:0:root:/:/bin/false\nbox:x:1000:1000:box:/tmp:/bin/sh\n"
_GROUP = "root:x:0:\nbox:x:1000:\n"
_ETC = ("ld.so.cache", "alternatives", "localtime")
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for programs: its executable, and the prefix it needs."""

    executable: str
    prefix: str


def find_interpreter(wanted: str | None) -> Interpreter:
    """The Python that programs run on: `wanted`, else the one under this process.

    Only the standard library is shown to programs: installed packages may hold test data.

    Raises:
        ConfigError: `wanted` is not an executable Python.
    """
    if wanted is None:
        prefix = os.path.realpath(sys.base_prefix)
        name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return Interpreter(os.path.join(prefix, "bin", name), prefix)
    executable = os.path.realpath(wanted)
    if not os.access(executable, os.X_OK):
        raise ConfigError(f"python must be the path of an interpreter, got {wanted!r}")
    return Interpreter(executable, str(Path(executable).parent.parent))


def bind_arguments(
    interpreter: Interpreter, extra: tuple[str, ...]
) -> tuple[list[str], list[str], dict[str, str]]:
    """The part of bubblewrap's command line that makes the root.

    Args:
        interpreter: The Python for programs.
        extra: More directories or files to show, read-only, at their own place.

    Returns:
        The arguments (with `MOVABLE` marks), the directories that may need staging, and the
        placeholders of small files.
    """
    shown = [path for path in (interpreter.prefix, *extra) if not _below(path, "/usr")]
    local = any(_below(path, "/usr/local") for path in (interpreter.prefix, *extra))
    argv = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            argv += ["--ro-bind", path, path]
    hidden = [] if local else ["/usr/local"]
    for path in shown:
        argv += ["--ro-bind", MOVABLE + path, path]
        hidden += package_folders(path)
    hidden += package_folders(interpreter.prefix)
    for path in dict.fromkeys(hidden):
        covered = any(_below(path, one) for one in hidden if one != path)
        if os.path.isdir(path) and path not in extra and not covered:
            argv += ["--tmpfs", path, "--remount-ro", path]
    for name in _ETC:
        for path in glob.glob(f"/etc/{name}"):
            argv += ["--ro-bind", path, path]
    argv += ["--ro-bind-data", "\1passwd", "/etc/passwd", "--ro-bind-data", "\1group", "/etc/group"]
    for name in _DEVICES:
        argv += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        argv += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    argv += ["--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "/tmp/.shm", "/dev/shm"]
    argv += ["--dir", "/tmp", "--dir", "/prog"]
    stage = [path for path in shown if not reachable(path)]
    return argv, stage, {"\1passwd": _PASSWD, "\1group": _GROUP}


def package_folders(prefix: str) -> list[str]:
    """Where packages are installed under a prefix."""
    found = glob.glob(f"{prefix}/lib/python3*/site-packages")
    found += glob.glob(f"{prefix}/lib/python3*/dist-packages")
    if os.path.realpath(sys.base_prefix) == prefix:
        found += [
            path
            for path in (sysconfig.get_path("purelib", vars={"base": prefix}),)
            if path.startswith(prefix) and path not in found
        ]
    return found


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def reachable(path: str) -> bool:
    """Whether any user can walk to `path`."""
    folder = Path(path)
    return all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))
