"""Results on disk: figures with the decoding and budget behind them, and their comparison."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.policy.checkpoints import write_json_file
from assay.policy.evaluation.answers import Figures
from assay.policy.evaluation.comparison import Difference, compare_results, seeds_interval
from assay.policy.run_folder import commit, versions

RESULTS_FILE, BY_PROMPT_FILE = "results.json", "by_prompt.json"


def one_result(
    decoding: Mapping[str, Any], seeds: Sequence[int], whole: Figures, by_seed: Sequence[Figures]
) -> dict[str, Any]:
    """The result of one budget: every metric with its interval, and its spread over seeds.

    Args:
        decoding: All decoding parameters; `seed` is left to `seeds`.
        seeds: Of the samples.
        whole: Figures of all seeds' samples together.
        by_seed: Figures of each seed alone.
    """
    spread = {}
    for name in whole.metrics:
        values = [
            float(figures.metrics[name]["estimate"])
            for figures in by_seed
            if name in figures.metrics and figures.metrics[name]["estimate"] is not None
        ]
        if len(values) == len(seeds):
            spread[name] = {"values": values, **seeds_interval(values).as_json()}
    kept = {key: value for key, value in decoding.items() if key not in ("seed", "batch_size")}
    return {
        "budget": decoding["max_new_tokens"],
        "decoding": kept,
        "seeds": list(seeds),
        "metrics": whole.metrics,
        "over_seeds": spread,
        "notes": whole.notes,
    }


def write_results(
    folder: Path,
    about: Mapping[str, Any],
    results: Sequence[Mapping[str, Any]],
    by_prompt: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, Any]:
    """Write both files; returns what `results.json` holds."""
    found = {
        "about": {
            **about,
            "versions": versions(),
            "commit": commit(),
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        },
        "results": list(results),
    }
    write_json_file(folder / BY_PROMPT_FILE, dict(by_prompt))
    write_json_file(folder / RESULTS_FILE, found)
    return found


def read_results(folder: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """`results.json` and `by_prompt.json` of an evaluation's folder.

    Raises:
        ConfigError: There is no finished evaluation in it.
    """
    folder = Path(folder)
    try:
        found, values = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in (RESULTS_FILE, BY_PROMPT_FILE)
        )
    except OSError as error:
        raise ConfigError(
            f"{folder} holds no finished evaluation ({error.strerror}); run assay evaluate with "
            f"--output {folder} first"
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"the results in {folder} are damaged ({error}); run assay evaluate with --output "
            f"{folder} again, its samples are kept"
        ) from error
    return found, values


def compare_folders(before: str | Path, after: str | Path) -> dict[str, list[Difference]]:
    """Paired differences by budget, on budgets and prompts that both evaluations have.

    Raises:
        ConfigError: They are evaluations of different tasks, or decoded differently.
        DataError: They share no budget, metric or prompt.
    """
    (old, old_values), (new, new_values) = read_results(before), read_results(after)
    for key in ("task", "data", "reward"):
        if old["about"].get(key) != new["about"].get(key):
            raise ConfigError(
                f"the evaluations differ in {key}: {old['about'].get(key)!r:.80} and "
                f"{new['about'].get(key)!r:.80}; compare runs that differ in the policy alone"
            )
    decodings = [{r["budget"]: r["decoding"] for r in found["results"]} for found in (old, new)]
    shared = [budget for budget in decodings[0] if budget in decodings[1]]
    if not shared:
        raise DataError(
            f"the evaluations share no budget: {sorted(decodings[0])} and {sorted(decodings[1])}"
        )
    for budget in shared:
        one, other = decodings[0][budget], decodings[1][budget]
        if changed := sorted(k for k in one if one[k] != other.get(k)):
            raise ConfigError(
                f"the evaluations were decoded differently ({', '.join(changed)} at budget "
                f"{budget}); sample both alike"
            )
    return {
        str(budget): compare_results(old_values[str(budget)], new_values[str(budget)])
        for budget in shared
    }


def result_lines(found: Mapping[str, Any]) -> list[str]:
    """A result as lines of text: one block a budget, one line a metric.

    Where seeds are several, the second interval is over their means.
    """
    lines = []
    for result in found["results"]:
        decoding = ", ".join(f"{key} {value}" for key, value in result["decoding"].items())
        lines.append(f"{decoding}; seeds {result['seeds']}")
        width = max(map(len, result["metrics"]), default=0)
        for name, metric in result["metrics"].items():
            line = f"  {name:<{width}}  {_interval(metric)}  ({metric['units']} prompts)"
            spread = result["over_seeds"].get(name)
            if spread is not None and len(result["seeds"]) > 1:
                line += f"; over seeds {_interval(spread)}"
            lines.append(line)
        lines += [f"  note: {note}" for note in result["notes"]]
    return lines


def difference_lines(found: Mapping[str, Sequence[Difference]]) -> list[str]:
    """Paired differences as lines of text."""
    lines = []
    for budget, differences in found.items():
        lines.append(f"max_new_tokens {budget}: after - before, prompt by prompt")
        width = max(len(d.metric) for d in differences)
        for d in differences:
            line = f"  {d.metric:<{width}}  {d.before:.4g} -> {d.after:.4g}  "
            line += f"{_interval(d.change.as_json())}  p {d.p:.3g}  q {d.q:.3g}"
            if d.p_mcnemar is not None:
                line += f"  McNemar {d.p_mcnemar:.3g}"
            lines.append(f"{line}  ({d.prompts} prompts)")
    return lines


def _interval(metric: Mapping[str, Any]) -> str:
    estimate = metric["estimate"]
    if estimate is None or not math.isfinite(estimate):
        return "none"
    if metric["low"] is None:
        return f"{estimate:.4g}"
    return f"{estimate:.4g} [{metric['low']:.4g}, {metric['high']:.4g}]"
