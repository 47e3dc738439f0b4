"""What a server serves and within which limits: one TOML file, read into frozen dataclasses."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from assay.errors import ConfigError
from assay.judges.serving.tables import known_keys, read_table, read_toml, subtable
from assay.settings import one_of, real, whole

#: Endpoints that run programs; each is off unless it is named.
CODE_ENDPOINTS = ("run_code", "submit", "sandbox_run")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})


@dataclass(frozen=True)
class Batching:
    """How requests to one reward or judge are put together.

    Args:
        max_items: Samples (pairs, items) of one batch.
        max_tokens: Tokens of one batch, by a quarter of the characters where they are not counted.
        max_wait_ms: Longest wait for further requests before a batch starts. The wait is also at
            most a tenth of what recent batches took, so that a cheap reward never waits.
        queue_items: Items that may wait; a request that does not fit gets 429 and Retry-After.
        concurrency: Batches at a time for each object; above 1 only for what may be called from
            several threads, such as a judge behind HTTP.
    """

    max_items: int = 64
    max_tokens: int = 65_536
    max_wait_ms: float = 5.0
    queue_items: int = 1024
    concurrency: int = 1

    def __post_init__(self) -> None:
        for name in ("max_items", "max_tokens", "queue_items", "concurrency"):
            whole(f"batching.{name}", getattr(self, name), 1)
        real("batching.max_wait_ms", self.max_wait_ms, 0)


@dataclass(frozen=True)
class Served:
    """A reward or a judge under a name.

    Args:
        object: `module:object` or `FILE.py:object`; several are replicas of one model, each with
            its own thread, and must have equal fingerprints.
        batching: Limits.
        correction: For judges: file with the position term to subtract (`assay audit judge` writes
            one), for verdicts that were given in one order.
        calibrator: For judges: file of a fitted calibrator; applied after the correction.
    """

    object: tuple[str, ...]
    batching: Batching = field(default_factory=Batching)
    correction: str | None = None
    calibrator: str | None = None

    def __post_init__(self) -> None:
        if not self.object:
            raise ConfigError("`object` names no object; write object = 'module:object'")


@dataclass(frozen=True)
class Server:
    """Address, limits and access.

    Args:
        host: Address to listen on.
        port: Port; 0 takes a free one.
        auth: `auto` asks for a bearer token unless `host` is a loopback address; `on`; `off`.
        token_env: Environment variable that holds the token, or several separated by spaces.
        allowed_hosts: Further names in the Host header that a server without tokens answers to;
            loopback names always, so that a page of another site cannot reach it by a DNS trick.
        max_body_mb: Largest request body, MiB.
        max_items: Most samples, pairs or inputs of one request.
        timeout_s: Time of one request, waiting included.
        drain_timeout_s: After SIGTERM, time for requests under way.
        drain_delay_s: After SIGTERM, time in which `/ready` says no but requests are still taken,
            for a load balancer to notice.
        page: Serve the page at `/`.
    """

    host: str = "127.0.0.1"
    port: int = 8070
    auth: str = "auto"
    token_env: str = "ASSAY_SERVE_TOKEN"
    allowed_hosts: tuple[str, ...] = ()
    max_body_mb: float = 32.0
    max_items: int = 4096
    timeout_s: float = 300.0
    drain_timeout_s: float = 30.0
    drain_delay_s: float = 0.0
    page: bool = True

    def __post_init__(self) -> None:
        one_of("[server] auth", self.auth, ("auto", "on", "off"))
        whole("[server] port", self.port, 0)
        real("[server] port", self.port, 0, 65_535)
        whole("[server] max_items", self.max_items, 1)
        for name in ("drain_timeout_s", "drain_delay_s"):
            real(f"[server] {name}", getattr(self, name), 0)
        for name in ("max_body_mb", "timeout_s"):  # 0 would refuse everything
            real(f"[server] {name}", getattr(self, name), 0.001)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host.lower() in _LOOPBACK_NAMES

    def tokens(self) -> frozenset[str]:
        """Tokens that are accepted; empty where none is asked for.

        Raises:
            ConfigError: Some are asked for and the environment holds none.
        """
        if self.auth == "off" or (self.auth == "auto" and self.loopback):
            return frozenset()
        found = frozenset(os.environ.get(self.token_env, "").split())
        if not found:
            raise ConfigError(
                f"[server] host {self.host!r} asks for bearer tokens, and {self.token_env} is "
                f"empty; set it, e.g. export {self.token_env}=$(openssl rand -hex 32), or listen "
                "on 127.0.0.1, or set auth = 'off'"
            )
        if short := [token for token in found if len(token) < 16]:
            raise ConfigError(
                f"{self.token_env} holds {len(short)} tokens of less than 16 characters; make "
                "longer ones, e.g. with openssl rand -hex 32"
            )
        return found


@dataclass(frozen=True)
class OpenRlhf:
    """OpenRLHF's `/get_reward`.

    Args:
        reward: The reward that answers it.
        label_column: Column that a row's label goes into; a label that is a JSON object also gives
            its keys as columns.
        raw: Score the query text as it is with the reward's own model, as OpenRLHF's server does;
            else the prompt is cut off the query and both become messages.
        on_missing: What a row without a score does: `refuse` answers the request with 503, so that
            the trainer tries again and in the end has no reward; `null` sends null.
    """

    reward: str
    label_column: str = "label"
    raw: bool = False
    on_missing: str = "refuse"

    def __post_init__(self) -> None:
        one_of("[openrlhf] on_missing", self.on_missing, ("refuse", "null"))


@dataclass(frozen=True)
class Vllm:
    """vLLM's `/classify`, `/pooling`, `/score`, `/rerank`.

    Args:
        rewards: Rewards that requests may name as `model`; the first answers where none is named.
    """

    rewards: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.rewards:
            raise ConfigError("[vllm] rewards must name at least one reward")


@dataclass(frozen=True)
class NemoGym:
    """NeMo-Gym's `/verify`.

    Args:
        reward: The reward that answers it.
    """

    reward: str


@dataclass(frozen=True)
class Code:
    """Endpoints that run programs.

    Args:
        endpoints: Which of them; none is on unless it is named here.
        object: `module:object` of a Sandbox; None takes the best backend of this machine.
        concurrency: Requests at a time; others wait.
        queue_items: Requests that may wait; more get 429.
        max_timeout_s: Longest `run_timeout` and `compile_timeout` that a request may ask for.
        max_memory_mb: Memory of a program, MiB.
    """

    endpoints: tuple[str, ...] = ()
    object: str | None = None
    concurrency: int = 8
    queue_items: int = 256
    max_timeout_s: float = 60.0
    max_memory_mb: int = 1024

    def __post_init__(self) -> None:
        for name in self.endpoints:
            one_of("[code] endpoints", name, CODE_ENDPOINTS)
        for name in ("concurrency", "queue_items", "max_memory_mb"):
            whole(f"[code] {name}", getattr(self, name), 1)
        real("[code] max_timeout_s", self.max_timeout_s, 0)


@dataclass(frozen=True)
class Ray:
    """Replicas of the whole server on Ray Serve (`--engine ray`).

    Args:
        replicas: Processes at the start, and at least.
        max_replicas: At most, as the load asks for them; 0: always `replicas`.
        num_cpus: CPUs of each.
        num_gpus: GPUs of each.
        max_ongoing_requests: Requests that one replica takes at a time.
        address: The cluster's; None: the one that this machine belongs to, else a local one.
    """

    replicas: int = 1
    max_replicas: int = 0
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    max_ongoing_requests: int = 256
    address: str | None = None

    def __post_init__(self) -> None:
        whole("[ray] replicas", self.replicas, 1)
        whole("[ray] max_replicas", self.max_replicas, 0)
        whole("[ray] max_ongoing_requests", self.max_ongoing_requests, 1)
        for name in ("num_cpus", "num_gpus"):
            real(f"[ray] {name}", getattr(self, name), 0)


@dataclass(frozen=True)
class ServeConfig:
    """All of it; `from_toml` reads a file.

    >>> config = ServeConfig.of({"rewards": {"brief": {"object": "my_rewards:brief"}}})
    >>> config.rewards["brief"].object
    ('my_rewards:brief',)
    """

    rewards: Mapping[str, Served] = field(default_factory=dict)
    judges: Mapping[str, Served] = field(default_factory=dict)
    complexity: Mapping[str, Served] = field(default_factory=dict)
    server: Server = field(default_factory=Server)
    openrlhf: OpenRlhf | None = None
    vllm: Vllm | None = None
    nemo_gym: NemoGym | None = None
    code: Code = field(default_factory=Code)
    ray: Ray = field(default_factory=Ray)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not (self.rewards or self.judges or self.complexity or self.code.endpoints):
            raise ConfigError(
                "nothing to serve; name a reward, e.g. [rewards.code] object = 'my_rewards:code'"
            )
        for table in ("rewards", "judges", "complexity"):
            for name, served in getattr(self, table).items():
                if table != "judges" and (served.correction or served.calibrator):
                    raise ConfigError(
                        f"[{table}.{name}] correction and calibrator are of judges; for a reward "
                        "serve Mapped(reward, calibrator)"
                    )
                if not _NAME.fullmatch(name):
                    raise ConfigError(f"[{table}] {name!r}: names are letters, digits, . _ -")
        for where, names in (
            ("[openrlhf] reward", [self.openrlhf.reward] if self.openrlhf else []),
            ("[vllm] rewards", self.vllm.rewards if self.vllm else ()),
            ("[nemo_gym] reward", [self.nemo_gym.reward] if self.nemo_gym else []),
        ):
            for name in names:
                if name not in self.rewards:
                    raise ConfigError(
                        f"{where} {name!r} is no reward of this file; it has {sorted(self.rewards)}"
                    )

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a file.

        Raises:
            ConfigError: No such file, not TOML, an unknown key, or a value that cannot be.
        """
        try:
            return cls.of(read_toml(path))
        except ConfigError as error:
            text = str(error)
            raise ConfigError(text if str(path) in text else f"{path}: {text}") from error

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> Self:
        """From the tables of a TOML file."""
        known_keys("the file", tables, cls.__dataclass_fields__)
        single = {
            "server": Server,
            "openrlhf": OpenRlhf,
            "vllm": Vllm,
            "nemo_gym": NemoGym,
            "code": Code,
            "ray": Ray,
        }
        given: dict[str, Any] = {
            name: read_table(kind, f"[{name}]", tables[name])
            for name, kind in single.items()
            if name in tables
        }
        for table in ("rewards", "judges", "complexity"):
            given[table] = {
                name: _served(f"{table}.{name}", value)
                for name, value in subtable(table, tables.get(table, {})).items()
            }
        return cls(**given)


def _served(where: str, value: Any) -> Served:
    table = subtable(where, value)
    known_keys(f"[{where}]", table, ("object", "batching", "correction", "calibrator"))
    batching = read_table(Batching, f"[{where}.batching]", table.get("batching", {}))
    rest = {key: given for key, given in table.items() if key != "batching"}
    return read_table(Served, f"[{where}]", rest, batching=batching)
