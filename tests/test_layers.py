"""Imports go down only, read off the syntax trees; and importing a folder loads nothing heavy."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("policy", "rewards", "judges", "sandbox", "calibration")
#: What each part of the library may import, itself left out; "" is src/assay.
ALLOWED = {
    "policy": {"rewards", "judges", "sandbox", "calibration", ""},
    "rewards": {"judges", "sandbox", "calibration", ""},
    "judges": {"sandbox", "calibration", ""},
    "sandbox": {""},
    "calibration": {""},
    "": set(),
}
#: Top edges in src/assay, the command line and its verbs, which may import every folder.
EDGES = re.compile(r"cli\.py|cli_\w+\.py|doctor\.py|__main__\.py")
HEAVY = ("torch", "transformers", "trl", "datasets", "docker", "sklearn")


def modules() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield folder, path
    for path in sorted((ROOT / "src" / "assay").glob("*.py")):
        yield "", path


def part_of(module: str) -> str | None:
    """The folder that `assay.x.y` lies in, "" for src/assay, None for other people's modules."""
    names = module.split(".")
    if names[0] != "assay":
        return None
    return names[1] if len(names) > 1 and names[1] in FOLDERS else ""


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield node.lineno, str(node.module)
            if node.module == "assay":
                yield from ((node.lineno, f"assay.{alias.name}") for alias in node.names)


def violations(folder: str, name: str, source: str) -> list[str]:
    if folder == "" and EDGES.fullmatch(name):
        return []
    return [
        f"{folder or 'src/assay'}/{name}:{line} imports {module}"
        for line, module in imports(ast.parse(source))
        if (part := part_of(module)) not in (None, folder) and part not in ALLOWED[folder]
    ]


def test_imports_go_down_only() -> None:
    found = [
        problem
        for folder, path in modules()
        for problem in violations(folder, path.name, path.read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("folder", "source", "wrong"),
    [
        ("sandbox", "from assay.rewards import PassRate", True),
        ("sandbox", "def f():\n    import assay.judges.offline", True),
        ("sandbox", "from assay import rewards", True),
        ("calibration", "from assay.sandbox import Job", True),
        ("judges", "from assay.rewards import WeightedSum", True),
        ("rewards", "from assay.policy import main", True),
        ("", "import assay.rewards", True),
        ("rewards", "from assay.judges import Judge", False),
        ("judges", "from assay.calibration import ece", False),
        ("policy", "import assay.rewards, torch", False),
        ("calibration", "from assay.errors import DataError", False),
    ],
)
def test_the_rule_itself(folder: str, source: str, wrong: bool) -> None:
    assert bool(violations(folder, "module.py", source)) is wrong


def test_there_is_something_to_check() -> None:
    parts = {folder for folder, _ in modules()}
    assert parts == {*FOLDERS, ""}
    assert sum(1 for _ in modules()) > 40


@pytest.mark.parametrize("folder", FOLDERS)
def test_importing_a_folder_is_light(folder: str) -> None:
    script = (
        f"import json, sys, assay.{folder}; "
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_no_module_has_the_name_of_what_it_exports() -> None:
    # `from package import name` would be the module or the function, as the imports happen to run
    found = [
        f"{path.relative_to(ROOT)}: {path.stem}"
        for path in (*(path for _, path in modules()), *sorted((ROOT / "examples").glob("*.py")))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == path.stem
    ]
    assert not found
