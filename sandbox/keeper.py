"""The process that holds one worker's isolation: cgroup, privileges, life time.

It runs outside the sandbox under the caller's uid (root or not), as a script of its own, so that
the caller needs neither fork hooks nor threads to be quiet. It ends the worker and removes its
cgroup when the caller closes it, dies, or is killed by any signal: it watches the caller through a
pidfd. Standard library only; does not import the library.

Usage: keeper.py JSON, with `parent` (pid), `argv`, `channel` (descriptor), `uid` (to drop to, or
null), `stage` (paths to bind where the uid can reach them), `reach` (the same, in place), `texts`
(descriptor placeholder -> content), `limits` (rlimits), `cgroup` (bool), `folder` (bool: make a
directory), `name`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHANNEL = 3
_PR_SET_CHILD_SUBREAPER = 36
_ADDR_NO_RANDOMIZE = 0x0040000
_ROOT = "/sys/fs/cgroup"
_V1 = {
    "memory": {
        "memory_limit": ("memory.limit_in_bytes", os.O_WRONLY),
        "swap_limit": ("memory.memsw.limit_in_bytes", os.O_WRONLY),
        "memory_peak": ("memory.max_usage_in_bytes", os.O_RDWR),
        "memory_oom": ("memory.oom_control", os.O_RDONLY),
    },
    "pids": {"pids_limit": ("pids.max", os.O_WRONLY)},
    "cpuacct": {"cpu": ("cpuacct.usage", os.O_RDONLY)},
}
_V2 = {
    "memory_limit": ("memory.max", os.O_WRONLY),
    "swap_limit": ("memory.swap.max", os.O_WRONLY),
    "memory_peak": ("memory.peak", os.O_RDWR),
    "memory_events": ("memory.events", os.O_RDONLY),
    "pids_limit": ("pids.max", os.O_WRONLY),
    "cpu": ("cpu.stat", os.O_RDONLY),
}


class Group:
    """The cgroups of one worker and their open files."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folders: list[str] = []
        self.files: dict[str, int] = {}
        self.kind = "none"

    def create(self, pids: bool) -> None:
        """Make what this user may make; what fails is left out.

        Args:
            pids: Whether to bound processes (v1): not needed where the limit of the user namespace
                does it, and joining a group costs time in every test.
        """
        own = _own_groups()
        for controller, files in _V1.items():
            if controller == "pids" and not pids:
                continue
            path = own.get(controller)
            mounted = os.path.join(_ROOT, controller)
            if path is None or not os.path.isdir(mounted):
                continue
            for base in (mounted + path, mounted):
                folder = os.path.join(base, self.name)
                if self._make(folder, files, f"procs_{controller}"):
                    self.kind = "cgroup-v1"
                    break
        if self.kind == "none" and "" in own and os.path.exists(f"{_ROOT}/cgroup.controllers"):
            for base in (_ROOT + own[""], _ROOT):
                with contextlib.suppress(OSError):
                    _write(f"{base}/cgroup.subtree_control", "+memory +pids +cpu")
                if self._make(os.path.join(base, self.name), _V2, "procs"):
                    self.kind = "cgroup-v2"
                    break

    def _make(self, folder: str, files: dict[str, tuple[str, int]], procs: str) -> bool:
        opened: dict[str, int] = {}
        try:
            os.mkdir(folder)
            opened[procs] = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
            for name, (file, mode) in files.items():
                try:
                    opened[name] = os.open(f"{folder}/{file}", mode)
                except OSError:
                    if name in ("memory_limit", "pids_limit", "cpu", "memory_events"):
                        raise
        except OSError:
            for fd in opened.values():
                os.close(fd)
            with contextlib.suppress(OSError):
                os.rmdir(folder)
            return False
        self.folders.append(folder)
        self.files.update(opened)
        return True

    def remove(self) -> None:
        """Wait until nothing lives in them, then remove them."""
        for folder in self.folders:
            for _ in range(500):
                try:
                    os.rmdir(folder)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    for pid in _read(f"{folder}/cgroup.procs").split():
                        with contextlib.suppress(OSError):
                            os.kill(int(pid), signal.SIGKILL)
                    time.sleep(0.01)


def sweep(prefix: str) -> None:
    """Remove the empty groups of keepers that were themselves killed."""
    own = _own_groups()
    bases = {_ROOT + own.get("", "/"), _ROOT}
    for controller in _V1:
        bases |= {f"{_ROOT}/{controller}{own.get(controller, '/')}", f"{_ROOT}/{controller}"}
    for base in bases:
        for name in os.listdir(base) if os.path.isdir(base) else []:
            pid = name[len(prefix) :].partition("-")[0]
            if name.startswith(prefix) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.join(base, name))


def _kernel() -> tuple[int, int]:
    """The version; from 5.14 on RLIMIT_NPROC counts within a user namespace."""
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(one for one in minor if one.isdigit()) or 0)


