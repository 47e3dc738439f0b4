"""Success of a policy in environments, over all runs and by the number of turns that they took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.policy.data.trajectory_rows import WRITERS
from assay.policy.environments.loop import Played, play
from assay.policy.evaluation.answers import Figures
from assay.policy.evaluation.metrics import pass_curve
from assay.policy.evaluation.samplers import Sampler
from assay.policy.rollouts import Decoding
from assay.policy.stages.agentic_rl import environment_of

#: First turn count of each bucket.
BUCKETS = (1, 2, 3, 5, 9, 17, 33, 65)


def play_rows(
    sampler: Sampler,
    rows: Sequence[Mapping[str, Any]],
    decoding: Decoding,
    *,
    protocol: str | None = "hermes",
    max_turns: int | None = None,
    first: int = 1,
) -> Iterable[dict[str, Any]]:
    """`decoding.n` runs of every row's environment, one after another.

    Args:
        sampler: The policy.
        rows: As of agentic RL: `task`, or `family` and `environment_seed`.
        decoding: Of each message; run j of a row uses its seed + j.
        protocol: How the policy writes calls in its text; None for endpoints that return calls.
        max_turns: Assistant turns at most.
        first: Number of the first row, by which environments without a name of their own go.
    """
    for number, row in enumerate(rows, start=first):
        for run in range(decoding.n):
            spec = environment_of(row, number)
            each = replace(decoding, n=1, seed=decoding.seed * 100_003 + run)
            played = play(
                spec,
                lambda messages, tools, each=each: sampler.next_message(messages, tools, each),  # type: ignore[misc]
                max_turns=max_turns,
                text_protocol=protocol,
            )
            yield _row(str(row.get("uid", spec.id)), run, played)


def episode_figures(runs: Sequence[Mapping[str, Any]], ks: Sequence[int] = (1,)) -> Figures:
    """Success, turns and calls; success by turn count, and within a budget of turns.

    `success` is the mean over prompts of their runs' share of success. `success, T turns` is the
    share among runs that took so many; `success within T turns` counts a run that took more as a
    failure, so that it never falls with T. Runs whose environment failed are left out.
    """
    found = Figures()
    known = [run for run in runs if run["passed"] is not None]
    if len(known) < len(runs):
        found.notes.append(
            f"in {len(runs) - len(known)} of {len(runs)} runs the environment failed"
        )
    if not known:
        return found
    found.add("success", _means(known, lambda run: float(run["passed"])))
    found.add("value", _means(known, lambda run: run["value"]))
    found.add("turns", _means(known, lambda run: float(run["turns"])), share=False)
    found.add("calls", _means(known, lambda run: float(run["calls"])), share=False)
    counts = {}
    for uid in dict.fromkeys(run["uid"] for run in known):
        mine = [run for run in known if run["uid"] == uid]
        counts[uid] = (len(mine), sum(bool(run["passed"]) for run in mine))
    for k, (interval, values) in pass_curve(counts, ks).items():
        found.put(f"pass@{k}", interval, values)
    longest = max(run["turns"] for run in known)
    for place, low in enumerate(BUCKETS):
        if low > longest:
            break
        high = BUCKETS[place + 1] - 1 if place + 1 < len(BUCKETS) else longest
        inside = [run for run in known if low <= run["turns"] <= high]
        label = str(low) if high == low else f"{low}-{high}"
        if inside:
            found.add(f"success, {label} turns", _means(inside, lambda run: float(run["passed"])))
            found.metrics[f"success, {label} turns"]["runs"] = len(inside)
        within = _means(
            known,
            lambda run, high=high: float(run["passed"] and run["turns"] <= high),
        )
        found.add(f"success within {high} turns", within)
    return found


def _row(uid: str, run: int, played: Played) -> dict[str, Any]:
    return {
        "uid": uid,
        "run": run,
        "turns": len(played.trajectory.turns),
        "calls": played.outcome.calls,
        "value": played.outcome.value,
        "passed": played.outcome.passed,
        "note": played.outcome.note,
        "stopped": played.stopped,
        "trajectory": WRITERS["openai"](played.trajectory),
    }


def _means(runs: Sequence[Mapping[str, Any]], value: Any) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run["uid"], []).append(float(value(run)))
    return {uid: sum(some) / len(some) for uid, some in found.items()}
