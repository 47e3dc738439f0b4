"""Backend `docker`: a pool of long-lived containers that run many programs each.

A container has no network, a read-only root, no capabilities, no-new-privileges, a seccomp profile
and limits of processes, memory and CPU. Inside runs the same zygote as in the other backends: it
makes a user namespace of its own and gives each submission a pid namespace and private mounts, so
one program sees nothing of another. Engines that forbid user namespaces in containers are refused.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, SandboxError
from assay.sandbox.bubblewrap import PRELOAD
from assay.sandbox.engine import HINT, LABEL, OWNER, connect, machine, profile, started, sweep
from assay.sandbox.images import DEFAULT_TAG
from assay.sandbox.inner_boot import BOOT
from assay.sandbox.link import Launch, Link, LinkError
from assay.sandbox.pool import PooledSandbox

_HEADER = struct.Struct(">BxxxI")
_MOST_TROUBLE = 8192


@dataclass(frozen=True)
class Docker(PooledSandbox):
    """Runs programs in Docker containers; needs the extra `docker`.

    Args:
        image: Image with Python 3.11 or newer and the compilers; see `assay.sandbox.images`.
        workers: Containers at one time; None for one per CPU that this process may use.
        memory_mb: Memory of one container, above the limit of any one program.
        processes: Processes of one container.
        cpus: CPUs of one container.
    """

    image: str = DEFAULT_TAG
    workers: int | None = None
    memory_mb: int = 4096
    processes: int = 512
    cpus: float = 2.0

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers must be >= 1 or None for one per CPU, got {self.workers!r}")

    def size(self) -> int:
        """How many containers at most."""
        return self.workers or len(os.sched_getaffinity(0))

    def launch(self) -> Launch:
        """The container of a worker.

        Raises:
            SandboxError: No engine answers, or the image is not there.
        """
        client = connect()
        try:
            sweep(client)
            identity = str(client.api.inspect_image(self.image)["Id"])
        except Exception as error:
            raise SandboxError(
                f"no image {self.image!r} in the Docker engine: {error}; {HINT}"
            ) from None
        finally:
            client.close()
        return _ContainerLaunch(
            argv=("python3", "-s", "-S", "-P", "-c", BOOT, "0"),
            preload=PRELOAD,
            cgroup=False,
            hint=HINT,
            image=identity,
            host={
                "network_mode": "none",
                "read_only": True,
                "cap_drop": ["ALL"],
                "security_opt": ["no-new-privileges", f"seccomp={profile()}"],
                "pids_limit": self.processes,
                "mem_limit": self.memory_mb << 20,
                "nano_cpus": int(self.cpus * 1e9),
                "auto_remove": True,
            },
            facts={
                "backend": "docker",
                "image": self.image,
                "namespaces": "container, then user pid mount ipc uts net cgroup",
                "files": "read-only root, private sized tmpfs",
                "network": "none",
            },
        )

    def fingerprint(self) -> str:
        """The image's identity."""
        client = connect()
        try:
            return f"docker-{client.api.inspect_image(self.image)['Id']}"
        except Exception as error:
            raise SandboxError(f"no image {self.image!r}: {error}; {HINT}") from None
        finally:
            client.close()


@dataclass(frozen=True)
class _ContainerLaunch(Launch):
    image: str = ""
    host: dict[str, Any] = field(default_factory=dict)

    def open(self) -> Link:
        return ContainerLink(self)


class ContainerLink(Link):
    """A container, and the connection to its stdin, stdout and stderr."""

    def __init__(self, launch: _ContainerLaunch) -> None:
        self.client = connect()
        self.start = {
            "files": {},
            "cgroup": "none",
            "folder": "",
            "path": [],
            "preload": list(launch.preload),
            "readable": [],
            "enter": True,
        }
        self.toolchains = launch.image
        self._raw = bytearray()
        self._trouble = bytearray()
        api = self.client.api
        owner = f"{machine()} {os.getpid()} {started(str(os.getpid()))}"
        options = api.create_host_config(**launch.host)
        options |= {"MaskedPaths": [], "ReadonlyPaths": []}  # else no /proc can be mounted inside
        try:
            self.id = api.create_container(
                launch.image,
                command=list(launch.argv),
                stdin_open=True,
                user="65534:65534",
                labels={LABEL: "1", OWNER: owner},
                environment={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "HOME": "/tmp"},
                hostname="box",
                host_config=options,
            )["Id"]
            attached = api.attach_socket(
                self.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            self.socket: socket.socket = getattr(attached, "_sock", attached)
            self._attached = attached
            api.start(self.id)
        except Exception as error:
            self._remove()
            raise SandboxError(f"the container did not start: {error}; {launch.hint}") from None

    def send(self, data: bytes, wall_s: float) -> None:
        """See `Link.send`."""
        self.socket.settimeout(wall_s)
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise LinkError(f"cannot send: {error}") from error

    def receive(self, wall_s: float) -> bytes | None:
        """See `Link.receive`; takes the engine's framing off."""
        deadline = time.monotonic() + wall_s
        while True:
            payload = self._payload()
            if payload is not None:
                return payload
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                return None
            except OSError as error:
                raise LinkError(f"cannot receive: {error}") from error
            if not data:
                return b""
            self._raw += data

    def _payload(self) -> bytes | None:
        """All whole frames of stdout that are there; stderr is kept for messages."""
        out = bytearray()
        at = 0
        while len(self._raw) >= at + _HEADER.size:
            stream, size = _HEADER.unpack_from(self._raw, at)
            end = at + _HEADER.size + size
            if len(self._raw) < end:
                break
            if stream == 1:
                out += self._raw[at + _HEADER.size : end]
            else:
                self._trouble += self._raw[at + _HEADER.size : end]
                del self._trouble[:-_MOST_TROUBLE]
            at = end
        del self._raw[:at]
        return bytes(out) or None

    def trouble(self) -> str:
        """See `Link.trouble`."""
        with contextlib.suppress(LinkError):
            while self.receive(0.2):
                pass
        return self._trouble.decode("utf-8", "replace").strip()

    def close(self, at_once: bool = False) -> None:
        """See `Link.close`."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self._attached.close()
        self.socket.close()
        if at_once:
            with contextlib.suppress(Exception):
                self.client.api.kill(self.id)
        self._remove()

    def abandon(self) -> None:
        """See `Link.abandon`."""
        with contextlib.suppress(OSError):
            os.close(self.socket.detach())

    def _remove(self) -> None:
        """Until it is gone; the engine removes it by itself when it has ended."""
        if not hasattr(self, "id"):
            self.client.close()
            return
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            try:
                self.client.api.inspect_container(self.id)
            except Exception:
                break
            if time.monotonic() > deadline - 14:
                with contextlib.suppress(Exception):
                    self.client.api.remove_container(self.id, force=True)
            time.sleep(0.05)
        self.client.close()
