"""How fast the sandbox is, as ratios to an unisolated `subprocess python3` in the same run.

    python benchmarks/sandbox.py                 # two minutes
    python benchmarks/sandbox.py --quick         # under 40 seconds
    python benchmarks/sandbox.py --json out.json
    python benchmarks/sandbox.py --soak 100000   # executions; counts what is left before and after

Every figure is per core, with all cores busy. Baseline and sandbox run the same interpreter.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from assay.errors import SandboxError
from assay.sandbox import Bubblewrap, Job, Limits, Sandbox, StdioTest, Verdict
from assay.sandbox.choice import sandbox_named
from assay.sandbox.root import find_interpreter
from assay.sandbox.suite import leftovers

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
CPP = (
    "#include <bits/stdc++.h>\nusing namespace std;\n"
    "int main() { long a, b; cin >> a >> b; vector<long> v{a, b}; sort(v.begin(), v.end());\n"
    "  cout << accumulate(v.begin(), v.end(), 0L) << endl; }\n"
)
JAVA = (
    "import java.util.*;\npublic class Main { public static void main(String[] x) {\n"
    "  Scanner s = new Scanner(System.in); System.out.println(s.nextLong() + s.nextLong()); } }\n"
)
NODE = (
    'const [a, b] = require("fs").readFileSync(0, "utf8").trim().split(/\\s+/).map(Number);\n'
    "console.log(a + b);\n"
)
COMMENT = {"python": "#", "cpp": "//", "java": "//", "javascript": "//"}
HOSTILE = (
    "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        break\n",
    "x = []\nwhile True:\n    x.append(bytearray(b'1') * (1 << 20))\n",
    "import os\nwhile True:\n    os.write(1, b'7' * 65536)\n",
    "import os, signal\nos.kill(0, signal.SIGSTOP)\n",
    "import os\nos._exit(0)\n",
    "raise SystemExit(3)\n",
)
FLOORS = {
    "python_50_ratio": 4.2,
    "python_10_ratio": 3.6,
    "python_1_ratio": 1.7,
    "cpp_submissions_per_s_per_core": 2.0,
    "cpp_executions_per_s_per_core": 1000.0,
    "java_executions_per_s_per_core": 20.0,
    "javascript_executions_per_s_per_core": 20.0,
}


def tests(count: int, seed: int) -> tuple[StdioTest, ...]:
    """So many tests of the sum."""
    return tuple(StdioTest(f"{seed} {n}\n", f"{seed + n}\n") for n in range(count))


def jobs(source: str, language: str, submissions: int, per: int, tag: str) -> list[Job]:
    """Different submissions, so that nothing is run only once for several."""
    return [
        Job(f"{source}{COMMENT[language]} {tag} {n}\n", tests(per, n), language=language)
        for n in range(submissions)
    ]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """A value and the seconds it took."""
    started = time.perf_counter()
    value = action()
    return value, time.perf_counter() - started


def baseline(executable: str, count: int, cores: int) -> float:
    """`subprocess python3` per test, nothing isolated: tests per second and core."""

    def one(_: int) -> None:
        done = subprocess.run([executable, "-c", ADD], input=b"1 2\n", capture_output=True)
        assert done.stdout == b"3\n", done

    with ThreadPoolExecutor(cores) as threads:
        _, seconds = timed(lambda: list(threads.map(one, range(count))))
    return count / seconds / cores


def rate(sandbox: Sandbox, batch: list[Job], cores: int) -> float:
    """Tests per second and core; every one must be right."""
    results, seconds = timed(lambda: sandbox.run(batch))
    wrong = Counter(str(one.verdict) for one in results if one.verdict is not Verdict.AC)
    if wrong:
        raise SystemExit(f"wrong verdicts: {dict(wrong)}: {results[0]}")
    return sum(one.total for one in results) / seconds / cores


def python_figures(sandbox: Sandbox, executable: str, cores: int, scale: float) -> dict[str, float]:
    """Ratios against baselines measured just before and just after."""
    figures: dict[str, float] = {}
    tag = str(time.time_ns())
    rate(sandbox, jobs(ADD, "python", 2 * cores, 2, f"warm {tag}"), cores)
    for per, submissions in ((50, 40), (10, 150), (1, 600)):
        count = max(cores, int(submissions * scale))
        before = baseline(executable, int(300 * scale) + 20, cores)
        found = rate(sandbox, jobs(ADD, "python", count, per, f"{per} {tag}"), cores)
        after = baseline(executable, int(300 * scale) + 20, cores)
        figures[f"python_{per}_tests_per_s_per_core"] = found
        figures[f"python_{per}_ratio"] = found / ((before + after) / 2)
        figures["subprocess_tests_per_s_per_core"] = (before + after) / 2
    return figures


def bare(command: list[str], folder: str, count: int, cores: int) -> float:
    """A program run unisolated, once per test: tests per second and core."""

    def one(_: int) -> None:
        done = subprocess.run(command, input=b"1 2\n", capture_output=True, cwd=folder)
        assert done.stdout == b"3\n", done

    with ThreadPoolExecutor(cores) as threads:
        _, seconds = timed(lambda: list(threads.map(one, range(count))))
    return count / seconds / cores


def bare_commands(folder: str) -> dict[str, tuple[list[str] | None, list[str]]]:
    """How each language is compiled and run by hand: (compile, run)."""
    for name, source in (("main.cpp", CPP), ("Main.java", JAVA), ("main.js", NODE)):
        with open(f"{folder}/{name}", "w") as file:
            file.write(source)
    return {
        "cpp": (["g++", "-std=gnu++17", "-O2", "-o", "main", "main.cpp"], ["./main"]),
        "java": (["javac", "-proc:none", "Main.java"], ["java", "-XX:+UseSerialGC", "Main"]),
        "javascript": (None, ["node", "main.js"]),
    }


def compiled_figures(sandbox: Sandbox, cores: int, scale: float) -> dict[str, float]:
    """C++ with compilation and without, Java and node once compiled, beside the bare tools."""
    figures: dict[str, float] = {}
    tag = str(time.time_ns())
    with tempfile.TemporaryDirectory() as folder:
        by_hand = bare_commands(folder)
        for language, source in (("cpp", CPP), ("java", JAVA), ("javascript", NODE)):
            compile_command, run_command = by_hand[language]
            try:
                rate(sandbox, jobs(source, language, cores, 1, f"warm {tag}"), cores)
            except SandboxError as error:
                print(f"{language}: {error}", file=sys.stderr)
                continue
            if compile_command is not None:
                _, compile_s = timed(
                    lambda command=compile_command: subprocess.run(command, cwd=folder, check=True)
                )
                figures[f"{language}_bare_compile_s"] = compile_s
            runs = int((600 if language == "cpp" else 40) * scale) + 4
            count = max(cores, int((16 if language == "cpp" else 4) * scale))
            batch = jobs(source, language, count, 20, tag)
            first, seconds = timed(lambda batch=batch: sandbox.run(batch))
            assert all(one.verdict is Verdict.AC for one in first), first[0]
            before = bare(run_command, folder, runs, cores)
            if language == "cpp":
                figures["cpp_submissions_per_s_per_core"] = count / seconds / cores
                # By hand a submission costs its compilation and 20 runs of one core.
                figures["cpp_submissions_ratio"] = (
                    count / seconds / cores * (figures["cpp_bare_compile_s"] + 20 / before)
                )
                again = [Job(one.source, tests(200, 7), language="cpp") for one in batch]
                found = rate(sandbox, again, cores)
            else:
                found = rate(sandbox, batch, cores)
            after = bare(run_command, folder, runs, cores)
            figures[f"{language}_executions_per_s_per_core"] = found
            figures[f"{language}_bare_executions_per_s_per_core"] = (before + after) / 2
            figures[f"{language}_ratio"] = found / ((before + after) / 2)
    return figures


def state() -> dict[str, int]:
    """What this process and the machine hold."""
    gc.collect()
    with open("/proc/self/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    with open("/proc/mounts") as file:
        mounts = sum(1 for _ in file)
    return {
        "resident_kib": resident,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "mounts": mounts,
        "tmp_entries": len(os.listdir("/tmp")),
    }


def soak(sandbox: Sandbox, executions: int) -> dict[str, Any]:
    """Honest and hostile programs mixed; counts before (after warm-up) and after."""
    limits = Limits(cpu_s=0.5, wall_s=1.0, memory_mb=128, output_mb=1)
    done = 0
    verdicts: Counter[str] = Counter()
    wrong = 0
    before: dict[str, int] = {}
    generator = random.Random(1)
    log = []
    while done < executions:
        batch = [
            Job(f"{ADD}# {done} {n}\n", tests(50, n), limits=Limits(wall_s=30)) for n in range(20)
        ]
        source = generator.choice(HOSTILE)
        batch.append(Job(f"{source}# {done}\n", tests(2, 1), limits=limits))
        generator.shuffle(batch)
        results = sandbox.run(batch)
        for job, result in zip(batch, results, strict=True):
            verdicts[str(result.verdict)] += 1
            honest = job.source.startswith(ADD)
            wrong += honest is not (result.verdict is Verdict.AC)
            wrong += result.verdict is Verdict.IE
            done += result.total
        if not before and done >= min(5000, executions // 4):
            before = state()
        if before and len(log) < 100 * done / executions:
            log.append({"executions": done, **state()})
    after = state()
    sandbox.close()
    return {
        "executions": done,
        "verdicts": dict(verdicts),
        "wrong": wrong,
        "before": before,
        "after": after,
        "left_after_close": leftovers(),
        "log": log,
    }


def table(figures: dict[str, float]) -> str:
    """Figures beside what they should be at least."""
    lines = [f"{'figure':<36}{'found':>10}{'at least':>10}"]
    for name, value in figures.items():
        floor = FLOORS.get(name)
        lines.append(f"{name:<36}{value:>10.2f}{'' if floor is None else f'{floor:>10.1f}'}")
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 40 seconds")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--backend", default="bubblewrap")
    parser.add_argument("--python", help="interpreter of programs and baseline")
    parser.add_argument("--soak", type=int, metavar="N", help="only: so many executions")
    given = parser.parse_args()
    sandbox = (
        Bubblewrap(python=given.python)
        if given.backend == "bubblewrap"
        else sandbox_named(given.backend)
    )
    cores = len(os.sched_getaffinity(0))
    machine = f"{platform.machine()}, {cores} cores, kernel {platform.release()}"
    report: dict[str, Any] = {"machine": machine, "backend": given.backend}
    if given.soak:
        report["soak"] = soak(sandbox, given.soak)
        print(json.dumps({k: v for k, v in report["soak"].items() if k != "log"}, indent=1))
    else:
        executable = find_interpreter(given.python).executable
        scale = 0.15 if given.quick else 1.0
        figures = python_figures(sandbox, executable, cores, scale)
        figures |= compiled_figures(sandbox, cores, scale)
        report["figures"] = figures
        print(f"{machine}; baseline: {executable}")
        print(table(figures))
        sandbox.close()
    if given.json:
        with open(given.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
