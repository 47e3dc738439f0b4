"""The languages, as a table: file name, compile command, run command, version probe.

A new language is one more entry. Paths in the commands: `{tool}` the compiler or interpreter found
on this machine, `{source}` the program's file, `{out}` the folder where the compiler puts what is
to be kept, `{prog}` the read-only folder where that lies when the program runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Language:
    """How programs of one language are compiled and run.

    Attributes:
        name: Key in `LANGUAGES`.
        file: The source's file name.
        tools: Executables to look for, first choice first.
        package: The Debian package that has them, for people.
        compile: Compile command, or () where nothing is compiled.
        run: Run command.
        version: Arguments that make the tool print its version.
        run_tools: Executables that running needs besides `tools` (Java's `java`).
        shown: Glob patterns of files outside /usr that the tool chain needs.
        processes: Threads that the runtime itself starts, on top of the program's limit.
        environment: Environment of compiler and program.
        compile_memory_mb: Memory of the compiler.
        headers: Whether `bits/stdc++.h` can be precompiled.
        address_space: Whether memory may be bounded by address space where there is no cgroup;
            not for runtimes that reserve far more than they use.
        memory_errors: What the runtime prints when its own memory bound is hit (MLE, not RE).
    """

    name: str
    file: str
    tools: tuple[str, ...]
    package: str
    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    run_tools: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    processes: int = 0
    environment: tuple[tuple[str, str], ...] = ()
    compile_memory_mb: int = 1024
    address_space: bool = False
    headers: bool = False
    memory_errors: tuple[str, ...] = ()


_C_FLAGS = ("-O2", "-pipe", "-w", "-static", "-fmax-errors=20")

LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            "main.py",
            (),
            "python3",
            run=(),
            address_space=True,
            memory_errors=("MemoryError",),
        ),
        Language(
            "c",
            "main.c",
            ("gcc", "cc"),
            "gcc",
            compile=("{tool}", "-std=gnu17", *_C_FLAGS, "-o", "{out}/main", "{source}", "-lm"),
            run=("{prog}/main",),
            address_space=True,
            memory_errors=("std::bad_alloc", "memory allocation of"),
        ),
        Language(
            "cpp",
            "main.cpp",
            ("g++", "c++"),
            "g++",
            compile=("{tool}", "-std=gnu++17", *_C_FLAGS, "-o", "{out}/main", "{source}"),
            run=("{prog}/main",),
            headers=True,
            address_space=True,
            memory_errors=("std::bad_alloc", "memory allocation of"),
        ),
        Language(
            "cpp20",
            "main.cpp",
            ("g++", "c++"),
            "g++",
            compile=("{tool}", "-std=gnu++20", *_C_FLAGS, "-o", "{out}/main", "{source}"),
            run=("{prog}/main",),
            headers=True,
            address_space=True,
            memory_errors=("std::bad_alloc", "memory allocation of"),
        ),
        Language(
            "java",
            "Main.java",
            ("javac",),
            "default-jdk-headless",
            compile=(
                "{tool}",
                "-J-Xmx512m",
                "-J-XX:TieredStopAtLevel=1",
                "-J-XX:+UseSerialGC",
                "-proc:none",
                "-nowarn",
                "-encoding",
                "UTF-8",
                "-Xmaxerrs",
                "20",
                "-d",
                "{out}",
                "{source}",
            ),
            run=(
                "{java}",
                "-Xmx{heap}m",
                "-Xss64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-Xshare:auto",
                "-cp",
                "{prog}",
                "{main}",
            ),
            version=("-version",),
            run_tools=("java",),
            shown=("/etc/java-*",),
            processes=40,
            memory_errors=("java.lang.OutOfMemoryError",),
        ),
        Language(
            "javascript",
            "main.js",
            ("node", "nodejs"),
            "nodejs",
            run=("{tool}", "--max-old-space-size={memory}", "--stack-size=50000", "{prog}/main.js"),
            processes=16,
            memory_errors=("JavaScript heap out of memory", "Array buffer allocation failed"),
        ),
        Language(
            "go",
            "main.go",
            ("go",),
            "golang-go",
            compile=("{tool}", "build", "-o", "{out}/main", "{source}"),
            run=("{prog}/main",),
            version=("version",),
            memory_errors=("runtime: out of memory", "cannot allocate memory"),
            processes=16,
            environment=(
                ("GOCACHE", "{tmp}/cache"),
                ("GOPATH", "{tmp}/go"),
                ("GO111MODULE", "off"),
                ("GOFLAGS", "-p=2"),
                ("CGO_ENABLED", "0"),
                ("GOTOOLCHAIN", "local"),
            ),
        ),
        Language(
            "rust",
            "main.rs",
            ("rustc",),
            "rustc",
            compile=("{tool}", "--edition", "2021", "-O", "-o", "{out}/main", "{source}"),
            run=("{prog}/main",),
            address_space=True,
            memory_errors=("std::bad_alloc", "memory allocation of"),
        ),
    )
}


def language_of(name: str) -> Language:
    """The table's entry for `name`.

    Raises:
        ConfigError: There is none.
    """
    found = LANGUAGES.get(name)
    if found is None:
        raise ConfigError(f"language must be one of {', '.join(LANGUAGES)}; got {name!r}")
    return found
