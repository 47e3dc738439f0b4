"""The one runner without isolation, for tests of the library itself on machines without any."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.sandbox.inner_boot import BOOT
from assay.sandbox.link import Launch
from assay.sandbox.pool import PooledSandbox


@dataclass(frozen=True)
class UnsafeLocal(PooledSandbox):
    """Runs programs with resource limits but without isolation: they can do what you can do.

    Nothing in the library makes one of these on its own.

    Args:
        i_know_this_is_not_isolated: Must be True.
        workers: Programs at one time.

    Raises:
        ConfigError: The argument is not given.
    """

    i_know_this_is_not_isolated: bool = False
    workers: int = 1

    def __post_init__(self) -> None:
        if self.i_know_this_is_not_isolated is not True:
            raise ConfigError(
                "UnsafeLocal runs programs with all the rights of this process, got "
                f"i_know_this_is_not_isolated={self.i_know_this_is_not_isolated!r}; use "
                "default_sandbox(), or pass True if the programs are your own"
            )

    def size(self) -> int:
        """How many programs at one time."""
        return self.workers

    def launch(self) -> Launch:
        """A zygote of this interpreter, without anything around it."""
        return Launch(
            argv=(sys.executable, "-s", "-S", "-P", "-c", BOOT, "3"),
            cgroup=False,
            folder=True,
            facts={"backend": "unsafe-local", "namespaces": "none", "files": "none"},
            hint=f"check that {sys.executable} can be run",
        )

    def fingerprint(self) -> str:
        """The interpreter's version: nothing else is fixed."""
        return f"unsafe-local-{sys.version.split()[0]}"
