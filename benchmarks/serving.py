"""The server against plain alternatives, in one run on one machine.

    python benchmarks/serving.py [protocol] [model] [soak] [--minutes 10] [--json FILE] [--quick]

`protocol`: requests/s and latency with a reward that costs nothing, 64 clients (wrk), a body of
1 KB, one process, against a FastAPI echo that parses the same model.
`model`: completions/s of single-item requests from 64 clients, a Llama of 16 M parameters on one
thread, against OpenRLHF 0.11's `serve_rm` logic on the same model; scores must be equal.
`soak`: requests at 80 % of what the server takes through a proxy that gets 5 % of them wrong; every
score is checked, and the server's memory is watched.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
CLIENTS = 64
GOALS = {"rate": 0.5, "p99": 5.0, 16: 2.0, 64: 1.3, 512: 0.95, 1024: 0.95}


@contextmanager
def program(*arguments: str) -> Iterator[tuple[int, int]]:
    """Port and process id of one of `serving_apps.py`, once it answers."""
    import socket

    import httpx2

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "serving_apps.py"),
        arguments[0],
        str(port),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen([*command, *arguments[1:]], env=environment, cwd=ROOT)
    try:
        path = "/ready" if arguments[0] == "assay" else "/openapi.json"
        for _ in range(600):
            try:
                if httpx2.get(f"http://127.0.0.1:{port}{path}").status_code == 200:
                    break
            except httpx2.HTTPError:
                time.sleep(0.1)
            if process.poll() is not None:
                raise SystemExit(f"{arguments} did not start")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def wrk(port: int, path: str, seconds: int) -> dict[str, float]:
    """Requests/s, median and 99th percentile (ms) of 64 clients with a body of 1 KB."""
    answer = "It is four. " * 40
    sample = {"prompt": "What is two and two? " * 18, "completion": answer, "columns": {"uid": "1"}}
    body = json.dumps({"samples": [sample]})
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(
            'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
            f"wrk.body = {json.dumps(body)}\n"
        )
        script.flush()
        command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--latency", "-s", script.name]
        done = subprocess.run(
            [*command, f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True
        )
    text = done.stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"requests failed:\n{text}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert rate is not None, text
    found = {"rate": float(rate[1]), "body_bytes": len(body)}
    for name, label in (("p50_ms", "50%"), ("p99_ms", "99%")):
        value = re.search(rf"{label}\s+([\d.]+)(us|ms|s)", text)
        assert value is not None, text
        found[name] = float(value[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[value[2]]
    return found


def protocol(quick: bool) -> dict[str, Any]:
    """Ours and the echo in turn, so that both meet the same noise; medians."""
    rounds, seconds = (2, 3) if quick else (5, 6)
    found: dict[str, list[dict[str, float]]] = {"assay": [], "echo": []}
    with program("assay") as (ours, _), program("echo") as (echo, _):
        wrk(ours, "/v1/rewards/noop/score", 2)
        wrk(echo, "/echo", 2)
        for _ in range(rounds):
            found["echo"].append(wrk(echo, "/echo", seconds))
            found["assay"].append(wrk(ours, "/v1/rewards/noop/score", seconds))
    middle = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for name, runs in found.items()
    }
    return middle | {
        "rate_ratio": middle["assay"]["rate"] / middle["echo"]["rate"],
        "p99_ratio": middle["assay"]["p99_ms"] / middle["echo"]["p99_ms"],
    }


async def _send_all(port: int, texts: list[str]) -> tuple[float, list[float]]:
    """Seconds and scores of single-item requests from 64 clients that keep their connections."""
    scores = [float("nan")] * len(texts)
    todo = iter(enumerate(texts))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for index, text in todo:
            body = json.dumps({"query": [text], "prompts": [""], "labels": [None]}).encode()
            writer.write(
                b"POST /get_reward HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json"
                b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
            answer = json.loads(await reader.readexactly(size))
            scores[index] = answer["rewards"][0]
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return time.perf_counter() - start, scores


def model(quick: bool, lengths: list[int]) -> dict[str, Any]:
    """Completions/s at each length; both get the same texts, in turn, every text new."""
    rng = random.Random(0)
    counts = {16: 1024, 64: 512, 512: 64} if quick else {16: 3072, 64: 1024, 512: 192, 1024: 96}
    if lengths:
        counts = {length: counts[length] for length in lengths if length in counts}
    found: dict[str, Any] = {}
    with program("assay", "rm") as (ours, _), program("openrlhf") as (theirs, _):
        for length, count in counts.items():
            rates: dict[str, list[float]] = {"assay": [], "openrlhf": []}
            worst = 0.0
            for round_ in range(3 if length < 512 else 2):
                number = min(count, CLIENTS) if round_ == 0 else count  # the first one warms up
                if length >= 512 and round_ == 0:
                    number = 4
                texts = [
                    " ".join(f"w{rng.randrange(1, 16_000)}" for _ in range(length))
                    for _ in range(number)
                ]
                took, right = asyncio.run(_send_all(theirs, texts))
                mine, got = asyncio.run(_send_all(ours, texts))
                worst = max(worst, max(abs(a - b) for a, b in zip(right, got, strict=True)))
                if round_:
                    rates["openrlhf"].append(number / took)
                    rates["assay"].append(number / mine)
            rate = {name: statistics.median(values) for name, values in rates.items()}
            found[str(length)] = rate | {
                "ratio": rate["assay"] / rate["openrlhf"],
                "largest_difference": worst,
            }
            print(f"{length} tokens: {found[str(length)]['ratio']:.2f}x", file=sys.stderr)
    return found


def soak(minutes: float) -> dict[str, Any]:
    """Wrong and lost scores, and memory, at 80 % load with 5 % faults."""
    from assay.judges.http import HttpReward
    from assay.judges.http_connection import Connection
    from assay.judges.retry import Retry
    from assay.messages import Sample
    from benchmarks.serving_faults import FaultyProxy

    with program("assay") as (port, pid):
        proxy = FaultyProxy(port)
        retry = Retry(attempts=8, base_s=0.05, cap_s=1.0)
        connection = Connection(f"http://127.0.0.1:{proxy.port}", retry=retry, timeout_s=10)
        reward = HttpReward(connection, "noop")
        counts = {"sent": 0, "right": 0, "wrong": 0, "lost": 0}
        lock, stop = threading.Lock(), threading.Event()
        pause_s = 0.0

        def client(seed: int) -> None:
            rng = random.Random(seed)
            while not stop.is_set():
                start = time.monotonic()
                length = rng.randrange(1, 2000)
                (score,) = reward.evaluate([Sample.of("q", "x" * length)])
                kind = "lost" if score.value is None else "right"
                if score.value is not None and score.value != length:
                    kind = "wrong"
                with lock:
                    counts["sent"] += 1
                    counts[kind] += 1
                stop.wait(max(0.0, pause_s - (time.monotonic() - start)))

        threads = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(5)  # as fast as it goes
        before, begun = counts["sent"], time.monotonic()
        time.sleep(10)
        full = (counts["sent"] - before) / (time.monotonic() - begun)
        pause_s = len(threads) / (0.8 * full)
        memory, end = [], time.monotonic() + minutes * 60
        while time.monotonic() < end:
            memory.append(_resident_mb(pid))
            time.sleep(min(2.0, minutes * 2))
        stop.set()
        for thread in threads:
            thread.join(60)
        counts["lost"] += sum(thread.is_alive() for thread in threads)
        third = max(1, len(memory) // 3)
        early, late = statistics.median(memory[:third]), statistics.median(memory[-third:])
        return counts | {
            "minutes": minutes,
            "full_rate": full,
            "faults": {name: count for name, count in proxy.seen.items() if name != "none"},
            "passed_on": proxy.seen["none"],
            "memory_early_mb": early,
            "memory_late_mb": late,
        }


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def show(found: dict[str, Any]) -> bool:
    """Print tables; whether every goal is met."""
    met = True

    def line(*cells: str) -> None:
        print(
            "  ".join(
                cell.rjust(width) for cell, width in zip(cells, (12, 12, 12, 9, 9, 6), strict=False)
            )
        )

    if one := found.get("protocol"):
        print("\nrequests/s, no-op reward, 64 clients, 1 KB body, one process")
        line("", "requests/s", "p50 ms", "p99 ms")
        for name in ("echo", "assay"):
            row = one[name]
            line(name, f"{row['rate']:,.0f}", f"{row['p50_ms']:.1f}", f"{row['p99_ms']:.1f}")
        good = one["rate_ratio"] >= GOALS["rate"] and one["p99_ratio"] < GOALS["p99"]
        met &= good
        print(
            f"assay / echo: {one['rate_ratio']:.2f}x requests/s (goal >= {GOALS['rate']}), "
            f"{one['p99_ratio']:.2f}x p99 (goal < {GOALS['p99']:g}): {'met' if good else 'MISSED'}"
        )
    if rows := found.get("model"):
        print("\ncompletions/s, Llama of 16 M parameters, 64 clients with one item each")
        line("tokens", "openrlhf", "assay", "ratio", "goal", "")
        for length, row in rows.items():
            goal = GOALS[int(length)]
            good = row["ratio"] >= goal and row["largest_difference"] < 1e-3
            met &= good
            line(
                length,
                f"{row['openrlhf']:,.1f}",
                f"{row['assay']:,.1f}",
                f"{row['ratio']:.2f}x",
                f">= {goal}",
                "met" if good else "MISSED",
            )
        worst = max(row["largest_difference"] for row in rows.values())
        print(f"largest difference between scores: {worst:.1e}")
    if one := found.get("soak"):
        growth = one["memory_late_mb"] - one["memory_early_mb"]
        good = not (one["wrong"] or one["lost"]) and growth < 10
        met &= good
        print(f"\nsoak of {one['minutes']:g} minutes at 80 % of {one['full_rate']:,.0f} requests/s")
        print(f"faults: {one['faults']} beside {one['passed_on']:,} requests passed on")
        print(
            f"{one['sent']:,} scores: {one['wrong']} wrong, {one['lost']} lost; server memory "
            f"{one['memory_early_mb']:.0f} -> {one['memory_late_mb']:.0f} MiB: "
            f"{'met' if good else 'MISSED'}"
        )
    return met


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help="protocol, model, soak; all if none is named")
    parser.add_argument(
        "--lengths", type=int, nargs="*", default=[], help="of the model part, in tokens"
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of the soak")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    parts = given.parts or ["protocol", "model", "soak"]
    if unknown := set(parts) - {"protocol", "model", "soak"}:
        parser.error(f"no part {sorted(unknown)}; there are protocol, model and soak")
    if "protocol" in parts and shutil.which("wrk") is None:
        parser.error("protocol needs wrk: apt-get install wrk")
    found: dict[str, Any] = {
        "machine": {
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "kernel": platform.release(),
        }
    }
    if "protocol" in parts:
        found["protocol"] = protocol(given.quick)
    if "model" in parts:
        found["model"] = model(given.quick, given.lengths)
    if "soak" in parts:
        found["soak"] = soak(given.minutes)
    print(f"{os.cpu_count()} CPUs, Python {platform.python_version()}, Linux {platform.release()}")
    met = show(found)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
