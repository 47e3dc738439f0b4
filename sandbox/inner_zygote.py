"""The long-lived trusted process of a sandbox: forks a supervisor for each submission.

Runs inside the sandbox: standard library only, few imports. It never runs, parses or compiles
anything that a program wrote.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from assay.sandbox import inner_kernel as kernel
from assay.sandbox import inner_meter, inner_seccomp, inner_supervisor, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def serve(channel: int, start: dict[str, Any]) -> None:
    """Answer requests on `channel` until it closes.

    Args:
        channel: A stream socket or a pair of pipes' end.
        start: What the launcher prepared: `files` (name -> descriptor of a cgroup file),
            `path` (directories to import from), `preload` (modules to import beforehand).
    """
    facts = _settle(start)
    meter = inner_meter.Meter(dict(start["files"]))
    facts["memory"] = start["cgroup"] if meter.memory else "rlimits and polling"
    facts["processes"] = start["cgroup"] if "pids_limit" in meter.files else "rlimit"
    facts["cpu"] = start["cgroup"] if "cpu" in meter.files else "polling"
    home = os.open("/proc/self/ns/pid", os.O_RDONLY) if facts["proc"] == "subset" else -1
    hello = "\n".join(f"{name}={value}" for name, value in facts.items())
    wire.send_record(channel, wire.HELLO, wire.NO_NUMBERS, hello.encode())
    gc.collect()
    gc.freeze()
    while True:
        task = wire.read_request(lambda size: os.read(channel, size))
        if task is None:
            return
        task["proc"] = facts["proc"] == "subset"
        task["extra_processes"] = 4
        meter.configure(task["limits"])
        status = _submission(task, meter, home, channel)
        if status == 0:
            wire.send_record(channel, wire.DONE)
        else:
            wire.send_record(
                channel, wire.FAILED, wire.NO_NUMBERS, f"supervisor status {status}".encode()
            )
        del task


def _submission(task: dict[str, Any], meter: inner_meter.Meter, home: int, channel: int) -> int:
    """Fork the first process of a new pid namespace and wait for it."""
    if home < 0:  # no way back into our own namespace: let a process in between go instead
        between = os.fork()
        if between:
            return os.waitpid(between, 0)[1]
    kernel.unshare(kernel.NEWPID)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            inner_supervisor.supervise(task, meter, True, channel)
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
        finally:
            os._exit(status)
    if home < 0:
        os._exit(1 if os.waitpid(child, 0)[1] else 0)
    kernel.setns(home, kernel.NEWPID)
    return os.waitpid(child, 0)[1]


def _settle(start: dict[str, Any]) -> dict[str, str]:
    """Imports, filter, privileges; returns what is in force."""
    facts: dict[str, str] = {"python": sys.version.split()[0]}
    import _sitebuiltins
    import builtins

    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D")
    sys.path.extend(start["path"])
    for name in start["preload"]:
        __import__(name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        kernel.lower_interface("lo")
        facts["network"] = "none"
    except OSError:
        facts["network"] = "loopback"
    kernel.forget_exec_capabilities()
    kernel.no_new_privileges()
    try:
        kernel.load_filter(inner_seccomp.build(memfd="memory_limit" in start["files"]))
        facts["seccomp"] = "deny list"
    except OSError as error:
        facts["seccomp"] = f"none ({error})"
    facts["proc"] = "subset" if os.path.isdir("/proc/self") else "none"
    return facts
