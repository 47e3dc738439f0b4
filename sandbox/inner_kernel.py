"""System calls that Python lacks, for the trusted processes inside the sandbox.

Runs inside the sandbox: standard library only, few imports (every page counts at fork).
"""

from __future__ import annotations

import ctypes
import os

NEWNS, NEWIPC, NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MNT_DETACH = 2
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 38, 24, 47
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
#: Looked up once, here: a forked child would look each up again, and copy pages for it.
_unshare, _setns, _mount, _umount2 = _libc.unshare, _libc.setns, _libc.mount, _libc.umount2
_prctl, _capset, _syscall = _libc.prctl, _libc.capset, _libc.syscall
_HEADER = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
_NO_CAPABILITIES = bytes(24)


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags`."""
    _checked(_unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Join the namespace behind `fd`."""
    _checked(_setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system."""
    result = _mount(
        source.encode(),
        target.encode(),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _checked(result, f"mount {target}")


def unmount(target: str) -> None:
    """Detach the file system mounted at `target`."""
    _checked(_umount2(target.encode(), MNT_DETACH), f"unmount {target}")


def no_new_privileges() -> None:
    """Make exec unable to gain anything, for this process and all it starts."""
    _checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def forget_exec_capabilities() -> None:
    """Empty the bounding and ambient sets: no program started from here has capabilities."""
    _prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    for capability in range(64):
        if _prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break


def drop_capabilities() -> None:
    """Give up every capability of this process, for good."""
    _checked(_capset(_HEADER, _NO_CAPABILITIES), "capset")


def load_filter(program: bytes) -> None:
    """Install a seccomp filter (an array of `struct sock_filter`)."""
    instructions = ctypes.create_string_buffer(program, len(program))
    address = ctypes.addressof(instructions)
    header = bytearray(16)
    header[0:2] = (len(program) // 8).to_bytes(2, "little")
    header[8:16] = address.to_bytes(8, "little")
    pointer = (ctypes.c_char * 16).from_buffer(header)
    _checked(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, pointer, 0, 0), "seccomp")


def become_subreaper() -> None:
    """Inherit the orphans among this process's descendants."""
    _checked(_prctl(36, 1, 0, 0, 0), "child subreaper")


def die_with_parent() -> None:
    """Be killed when the parent dies: for what no namespace would take with it."""
    _checked(_prctl(1, 9, 0, 0, 0), "parent death signal")


class Buffer:
    """Bytes at an address, for the length of a `with` block."""

    def __init__(self, data: bytes) -> None:
        self._data = ctypes.create_string_buffer(data, len(data))

    def __enter__(self) -> int:
        return ctypes.addressof(self._data)

    def __exit__(self, *_: object) -> None:
        del self._data


def call(number: int, *arguments: int) -> int:
    """A raw system call; -1 with errno kept for `errno()`."""
    return int(_syscall(ctypes.c_long(number), *(ctypes.c_long(one) for one in arguments)))


def errno() -> int:
    """The error number of the last failed call."""
    return ctypes.get_errno()
