"""Which backend to use: the best one here, or one by name."""

from __future__ import annotations

import shutil

from assay.errors import ConfigError, SandboxError
from assay.sandbox.bubblewrap import WAY_OUT, Bubblewrap
from assay.sandbox.confined import Confined
from assay.sandbox.sandbox import Sandbox

BACKENDS = ("bubblewrap", "docker", "confined")


def default_sandbox() -> Sandbox:
    """The best backend that is available here; never one without isolation.

    Bubblewrap where it starts; else Docker where an engine answers and has our image; else
    Confined where the kernel has Landlock.

    Raises:
        SandboxError: None is available; the message says what to install.
    """
    reasons = []
    if shutil.which("bwrap") is None:
        reasons.append("bubblewrap: no `bwrap` in PATH")
    else:
        return Bubblewrap()
    try:
        sandbox = sandbox_named("docker")
        sandbox.fingerprint()
        return sandbox
    except (SandboxError, ImportError) as error:
        reasons.append(f"docker: {error}")
    try:
        confined = Confined()
        confined.launch()
        return confined
    except SandboxError as error:
        reasons.append(f"confined: {error}")
    raise SandboxError(f"no sandbox is available here ({'; '.join(reasons)}); {WAY_OUT}")


def sandbox_named(name: str | None, workers: int | None = None) -> Sandbox:
    """A backend by its name; the default one for None or "default".

    Args:
        name: One of `BACKENDS`.
        workers: Programs at one time; None for one per CPU.

    Raises:
        ConfigError: There is no such backend.
        SandboxError: None is available.
    """
    if name is None or name == "default":
        return default_sandbox()
    if name == "bubblewrap":
        return Bubblewrap(workers=workers)
    if name == "confined":
        return Confined(workers=workers)
    if name == "docker":
        from assay.sandbox.containers import Docker

        return Docker(workers=workers)
    raise ConfigError(f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
