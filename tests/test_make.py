"""The scripts behind `make` say in one sentence what is missing, and do nothing twice."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "cat", "cut", "sha256sum", "mktemp", "tail", "rm", "touch", "dirname", "env")
COMPILERS = ("gcc", "g++", "javac", "node", "go", "rustc")


class Machine:
    """A PATH of our own: the tools that scripts need, and stubs for what a machine may have."""

    def __init__(self, folder: Path, *, user: int, has: tuple[str, ...] = ()) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, f"the test needs {tool}"
            (self.folder / tool).symlink_to(found)
        self.program("id", f"echo {user}")
        self.program("python3", "exit 0")
        for name in has:
            self.program(name, "exit 0")

    def program(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def run(
        self, script: str, *arguments: str, cwd: Path = ROOT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", ROOT / ".ci" / script, *arguments],
            env={"PATH": str(self.folder), "HOME": "/"} | environment,
            cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip


def test_nothing_missing_says_nothing(tmp_path: Path) -> None:
    done = Machine(tmp_path, user=1000, has=("bwrap", *COMPILERS)).run("system", "test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("user", [0, 1000])
def test_without_bubblewrap_and_apt_one_sentence_says_what_to_do(tmp_path: Path, user: int) -> None:
    has = () if user == 0 else ("apt-get",)
    done = Machine(tmp_path, user=user, has=has).run("system", "demo")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "missing bubblewrap; install it as root" in done.stderr
    assert 'docker run --rm -it --privileged -v "$PWD":/assay' in done.stderr
    assert done.stderr.rstrip().endswith("make demo")


def test_root_on_debian_gets_what_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0, has=COMPILERS)
    machine.program("apt-get", f'echo "$*" >> {tmp_path}/calls')
    done = machine.run("system", "test")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "assay: installing system packages: bubblewrap\n"
    install = (tmp_path / "calls").read_text().splitlines()[-1]
    assert install == "install -y --no-install-recommends bubblewrap"


def test_continuous_integration_gets_a_browser_by_itself(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0, has=("bwrap", *COMPILERS))
    machine.program(
        "apt-get", f'echo "$*" >> {tmp_path}/calls; case "$*" in *chromium*) exit 1;; esac'
    )
    assert machine.run("system", "test").stdout == ""
    done = machine.run("system", "test", CI="true")
    assert done.returncode == 0
    assert "went on without chromium; the page's tests are skipped" in done.stderr
    assert (tmp_path / "calls").read_text().splitlines()[-1].endswith(" chromium")


def test_root_without_a_network_hears_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=0)
    machine.program("apt-get", "echo no network >&2; exit 100")
    done = machine.run("system", "demo")
    assert done.returncode == 1
    assert "no network" in done.stderr and "cannot install bubblewrap; install it by" in done.stderr


def test_compilers_are_wanted_by_tests_only_and_not_needed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000, has=("bwrap",))
    assert machine.run("system", "demo").stderr == ""
    done = machine.run("system", "test")
    assert done.returncode == 0
    assert "going on without gcc libc6-dev g++" in done.stderr and "rustc" in done.stderr


def test_an_old_python_or_none_is_one_sentence(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    venv = str(tmp_path / "venv")
    done = machine.run("environment", "demo", PYTHON="python9", VENV=venv)
    assert done.returncode == 1 and "no python9 in PATH; install Python 3.11" in done.stderr
    machine.program("python3", '[ "$1" = -V ] && echo Python 3.9.2 || exit 1')
    done = machine.run("environment", "demo", VENV=venv)
    assert done.returncode == 1
    assert "python3 is Python 3.9.2; Python 3.11 or newer is needed" in done.stderr
    assert done.stderr.count("\n") == 1 and not Path(venv).exists()


def test_an_environment_is_made_once_and_again_when_its_versions_change(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    machine = Machine(tmp_path, user=1000)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    for name in ("python", "assay"):
        path = tmp_path / "venv" / "bin" / name
        path.write_text(f'#!{shutil.which("bash")}\necho "$*" >> {tmp_path}/calls\n')
        path.chmod(0o755)

    def environment(extra: str) -> str:
        done = machine.run("environment", extra, cwd=tmp_path, VENV=str(tmp_path / "venv"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def installs() -> int:
        return len((tmp_path / "calls").read_text().splitlines())

    assert "installing assay[dev]" in environment("dev")
    assert "-c constraints.txt -e .[dev]" in (tmp_path / "calls").read_text()
    assert "is up to date" in environment("dev")
    assert "is up to date" in environment("demo")  # dev holds everything that demo does
    assert installs() == 1
    with (tmp_path / "constraints.txt").open("a") as file:
        file.write("something==1\n")
    assert "installing assay[dev]" in environment("dev")
    assert installs() == 2


def test_a_failed_installation_is_tried_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    python = tmp_path / "venv" / "bin" / "python"
    python.write_text(f"#!{shutil.which('bash')}\nexit 1\n")
    python.chmod(0o755)
    for _ in range(2):
        done = machine.run("environment", "demo", VENV=str(tmp_path / "venv"))
        assert done.returncode == 1
        assert "pip could not install assay[demo]" in done.stderr


@pytest.mark.parametrize("present", [True, False])
def test_ci_finds_the_data_beside_the_checkout(tmp_path: Path, present: bool) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", checkout / ".ci" / "run")
    for step in ("system", "environment", "engine"):  # each has tests of its own
        (checkout / ".ci" / step).write_text("#!/bin/sh\n")
        (checkout / ".ci" / step).chmod(0o755)
    if present:
        (tmp_path / "shared" / "data").mkdir(parents=True)
        (tmp_path / "shared" / "hostile").mkdir()
    machine = Machine(tmp_path, user=0)
    machine.program("make", 'echo "$* CI=$CI $ASSAY_DATA $ASSAY_HOSTILE"')
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
    done = subprocess.run(
        [checkout / ".ci" / "run"], capture_output=True, text=True, cwd="/",
        env=environment | {"PATH": str(machine.folder)},
    )  # fmt: skip
    words = done.stdout.split()
    assert words[:3] == ["--no-print-directory", "test", "CI=true"], done.stderr
    folders = [Path(word).resolve() for word in words[3:]]
    expected = [tmp_path / "shared" / "data", tmp_path / "shared" / "hostile"] if present else []
    assert folders == expected


def test_help_is_the_default() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    done = subprocess.run([make], cwd=ROOT, capture_output=True, text=True)
    for target in ("demo", "miniature", "test", "test-slow", "lint", "system", "clean"):
        assert f"make {target} " in done.stdout


@pytest.mark.parametrize(("short", "folder"), [("", "out/tiny"), ("1", "out/tiny-short")])
def test_the_miniature_has_a_short_form_that_the_recipe_knows(short: str, folder: str) -> None:
    from assay.policy.recipe import load_recipe

    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    # `make test` runs this: a make below another one would say which folder it leaves.
    command = [make, "--no-print-directory", "-n", "miniature", f"SHORT={short}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    words = done.stdout.splitlines()[-1].split()
    assert words[1:5] == ["train", "tiny", "--output", folder], done.stderr
    overrides = [word for word in words[5:] if word != "--set"]
    assert bool(overrides) is bool(short)
    recipe = load_recipe("tiny", overrides)
    steps = recipe.config(recipe.stage("pointwise-rl")).trl["max_steps"]
    assert (steps == 4) is bool(short)
