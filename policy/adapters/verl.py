"""A Reward as verl's `compute_score`.

    # reward.py
    from assay.policy.adapters.verl import ComputeScore
    from my_rewards import reward
    compute_score = ComputeScore(reward, column="answer")

    reward.custom_reward_function.path=reward.py
    reward.custom_reward_function.name=compute_score

`assay.policy.adapters.verl_turns` adds rewards of single turns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.diagnostics import leaf_scores
from assay.errors import DataError
from assay.messages import Sample
from assay.policy.adapters.one_rollout import (
    OnMissing,
    check_on_missing,
    number_of,
    require_alone,
    row_columns,
    score_one,
)
from assay.reward import Reward, Score
from assay.settings import nonempty


@dataclass(frozen=True)
class ComputeScore:
    """`compute_score(data_source, solution_str, ground_truth, extra_info)` of verl 0.9.

    verl runs it in threads, one rollout a call, and gives the decoded response without special
    tokens, tool results inside; the prompt it does not give, unless `extra_info` holds one. What is
    returned has the same keys for every rollout, as verl asks: `score`, full marks as `passed`, and
    the value of every leaf; those that have none are NaN, which verl only logs.

    Args:
        reward: What scores.
        column: Column of the row that `ground_truth` fills; a mapping, or JSON text of one, fills
            several. `extra_info` fills columns of its own names, and `data_source` one.
        on_missing: What stands for a missing score: `raise` stops the run; `nan` is left out of the
            group by the estimator of `assay.policy.adapters.verl_turns`, and poisons verl's own.

    Raises:
        ConfigError: A reward that compares rollouts.

    Source: verl 0.9.1, `verl/experimental/reward_loop/reward_manager/naive.py`.

    Example:
        >>> from assay.rewards import AnswerMatch
        >>> score = ComputeScore(AnswerMatch(column="answer"), "answer")
        >>> score("sums", "4", "4", {"index": 0})["score"]
        1.0
    """

    reward: Reward
    column: str = "answer"
    on_missing: OnMissing = "raise"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        require_alone(self.reward, "ComputeScore")
        nonempty("ComputeScore.column", self.column)
        check_on_missing(self.on_missing)

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, float]:
        """Score one rollout.

        Raises:
            DataError: The reward rejects the row.
            RewardError: A missing score, by `on_missing`.
        """
        columns = self.columns(data_source, ground_truth, extra_info)
        sample = Sample.of(columns.pop("prompt", None) or (), solution_str, columns)
        return self.figures(score_one(self.reward, sample))

    def columns(
        self, data_source: object, ground_truth: object, extra_info: object
    ) -> dict[str, Any]:
        """The row as the reward reads it."""
        found = row_columns(ground_truth, name=self.column)
        more = row_columns(extra_info)
        empty = extra_info is None or isinstance(extra_info, Mapping) or extra_info == "{}"
        if not more and not empty:
            raise DataError(
                "extra_info must be a mapping of columns, or JSON text of one, got "
                f"{type(extra_info).__name__}: {extra_info!r:.80}"
            )
        return {"data_source": data_source, **more, **found}

    def figures(self, score: Score) -> dict[str, float]:
        """`score`, `passed` and the leaves' values, under the same names for every rollout.

        A leaf that is itself called `score` or `passed` is reported as `leaf/score`, `leaf/passed`:
        verl trains on `score`.
        """
        found = {
            "score": number_of(score, self.reward, self.on_missing),
            "passed": math.nan if score.passed is None else float(score.passed),
        }
        for path in self.reward.leaves():
            if path:
                value = leaf_scores([score], path)[0].value
                name = f"leaf/{path}" if path in ("score", "passed") else path
                found[name] = math.nan if value is None else value
        return found
