"""Turns a job's source into a program that can be run: found, compiled once, cached."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from assay.errors import SandboxError
from assay.sandbox import headers, javac, wire
from assay.sandbox import helper as helper_source
from assay.sandbox.cache import CompileCache, Files, default_folder, unpack_files
from assay.sandbox.java_names import java_names
from assay.sandbox.job import Job, Limits
from assay.sandbox.languages import Language, language_of
from assay.sandbox.stop import Stop
from assay.sandbox.toolchain import Toolchain, find_toolchain, read_search, search_command
from assay.sandbox.worker import Outcome, Worker

_MIB = 1 << 20
_MESSAGE = 4096
_GRACE_S = 20.0
#: Start and clean-up, so that the whole step stays within its wall limit.
_OVERHEAD_S = 0.25
_COMPILE_FAILED, _COMPILED = b"E", b"O"

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "{tmp}",
    "TMPDIR": "{tmp}",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, slots=True)
class Program:
    """What the inside needs to run something.

    Attributes:
        language: The table's entry.
        argv: Command, or () for a Python program that the zygote runs itself.
        files: What lies in the read-only program folder.
        environment: Environment of the command.
        source: Text of a Python program.
        compile_s: Wall seconds that compiling took just now.
    """

    language: Language
    argv: tuple[str, ...]
    files: Files
    environment: dict[str, str]
    source: str = ""
    compile_s: float = 0.0


class CompileError(Exception):
    """The compiler refused the source, or passed one of its limits."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class _Command:
    """One compilation: everything that the output depends on."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    file: str
    source: bytes
    version: str
    limits: Limits = field(default_factory=Limits)

    def key(self) -> str:
        facts = (self.argv, sorted(self.environment.items()), self.file, self.version)
        digest = hashlib.sha256(repr(facts).encode())
        digest.update(b"\0" + self.source)
        return digest.hexdigest()


@lru_cache(maxsize=1)
def compile_cache() -> CompileCache:
    """The cache of this process."""
    return CompileCache(default_folder())


os.register_at_fork(after_in_child=compile_cache.cache_clear)  # its locks may be held


def prepare(worker: Worker, job: Job, stop: Stop) -> Program:
    """The program of a job, compiled on `worker` if nobody did before.

    Raises:
        CompileError: The source does not compile within its limits.
        SandboxError: There is no tool chain here.
        WorkerLostError: The worker failed.
        StoppedError: The batch was stopped.
    """
    language = language_of(job.language)
    source = job.source.encode("utf-8", "surrogatepass")
    if language.name == "python":
        files: Files = [(language.file, source, 0o644)]
        return Program(language, (), files, dict(ENVIRONMENT), job.source)
    toolchain = _toolchain(worker, language, stop)
    file, main = language.file, ""
    if language.name == "java":
        file, main = java_names(job.source)
    values = dict(toolchain.tools)
    values |= {"main": main, "memory": str(job.limits.memory_mb)}
    values["heap"] = str(max(32, job.limits.memory_mb - max(96, job.limits.memory_mb // 8)))
    environment = ENVIRONMENT | dict(language.environment)
    run = _fill(language.run, values)
    if not language.compile:
        return Program(language, run, [(file, source, 0o644)], environment)
    argv = _compile_argv(language, toolchain, values | {"source": "{prog}/" + file})
    if language.headers and worker.link.headers and headers.wanted(job.source):
        argv = (*argv, *_headers(worker, argv, toolchain, stop))
    command = _Command(
        argv,
        environment,
        file,
        source,
        toolchain.version,
        _compile_limits(job.limits, language),
    )
    compiled, seconds = _compiled(worker, command, stop)
    return Program(language, run, compiled, environment, compile_s=seconds)


_INSIDE: dict[tuple[str, str], Toolchain] = {}


def _toolchain(worker: Worker, language: Language, stop: Stop) -> Toolchain:
    """The tool chain where the worker's programs run: here, or in its image."""
    identity = worker.link.toolchains
    if not identity:
        return find_toolchain(language.name)
    key = (identity, language.name)
    if key not in _INSIDE:
        program = Program(language, search_command(language), [], dict(ENVIRONMENT))
        request = request_for(program, Limits(cpu_s=20, wall_s=60))
        request["tests"] = [{"kind": "stdio", "stdin": b""}]
        outcomes = list(worker.run(request, 90, stop))
        text = outcomes[0].stdout.decode("utf-8", "replace")
        _INSIDE[key] = read_search(language, text, identity)
    return _INSIDE[key]


def _headers(worker: Worker, argv: tuple[str, ...], toolchain: Toolchain, stop: Stop) -> list[str]:
    """The option that makes a compiler use the precompiled header, if there is one."""
    flags = tuple(one for one in argv[1:] if one.startswith("-") and one not in ("-o", "-lm"))

    def build() -> bytes:
        limits = Limits(
            compile_cpu_s=60, compile_wall_s=120, file_mb=512, tmp_mb=768, memory_mb=2048
        )
        made = "{tmp}/out/header"
        command = _Command(
            (argv[0], *flags, "-x", "c++-header", "{prog}/stdc++.h", "-o", made),
            dict(ENVIRONMENT),
            "stdc++.h",
            b"#include <bits/stdc++.h>\n",
            toolchain.version,
            replace(_compile_limits(limits, language_of("cpp")), tmp_mb=768),
        )
        outcome = _compile(worker, command, stop)
        if _complaint(command.limits, outcome) is not None:
            return b""
        return unpack_files(outcome.value)[0][1]

    option = headers.option(worker.link.headers, toolchain.version, (argv[0], *flags), build)
    return [option] if option else []


