"""What the inside needs to run something, and the request that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.sandbox.cache import Files
from assay.sandbox.job import Limits
from assay.sandbox.languages import Language

_MIB = 1 << 20

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


def request_for(program: Program, limits: Limits) -> dict[str, Any]:
    """A request without tests, as `inner_supervisor` reads it."""
    inner = inner_limits(limits)
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


def inner_limits(limits: Limits) -> dict[str, Any]:
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
