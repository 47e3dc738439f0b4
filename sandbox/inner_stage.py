"""The files that a program sees of its own, fresh for each test.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import os
import time

from assay.sandbox import inner_kernel as kernel
from assay.sandbox import inner_landlock as landlock
from assay.sandbox import inner_seccomp as seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV


class Mounts:
    """Private mounts: /prog read-only, /tmp (with /dev/shm inside) sized and new for each test."""

    prog, tmp, shm = "/prog", "/tmp", "/tmp/.shm"
    rules = -1

    def __init__(self, task: dict[str, Any], proc: bool) -> None:
        limits = task["limits"]
        self.options = f"size={limits['tmp']},nr_inodes={limits['inodes']},mode=0777"
        self.mounted = False
        self.clean: object = None
        kernel.unshare(kernel.NEWNS)  # SysV IPC and message queues are denied
        if proc:
            flags = _QUIET | kernel.MS_RDONLY | kernel.MS_NOEXEC
            kernel.mount("proc", "/proc", "proc", flags, "subset=pid,hidepid=invisible")
        kernel.mount("tmpfs", self.prog, "tmpfs", _QUIET, "mode=0755")
        write_files(self.prog, task["files"])
        read_only = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY
        kernel.mount("", self.prog, "", read_only | _QUIET)

    def fresh(self) -> None:
        """An empty /tmp, whatever was there."""
        if self.mounted:
            if _state(self.tmp, self.shm) == self.clean:
                return
            kernel.unmount(self.tmp)
        kernel.mount("tmpfs", self.tmp, "tmpfs", _QUIET, self.options)
        os.mkdir(self.shm)
        os.chmod(self.shm, 0o1777)
        self.mounted = True
        self.clean = _state(self.tmp, self.shm)

    def used(self) -> int:
        """Bytes in /tmp, which live in memory."""
        try:
            space = os.statvfs(self.tmp)
        except OSError:
            return 0
        return (space.f_blocks - space.f_bfree) * space.f_frsize

    def confine(self) -> None:
        """Nothing: the mounts are all that a program sees."""

    def overfull(self) -> bool:
        """Never: the file system itself is sized."""
        return False

    def leave(self) -> None:
        """Nothing: mounts end with their namespace."""


def _state(*folders: str) -> object:
    """All that a program could have changed in folders that hold nothing else, or None."""
    found: list[object] = []
    try:
        for folder in folders:
            status = os.stat(folder)
            found += (status.st_ino, status.st_mode, status.st_nlink, os.listxattr(folder))
            found += (status.st_mtime_ns, status.st_ctime_ns)
        space = os.statvfs(folders[0])
    except OSError:
        return None
    return (*found, space.f_bfree, space.f_ffree)


class Folders:
    """Plain directories, for backends without a mount namespace; emptied, and watched."""

    def __init__(self, task: dict[str, Any], folder: str, readable: list[str]) -> None:
        self.prog, self.tmp = os.path.join(folder, "prog"), os.path.join(folder, "tmp")
        self.limits = task["limits"]
        self.next_look = 0.0
        for path in (self.prog, self.tmp):
            remove(path)
            os.mkdir(path)
        write_files(self.prog, task["files"])
        self.ruleset: landlock.Ruleset | None = None
        if readable:
            self.ruleset = landlock.Ruleset()
            for path in (*readable, self.prog):
                self.ruleset.allow(path, landlock.READ)
            for name in ("null", "zero", "full", "random", "urandom"):
                self.ruleset.allow_all(f"/dev/{name}")
            self.ruleset.allow_all(self.tmp)

    def fresh(self) -> None:
        """An empty tmp folder, whatever was there (the folder itself stays: rules name it)."""
        remove(self.tmp, itself=False)
        os.utime(self.tmp, (0, 0))
        os.mkdir(os.path.join(self.tmp, ".shm"))

    @property
    def rules(self) -> int:
        """Descriptor of the Landlock rules, -1 for none, -2 where they do not suffice."""
        if self.ruleset is None:
            return -1
        return self.ruleset.fd if self.ruleset.isolates_signals else -2

    def confine(self) -> None:
        """Bind the calling process to what it may do with files."""
        if self.ruleset is not None:
            self.ruleset.restrict()
            if not self.ruleset.isolates_signals:
                kernel.load_filter(seccomp.build_without_signals())

    def used(self) -> int:
        """Nothing: files lie on a disk."""
        return 0

    def overfull(self) -> bool:
        """Whether the tmp folder holds more files or bytes than allowed; looked at now and then."""
        started = time.monotonic()
        if started < self.next_look:
            return False
        full = self._full()
        now = time.monotonic()
        self.next_look = now + max(0.1, 10 * (now - started))
        return full

    def _full(self) -> bool:
        files = size = 0
        waiting = [self.tmp]
        for here in waiting:  # grows while we go
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        files += 1
                        if files > self.limits["inodes"]:
                            return True
                        if entry.is_dir(follow_symlinks=False):
                            if len(entry.path) < 1000:  # deeper ones are few, or many by now
                                waiting.append(entry.path)
                        else:
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                continue
        return bool(size > self.limits["tmp"])

    def leave(self) -> None:
        """Remove both folders."""
        remove(self.prog)
        remove(self.tmp)


def write_files(folder: str, files: list[tuple[str, bytes, int]]) -> None:
    """Write (name, content, mode) below `folder`."""
    for name, content, mode in files:
        path = f"{folder}/{name}"
        if "/" in name:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        written = os.write(fd, content)
        while written < len(content):
            written += os.write(fd, memoryview(content)[written:])
        os.close(fd)


def remove(folder: str, itself: bool = True) -> None:
    """Remove a directory tree that a program may have shaped, following no link.

    Directories below the first level are moved up before they are emptied, so that no path grows
    long however deep the tree is.
    """
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return
    waiting = [folder]
    for here in waiting:  # grows while we go
        with os.scandir(here) as entries:
            found = list(entries)
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            target = os.path.join(folder, f"\x01{len(waiting)}")
            os.rename(entry.path, target)
            waiting.append(target)
    for here in reversed(waiting if itself else waiting[1:]):
        os.rmdir(here)


def collect(folder: str, limit: int) -> bytes:
    """The regular files below `folder`, following no link: what a compiler wrote.

    Each as name length (2 bytes), content length (4 bytes), name, content; nothing at all if they
    are more than `limit` bytes together.
    """
    parts: list[bytes] = []
    total = 0
    waiting = [""]
    for below in waiting:  # grows while we go
        with os.scandir(os.path.join(folder, below)) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            name = os.path.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(waiting) < 1000:
                    waiting.append(name)
                continue
            if not entry.is_file(follow_symlinks=False):
                continue
            total += entry.stat(follow_symlinks=False).st_size
            if total > limit:
                return b""
            fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(fd, "rb") as file:
                content = file.read()
            label = name.encode("utf-8", "replace")
            parts += (len(label).to_bytes(2, "little"), len(content).to_bytes(4, "little"))
            parts += (label, content)
    return b"".join(parts)
