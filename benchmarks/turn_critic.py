"""Turn critic: faults found, runs told apart, the step that broke a run, speed.

    python benchmarks/turn_critic.py --json turn_critic.json

Planted faults, tau-bench and Who&When need the folder named by `ASSAY_DATA`; without it only the
speed is measured, on runs that are made here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.calibration.intervals import Interval, wilson_interval
from assay.judges.tool_schemas import inferred_tools
from assay.judges.turn_critic import RuleCritic
from assay.messages import Trajectory
from assay.policy.data.horizon_measures import auc_interval
from assay.policy.data.mistakes import mistake_report
from assay.policy.data.planted_faults import KINDS, plant
from assay.policy.data.trajectories import read_trajectories, read_trajectory

SEEDS = 3


def planted(runs: list[Trajectory], quick: bool) -> dict[str, Any]:
    """Faults found in runs that went well, and their clean turns that are failed."""
    good = [run for run in runs if run.outcome == 1.0]
    tools = inferred_tools(good)
    critic = RuleCritic(tools)
    clean = [verdict.passed is False for one in critic.review(good) for verdict in one]
    kinds = {}
    for kind in KINDS:
        found = [
            one
            for seed in range(1 if quick else SEEDS)
            for run in good
            if (one := plant(run, kind, tools, seed)) is not None
        ]
        reviews = critic.review([one.run for one in found])
        hits = sum(r[one.turn].passed is False for one, r in zip(found, reviews, strict=True))
        kinds[kind] = wilson_interval(hits, len(found)).as_json() | {"planted": len(found)}
    hits = sum(round(one["estimate"] * one["planted"]) for one in kinds.values())
    total = sum(one["planted"] for one in kinds.values())
    return {
        "kinds": kinds,
        "all": wilson_interval(hits, total).as_json(),
        "clean_turns": len(clean),
        "clean_failed": wilson_interval(sum(clean), len(clean)).as_json(),
    }


def telling_runs(runs: list[Trajectory]) -> list[dict[str, Any]]:
    """Areas under the ROC curve for failed runs, and how much they exceed the number of turns."""
    failed = [run.outcome != 1.0 for run in runs]
    tasks = [run.id.partition("/")[0] for run in runs]
    tools = inferred_tools(runs)
    turns = [float(len(run.turns)) for run in runs]
    columns: dict[str, list[float]] = {"number of turns": turns}
    for name, critic in (("rules", RuleCritic(tools)), ("strict", RuleCritic(tools, strict=True))):
        reviews = critic.review(runs)
        counts = [float(sum(v.passed is False for v in one)) for one in reviews]
        columns[f"{name}: failing turns, count"] = counts
        columns[f"{name}: failing turns, share"] = [
            c / max(t, 1) for c, t in zip(counts, turns, strict=True)
        ]
        if name == "rules":
            for label, found in (
                ("repeated calls", {"repeated_call"}),
                ("error results", {"tool_error", "refused_call", "environment_error"}),
            ):
                columns[label] = [
                    float(sum(bool(found & set(v.findings)) for v in one)) for one in reviews
                ]
    rows = []
    for name, values in columns.items():
        area = auc_interval(values, failed, groups=tasks)
        more = auc_interval(values, failed, against=turns, groups=tasks)
        rows.append({"name": name, "auc": area.as_json(), "minus_turns": more.as_json()})
    return rows


def made_run(turns: int) -> dict[str, Any]:
    """A run with that many turns of calls, in Hermes text, each with a result of 600 characters."""
    messages: list[dict[str, str]] = [{"role": "user", "content": "Find all of them."}]
    for i in range(turns):
        call = {"name": "search", "arguments": {"query": f"item {i}", "page": i}}
        text = f"<think>\nNext is {i}.\n</think>\n\n<tool_call>\n{json.dumps(call)}\n</tool_call>"
        body = json.dumps(
            [{"id": f"REC{i:04d}{j}", "text": f"line {i} {j} " * 6} for j in range(6)]
        )
        messages += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"<tool_response>\n{body}\n</tool_response>"},
        ]
    return {"messages": messages, "tools": [SEARCH]}


SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "page": {"type": "integer"}},
            "required": ["query"],
        },
    },
}


def speed(runs: list[Trajectory]) -> dict[str, float]:
    """Turns per second on one core, and how parse and review of one run grow with its length."""
    critic = RuleCritic(inferred_tools(runs)) if runs else RuleCritic()
    measured = runs or [read_trajectory(made_run(40)) for _ in range(50)]
    turns = sum(len(run.turns) for run in measured)
    seconds = _best(lambda: critic.review(measured))
    rules = RuleCritic()
    times = {}
    for size in (300, 600):
        row = made_run(size)
        times[size] = _best(lambda row=row: rules.review([read_trajectory(row)]))  # type: ignore[misc]
    return {
        "turns_per_s": turns / seconds,
        "seconds_300": times[300],
        "seconds_600": times[600],
        "doubling": times[600] / times[300],
    }


def _best(work: Callable[[], Any], tries: int = 7) -> float:
    """Fewest CPU seconds of some tries: what else runs on the machine does not count."""
    found = []
    for _ in range(tries):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def _interval(value: dict[str, Any]) -> str:
    whole = Interval(value["estimate"], value["low"] or 0.0, value["high"] or 0.0)
    return f"{whole.estimate:.3f} [{whole.low:.3f}, {whole.high:.3f}]"


def show(result: dict[str, Any], console: Console) -> None:
    """The tables."""
    if "planted" in result:
        table = Table("planted fault", "planted", "turn found, 95%", "goal", title="Rule critic")
        for kind, one in result["planted"]["kinds"].items():
            table.add_row(kind, str(one["planted"]), _interval(one), "")
        table.add_row("all", "", _interval(result["planted"]["all"]), ">= .95")
        clean = result["planted"]
        table.add_row(
            "clean turns failed",
            str(clean["clean_turns"]),
            _interval(clean["clean_failed"]),
            "< .02",
        )
        console.print(table)
    if "tau_bench" in result:
        table = Table("for a failed run", "AUC, 95%", "minus that of turns, 95%", title="tau-bench")
        for row in result["tau_bench"]:
            table.add_row(row["name"], _interval(row["auc"]), _interval(row["minus_turns"]))
        console.print(table)
    if "who_and_when" in result:
        table = Table("guess", "runs", "exact, 95%", "within 2, 95%", "p exact", "p near")
        table.title = "Who&When: the step that broke the run"
        for way in result["who_and_when"]["ways"]:
            ps = ["" if way[k] is None else f"{way[k]:.4f}" for k in ("p_exact", "p_near")]
            table.add_row(
                way["name"],
                str(way["guesses"]),
                _interval(way["exact"]),
                _interval(way["near"]),
                *ps,
            )
        console.print(table)
    table = Table("speed", "", "goal", title="Rules, one core")
    made = result["speed"]
    table.add_row("turns/s", f"{made['turns_per_s']:,.0f}", ">= 5,000")
    table.add_row("300 turns, parse and review", f"{made['seconds_300'] * 1e3:.0f} ms", "")
    table.add_row("600 turns", f"{made['seconds_600'] * 1e3:.0f} ms", "")
    table.add_row("doubling", f"{made['doubling']:.2f} x", "< 2.2 x")
    console.print(table)
    console.print(result["machine"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="one fault of each kind a run")
    options = parser.parse_args()
    data = Path(os.environ["ASSAY_DATA"]) if os.environ.get("ASSAY_DATA") else None
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    }
    runs: list[Trajectory] = []
    if data is not None and (file := data / "taubench" / "gpt-4o-airline.json.gz").is_file():
        runs = list(read_trajectories(file))
        result["planted"] = planted(runs, options.quick)
        result["tau_bench"] = telling_runs(runs)
    if (
        data is not None
        and (file := data / "who_and_when" / "algorithm-generated.jsonl.gz").is_file()
    ):
        failed = list(read_trajectories(file))
        reviews = RuleCritic(inferred_tools(failed)).review(failed)
        result["who_and_when"] = mistake_report(failed, reviews).to_json()
        result["who_and_when"].pop("guesses")
    result["speed"] = speed(runs)
    show(result, Console(width=120))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
