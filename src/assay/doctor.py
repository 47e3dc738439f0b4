"""What works on this machine, what is missing, and the command that mends it: `assay doctor`."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from assay._version import __version__

if TYPE_CHECKING:
    from rich.console import Console

#: What scoring Python programs needs; everything else is optional.
CORE = "core"
_REQUIREMENT = re.compile(
    r"([\w.-]+)(?:\[([\w,-]+)\])?\s*([^;]*)(?:;\s*extra == ['\"]([\w-]+)['\"])?"
)
_TORCH = (
    "import json, torch; n = torch.cuda.device_count(); "
    "print(json.dumps([torch.__version__, [torch.cuda.get_device_name(i) for i in range(n)]]))"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about this machine.

    Attributes:
        section: `core`, `sandbox`, `languages`, `models` or `extras`.
        name: What was looked at.
        ok: Whether it is there and works.
        found: What was found.
        fix: The command that mends it; empty if ok.
    """

    section: str
    name: str
    ok: bool
    found: str
    fix: str = ""


def examine() -> list[Finding]:
    """Look at everything; runs programs in sandboxes and imports torch in a process."""
    return [*_python(), _scoring(), *_sandbox(), *_torch(), *_extras()]


def core_works(findings: list[Finding]) -> bool:
    """Whether Python programs can be scored here, in a sandbox."""
    return all(finding.ok for finding in findings if finding.section == CORE)


def to_json(findings: list[Finding]) -> dict[str, Any]:
    """The findings as JSON values, by section."""
    sections: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        record = asdict(finding)
        sections.setdefault(record.pop("section"), []).append(record)
    return {"assay": __version__, "core_works": core_works(findings), "sections": sections}


def print_findings(findings: list[Finding], console: Console) -> None:
    """One line a finding; under a missing one, what mends it, in one piece for copying."""
    from rich.text import Text

    width = max(len(finding.name) for finding in findings) + 2
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            console.print(Text(f"\n{section}" if finding is not findings[0] else section, "bold"))
        colour = "green" if finding.ok else ("red" if section == CORE else "yellow")
        mark = Text("  ok    " if finding.ok else "  no    ", colour)
        room = max(20, console.width - width - 8)
        lines = Text(finding.found).wrap(console, room)
        for number, line in enumerate(lines):
            lead = (
                mark + Text(finding.name.ljust(width)) if number == 0 else Text(" " * (width + 8))
            )
            console.print(lead + line, soft_wrap=True)
        if finding.fix:
            console.print(Text(f"        fix: {finding.fix}", "cyan"), soft_wrap=True)
    if core_works(findings):
        console.print(Text("\nPython programs can be scored here, in a sandbox.", "green"))
    else:
        console.print(Text("\nPrograms cannot be scored here yet; mend what `core` lacks.", "red"))


def _python() -> list[Finding]:
    fine = sys.version_info >= (3, 11)
    found = f"{platform.python_version()} at {sys.executable}"
    return [
        Finding(CORE, "assay", True, __version__),
        Finding(CORE, "python", fine, found, "" if fine else "install Python 3.11 or newer"),
    ]


def _scoring() -> Finding:
    """Whether the sandbox that rewards take by default really runs a program."""
    from assay.errors import AssayError
    from assay.sandbox import Job, StdioTest, Verdict, default_sandbox

    fix = "apt-get install bubblewrap, then `assay doctor` again; or see `sandbox` below"
    try:
        with default_sandbox() as sandbox:
            result = sandbox.run([Job("print(input())", (StdioTest("1", "1"),))])[0]
    except AssayError as error:
        return Finding(CORE, "scoring", False, str(error)[:500], fix)
    backend = result.isolation.get("backend", "the sandbox")
    if result.verdict is Verdict.AC:
        return Finding(CORE, "scoring", True, f"Python programs run in {backend}")
    found = f"a program that is right got {result.verdict} in {backend}: {result.message}"
    return Finding(CORE, "scoring", False, found[:500], fix)


def _sandbox() -> list[Finding]:
    from assay.sandbox.languages import LANGUAGES
    from assay.sandbox.machine_checks import probe

    found = []
    for check in probe():
        section = "languages" if check.name in LANGUAGES else "sandbox"
        found.append(Finding(section, check.name, check.ok, check.found, check.fix))
    return sorted(found, key=lambda finding: finding.section == "languages")


def _torch() -> list[Finding]:
    """Torch and GPUs, looked at in a process of its own: a broken build can crash its importer."""
    if _installed("torch") is None:
        fix = 'pip install "assay[models]"'
        return [Finding("models", "torch", False, "not installed", fix)]
    done = subprocess.run(
        [sys.executable, "-c", _TORCH], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        fix = "pip install --force-reinstall torch"
        return [Finding("models", "torch", False, f"cannot be imported: {last}"[:300], fix)]
    version, devices = json.loads(done.stdout.splitlines()[-1])
    torch = Finding("models", "torch", True, version)
    if devices:
        return [torch, Finding("models", "gpu", True, ", ".join(devices))]
    if shutil.which("nvidia-smi") is None:
        return [torch, Finding("models", "gpu", False, "none here; models run on the CPU")]
    found = f"there is an NVIDIA driver, but torch {version} sees no GPU"
    fix = "install a CUDA build of torch that this driver supports: https://pytorch.org/get-started"
    return [torch, Finding("models", "gpu", False, found, fix)]


def _extras() -> list[Finding]:
    """Every extra that the package declares, with the versions found and those asked for."""
    found = []
    for extra, requirements in _declared_extras().items():
        have, lack = [], []
        for name, specifier in requirements:
            version = _installed(name)
            if version is None:
                lack.append(f"no {name}")
            elif not _satisfies(version, specifier):
                lack.append(f"{name} {version} is outside {specifier}")
            else:
                have.append(f"{name} {version}")
        fix = f'pip install "assay[{extra}]"' if lack else ""
        found.append(Finding("extras", extra, not lack, "; ".join(lack) or ", ".join(have), fix))
    return found


def _declared_extras() -> dict[str, list[tuple[str, str]]]:
    extras: dict[str, list[tuple[str, str]]] = {}
    for line in importlib.metadata.requires("assay") or ():
        match = _REQUIREMENT.fullmatch(line.strip())
        # An extra that only collects others (`all`, or `models` inside `train`) shows as these.
        if match and match[4] and match[1] != "assay":
            extras.setdefault(match[4], []).append((match[1], match[3].strip()))
    return extras


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _satisfies(version: str, specifier: str) -> bool:
    """Whether a release meets `>=a,<b`; the operators that pyproject.toml uses.

    >>> _satisfies("1.16.0", "<1.17,>=1.16"), _satisfies("1.17", "<1.17,>=1.16")
    (True, False)
    """
    have = _release(version)
    for part in filter(None, (piece.strip() for piece in specifier.split(","))):
        operator = part.rstrip("0123456789.*+abrcdevpost!-_ ")
        want = _release(part[len(operator) :])
        if (operator == ">=" and have < want) or (operator == "<" and have >= want):
            return False
        if operator == "==" and have != want:
            return False
    return True


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"[\d.]*", version.strip())
    numbers = [int(number) for number in (match[0] if match else "").split(".") if number]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
