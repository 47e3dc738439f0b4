"""How the inner modules get into a sandbox: as source text, through the control channel.

Nothing of the library has to be visible in the sandbox's file system, and every backend starts its
inside the same way: `python -s -S -P -c BOOT`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.sandbox import wire

#: In the order of their imports.
_MODULES = (
    "wire",
    "inner_kernel",
    "inner_landlock",
    "inner_seccomp",
    "inner_stage",
    "inner_value",
    "inner_guest",
    "inner_entry",
    "inner_family",
    "inner_spawner",
    "inner_meter",
    "inner_supervisor",
    "inner_zygote",
)

#: Reads one request (the sources and the start data) from the descriptor in its first argument (a
#: socket, or 0 for stdin and stdout), then serves.
BOOT = """
import sys, os, marshal
fd = int(sys.argv[1])
out = fd
if fd == 0:
    fd, out = os.dup(0), os.dup(1)
    empty, closed = os.pipe()
    os.close(closed)
    os.dup2(empty, 0)
    os.dup2(2, 1)
    os.close(empty)
def take(size):
    data = b""
    while len(data) < size:
        more = os.read(fd, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return data
start = marshal.loads(take(int.from_bytes(take(4), "little")))
kind = type(sys)
package = kind("assay.sandbox")
sys.modules["assay"] = kind("assay")
sys.modules["assay"].sandbox = package
sys.modules["assay.sandbox"] = package
for name, source in start.pop("modules"):
    module = kind("assay.sandbox." + name)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, "<assay " + name + ">", "exec"), module.__dict__)
main = package.inner_zygote
del source, module, kind, package, name
main.serve((fd, out), start)
"""


def start_request(start: dict[str, Any]) -> bytes:
    """The first request of a worker: the modules, and `start` as `inner_zygote.serve` reads it."""
    here = Path(__file__).parent
    modules = [(name, (here / f"{name}.py").read_text("utf-8")) for name in _MODULES]
    return wire.pack_request({"modules": modules, **start})
