"""Which backend to use: the best one here, or one by name."""

from __future__ import annotations

from functools import lru_cache

from assay.errors import ConfigError, SandboxError
from assay.sandbox.bubblewrap import WAY_OUT, Bubblewrap
from assay.sandbox.confined import Confined
from assay.sandbox.job import Job, StdioTest, Verdict
from assay.sandbox.sandbox import Sandbox

_TRIVIAL = Job("print(1)", (StdioTest("", "1\n"),))
BACKENDS = ("bubblewrap", "docker", "confined")


def default_sandbox() -> Sandbox:
    """The best backend that is available here; never one without isolation.

    Bubblewrap where it starts; else Docker where an engine answers and has our image; else
    Confined where the kernel has Landlock.

    Raises:
        SandboxError: None is available; the message says what to install.
    """
    name, reasons = _best()
    if not name:
        raise SandboxError(f"no sandbox is available here ({reasons}); {WAY_OUT}")
    return sandbox_named(name)


@lru_cache(maxsize=1)
def _best() -> tuple[str, str]:
    """The first backend that runs a program here, and why the ones before it do not."""
    reasons = []
    for name in BACKENDS:
        try:
            with sandbox_named(name, workers=1) as sandbox:
                verdict = sandbox.run([_TRIVIAL])[0].verdict
        except (SandboxError, ImportError) as error:
            reasons.append(f"{name}: {error}")
            continue
        if verdict is Verdict.AC:
            return name, "; ".join(reasons)
        reasons.append(f"{name}: a trivial program got {verdict}")
    return "", "; ".join(reasons)


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
