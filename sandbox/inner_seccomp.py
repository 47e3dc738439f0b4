"""The seccomp filter: what no program may ask of the kernel, checked per architecture.

A deny list: an allow list breaks numerical libraries and language runtimes at every release. What
is denied needs no capability and reaches a wide or shared part of the kernel: tracing and memory of
other processes, new namespaces, new mount calls, keyrings, io_uring, bpf, userfaultfd, perf, SysV
IPC and message queues (state between runs), sockets of any family but UNIX, terminal injection, and
calls that change *another* process's limits or priority.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import os

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _GREATER_EQUAL, _BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16

#: name -> (x86_64, aarch64); None where the architecture lacks it.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "ustat": (136, None),
    "vhangup": (153, 58),
}

#: Calls whose first argument names a process: only 0, the caller itself, is allowed.
_OWN_ONLY: dict[str, tuple[int, int]] = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}
#: The same for calls that take (which, who).
_OWN_SECOND: dict[str, tuple[int, int]] = {"ioprio_set": (251, 30), "setpriority": (141, 140)}
_CLONE, _CLONE3, _UNSHARE, _IOCTL = (56, 220), (435, 435), (272, 97), (16, 29)
_SOCKET, _SOCKETPAIR, _MEMFD_CREATE, _PERSONALITY = (41, 198), (53, 199), (319, 279), (135, 92)
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* of clone(2); NEWTIME exists for unshare only
_NEW_USER_OR_TIME = 0x10000000 | 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERRNO | error)


def _on_call(number: int, body: bytes) -> bytes:
    """Run `body` (which must return) for one system call; the number is in the accumulator."""
    return _step(_EQUAL, number, 0, len(body) // 8) + body


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGS + 8 * index)


def denied_names() -> list[str]:
    """The calls that nothing inside needs, for filters that others make."""
    return sorted(_CALLS)


_SIGNALS: tuple[tuple[int, int], ...] = ((62, 129), (200, 130), (234, 131), (129, 138), (424, 424))


def build_without_signals() -> bytes:
    """A second filter that refuses kill, tkill, tgkill, rt_sigqueueinfo and pidfd_send_signal."""
    column, _ = _ARCHITECTURES[os.uname().machine]
    program = _step(_LOAD, _NUMBER)
    for pair in _SIGNALS:
        program += _on_call(pair[column], _refuse(EPERM))
    return program + _step(_RETURN, _ALLOW)


def build(memfd: bool, strict: bool = False, machine: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`.

    Args:
        memfd: Whether `memfd_create` is allowed (only where a cgroup counts its pages).
        strict: Refuse every namespace call, too: for backends whose trusted processes make none.
        machine: `x86_64` or `aarch64`; by default this machine.

    Raises:
        OSError: No table for this architecture.
    """
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        raise OSError(ENOSYS, f"no seccomp table for {machine!r}: {sorted(_ARCHITECTURES)}")
    column, audit = _ARCHITECTURES[machine]
    allow = _step(_RETURN, _ALLOW)
    program = _step(_LOAD, _ARCH) + _step(_EQUAL, audit, 1, 0) + _step(_RETURN, _KILL)
    program += _step(_LOAD, _NUMBER)
    if machine == "x86_64":  # the x32 gate has the same architecture number and its own range
        program += _step(_GREATER_EQUAL, 0x40000000, 0, 1) + _step(_RETURN, _KILL)
    for numbers in (_OWN_ONLY, _OWN_SECOND):
        for pair in numbers.values():
            load = _argument(0 if numbers is _OWN_ONLY else 1)
            body = load + _step(_EQUAL, 0, 0, 1) + allow + _refuse(EPERM)
            program += _on_call(pair[column], body)
    refuse = _refuse(EPERM)
    program += _on_call(
        _CLONE[column], _argument(0) + _step(_BITS, _NEW_NAMESPACES, 0, 1) + refuse + allow
    )
    program += _on_call(_CLONE3[column], _refuse(ENOSYS))  # its flags lie in memory: use clone
    flags = 0xFFFFFFFF if strict else _NEW_USER_OR_TIME
    program += _on_call(_UNSHARE[column], _argument(0) + _step(_BITS, flags, 0, 1) + refuse + allow)
    program += _on_call(
        _IOCTL[column],  # the kernel looks at the low 32 bits only, and so does this
        _argument(1)
        + _step(_EQUAL, _TIOCSTI, 1, 0)
        + _step(_EQUAL, _TIOCLINUX, 0, 1)
        + refuse
        + allow,
    )
    program += _on_call(
        _SOCKET[column],
        _argument(0) + _step(_EQUAL, 1, 0, 1) + allow + _refuse(EAFNOSUPPORT),
    )
    program += _on_call(
        _SOCKETPAIR[column], _argument(0) + _step(_EQUAL, 1, 0, 1) + allow + _refuse(EAFNOSUPPORT)
    )
    program += _on_call(
        _PERSONALITY[column],
        _argument(0) + _step(_EQUAL, 0xFFFFFFFF, 1, 0) + _step(_EQUAL, 0, 0, 1) + allow + refuse,
    )
    if not memfd:
        program += _on_call(_MEMFD_CREATE[column], _refuse(ENOSYS))
    for both in _CALLS.values():
        denied = both[column]
        if denied is not None:
            program += _on_call(denied, refuse)
    return program + allow
