"""The long-lived trusted process of a sandbox: forks a supervisor for each submission.

Runs inside the sandbox: standard library only, few imports. It never runs, parses or compiles
anything that a program wrote.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from assay.sandbox import (
    inner_entry,
    inner_family,
    inner_meter,
    inner_seccomp,
    inner_stage,
    inner_supervisor,
    wire,
)
from assay.sandbox import inner_kernel as kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Zygote:
    """The process that starts submissions, in one of two ways.

    With namespaces, each submission gets a pid namespace and mounts of its own. Without (backends
    `confined` and `UnsafeLocal`), it gets folders that are emptied, and its processes are found by
    their parents.
    """

    def __init__(self, channel: tuple[int, int], start: dict[str, Any]) -> None:
        self.channel = channel
        self.folder: str = start["folder"]
        self.readable: list[str] = start["readable"]
        self.facts = _settle(start)
        self.meter = inner_meter.Meter(dict(start["files"]), private=not self.folder)
        kind = start["cgroup"]
        self.facts["memory"] = kind if self.meter.memory else "rlimits and polling"
        self.facts["processes"] = kind if "pids_limit" in self.meter.files else "rlimit"
        self.facts["cpu"] = kind if "cpu" in self.meter.files else "polling"
        self.proc = os.path.isdir("/proc/self")
        self.home = os.open("/proc/self/ns/pid", os.O_RDONLY) if self.proc else -1
        if self.folder:
            kernel.become_subreaper()
            kernel.die_with_parent()

    def serve(self) -> None:
        """Answer requests until the channel closes."""
        hello = "\n".join(f"{name}={value}" for name, value in self.facts.items())
        wire.send_record(self.channel[1], wire.HELLO, wire.NO_NUMBERS, hello.encode())
        _hide_harness()
        gc.collect()
        gc.freeze()
        while True:
            task = wire.read_request(lambda size: os.read(self.channel[0], size))
            if task is None:
                return
            task["extra_processes"] = inner_family.count_own() if self.folder else 4
            self.meter.configure(task["limits"])
            status = self._in_folders(task) if self.folder else self._in_namespaces(task)
            if status == 0:
                wire.send_record(self.channel[1], wire.DONE)
            else:
                message = f"supervisor status {status}".encode()
                wire.send_record(self.channel[1], wire.FAILED, wire.NO_NUMBERS, message)
            del task

    def _in_namespaces(self, task: dict[str, Any]) -> int:
        """Fork the first process of a new pid namespace and wait for it."""
        if self.home < 0:  # no way back into our own: let a process in between go instead
            between = os.fork()
            if between:
                return os.waitpid(between, 0)[1]
        kernel.unshare(kernel.NEWPID)
        child = os.fork()
        if child == 0:
            self._supervise(task)
        if self.home < 0:
            os._exit(1 if os.waitpid(child, 0)[1] else 0)
        kernel.setns(self.home, kernel.NEWPID)
        return os.waitpid(child, 0)[1]

    def _in_folders(self, task: dict[str, Any]) -> int:
        child = os.fork()
        if child == 0:
            kernel.become_subreaper()
            kernel.die_with_parent()
            self._supervise(task)
        status = os.waitpid(child, 0)[1]
        if status:  # it may have left programs behind, which are now ours
            inner_family.end_all(lambda pid, status, usage: None)
        return status

    def _supervise(self, task: dict[str, Any]) -> None:
        status = 1
        try:
            stage: inner_stage.Mounts | inner_stage.Folders
            if self.folder:
                stage = inner_stage.Folders(task, self.folder, self.readable)
            else:
                stage = inner_stage.Mounts(task, self.proc)
            inner_supervisor.supervise(task, self.meter, stage, self.channel)
            stage.leave()
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
        finally:
            os._exit(status)


def serve(channel: tuple[int, int], start: dict[str, Any]) -> None:
    """Answer requests on `channel` until it closes.

    Args:
        channel: Descriptors to read from and to write to; the same one for a socket.
        start: What the launcher prepared: `files` (name -> descriptor of a cgroup file),
            `cgroup` (its kind), `path` (directories to import from), `preload` (modules to import
            beforehand), `folder` (a directory of our own, or "" where mounts can be made),
            `readable` (what Landlock lets programs read; empty for no Landlock), `enter` (whether
            to make the namespaces here that a launcher made elsewhere).
    """
    if start["enter"]:
        inner_entry.enter()
    Zygote(channel, start).serve()


#: Our modules, kept alive after they are taken out of `sys.modules`.
_HARNESS: list[object] = []


def _hide_harness() -> None:
    """Take our modules out of `sys.modules`: tidiness for honest programs, not protection."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "assay"]:
        _HARNESS.append(sys.modules.pop(name))


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
    kernel.forget_exec_capabilities()
    kernel.no_new_privileges()
    try:
        kernel.load_filter(inner_seccomp.build(memfd="memory_limit" in start["files"]))
        facts["seccomp"] = "deny list"
    except OSError as error:
        facts["seccomp"] = f"none ({error})"
    return facts
