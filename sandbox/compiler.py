"""Runs compilers in the sandbox, once per source, flags and compiler version."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from assay.errors import SandboxError
from assay.sandbox import wire
from assay.sandbox.cache import CompileCache, Files, default_folder, unpack_files
from assay.sandbox.job import Limits
from assay.sandbox.languages import Language
from assay.sandbox.program import inner_limits
from assay.sandbox.stop import Stop
from assay.sandbox.worker import Outcome, Worker

MESSAGE_LENGTH = 4096
_GRACE_S = 60.0
#: Start and clean-up, so that the whole step stays within its wall limit.
_OVERHEAD_S = 1.0
FAILED, COMPILED = b"E", b"O"


class CompileError(Exception):
    """The compiler refused the source, or passed one of its limits."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Command:
    """One compilation: everything that the output depends on."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    file: str
    source: bytes
    version: str
    limits: Limits = field(default_factory=Limits)

    def key(self) -> str:
        """Under which the output is kept."""
        facts = (self.argv, sorted(self.environment.items()), self.file, self.version)
        digest = hashlib.sha256(repr(facts).encode())
        digest.update(b"\0" + self.source)
        return digest.hexdigest()


@lru_cache(maxsize=1)
def compile_cache() -> CompileCache:
    """The cache of this process."""
    return CompileCache(default_folder())


os.register_at_fork(after_in_child=compile_cache.cache_clear)  # its locks may be held


def compile_limits(limits: Limits, language: Language) -> Limits:
    """The limits of a compiler, as limits of a run."""
    return replace(
        limits,
        cpu_s=limits.compile_cpu_s,
        wall_s=max(limits.compile_wall_s - _OVERHEAD_S, limits.compile_wall_s / 2),
        memory_mb=max(limits.memory_mb, language.compile_memory_mb),
        output_mb=1.0,
        processes=max(64, limits.processes) + language.processes,
        tmp_mb=max(256, limits.tmp_mb),
        inodes=max(8192, limits.inodes),
    )


def compiled(
    worker: Worker,
    command: Command,
    stop: Stop,
    warm: Callable[[], bytes | None] = lambda: None,
) -> tuple[Files, float]:
    """The compiled files, from the cache or made now, and the wall seconds that it took.

    Args:
        worker: Where to compile.
        command: What.
        stop: Asked while waiting.
        warm: A faster compiler to ask first; gives a cache entry, or None to decline.

    Raises:
        CompileError: The source does not compile within its limits.
        SandboxError: The compiler cannot be started.
        WorkerLostError: The worker failed.
    """
    cache, key = compile_cache(), command.key()
    with cache.building(key):
        entry = cache.get(key)
        seconds = 0.0
        if entry is None:
            started = time.monotonic()
            quick = warm()
            if quick is not None:
                seconds = time.monotonic() - started
                cache.put(key, quick)
                if quick[:1] == FAILED:
                    raise CompileError(quick[1:].decode(), seconds)
                return unpack_files(quick[1:]), seconds
            outcome = run_compiler(worker, command, stop)
            seconds = outcome.wall_us / 1e6
            message = complaint(command.limits, outcome)
            if message is not None:
                if outcome.cause == wire.NONE and not outcome.signal:
                    cache.put(key, FAILED + message.encode())
                raise CompileError(message, seconds)
            entry = COMPILED + outcome.value
            cache.put(key, entry)
    if entry[:1] == FAILED:
        raise CompileError(entry[1:].decode(), 0.0)
    return unpack_files(entry[1:]), seconds


def run_compiler(worker: Worker, command: Command, stop: Stop) -> Outcome:
    """What happened when the compiler ran, whatever it was."""
    request = {
        "argv": command.argv,
        "arguments": (),
        "environment": command.environment,
        "source": "",
        "path": "",
        "files": [(command.file, command.source, 0o644)],
        "limits": inner_limits(command.limits),
        "address_space": False,
        "tests": [{"kind": "stdio", "stdin": b""}],
        "share_code": False,
        "lockstep": False,
        "collect": True,
        "helper": "",
    }
    outcomes = list(worker.run(request, command.limits.wall_s + _GRACE_S, stop))
    if outcomes[0].status == 127:
        raise SandboxError(
            f"the compiler {command.argv[0]} cannot be started inside the sandbox: "
            f"{outcomes[0].stderr.decode('utf-8', 'replace')[:500]}; see `assay doctor`"
        )
    return outcomes[0]


def complaint(limits: Limits, outcome: Outcome) -> str | None:
    """Why a compilation failed, short; None if it did not."""
    text = (outcome.stderr + b"\n" + outcome.stdout).decode("utf-8", "replace").strip()
    text = text.replace("/prog/", "")[:MESSAGE_LENGTH]
    causes = {
        wire.CPU: f"the compiler used more than {limits.cpu_s:g} s of CPU time",
        wire.WALL: f"the compiler took more than {limits.wall_s:g} s",
        wire.MEMORY: f"the compiler used more than {limits.memory_mb} MiB of memory",
        wire.OUTPUT: "the compiler printed too much",
    }
    if outcome.cause in causes:
        return f"{causes[outcome.cause]}\n{text[:1000]}".strip()
    if outcome.signal:
        return f"the compiler ended by signal {signal.Signals(outcome.signal).name}\n{text}".strip()
    if outcome.status != 0:
        return text or f"the compiler ended with status {outcome.status}"
    return None if outcome.value else "the compiler wrote no program"
