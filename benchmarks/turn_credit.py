"""Time inside the turn-credit override, as a share of step time, on the tiny agent.

    python benchmarks/turn_credit.py --json turn_credit.json

The same GRPO run in an environment with tools, once for each mode; `trajectory` only logs. The time
of the override is what it takes beyond TRL's own method (metric `turn_credit/seconds`), the step
time is TRL's own metric. The goal is less than 3 % in every mode.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.policy.credit_assignment import MODES

GOAL = 0.03


def measure(model: Any, tokenizer: Any, mode: str, steps: int) -> dict[str, float]:
    """Seconds of the override and of the step, means over steps, the first left out."""
    from transformers import PrinterCallback, set_seed

    from examples.grpo_agent import trainer

    set_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        run = trainer(copy.deepcopy(model), tokenizer, folder, mode, steps)
        run.remove_callback(PrinterCallback)
        run.train()
    log = [entry for entry in run.state.log_history if "turn_credit/seconds" in entry][1:]
    inside = sum(entry["turn_credit/seconds"] for entry in log) / len(log)
    step = sum(entry["step_time"] for entry in log) / len(log)
    turns = sum(entry.get("turn_credit/turns", 0.0) for entry in log) / len(log)
    return {"inside_s": inside, "step_s": step, "share": inside / step, "turns": turns}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="time inside the turn-credit override")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES, metavar="MODE")
    parser.add_argument("--quick", action="store_true", help="5 steps, two modes")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    from examples.grpo_agent import starting_point

    steps = 5 if options.quick else options.steps
    modes = ("trajectory", "negative") if options.quick else options.modes
    model, tokenizer = starting_point()
    found: dict[str, dict[str, float]] = {}
    print(f"{'mode':<12} {'turns':>6} {'inside ms':>10} {'step ms':>9} {'share':>7}")
    for mode in modes:
        row = found[mode] = measure(model, tokenizer, mode, steps)
        print(
            f"{mode:<12} {row['turns']:>6.2f} {1e3 * row['inside_s']:>10.2f} "
            f"{1e3 * row['step_s']:>9.1f} {row['share']:>7.2%}",
            flush=True,
        )
    worst = max(row["share"] for row in found.values())
    print(f"worst share {worst:.2%}, goal < {GOAL:.0%}: {'met' if worst < GOAL else 'missed'}")
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    print(f"{steps} steps of 16 rollouts each, {machine}")
    if options.json:
        record = {"modes": found, "steps": steps, "worst_share": worst, "machine": machine}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
