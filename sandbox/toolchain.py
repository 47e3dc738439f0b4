"""The compilers and runtimes of this machine."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from assay.errors import SandboxError
from assay.sandbox.languages import LANGUAGES, Language, language_of


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What was found on this machine for one language.

    Attributes:
        tools: Name -> real path of each executable.
        version: First line that it prints about itself.
        static: Whether the C library's archive is there, so that `-static` works.
    """

    tools: tuple[tuple[str, str], ...]
    version: str
    static: bool = False


@lru_cache(maxsize=64)
def find_toolchain(name: str) -> Toolchain:
    """The tool chain of a language on this machine.

    Raises:
        SandboxError: It is not installed; the message names the package. This is an error of the
            environment and says nothing about any program.
    """
    language = language_of(name)
    tools = {}
    first = next((path for path in map(_which, language.tools) if path), None)
    if language.tools:
        tools["tool"] = _need(first, language, language.tools[0])
    for one in language.run_tools:
        tools[one] = _need(_which(one), language, one)
    version = _version(tools["tool"], language.version) if "tool" in tools else ""
    static = "-static" in language.compile and links_statically(tools["tool"])
    return Toolchain(tuple(tools.items()), version, static)


def search_command(language: Language) -> tuple[str, ...]:
    """A shell command that finds a tool chain in another file system; see `read_search`."""
    lines = []
    for label, names in (
        ("tool", language.tools),
        *((tool, (tool,)) for tool in language.run_tools),
    ):
        found = " || ".join(f"command -v {name}" for name in names)
        lines.append(f'p=$({found}) && echo "{label}=$(readlink -f "$p")"')
    asked = " ".join(language.version)
    first = " || ".join(f"command -v {name}" for name in language.tools)
    lines.append(f'echo "version=$("$({first})" {asked} 2>&1 | head -n 1)"')
    if "-static" in language.compile:
        lines.append(f'echo "libc=$("$({first})" -print-file-name=libc.a)"')
    return ("/bin/sh", "-c", "\n".join(lines))


def read_search(language: Language, text: str, place: str) -> Toolchain:
    """What `search_command` found.

    Args:
        language: The language.
        text: What it printed.
        place: Identity of the file system, for caches and messages.

    Raises:
        SandboxError: Something is missing there.
    """
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    for tool in ("tool", *language.run_tools):
        if not found.get(tool):
            name = language.tools[0] if tool == "tool" else tool
            raise SandboxError(
                f"no tool chain for {language.name}: `{name}` is not in the image {place}; add "
                f"the package {language.package} to it"
            )
    tools = tuple((tool, found[tool]) for tool in ("tool", *language.run_tools))
    static = os.path.isabs(found.get("libc", ""))
    return Toolchain(tools, f"{found.get('version', '')} in {place}", static)


@lru_cache(maxsize=1)
def shown_paths() -> tuple[str, ...]:
    """What lies outside /usr and has to be visible in a sandbox for the tool chains found here."""
    shown: set[str] = set()
    for language in LANGUAGES.values():
        for pattern in language.shown:
            shown.update(glob.glob(pattern))
        for tool in (*language.tools, *language.run_tools):
            path = shutil.which(tool)
            if path is None:
                continue
            path = os.path.realpath(path)
            if os.path.basename(path) in _SHIMS:
                shown.update(_rustup_homes())
            elif not path.startswith("/usr/"):
                shown.add(_prefix(path))
    return tuple(sorted(shown))


_SHIMS = ("rustup", "rustup-init")


def _rustup_homes() -> list[str]:
    home = os.environ.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    return glob.glob(os.path.join(home, "toolchains"))


def _prefix(path: str) -> str:
    """The installation that an executable belongs to; never a home directory or its parents."""
    prefix = os.path.dirname(os.path.dirname(path))
    home = os.path.expanduser("~")
    return path if prefix == "/" or (home + "/").startswith(prefix + "/") else prefix


def _need(path: str | None, language: Language, tool: str) -> str:
    if path is None:
        raise SandboxError(
            f"no tool chain for {language.name}: `{tool}` is not in PATH; install the package "
            f"{language.package} (Debian, Ubuntu: apt-get install {language.package}) and see "
            "`assay doctor`"
        )
    return path


def _which(tool: str) -> str | None:
    """The real executable behind a name; rustup's shims are asked for theirs."""
    path = shutil.which(tool)
    if path is None:
        return None
    real = os.path.realpath(path)
    if os.path.basename(real) in _SHIMS:
        return _rustup(tool)
    return real


def _rustup(tool: str) -> str | None:
    asked = subprocess.run(
        ["rustc", "--print", "sysroot"], capture_output=True, text=True, timeout=30, check=False
    )
    path = os.path.join(asked.stdout.strip(), "bin", tool)
    return path if os.access(path, os.X_OK) else None


def _version(tool: str, arguments: tuple[str, ...]) -> str:
    try:
        asked = subprocess.run(
            [tool, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown ({error})"
    lines = asked.stdout.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:200] if lines else "unknown"


@lru_cache(maxsize=8)
def links_statically(compiler: str) -> bool:
    """Whether the C library's archive is there, so that `-static` works."""
    asked = subprocess.run(
        [compiler, "-print-file-name=libc.a"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return os.path.isabs(asked.stdout.strip())