def _own_groups() -> dict[str, str]:
    """Controller ("" for v2) -> path of this process's own group."""
    own: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            own[controller] = "" if path == "/" else path
    return own


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _stage(paths: list[str]) -> dict[str, str]:
    """Bind directories that only root can reach to places that anyone can."""
    libc = ctypes.CDLL(None, use_errno=True)
    moved: dict[str, str] = {}
    if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None):  # private, rec
        raise OSError(ctypes.get_errno(), "cannot make a private mount namespace")
    if libc.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, b"mode=0755"):
        raise OSError(ctypes.get_errno(), "cannot mount a tmpfs")
    for number, path in enumerate(paths):
        target = f"/mnt/{number}"
        os.mkdir(target)
        if libc.mount(path.encode(), target.encode(), None, 0x5000, None):  # bind, rec
            raise OSError(ctypes.get_errno(), f"cannot bind {path}")
        moved[path] = target
    return moved


def _reach(paths: list[str]) -> None:
    """Make directories reachable where they are, in a mount namespace of this process only.

    A copy of each is bound elsewhere, an empty directory that anyone may pass goes over its
    closed ancestor, and the copy is bound back into that.
    """
    moved = _stage(paths)
    libc = ctypes.CDLL(None, use_errno=True)
    for ancestor in sorted({_closed_ancestor(path) for path in paths}):
        if libc.mount(b"tmpfs", ancestor.encode(), b"tmpfs", 0, b"mode=0711"):
            raise OSError(ctypes.get_errno(), f"cannot cover {ancestor}")
    for path in paths:
        os.makedirs(path, mode=0o755, exist_ok=True)
        if libc.mount(moved[path].encode(), path.encode(), None, 0x5000, None):
            raise OSError(ctypes.get_errno(), f"cannot bind {path}")


def _closed_ancestor(path: str) -> str:
    """The topmost directory on the way to `path` that others may not pass."""
    here = ""
    for part in path.strip("/").split("/"):
        here += "/" + part
        if not os.stat(here).st_mode & 0o001:
            break
    return here


def _launch(config: dict[str, Any], group: Group) -> None:
    """In the child: become the sandbox. Does not return."""
    argv = list(config["argv"])
    uid = config["uid"]
    if uid is not None:
        if config["stage"]:
            moved = _stage(config["stage"])
            argv = [moved.get(one[1:], one[1:]) if one[:1] == "\0" else one for one in argv]
        if config["reach"]:
            _reach(config["reach"])
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    argv = [one[1:] if one[:1] == "\0" else one for one in argv]
    for placeholder, content in config["texts"].items():
        read_end, write_end = os.pipe()
        os.write(write_end, content.encode())
        os.close(write_end)
        os.set_inheritable(read_end, True)
        argv[argv.index(placeholder)] = str(read_end)
    for kind, value in config["limits"]:
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, hard))
    with contextlib.suppress(OSError, AttributeError):  # the same addresses in every worker
        ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
    read_end, write_end = os.pipe()
    os.close(write_end)
    os.dup2(read_end, 0)  # pipes, so that the streams made on them are not seekable
    os.dup2(2, 1)
    for fd in (config["channel"], *group.files.values()):
        os.set_inheritable(fd, True)
    os.execve(argv[0], argv, config["environment"])


def _end_orphans() -> None:
    """Kill what the sandbox left: nothing where it had a pid namespace, else its programs.

    They became our children when their parents died, because we are a subreaper; one by one, so
    that those which fork meanwhile are found too.
    """
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                children = [int(one) for one in file.read().split()]
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in children:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
            os.waitpid(-1, 0)
        except (OSError, ValueError):
            return


def main() -> int:
    """Create, launch, watch, remove."""
    config = json.loads(sys.argv[1])
    if config["channel"] != _CHANNEL:
        os.dup2(config["channel"], _CHANNEL)
        os.close(config["channel"])
        config["channel"] = _CHANNEL
    parent = os.pidfd_open(config["parent"])
    if os.getppid() != config["parent"]:
        return 1
    group = Group(f"{config['name']}{os.getpid()}-{config['parent']}")
    if config["cgroup"]:
        sweep(config["name"])
        group.create(pids=bool(config["folder"]) or _kernel() < (5, 14))
    folder = ""
    if config["folder"]:
        folder = tempfile.mkdtemp(prefix=group.name + "-")
        if config["uid"] is not None:
            os.chown(folder, config["uid"], config["uid"])
    sent = " ".join(
        [group.kind, f"folder={folder}", *(f"{name}={fd}" for name, fd in group.files.items())]
    )
    os.write(config["channel"], sent.encode() + b"\n")
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            _launch(config, group)
        except BaseException as error:
            os.write(2, f"launch: {error}\n".encode())
        os._exit(1)
    os.close(config["channel"])
    watched = os.pidfd_open(child)
    poll = select.poll()
    for fd in (parent, watched):
        poll.register(fd, select.POLLIN)
    poll.poll()
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    _end_orphans()
    for fd in group.files.values():
        os.close(fd)
    group.remove()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(main())
