"""Turns a job's source into a program that can be run, by whatever makes that fast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.errors import SandboxError
from assay.sandbox import headers, javac
from assay.sandbox import helper as helper_source
from assay.sandbox.cache import Files, unpack_files
from assay.sandbox.compiler import (
    COMPILED,
    FAILED,
    MESSAGE_LENGTH,
    Command,
    CompileError,
    compile_limits,
    compiled,
    complaint,
    run_compiler,
)
from assay.sandbox.java_source import java_names
from assay.sandbox.job import Job, Limits
from assay.sandbox.languages import Language, language_of
from assay.sandbox.program import ENVIRONMENT, Program, request_for
from assay.sandbox.stop import Stop
from assay.sandbox.toolchain import Toolchain, find_toolchain, read_search, search_command
from assay.sandbox.worker import Worker


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
    command = Command(
        argv,
        environment,
        file,
        source,
        toolchain.version,
        compile_limits(job.limits, language),
    )
    files, seconds = compiled(worker, command, stop, lambda: _warm(worker, command, stop))
    return Program(language, run, files, environment, compile_s=seconds)


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
        command = Command(
            (argv[0], *flags, "-x", "c++-header", "{prog}/stdc++.h", "-o", made),
            dict(ENVIRONMENT),
            "stdc++.h",
            b"#include <bits/stdc++.h>\n",
            toolchain.version,
            replace(compile_limits(limits, language_of("cpp")), tmp_mb=768),
        )
        outcome = run_compiler(worker, command, stop)
        if complaint(command.limits, outcome) is not None:
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
            command = Command(
                _fill(helper_source.COMPILE, values),
                dict(ENVIRONMENT),
                helper_source.FILE,
                helper_source.SOURCE.encode(),
                toolchain.version,
                compile_limits(Limits(), language_of("c")),
            )
            _HELPERS[identity] = compiled(worker, command, stop)[0][0][1]
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


def _warm(worker: Worker, command: Command, stop: Stop) -> bytes | None:
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
        return FAILED + (text.strip() or "javac refused the program")[:MESSAGE_LENGTH].encode()
    return COMPILED + body if body else None
