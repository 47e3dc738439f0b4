"""Runs a folder of programs with known verdicts: does this sandbox judge them right?

The folder holds the programs and a `manifest.json`:

- `default_limits`: `cpu_s`, `wall_s`, `mem_mb`, `out_mb`, `pids`, `fsize_mb`, `tmpfs_mb`, `inodes`,
  `compile_cpu_s`, `compile_wall_s`;
- `default_tests`: per mode (`stdio`, `function`, `compile`) an object with `tests`, and `entry`;
- `cases`: objects with `id`, `language`, `file`, `mode` (`stdio`, `function`, `assert`, `compile`;
  others are skipped), `expected_verdict` (list) and optionally `also_ok`, `tests`, `limits`,
  `forbid_stdout`, `forbid_message`, `check_absent`, `max_wall_s`, `repeat`.

After every case an honest program has to be right on the same sandbox, and at the end nothing of
the sandbox may be left on the machine.
"""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError, SandboxError
from assay.sandbox.job import (
    AssertTest,
    FunctionTest,
    Job,
    Limits,
    Result,
    StdioTest,
    Test,
    Verdict,
)
from assay.sandbox.sandbox import Sandbox

_LIMITS = {
    "cpu_s": "cpu_s",
    "wall_s": "wall_s",
    "mem_mb": "memory_mb",
    "out_mb": "output_mb",
    "pids": "processes",
    "fsize_mb": "file_mb",
    "tmpfs_mb": "tmp_mb",
    "inodes": "inodes",
    "compile_cpu_s": "compile_cpu_s",
    "compile_wall_s": "compile_wall_s",
}
_MODES = ("stdio", "function", "assert", "compile")
_HONEST = Job("print(sum(map(int, input().split())))", (StdioTest("20 22\n", "42\n"),))


@dataclass(frozen=True, slots=True)
class Row:
    """What happened with one case.

    Attributes:
        id: The case.
        language: Its language.
        expected: Acceptable verdicts.
        verdict: What it got (the last of its repetitions), or "skipped".
        seconds: Wall seconds of the longest repetition.
        problems: What is wrong; empty if nothing.
        reason: The sandbox's sentence about the first test.
    """

    id: str
    language: str
    expected: tuple[str, ...]
    verdict: str
    seconds: float
    problems: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of a suite, what was in force, and what was left behind."""

    rows: tuple[Row, ...]
    isolation: Mapping[str, Any]
    leftovers: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every case is right and nothing was left."""
        return not self.leftovers and not any(row.problems for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ok": self.ok,
            "isolation": dict(self.isolation),
            "leftovers": list(self.leftovers),
            "cases": [asdict(row) for row in self.rows],
        }


@dataclass(frozen=True)
class Case:
    """One entry of a manifest, ready to run; `job` is None for modes that are not ours."""

    id: str
    language: str
    expected: tuple[str, ...]
    job: Job | None
    entry: Mapping[str, Any]


