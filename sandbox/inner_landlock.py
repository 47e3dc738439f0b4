"""Landlock: file access, signals and abstract sockets bounded by the kernel for one process tree.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import os

from assay.sandbox import inner_kernel as kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_RULE_PATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
READ = _EXECUTE | _READ_FILE | _READ_DIR
_O_PATH = 0o10000000


def abi_version() -> int:
    """The version of the kernel's Landlock, 0 where there is none."""
    return max(0, kernel.call(_CREATE, 0, 0, 1))


class Ruleset:
    """What a program may still do with files: nothing but what was allowed here.

    From ABI 4 on TCP is denied, from ABI 6 on signals and abstract sockets stay inside.

    Raises:
        OSError: The kernel has no Landlock.
    """

    def __init__(self) -> None:
        version = abi_version()
        if version == 0:
            raise OSError("this kernel has no Landlock")
        self.version = version
        self.handled = (1 << 13) - 1
        for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
            if version >= since:
                self.handled |= right
        attributes = self.handled.to_bytes(8, "little")
        if version >= 4:
            attributes += (3).to_bytes(8, "little")
        if version >= 6:
            attributes += (3).to_bytes(8, "little")
        with kernel.Buffer(attributes) as address:
            self.fd = kernel.call(_CREATE, address, len(attributes), 0)
        if self.fd < 0:
            raise OSError(kernel.errno(), "landlock_create_ruleset")

    @property
    def isolates_signals(self) -> bool:
        """Whether a program cannot signal processes outside."""
        return self.version >= 6

    def allow(self, path: str, rights: int) -> None:
        """Allow `rights` at and below `path`; a path that is not there is left out."""
        try:
            target = os.open(path, _O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not os.path.isdir(path):
                rights &= _FILE_ONLY
            rule = (rights & self.handled).to_bytes(8, "little") + target.to_bytes(4, "little")
            with kernel.Buffer(rule) as address:
                if kernel.call(_ADD, self.fd, _RULE_PATH, address, 0) < 0:
                    raise OSError(kernel.errno(), f"landlock rule for {path}")
        finally:
            os.close(target)

    def allow_all(self, path: str) -> None:
        """Allow everything below `path`."""
        self.allow(path, self.handled)

    def restrict(self) -> None:
        """Bind this process and all it will start to the rules."""
        if kernel.call(_RESTRICT, self.fd, 0) < 0:
            raise OSError(kernel.errno(), "landlock_restrict_self")

    def close(self) -> None:
        """Forget the rules (processes that are bound stay bound)."""
        os.close(self.fd)
