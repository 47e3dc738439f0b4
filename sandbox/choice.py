"""Which backend to use where nobody chose one."""

from __future__ import annotations

import shutil

from assay.errors import SandboxError
from assay.sandbox.bubblewrap import WAY_OUT, Bubblewrap
from assay.sandbox.sandbox import Sandbox


def default_sandbox() -> Sandbox:
    """The best backend that is available here; never one without isolation.

    Raises:
        SandboxError: None is available; the message says what to install.
    """
    if shutil.which("bwrap") is None:
        raise SandboxError(f"no sandbox is available here: no `bwrap` in PATH; {WAY_OUT}")
    return Bubblewrap()
