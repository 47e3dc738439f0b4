"""The filter, decided by a small BPF interpreter: also for the architecture that is not here."""

from __future__ import annotations

import os

import pytest

from assay.sandbox import inner_seccomp
from assay.sandbox.inner_seccomp import build

ALLOW, KILL, EPERM, ENOSYS, NO_FAMILY = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(program: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    """What the kernel would do with one system call."""
    data = number.to_bytes(4, "little") + arch.to_bytes(4, "little") + bytes(8)
    data += b"".join(one.to_bytes(8, "little") for one in (*arguments, *(0,) * 6)[:6])
    at, accumulator = 0, 0
    while True:
        step = program[8 * at : 8 * at + 8]
        code, yes, no = int.from_bytes(step[:2], "little"), step[2], step[3]
        value = int.from_bytes(step[4:], "little")
        at += 1
        if code == 0x20:
            accumulator = int.from_bytes(data[value : value + 4], "little")
        elif code == 0x06:
            return value
        else:
            tests = {0x15: accumulator == value, 0x35: accumulator >= value}
            tests[0x45] = bool(accumulator & value)
            at += yes if tests[code] else no


CASES = {
    "read": ((0, 63), (), ALLOW),
    "ptrace": ((101, 117), (16, 1), EPERM),
    "process_vm_readv": ((310, 270), (1,), EPERM),
    "io_uring_setup": ((425, 425), (8,), EPERM),
    "bpf": ((321, 280), (0,), EPERM),
    "keyctl": ((250, 219), (0,), EPERM),
    "fork": ((56, 220), (17,), ALLOW),
    "a thread": ((56, 220), (0x3D0F00,), ALLOW),
    "clone with a user namespace": ((56, 220), (0x10000011,), EPERM),
    "clone with a network namespace": ((56, 220), (0x40000011,), EPERM),
    "clone3": ((435, 435), (1,), ENOSYS),
    "unshare user": ((272, 97), (0x10000000,), EPERM),
    "unix socket": ((41, 198), (1, 1), ALLOW),
    "inet socket": ((41, 198), (2, 1), NO_FAMILY),
    "vsock": ((41, 198), (40, 1), NO_FAMILY),
    "netlink": ((41, 198), (16, 3), NO_FAMILY),
    "tiocsti": ((16, 29), (0, 0x5412), EPERM),
    "tiocsti with high bits": ((16, 29), (0, 0x1_0000_5412), EPERM),
    "tioclinux": ((16, 29), (0, 0x541C), EPERM),
    "another ioctl": ((16, 29), (0, 0x5413), ALLOW),
    "own limits": ((302, 261), (0, 7), ALLOW),
    "another's limits": ((302, 261), (1, 7), EPERM),
    "another's priority": ((141, 140), (0, 1), EPERM),
    "memfd": ((319, 279), (0,), ENOSYS),
    "ask personality": ((135, 92), (0xFFFFFFFF,), ALLOW),
    "set personality": ((135, 92), (0x40000,), EPERM),
}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("name", CASES)
def test_decisions(machine, name):
    numbers, arguments, expected = CASES[name]
    program = build(memfd=False, machine=machine)
    number = numbers[0 if machine == "x86_64" else 1]
    assert decide(program, number, AUDIT[machine], arguments) == expected


def test_other_gates_are_closed():
    program = build(memfd=True, machine="x86_64")
    assert decide(program, 20, 0x40000003) == KILL  # int 0x80
    assert decide(program, 0x40000000 + 39, AUDIT["x86_64"]) == KILL  # x32
    assert decide(program, 319, AUDIT["x86_64"]) == ALLOW  # memfd where a cgroup counts it
    arm = build(memfd=True, machine="aarch64")
    assert decide(arm, 63, AUDIT["x86_64"]) == KILL


def test_strict_refuses_every_unshare():
    program = build(memfd=False, strict=True, machine="x86_64")
    assert decide(program, 272, AUDIT["x86_64"], (0x20000,)) == EPERM


def test_without_signals():
    program = inner_seccomp.build_without_signals()
    kill, read = (62, 0) if os.uname().machine == "x86_64" else (129, 63)
    assert decide(program, kill, 0, (1, 9)) == EPERM
    assert decide(program, read, 0) == ALLOW


def test_unknown_machine():
    with pytest.raises(OSError, match="no seccomp table for 'm68k'"):
        build(memfd=False, machine="m68k")
