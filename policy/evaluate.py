"""Evaluates a policy: samples, scores, figures with intervals, at every budget and seed asked for.

    from assay.policy.evaluate import Evaluation, run_evaluation
    found = run_evaluation(Evaluation.of(policy="runs/x/stages/01-sft", task="code",
                                         data="held_out.jsonl", output_dir="eval/sft",
                                         ks=[1, 8], budgets=[1024, 4096], seeds=[0, 1, 2]))

Samples and scores lie in the output folder, one folder a budget and seed; what is there is not made
again, so an evaluation that was cut goes on, and another reward scores the same samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assay.judge import Judge
from assay.policy.evaluation.config import Evaluation
from assay.policy.evaluation.results import one_result, write_results
from assay.policy.evaluation.samplers import Sampler, sampler_of
from assay.policy.evaluation.tasks import Tasks

__all__ = ["Evaluation", "run_evaluation"]


def run_evaluation(
    config: Evaluation,
    *,
    sampler: Sampler | None = None,
    reference: Sampler | None = None,
    judge: Judge | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Run an evaluation; what it made before is read, not made again.

    Args:
        config: What to evaluate.
        sampler: In place of `config.policy`.
        reference: In place of `config.reference_policy`.
        judge: In place of `config.judge`, for win rates.
        tell: Called with a line as each budget and seed begins.

    Returns:
        What `results.json` holds: `about`, and one of `results` a budget, each with all decoding
        parameters.

    Raises:
        ConfigError: Settings that cannot work together.
        DataError: Rows that cannot be used.
    """
    policy = sampler or sampler_of(
        config.policy, chat_template=config.chat_template, api_key_env=config.api_key_env
    )
    task = Tasks(config, policy, reference, judge)
    results, by_prompt = [], {}
    for budget in config.budgets:
        parts = []
        for seed in config.seeds:
            tell(f"{config.task}: max_new_tokens {budget}, seed {seed}")
            decoding = replace(config.decoding, max_new_tokens=budget, seed=seed)
            folder = Path(config.output_dir) / f"budget-{budget}" / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            parts.append(task.sampled(folder, decoding))
        joined = [row for part in parts for row in part]
        whole_figures = task.figures(joined)
        alone = [whole_figures] if len(parts) == 1 else [task.figures(part) for part in parts]
        shown = asdict(replace(config.decoding, max_new_tokens=budget))
        results.append(one_result(shown, config.seeds, whole_figures, alone))
        by_prompt[str(budget)] = whole_figures.by_prompt
    about = {
        "policy": config.policy,
        "mark": policy.mark(),
        "task": config.task,
        "data": task.data_mark(),
        "rows": len(task.rows),
        "reward": task.scorer_mark(),
        "system_prompt": config.system_prompt,
    }
    return write_results(Path(config.output_dir), about, results, by_prompt)
