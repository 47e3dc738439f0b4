"""Measures and bounds what a program uses: by cgroup where its files are open, else by polling.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import os

from assay.sandbox import inner_family as family
from assay.sandbox import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Meter:
    """The counters of one worker.

    Attributes:
        groups: Open `cgroup.procs` files that each program joins.
        memory: Whether a cgroup bounds memory.
        interval_ms: How often a running program is looked at.
        used: Says how many bytes of memory a program's files take.
    """

    used: Callable[[], int]

    def __init__(self, files: dict[str, int], private: bool) -> None:
        self.files = files
        self.groups = tuple(fd for name, fd in files.items() if name.startswith("procs"))
        self.memory = "memory_limit" in files
        self.private = private
        self.interval_ms = 20 if self.memory or not private else 8
        self.limit = 0
        self.kills = -1
        self.cpu_before = -1
        self.peak_before = 0
        self.highest = 0
        self.total_ns = 0
        self.lost_ns = 0
        self.pids = 0

    def configure(self, limits: dict[str, Any]) -> None:
        """Set the limits of a submission."""
        memory = int(limits["memory"])
        if self.memory and memory != self.limit:
            names = ["memory_limit", "swap_limit"]
            if memory > self.limit and self.limit:
                names.reverse()
            for name in names:  # v1 wants limit <= limit with swap at every moment
                self._write(name, str(memory if name == "memory_limit" or self._v1() else 0))
        self.limit = memory
        if "pids_limit" in self.files and limits["processes"] != self.pids:
            self.pids = int(limits["processes"])
            self._write("pids_limit", str(self.pids))

    def start(self) -> None:
        """Before a test."""
        self.highest = self.total_ns = self.lost_ns = 0
        if self.memory:
            if self.kills < 0:  # between tests nothing runs there: the last reading holds
                self.kills = self._kills()
            self.peak_before = 0
            if "memory_peak" in self.files:  # what stays is page cache: of earlier runs, not ours
                self._write("memory_peak", "0")
                self.peak_before = self._number("memory_peak")
        if "cpu" in self.files and self.cpu_before < 0:
            self.cpu_before = self._cpu()

    def stop(self) -> tuple[int, int, bool]:
        """After a test, with nothing of it left: CPU ns, peak bytes, whether memory ran out."""
        peak, killed = self.highest, False
        if self.memory:
            kills = self._kills()
            killed, self.kills = kills > self.kills, kills
            if "memory_peak" in self.files:
                peak = max(peak, self._number("memory_peak") - self.peak_before)
        elif self.highest > self.limit:
            killed = True
        if "cpu" not in self.files:
            return self.total_ns, peak, killed
        now = self._cpu()
        used, self.cpu_before = now - self.cpu_before, now
        return used, peak, killed

    def exceeded(self, cpu_ns: int, reaped_ns: int) -> int:
        """While a test runs: `wire.CPU`, `wire.MEMORY` or `wire.NONE`."""
        if "cpu" in self.files:
            if self._cpu() - self.cpu_before > cpu_ns:
                return wire.CPU
            if self.memory:
                return wire.NONE
        names = self._names()
        live_ns, resident = _tree(names)
        total = live_ns + reaped_ns + self.lost_ns
        if total < self.total_ns:  # a process vanished that nobody waited for
            self.lost_ns += self.total_ns - total
            total = self.total_ns
        self.total_ns = total
        if not self.memory:
            files = self.used()
            if resident + files > self.limit:  # forks share pages: count each once before judging
                resident = _proportional(names) or resident
            self.highest = max(self.highest, resident + files)
            if self.highest > self.limit:
                return wire.MEMORY
        return wire.CPU if total > cpu_ns else wire.NONE

    def _names(self) -> list[str]:
        """The pids of the program, as text."""
        if not self.private:
            return [str(pid) for pid in family.descendants()]
        try:
            return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        except OSError:
            return []

    def _v1(self) -> bool:
        return "memory_oom" in self.files

    def _write(self, name: str, text: str) -> None:
        if name in self.files:
            os.pwrite(self.files[name], text.encode(), 0)

    def _number(self, name: str) -> int:
        return int(os.pread(self.files[name], 64, 0))

    def _kills(self) -> int:
        name = "memory_oom" if self._v1() else "memory_events"
        data = os.pread(self.files[name], 4096, 0)
        where = data.find(b"oom_kill ")
        return int(data[where + 9 :].split(None, 1)[0]) if where >= 0 else 0

    def _cpu(self) -> int:
        data = os.pread(self.files["cpu"], 512, 0)
        if data.startswith(b"usage_usec"):
            return int(data.split(None, 2)[1]) * 1000
        return int(data)


def _tree(names: list[str]) -> tuple[int, int]:
    """CPU ns (with waited-for children) and resident bytes of the processes `names`."""
    ticks = pages = 0
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                fields = file.read(2048).rpartition(b")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
        pages += int(fields[21])
    return ticks * _TICK_NS, pages * _PAGE


def _proportional(names: list[str]) -> int:
    """Resident bytes of processes, shared pages divided among them; 0 if unknown."""
    total = 0
    for name in names:
        try:
            with open(f"/proc/{name}/smaps_rollup", "rb", buffering=0) as file:
                text = file.read(4096)
        except OSError:
            continue
        where = text.find(b"\nPss:")
        if where >= 0:
            total += int(text[where + 5 :].split(None, 1)[0]) * 1024
    return total
