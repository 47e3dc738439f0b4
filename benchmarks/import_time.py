"""Time to import assay.rewards, in fresh processes, beside a bare `import numpy`.

    python benchmarks/import_time.py --json import_time.json

The order of the processes alternates, so that a busy machine slows both alike; the ratio of the
medians is the figure to compare, the seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

STATEMENTS = {"nothing": "pass", "numpy": "import numpy", "assay.rewards": "import assay.rewards"}


def seconds(statement: str) -> float:
    """Wall time of a fresh interpreter that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def measure(repeats: int) -> dict[str, float]:
    """Median seconds of each import, the interpreter's own start taken off."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for statement in STATEMENTS.values():  # warms the disk cache and the byte code
        seconds(statement)
    for _ in range(repeats):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    start = statistics.median(times.pop("nothing"))
    return {name: statistics.median(found) - start for name, found in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="import time of assay.rewards")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = measure(options.repeats)
    ratio = found["assay.rewards"] / found["numpy"]
    for name, value in found.items():
        print(f"import {name:<14} {value:.3f} s")
    print(f"ratio                 {ratio:.2f}")
    print(f"median of {options.repeats} fresh processes, Python {platform.python_version()}")
    if options.json:
        record = {"seconds": found, "ratio_to_numpy": ratio, "repeats": options.repeats}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
