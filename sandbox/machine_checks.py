"""What works on this machine: facts for `assay doctor`, each with the command that mends it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass

from assay.errors import AssayError
from assay.sandbox.bubblewrap import WAY_OUT, Bubblewrap
from assay.sandbox.inner_landlock import abi_version
from assay.sandbox.job import Job, StdioTest, Verdict
from assay.sandbox.languages import LANGUAGES
from assay.sandbox.toolchain import find_toolchain


@dataclass(frozen=True, slots=True)
class Check:
    """One fact about this machine.

    Attributes:
        name: What was looked at.
        ok: Whether it is there and works.
        found: What was found, in a few words.
        fix: The command or step that mends it; empty if ok.
    """

    name: str
    ok: bool
    found: str
    fix: str = ""


def probe() -> list[Check]:
    """Everything that the sandbox can use here; starts one worker and runs one program in it.

    >>> all(isinstance(check.ok, bool) for check in probe())
    True
    """
    return [
        *_bubblewrap(),
        _user_namespaces(),
        _seccomp(),
        _landlock(),
        _docker(),
        *(_language(name) for name in LANGUAGES if name != "python"),
    ]


def _bubblewrap() -> list[Check]:
    path = shutil.which("bwrap")
    if path is None:
        missing = Check("bubblewrap", False, "not in PATH", WAY_OUT)
        return [missing, Check("cgroups", False, "not looked at: no bubblewrap", WAY_OUT)]
    version = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=10, check=False
    ).stdout.strip()
    job = Job("print(1)", (StdioTest("", "1\n"),))
    try:
        with Bubblewrap(workers=1) as sandbox:
            result = sandbox.run([job])[0]
    except AssayError as error:
        failed = Check("bubblewrap", False, f"{version}: {error}"[:500], WAY_OUT)
        return [failed, Check("cgroups", False, "not looked at: no worker started", WAY_OUT)]
    works = result.verdict is Verdict.AC
    found = version if works else f"{version}, but a trivial program got {result.verdict}"
    memory = str(result.isolation.get("memory"))
    bounded = memory.startswith("cgroup")
    fix = "run as root, or with a delegated cgroup (systemd-run --user --scope -p Delegate=yes)"
    return [
        Check("bubblewrap", works, found, "" if works else WAY_OUT),
        Check("cgroups", bounded, f"memory bounded by {memory}", "" if bounded else fix),
    ]


def _user_namespaces() -> Check:
    fix = "sysctl -w user.max_user_namespaces=10000"
    try:
        with open("/proc/sys/user/max_user_namespaces") as file:
            most = int(file.read())
    except (OSError, ValueError):
        return Check("user namespaces", False, "the kernel has none", "use Docker")
    for name, bad in (
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        try:
            with open(f"/proc/sys/{name}") as file:
                value = file.read().strip()
        except OSError:
            continue
        if value == bad:
            setting = name.replace("/", ".")
            wanted = "0" if bad == "1" else "1"
            return Check(
                "user namespaces", False, f"{setting} = {bad}", f"sysctl -w {setting}={wanted}"
            )
    return Check("user namespaces", most > 0, f"at most {most}", "" if most > 0 else fix)


def _seccomp() -> Check:
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail") as file:
            found = file.read().strip()
    except OSError:
        return Check("seccomp", False, "the kernel has none", "use a kernel with CONFIG_SECCOMP")
    return Check("seccomp", "errno" in found, found, "")


def _landlock() -> Check:
    version = abi_version()
    if version > 0:
        return Check("landlock", True, f"ABI {version}")
    return Check("landlock", False, "the kernel has none", "use a kernel >= 5.13 with lsm=landlock")


def _docker() -> Check:
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    fix = "apt-get install docker.io and start dockerd (or set DOCKER_HOST)"
    if not address.startswith("unix://"):
        return Check("docker engine", True, f"DOCKER_HOST={address} (not tried)")
    path = address.removeprefix("unix://")
    try:
        with socket.socket(socket.AF_UNIX) as handle:
            handle.settimeout(5)
            handle.connect(path)
            handle.sendall(b"GET /version HTTP/1.0\r\nHost: docker\r\n\r\n")
            answer = handle.recv(4096)
    except OSError as error:
        return Check("docker engine", False, f"{path}: {error}", fix)
    good = b"200 OK" in answer
    found = f"answers on {path}" if good else f"{path}: {answer[:60]!r}"
    return Check("docker engine", good, found, "" if good else fix)


def _language(name: str) -> Check:
    try:
        toolchain = find_toolchain(name)
    except AssayError as error:
        package = LANGUAGES[name].package
        return Check(name, False, str(error).partition(";")[0], f"apt-get install {package}")
    return Check(name, True, toolchain.version)
