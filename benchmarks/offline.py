"""What `assay score` adds to a reward: time per row, memory, and whether kills lose anything.

    python benchmarks/offline.py                    # three minutes
    python benchmarks/offline.py --rows 1000000     # memory up to a million rows
    python benchmarks/offline.py --json out.json
    python benchmarks/offline.py --quick            # half a minute

Overhead is that of a job with a reward that does nothing, against the same reward called on the
same rows in a loop that reads and writes JSON lines and keeps no promise, in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REWARD = """
from dataclasses import dataclass
from assay.rewards import Reward, Score

@dataclass(frozen=True)
class Nothing(Reward):
    name: str = "nothing"
    range = (0.0, 1.0)
    def score(self, samples):
        return [Score.of(0.5) for _ in samples]

reward = Nothing()
"""
LOOP = """
import json, sys
sys.path.insert(0, sys.argv[1])
from nothing import reward
from assay.messages import Sample
with open(sys.argv[2]) as rows, open(sys.argv[3], "w") as out:
    for line in rows:
        row = json.loads(line)
        (score,) = reward.score([Sample.of(row["prompt"], row["completion"], row)])
        out.write(json.dumps({"value": score.value}) + "\\n")
"""


def write_rows(path: Path, count: int) -> None:
    """Rows of about half a kilobyte with ids of their own."""
    with path.open("w") as file:
        for number in range(count):
            row = {"id": f"row-{number}", "prompt": "What is 2 + 2?" * 4, "completion": "4 " * 150}
            file.write(json.dumps(row) + "\n")


def command(folder: Path, rows: Path, out: Path, *more: str) -> list[str]:
    """`assay score` with the reward that does nothing."""
    return [
        sys.executable, "-m", "assay", "score", "--reward", f"{folder}/nothing.py:reward",
        "--input", str(rows), "--output", str(out), "--quiet", *more,
    ]  # fmt: skip


def run(argv: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak resident MiB of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(argv)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{argv[:4]} ended with {status}")
    seconds = time.perf_counter() - started
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def overhead(folder: Path, count: int) -> dict[str, float]:
    """Microseconds a row, start-up taken off by a run of ten rows."""
    few, many = folder / "few.jsonl", folder / "many.jsonl"
    write_rows(few, 10)
    write_rows(many, count)
    figures: dict[str, float] = {}
    loop = [sys.executable, "-c", LOOP, str(folder)]
    for name, make in (
        ("job", lambda rows, out: command(folder, rows, out)),
        ("loop", lambda rows, out: [*loop, str(rows), str(out)]),
    ):
        base = run(make(few, folder / f"{name}-few.out"))
        full = run(make(many, folder / f"{name}-many.out"))
        figures[f"{name}_us_per_row"] = (full[0] - base[0]) / (count - 10) * 1e6
        figures[f"{name}_cpu_us_per_row"] = (full[1] - base[1]) / (count - 10) * 1e6
    figures["ratio"] = figures["job_us_per_row"] / figures["loop_us_per_row"]
    return figures


def memory(folder: Path, counts: list[int]) -> dict[str, float]:
    """Peak resident MiB of jobs of different sizes."""
    peaks = {}
    for count in counts:
        rows, out = folder / "rows.jsonl", folder / f"memory-{count}.out"
        write_rows(rows, count)
        peaks[f"peak_mib_{count}_rows"] = run(command(folder, rows, out))[2]
        rows.unlink()
        out.unlink()
    return peaks


def kills(folder: Path, points: int) -> dict[str, int]:
    """Kill a job again and again at random moments; count what is lost or doubled at the end."""
    count = 20_000
    rows, out = folder / "kills.jsonl", folder / "kills.out"
    write_rows(rows, count)
    generator = random.Random(0)
    landed = lost = doubled = 0
    while landed < points:
        process = subprocess.Popen(command(folder, rows, out, "--resume", "--batch-size", "8"))
        try:
            process.wait(timeout=0.4 + generator.random() * 1.2)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            landed += 1
        process.wait()
        if process.returncode == 0:
            ids = [json.loads(line)["id"] for line in out.read_text().splitlines()]
            lost += count - len(set(ids))
            doubled += len(ids) - len(set(ids))
            out.unlink()
    run(command(folder, rows, out, "--resume"))
    ids = [json.loads(line)["id"] for line in out.read_text().splitlines()]
    lost += count - len(set(ids))
    doubled += len(ids) - len(set(ids))
    return {"kills": landed, "lost": lost, "doubled": doubled}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="of the largest job")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="half a minute")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    given = parser.parse_args()
    most = 20_000 if given.quick else given.rows
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}"
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nothing.py").write_text(REWARD)
        report |= overhead(folder, min(most, 100_000))
        report |= memory(folder, [most // 20, most])
        report |= kills(folder, 5 if given.quick else given.kills)
    for key, value in report.items():
        print(f"{key:<28}{value:>12.1f}" if isinstance(value, float) else f"{key:<28}{value!s:>12}")
    if given.json:
        Path(given.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
