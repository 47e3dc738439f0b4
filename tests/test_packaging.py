"""What a stranger installs: the wheel is whole, its guards hold, and no symlink is needed."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("policy", "rewards", "judges", "sandbox", "calibration")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=300,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tracked(pattern: str = "") -> list[Path]:
    """Files that git hands to a stranger; all files where there is no git."""
    if shutil.which("git") and (ROOT / ".git").exists():
        names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT).decode().split("\0")
        found = [Path(name) for name in names if name and (ROOT / name).exists()]
    else:
        found = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return [path for path in found if str(path).startswith(pattern)]


def _needs_setuptools() -> None:
    try:
        found = int(importlib.metadata.version("setuptools").partition(".")[0])
    except importlib.metadata.PackageNotFoundError:
        found = 0
    if found < 77:
        pytest.skip(f"building needs setuptools >= 77 beside the tests, found {found or 'none'}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources without the symlinks, as an archive or Windows makes it."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in tracked():
        if not (ROOT / path).is_symlink() and path.parts[0] not in ("tests", "benchmarks"):
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, copy / path)
    assert not any(path.is_symlink() for path in copy.rglob("*"))
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of that checkout, built with the setuptools that is here."""
    _needs_setuptools()
    out = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "--wheel-dir", out, ".", cwd=checkout,
    )  # fmt: skip
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a fresh environment with the wheel; dependencies come from the one around."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    here = sorted({path for path in sys.path if path.endswith("site-packages")})
    # Paths of the outer environment, but not its .pth files: those would bring its own assay.
    (site / "outer.pth").write_text("".join(f"{path}\n" for path in here))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return folder / "bin" / "python"


def test_the_wheel_holds_every_module_of_every_folder(wheel: Path, checkout: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    sources = [checkout / folder for folder in FOLDERS] + [checkout / "src" / "assay"]
    expected = {
        f"assay/{path.relative_to(checkout)}".replace("assay/src/assay/", "assay/")
        for source in sources
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected - inside == set()
    extra = {name for name in inside - expected if ".dist-info/" not in name}
    assert extra == set()
    assert "assay/py.typed" in inside


def test_every_module_of_the_wheel_can_be_imported(installed: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [
            name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            for name in archive.namelist()
            if name.startswith("assay/") and name.endswith(".py")
        ]
    # Scripts that run inside the sandbox are not modules of the library.
    names = [n for n in names if "inner_" not in n and not n.endswith("__main__")]
    assert len(names) > 40
    # A module that wraps another trainer names what to install where that is missing.
    script = (
        "import importlib\n"
        f"for name in {names!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        if 'pip install' not in str(error):\n"
        "            raise\n"
    )
    run(installed, "-c", script, cwd=installed.parent)
    where = run(installed, "-c", "import assay; print(assay.__file__)", cwd=installed.parent)
    assert Path(where.strip()).is_relative_to(installed.parents[1])


def test_the_installed_command_runs(installed: Path) -> None:
    version = run(installed, "-m", "assay", "--version", cwd=installed.parent)
    assert re.fullmatch(r"assay \d+\.\d+\.\d+\n", version)


def test_an_editable_install_needs_no_symlinks(checkout: Path, tmp_path: Path) -> None:
    _needs_setuptools()
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "--target", tmp_path / "site", "-e", ".", cwd=checkout,
    )  # fmt: skip
    names = ", ".join(f"assay.{folder}" for folder in FOLDERS)
    script = (
        "import site, sys; sys.path.insert(0, sys.argv[1]); site.addsitedir(sys.argv[1])\n"
        f"import {names}, assay\n"
        "print(assay.rewards.__file__)"
    )
    # -S leaves out the environment's own assay; its other packages come back by path.
    here = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    where = run(
        sys.executable, "-S", "-c", script, tmp_path / "site", cwd=tmp_path, PYTHONPATH=here
    )
    assert Path(where.strip()) == checkout / "rewards" / "__init__.py"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_cannot_be_imported_under_its_bare_name(folder: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"ImportError: import assay.{folder}, not {folder}" in done.stderr


def test_a_neighbouring_rewards_module_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text("X = 1\n")
    (tmp_path / "judges.py").write_text("raise RuntimeError('not yours')\n")
    script = "import rewards, assay.rewards, assay.judges; print(rewards.X)"
    assert run(sys.executable, "-c", script, cwd=tmp_path) == "1\n"


def test_every_package_is_declared() -> None:
    """A sub-folder with modules that pyproject.toml does not name would be missing in the wheel."""
    declared = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = {
        ".".join(("assay", *path.parent.parts))
        for folder in FOLDERS
        for path in tracked(f"{folder}/")
        if path.suffix == ".py"
    }
    assert found | {"assay"} == declared


def test_constraints_pin_plain_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    names = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}
    wanted = {re.split(r"[^\w-]", line)[0].lower() for line in _requirements("dev")}
    assert wanted <= names


def test_a_message_names_only_extras_that_exist() -> None:
    extras = set(_project()["optional-dependencies"])
    hints = [
        (path, extra)
        for path in tracked()
        if path.suffix in (".py", ".md") and path.parts[0] != "tests"
        for group in re.findall(r"assay\[([a-z,]+)\]", (ROOT / path).read_text())
        for extra in group.split(",")
    ]
    assert len(hints) > 5
    assert [hint for hint in hints if hint[1] not in extras] == []


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def _requirements(extra: str) -> list[str]:
    """What `assay[extra]` installs, the extras inside it opened up."""
    found: list[str] = list(_project()["dependencies"])
    for line in _project()["optional-dependencies"][extra]:
        inner = re.fullmatch(r"assay\[([\w,]+)\]", line)
        found += [r for e in inner[1].split(",") for r in _requirements(e)] if inner else [line]
    return found


def test_the_extra_train_is_enough_for_every_stage() -> None:
    """What the stages import late, when hours of training lie behind them."""
    brought = {re.split(r"[^\w-]", line)[0] for line in _requirements("train")}
    late = {
        "trl",
        "peft",
        "datasets",
        "accelerate",
        "safetensors",
        "matplotlib",  # the report
        "jsonschema",  # agentic RL checks tool calls
        "datasketch",  # contamination of mixtures
    }
    assert late <= brought
