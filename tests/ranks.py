"""Runs a function of a test module on several processes joined by gloo."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def run_ranks(target: str, ranks: int = 2, timeout_s: float = 240) -> list[Any]:
    """Call `module:function` on `ranks` processes; each one's JSON-able value, by rank.

    An exception comes back as `{"error": type name, "message": text}`; a hang fails the test.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for rank in range(ranks):
            env = os.environ | {
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "ACCELERATE_USE_CPU": "true",
                "HF_HUB_OFFLINE": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(ROOT),
            }
            command = [sys.executable, "-m", "tests.ranks", target, f"{folder}/{rank}.json"]
            processes.append(
                subprocess.Popen(command, env=env, cwd=folder, stderr=subprocess.PIPE, text=True)
            )
        logs = []
        try:
            logs = [process.communicate(timeout=timeout_s)[1] for process in processes]
        finally:
            for process in processes:
                process.kill()
        results = []
        for rank, log in enumerate(logs):
            path = Path(folder, f"{rank}.json")
            assert path.exists(), f"rank {rank} left no result:\n{log[-3000:]}"
            results.append(json.loads(path.read_text()))
        return results


def _main() -> None:
    import importlib

    from accelerate import PartialState

    PartialState(cpu=True, backend="gloo")
    module, _, name = sys.argv[1].partition(":")
    try:
        value = getattr(importlib.import_module(module), name)()
    except Exception as error:
        value = {"error": type(error).__name__, "message": str(error)}
    Path(sys.argv[2]).write_text(json.dumps(value))


if __name__ == "__main__":
    _main()
    sys.stdout.flush()
    os._exit(0)  # a rank whose partner raised must not wait for it in torch's own clean-up
