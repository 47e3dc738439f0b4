"""A Reward as OpenRLHF's `reward_func`: a Python file for `--reward.remote_url reward.py`.

    # reward.py
    from assay.policy.adapters.openrlhf import RewardFunc
    from my_rewards import reward
    reward_func = RewardFunc(reward, label_column="answer", ends=("<|im_end|>",))

The other way, a URL, is `assay serve` with `[openrlhf]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.serving.query_sample import sample_of, score_logs
from assay.messages import Sample
from assay.policy.adapters.one_rollout import (
    OnMissing,
    check_on_missing,
    number_of,
    plain,
    require_alone,
)
from assay.reward import Reward
from assay.settings import nonempty


@dataclass(frozen=True)
class RewardFunc:
    """`reward_func(queries, prompts, labels)` of OpenRLHF 0.11.

    OpenRLHF calls it with one decoded text at a time, special tokens kept, and logs an exception
    instead of stopping: its rollout then has no reward, and the step fails on it later. A missing
    score is such an exception by default.

    Args:
        reward: What scores.
        label_column: Column of the row that the label fills; a label that is JSON text of an object
            fills several.
        ends: Texts of the tokens that end a completion; they are cut off, and a completion without
            one counts as truncated. Empty: nothing is cut, nothing counts as truncated.
        on_missing: What stands for a missing score: `raise`, `nan` or a number.

    Raises:
        ConfigError: A reward that compares rollouts.

    Source: OpenRLHF 0.11.2, `openrlhf/utils/agent.py`, `SingleTurnAgentExecutor`.

    Example:
        >>> from assay.rewards import AnswerMatch
        >>> func = RewardFunc(AnswerMatch(column="answer"), "answer", ends=("<eos>",))
        >>> func(["2+2? 4<eos>"], ["2+2? "], ["4"])["rewards"]
        [1.0]
    """

    reward: Reward
    label_column: str = "answer"
    ends: tuple[str, ...] = ()
    on_missing: OnMissing = "raise"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        require_alone(self.reward, "RewardFunc")
        nonempty("RewardFunc.label_column", self.label_column)
        check_on_missing(self.on_missing)
        if isinstance(self.ends, str) or not all(isinstance(e, str) and e for e in self.ends):
            raise ConfigError(
                f"RewardFunc.ends must be a tuple of non-empty texts, got {self.ends!r:.80}; "
                "e.g. ends=('<|im_end|>',)"
            )
        object.__setattr__(self, "ends", tuple(self.ends))

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        """`rewards`, `scores` and `extra_logs`, a list with one number a query each.

        Raises:
            DataError: Lists of different lengths, or a row that the reward rejects.
            RewardError: A missing score, by `on_missing`.
        """
        if not len(queries) == len(prompts) == len(labels):
            raise DataError(
                f"{len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels; give as "
                "many of each"
            )
        for name, texts in (("query", queries), ("prompt", prompts)):
            for index, text in enumerate(texts):
                if not isinstance(text, str):
                    raise DataError(
                        f"{name} {index} must be text, got {type(text).__name__}: {text!r:.80}",
                        index,
                    )
        samples = [self._sample(*row) for row in zip(queries, prompts, labels, strict=True)]
        scores = self.reward.evaluate(samples)
        rewards = [number_of(score, self.reward, self.on_missing) for score in scores]
        return {"rewards": rewards, "scores": rewards, "extra_logs": score_logs(scores)}

    def _sample(self, query: str, prompt: str, label: Any) -> Sample:
        text = query.rstrip("\n")
        end = next((end for end in self.ends if text.endswith(end)), None)
        if end is not None:
            text = text.removesuffix(end)
        text = text if end is not None else query
        sample = sample_of(text, prompt, plain(label), self.label_column)
        return replace(sample, truncated=bool(self.ends) and end is None)
