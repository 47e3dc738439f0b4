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
