"""Makes namespaces from inside, where the launcher (a container engine) did not.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import os

from assay.sandbox import inner_kernel as kernel

_NEWUSER, _NEWUTS, _NEWCGROUP, _NEWNET = 0x10000000, 0x04000000, 0x02000000, 0x40000000


def enter() -> None:
    """Become uid 1000 of a new user namespace, first process of a new pid namespace.

    The process that was started stays outside and only waits: it ends when we do.

    Raises:
        OSError: The kernel or the engine's seccomp profile forbids it.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = _NEWUSER | kernel.NEWPID | kernel.NEWNS | kernel.NEWIPC | _NEWUTS | _NEWCGROUP | _NEWNET
    kernel.unshare(flags)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"1000 {uid} 1"),
        ("gid_map", f"1000 {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    child = os.fork()
    if child:
        for fd in (3, 4):
            os.close(fd)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    private, recursive = 1 << 18, 1 << 14
    kernel.mount("none", "/", "", private | recursive)
    _devices()


def _devices() -> None:
    """A /dev with what programs need, instead of the engine's (terminals, shared /dev/shm)."""
    kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID, "mode=0755")
    os.mkdir("/tmp/dev")
    for name in ("null", "zero", "full", "random", "urandom"):
        os.close(os.open(f"/tmp/dev/{name}", os.O_CREAT | os.O_WRONLY))
        kernel.mount(f"/dev/{name}", f"/tmp/dev/{name}", "", kernel.MS_BIND)
    for name, target in (
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("fd", "/proc/self/fd"),
        ("shm", "/tmp/.shm"),
    ):
        os.symlink(target, f"/tmp/dev/{name}")
    kernel.mount("/tmp/dev", "/dev", "", kernel.MS_BIND | 1 << 14)
    kernel.unmount("/tmp")
    read_only = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY
    kernel.mount("", "/dev", "", read_only | kernel.MS_NOSUID)
