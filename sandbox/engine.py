"""The Docker engine: a client, the containers' seccomp profile, and what dead owners left."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from functools import lru_cache
from typing import Any

from assay.errors import SandboxError
from assay.sandbox.inner_seccomp import denied_names

LABEL = "assay.sandbox"
OWNER = "assay.owner"
HINT = (
    "start a Docker engine (Debian: apt-get install docker.io) or set DOCKER_HOST, and build the "
    "image: python -m assay.sandbox.images"
)


def connect() -> Any:
    """A client of the engine that `DOCKER_HOST` names, or the local one.

    Raises:
        ImportError: docker-py is not installed.
        SandboxError: No engine answers.
    """
    try:
        docker: Any = importlib.import_module("docker")
    except ImportError:
        raise ImportError(
            "the docker backend needs docker-py: pip install 'assay[docker]'"
        ) from None
    try:
        client = docker.from_env(timeout=60)
        client.ping()
    except Exception as error:
        raise SandboxError(f"no Docker engine answers: {error}; {HINT}") from None
    return client


@lru_cache(maxsize=1)
def profile() -> str:
    """The container's seccomp profile: what not even our own processes inside need.

    Unlike Docker's default it allows new namespaces, which the zygote makes without any right on
    the host; programs themselves run under a stricter filter.
    """
    refused = {"names": denied_names(), "action": "SCMP_ACT_ERRNO", "errnoRet": 1}
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refused]})


def sweep(client: Any) -> None:
    """Remove containers of ours whose process on this machine is gone (killed, say)."""
    with contextlib.suppress(OSError):
        here = machine()
        for container in client.api.containers(all=True, filters={"label": LABEL}):
            owner = container["Labels"].get(OWNER, "")
            host, _, rest = owner.partition(" ")
            pid, _, since = rest.partition(" ")
            if host == here and started(pid) != since:
                with contextlib.suppress(Exception):
                    client.api.remove_container(container["Id"], force=True)


def machine() -> str:
    """This machine since it was started, and the pid namespace that our numbers are of."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}"


def started(pid: str) -> str:
    """When a process started, which tells it from a later one of the same number."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