def load_cases(manifest: str | os.PathLike[str]) -> list[Case]:
    """Read a manifest.

    Raises:
        DataError: It is not one, or a program is missing.
    """
    path = Path(manifest)
    if path.is_dir():
        path /= "manifest.json"
    try:
        data = json.loads(path.read_text("utf-8"))
        return [_case(entry, data, path.parent) for entry in data["cases"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not a usable manifest: {type(error).__name__}: {error}; "
            "see assay.sandbox.suite for the layout"
        ) from error


def _case(entry: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> Case:
    mode, language = entry["mode"], entry["language"]
    expected = (*entry["expected_verdict"], *entry.get("also_ok", ()))
    job = None
    if mode in _MODES:
        source = (folder / entry["file"]).read_bytes().decode("utf-8", "surrogateescape")
        given = data["default_limits"] | entry.get("limits", {})
        limits = Limits(**{_LIMITS[name]: value for name, value in given.items()})
        defaults = data["default_tests"].get(mode, {})
        name = entry.get("entry") or defaults.get("entry", "solve")
        raw = entry.get("tests") or defaults["tests"]
        tests = tuple(_test(mode, one, name) for one in raw)
        job = Job(source, tests, language=language, limits=limits)
    return Case(entry["id"], language, expected, job, entry)


def _test(mode: str, raw: Any, entry: str) -> Test:
    if mode == "assert":
        return AssertTest(raw)
    given, expected = raw
    if mode == "function":
        return FunctionTest(entry, tuple(given), expected)
    return StdioTest(_text(given), _text(expected))


def _text(raw: Any) -> str:
    """A text, or one that is described because it is long."""
    if isinstance(raw, str):
        return raw
    if raw["gen"] == "range":
        return "".join(f"{number}\n" for number in range(raw["n"]))
    if raw["gen"] == "bytes":
        return "x" * int(raw["n"])
    raise DataError(f"'gen' must be 'range' or 'bytes', got {raw['gen']!r}")


def run_suite(
    manifest: str | os.PathLike[str],
    sandbox: Sandbox,
    only: Callable[[Case], bool] = lambda case: True,
    progress: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Run the cases of a manifest one after the other.

    Args:
        manifest: The file, or its folder.
        sandbox: What to run them on; closed at the end. One with a single worker makes "the same
            worker afterwards" literal.
        only: Which cases to run.
        progress: Called with every row as it is done.

    Raises:
        DataError: The manifest cannot be used.
        SandboxError: The sandbox cannot run at all.
    """
    rows = []
    isolation: Mapping[str, Any] = {}
    for case in load_cases(manifest):
        if not only(case):
            continue
        row, result = _run_case(case, sandbox)
        if result is not None and result.isolation:
            isolation = result.isolation
        progress(row)
        rows.append(row)
    sandbox.close()
    return Report(tuple(rows), isolation, tuple(leftovers()))


def _run_case(case: Case, sandbox: Sandbox) -> tuple[Row, Result | None]:
    if case.job is None:
        return Row(case.id, case.language, case.expected, "skipped", 0.0, ()), None
    problems: list[str] = []
    slowest, result = 0.0, None
    for _ in range(case.entry.get("repeat", 1)):
        started = time.monotonic()
        try:
            again = sandbox.run([case.job])[0]
        except SandboxError as error:
            problems.append(f"the sandbox could not run it: {error}")
            break
        slowest = max(slowest, time.monotonic() - started)
        if result is not None and again.verdict != result.verdict:
            problems.append(f"verdict changed from {result.verdict} to {again.verdict}")
        result = again
    if result is None:
        row = Row(case.id, case.language, case.expected, "none", slowest, tuple(problems))
        return row, None
    problems += _problems(case, result, slowest)
    honest = sandbox.run([_HONEST])[0]
    if honest.verdict is not Verdict.AC:
        problems.append(f"an honest program afterwards got {honest.verdict}")
    reason = result.message.partition("\n")[0][:200] or result.tests[0].reason
    verdict = str(result.verdict)
    row = Row(case.id, case.language, case.expected, verdict, slowest, tuple(problems), reason)
    return row, result


def _problems(case: Case, result: Result, seconds: float) -> Iterator[str]:
    entry = case.entry
    if result.verdict not in case.expected:
        yield f"got {result.verdict}, expected {' or '.join(case.expected)}"
    forbidden = entry.get("forbid_stdout")
    if forbidden and any(forbidden in test.stdout for test in result.tests):
        yield f"stdout holds {forbidden!r}"
    forbidden = entry.get("forbid_message")
    if forbidden and forbidden in result.message:
        yield f"the compiler message holds {forbidden!r}"
    for path in entry.get("check_absent", ()):
        if os.path.lexists(path):
            yield f"{path} exists"
    if seconds > entry.get("max_wall_s", float("inf")):
        yield f"took {seconds:.1f} s, allowed {entry['max_wall_s']} s"


def leftovers(pid: int | None = None) -> list[str]:
    """What sandboxes of a process left on this machine: processes, cgroups, folders.

    Args:
        pid: The process that used them; by default this one. Its sandboxes must be closed.
    """
    pid = pid or os.getpid()
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"keeper.py") for word in words) and any(
            f'"parent": {pid},'.encode() in word for word in words
        ):
            found.append(f"process {path.split('/')[2]}")
    found += glob.glob(f"/sys/fs/cgroup/**/assay-*-{pid}", recursive=True)
    found += glob.glob(os.path.join(os.environ.get("TMPDIR", "/tmp"), f"assay-*-{pid}-*"))
    return found