def helper(worker: Worker, stop: Stop) -> bytes:
    """The compiled `helper`, or nothing where there is no C compiler.

    Raises:
        WorkerLostError: The worker failed.
    """
    identity = worker.link.toolchains
    if identity not in _HELPERS:
        _HELPERS[identity] = b""
        try:
            toolchain = _toolchain(worker, language_of("c"), stop)
            values = dict(toolchain.tools)
            command = _Command(
                _fill(helper_source.COMPILE, values),
                dict(ENVIRONMENT),
                helper_source.FILE,
                helper_source.SOURCE.encode(),
                toolchain.version,
                _compile_limits(Limits(), language_of("c")),
            )
            _HELPERS[identity] = _compiled(worker, command, stop)[0][0][1]
        except (SandboxError, CompileError):
            pass
    return _HELPERS[identity]


_HELPERS: dict[str, bytes] = {}


def _fill(argv: tuple[str, ...], values: dict[str, str]) -> tuple[str, ...]:
    """Put values into placeholders; `{prog}` and `{tmp}` are known to the inside only."""
    filled = []
    for one in argv:
        for name, value in values.items():
            one = one.replace("{" + name + "}", value)
        filled.append(one.replace("{out}", "{tmp}/out"))
    return tuple(filled)


def _compile_argv(
    language: Language, toolchain: Toolchain, values: dict[str, str]
) -> tuple[str, ...]:
    argv = _fill(language.compile, values)
    if "-static" in argv and not toolchain.static:
        argv = tuple(one for one in argv if one != "-static")
    return argv


def _compile_limits(limits: Limits, language: Language) -> Limits:
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


def _compiled(worker: Worker, command: _Command, stop: Stop) -> tuple[Files, float]:
    cache, key = compile_cache(), command.key()
    with cache.building(key):
        entry = cache.get(key)
        seconds = 0.0
        if entry is None:
            started = time.monotonic()
            warm = _warm(worker, command, stop)
            if warm is not None:
                seconds = time.monotonic() - started
                cache.put(key, warm)
                if warm[:1] == _COMPILE_FAILED:
                    raise CompileError(warm[1:].decode(), seconds)
                return unpack_files(warm[1:]), seconds
            outcome = _compile(worker, command, stop)
            seconds = outcome.wall_us / 1e6
            message = _complaint(command.limits, outcome)
            if message is not None:
                if outcome.cause == wire.NONE and not outcome.signal:
                    cache.put(key, _COMPILE_FAILED + message.encode())
                raise CompileError(message, seconds)
            entry = _COMPILED + outcome.value
            cache.put(key, entry)
    if entry[:1] == _COMPILE_FAILED:
        raise CompileError(entry[1:].decode(), 0.0)
    return unpack_files(entry[1:]), seconds


def _warm(worker: Worker, command: _Command, stop: Stop) -> bytes | None:
    """What the warm compiler says, as a cache entry; None where the cold one has to decide."""
    if worker.javac is None or not command.file.endswith(".java") or command.file == javac.FILE:
        return None

    def request() -> dict[str, Any]:
        toolchain = _toolchain(worker, language_of("java"), stop)
        program = prepare(worker, Job(javac.SOURCE, (), language="java"), stop)
        values = dict(toolchain.tools)
        argv = (values["java"], *javac.OPTIONS, "-cp", "{prog}", "CompileServer")
        limits = Limits(cpu_s=3600, wall_s=6 * 3600, memory_mb=1024)
        made = request_for(replace(program, argv=argv), limits)
        made["tests"] = [{"kind": "stdio", "stdin": b""}]
        return made

    answer = worker.javac.compile(request, command.file, command.source, command.limits.wall_s)
    if answer is None:
        return None
    kind, body = answer
    if kind == b"E":
        text = body.decode("utf-8", "replace").replace(f"/{command.file}", command.file)
        return _COMPILE_FAILED + (text.strip() or "javac refused the program")[:_MESSAGE].encode()
    return _COMPILED + body if body else None


def _compile(worker: Worker, command: _Command, stop: Stop) -> Outcome:
    request = {
        "argv": command.argv,
        "arguments": (),
        "environment": command.environment,
        "source": "",
        "path": "",
        "files": [(command.file, command.source, 0o644)],
        "limits": _inner_limits(command.limits),
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


def _complaint(limits: Limits, outcome: Outcome) -> str | None:
    """Why a compilation failed, short; None if it did not."""
    text = (outcome.stderr + b"\n" + outcome.stdout).decode("utf-8", "replace").strip()
    text = text.replace("/prog/", "")[:_MESSAGE]
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


def request_for(program: Program, limits: Limits) -> dict[str, Any]:
    """A request without tests, as `inner_supervisor` reads it."""
    inner = _inner_limits(limits)
    inner["processes"] += program.language.processes
    return {
        "argv": program.argv,
        "arguments": (),
        "environment": program.environment,
        "source": program.source,
        "path": "{prog}/" + program.language.file,
        "files": program.files,
        "limits": inner,
        "address_space": program.language.address_space,
        "tests": [],
        "share_code": False,
        "lockstep": False,
        "collect": False,
        "helper": "",
    }


def _inner_limits(limits: Limits) -> dict[str, Any]:
    """The limits in the units of the inside: seconds, bytes, counts."""
    return {
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "memory": int(limits.memory_mb * _MIB),
        "output": int(limits.output_mb * _MIB),
        "processes": int(limits.processes),
        "file": int(limits.file_mb * _MIB),
        "tmp": int(limits.tmp_mb * _MIB),
        "inodes": int(limits.inodes),
    }
