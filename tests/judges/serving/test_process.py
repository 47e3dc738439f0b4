"""`assay serve` as a process: starting, draining, refusing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("fastapi")

from assay.errors import ConfigError
from assay.judges.serving.config import ServeConfig
from assay.judges.serving.server import serve

ROOT = Path(__file__).parents[3]
BODY = {"samples": [{"completion": "a b"}]}


@contextmanager
def process(folder: Path, text: str, *options: str) -> Iterator[tuple[Any, str]]:
    """The process and its address, once it is ready."""
    (folder / "serve.toml").write_text(text)
    command = [sys.executable, "-m", "assay", "serve", "serve.toml", *options]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    started = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert started.stderr is not None
        line = started.stderr.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line + started.stderr.read()
        until_ready(address[0])
        yield started, address[0]
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()


def until_ready(address: str) -> None:
    for _ in range(400):
        try:
            if httpx2.get(address + "/ready").status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.05)
    raise AssertionError("not ready")


REWARD = """
import time
from dataclasses import dataclass
from assay.reward import Reward, Score

@dataclass(frozen=True)
class Nap(Reward):
    name: str = "nap"
    def score(self, samples):
        time.sleep(1.0)
        return [Score.of(1.0) for _ in samples]

nap = Nap()
"""


def test_sigterm_finishes_what_is_under_way(tmp_path: Path) -> None:
    (tmp_path / "naps.py").write_text(REWARD)
    text = "[rewards.nap]\nobject = 'naps.py:nap'\n[rewards.nap.batching]\nmax_items = 2\n"
    found: list[httpx2.Response] = []
    with process(tmp_path, text, "--port", "0") as (started, address):

        def ask() -> None:
            found.append(httpx2.post(f"{address}/v1/rewards/nap/score", json=BODY, timeout=20))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)  # one batch runs, the rest waits
        started.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(address + "/health")
        for thread in threads:
            thread.join()
        assert started.wait(20) == 0
    assert [one.json()["scores"][0]["value"] for one in found] == [1.0] * 4


def test_ready_says_no_before_the_socket_closes(tmp_path: Path) -> None:
    (tmp_path / "naps.py").write_text(REWARD)
    text = "[server]\ndrain_delay_s = 1.5\n[rewards.nap]\nobject = 'naps:nap'\n"
    with process(tmp_path, text, "--port", "0") as (started, address):
        started.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        ready = httpx2.get(address + "/ready")
        assert ready.status_code == 503
        assert ready.json()["problems"] == ["the server is shutting down"]
        done = httpx2.post(f"{address}/v1/rewards/nap/score", json=BODY, timeout=20)
        assert done.status_code == 200
        started.send_signal(signal.SIGTERM)  # the second one ends it at once
        assert started.wait(20) == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("[rewards.x]\nobject = 'absent:x'\n", (), "cannot import absent"),
        ("[reward.x]\nobject = 'naps:nap'\n", (), "did you mean 'rewards'"),
        ("[rewards.x]\nobject = 'naps:nap'\n", ("--host", "0.0.0.0"), "asks for bearer tokens"),
        ("[rewards.x]\nobject = 'naps:nap'\n", ("--engine", "x"), "--engine must be one of"),
    ],
)
def test_what_cannot_be_served(
    tmp_path: Path, text: str, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "naps.py").write_text(REWARD)
    (tmp_path / "serve.toml").write_text(text)
    environment = {k: v for k, v in os.environ.items() if k != "ASSAY_SERVE_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "assay", "serve", "serve.toml", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment | {"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def test_a_taken_port_is_told_before_models_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("raise SystemExit('was imported')")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "serve.toml").write_text("[rewards.x]\nobject = 'late:x'\n")
        config = ServeConfig.from_toml(tmp_path / "serve.toml")
        config = replace(config, server=replace(config.server, port=port))
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}.*in use"):
            serve(config)


def test_check_lists_the_endpoints(tmp_path: Path) -> None:
    (tmp_path / "naps.py").write_text(REWARD)
    (tmp_path / "serve.toml").write_text(
        "[rewards.x]\nobject = 'naps.py:nap'\n[vllm]\nrewards = ['x']\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "assay", "serve", "serve.toml", "--check"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert {"/v1/rewards/{name}/score", "/rerank", "/metrics"} <= set(done.stdout.split())


@pytest.mark.slow
def test_ray_serve_gives_the_same_answers(tmp_path: Path) -> None:
    pytest.importorskip("ray.serve", reason="needs pip install 'assay[serve,ray]'")
    (tmp_path / "naps.py").write_text(REWARD)
    (tmp_path / "serve.toml").write_text(
        "[rewards.nap]\nobject = 'naps:nap'\n[ray]\nreplicas = 2\nnum_cpus = 0.5\n"
    )
    log = (tmp_path / "log").open("w+")
    started = subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", "serve.toml", "--port", "8779", "--engine", "ray"],
        cwd=tmp_path,
        stderr=log,
        stdout=log,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )
    try:
        for _ in range(240):
            if "serving on" in (tmp_path / "log").read_text() or started.poll() is not None:
                break
            time.sleep(0.5)
        assert started.poll() is None, (tmp_path / "log").read_text()
        address = "http://127.0.0.1:8779"
        reply = httpx2.post(f"{address}/v1/rewards/nap/score", json=BODY, timeout=60)
        assert reply.json()["scores"][0]["value"] == 1.0
        assert "/v1/rewards/{name}/score" in httpx2.get(address + "/openapi.json").json()["paths"]
        assert httpx2.get(address + "/ready").json() == {"ready": True, "problems": []}
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == 0
    finally:
        if started.poll() is None:
            started.kill()
        log.close()
