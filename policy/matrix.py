"""The evaluation matrix of a run: every checkpoint of the policy on every held-out set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.fingerprint import fingerprint_of
from assay.loading import load_reward
from assay.policy.chat import with_system
from assay.policy.checkpoints import write_json_file
from assay.policy.config_keys import from_table
from assay.policy.data.sources import as_sources, read_sources
from assay.policy.recipe import EvaluationSpec, Recipe
from assay.policy.rollouts import kept_samples, summarise, weights_mark
from assay.policy.stages.models import load_tokenizer, sampled
from assay.policy.stages.rl_rewards import code_reward, model_reward
from assay.reward import Reward
from assay.rewards.chat_text import chat_prompt
from assay.sandbox import Limits

#: Folder of the matrix in a run; one folder a checkpoint, one a set.
MATRIX = "evaluation"


def evaluate_policy(
    recipe: Recipe, spec: EvaluationSpec, checkpoint: str, model: str, run: Path
) -> dict[str, Any]:
    """Sample, score and summarise one checkpoint on one set; what is done is read, not repeated.

    Done is what was asked in the same way: a set whose decoding or reward changed is sampled or
    scored again for every checkpoint, so that a column never mixes two of them. A set whose reward
    model the run has not trained yet is left out.

    Args:
        recipe: The run's recipe.
        spec: The set.
        checkpoint: Its row in the matrix: `start`, or the stage that trained it.
        model: Folder of the checkpoint.
        run: The run's folder.
    """
    folder = run / MATRIX / checkpoint / spec.name
    done = folder / "summary.json"
    asked = fingerprint_of(json.dumps(asdict(spec), sort_keys=True, default=str))
    if done.is_file():
        known = dict(json.loads(done.read_text(encoding="utf-8")))
        if known.get("asked", asked) == asked:
            return known
    reward = evaluation_reward(recipe, spec)
    if reward is None:
        return {}
    settings = dict(recipe.config(recipe.stages[0]).to_json())
    tokenizer = load_tokenizer(model, settings.get("chat_template"))
    found = read_sources(as_sources(recipe.resolve(spec.data)), limit=spec.limit)
    rows = [
        {k: v for k, v in row.items() if k != "completion"}
        | {"prompt": with_system(chat_prompt(row["prompt"]), settings.get("system_prompt", ""))}
        | {"uid": str(row.get("uid", f"{name}-{number}"))}
        for name, part in found.items()
        for number, row in enumerate(part)
    ]
    rollouts, scores = kept_samples(
        folder,
        lambda: sampled(model, tokenizer, rows, spec.decoding, vllm=spec.vllm),
        rows,
        spec.decoding,
        reward,
        checkpoint=weights_mark(model),
    )
    summary: dict[str, Any] = summarise(rollouts, scores) | part_figures(scores)
    summary |= {"decoding": vars(spec.decoding), "asked": asked}
    write_json_file(done, summary)
    return summary


def part_figures(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of every part of a reward its mean where it was scored, and the share that pass it.

    A part behind a closed gate has no value, but it is no pass either: of two checkpoints of which
    one opens a gate more often, only the shares compare. A part that failed or abstained counts
    in neither.

    Args:
        scores: As `Score.to_json` writes them.

    Returns:
        `part NAME` and, where the part tells passes, `passed NAME`.

    >>> parts = [{"value": 0.5, "status": "scored", "passed": True},
    ...          {"value": None, "status": "gated", "passed": None}]
    >>> part_figures([{"parts": {"time": part}} for part in parts])
    {'part time': 0.5, 'passed time': 0.5}
    """
    figures = {}
    for name in dict.fromkeys(name for score in scores for name in score["parts"]):
        parts = [score["parts"][name] for score in scores if name in score["parts"]]
        known = [part["value"] for part in parts if part["value"] is not None]
        if known:
            figures[f"part {name}"] = sum(known) / len(known)
        passed = [part["passed"] for part in parts if part["status"] in ("scored", "gated")]
        if any(one is not None for one in passed):
            figures[f"passed {name}"] = sum(one is True for one in passed) / len(passed)
    return figures


def evaluation_reward(recipe: Recipe, spec: EvaluationSpec) -> Reward | None:
    """The set's reward; None where its reward model is not trained yet."""
    if spec.code is not None:
        limits = from_table(Limits, spec.limits, "[limits]")
        return code_reward(time=spec.code == "complexity", limits=limits)
    if spec.reward is not None:
        return load_reward(spec.reward).reward
    folder = Path(recipe.resolve(spec.reward_model))
    return model_reward(str(folder)) if (folder / "reward_model.json").is_file() else None


def read_matrix(run: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """`matrix[checkpoint][set]` is a summary; checkpoints as they lie on disk."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted((run / MATRIX).glob("*/*/summary.json")):
        checkpoint, name = path.parts[-3], path.parts[-2]
        found.setdefault(checkpoint, {})[name] = json.loads(path.read_text(encoding="utf-8"))
    return found
