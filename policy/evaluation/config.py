"""The settings of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError
from assay.policy.config_keys import from_table
from assay.policy.data.sources import Source, as_sources
from assay.policy.rollouts import Decoding
from assay.settings import one_of, whole

Task = Literal["code", "reward", "win-rate", "environment", "safety"]
TASKS: tuple[Task, ...] = ("code", "reward", "win-rate", "environment", "safety")


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated, and how.

    | task | figures |
    |---|---|
    | `code` | pass@k, share of tests passed, R_time, best-of-N |
    | `reward` | mean score of a Reward or reward model and of its parts; pass@k, best-of-N and majority where it says `passed` |
    | `win-rate` | against column `reference` or another policy, both orders |
    | `environment` | success, by turn count and within a budget of turns |
    | `safety` | refusal, over-refusal, group gaps on the set of our own |

    All but `environment` also report overlong samples and tokens.

    Args:
        policy: Folder or hub id of a model, or `BASE_URL,MODEL`.
        output_dir: Where samples, scores and results go.
        task: See above.
        data: Prompts, as a stage's `data`; not for `safety`.
        reward: `FILE.py:attr` or `package.module:attr`.
        reward_model: Folder of a trained reward model.
        time: Of `code`: also judge complexity.
        judge: Of `win-rate`: folder of a pair-wise reward model, or of a policy that judges, or
            `BASE_URL,MODEL`; of `safety`: a model that says whether an answer refuses.
        reference_policy: Of `win-rate`: what writes the answers to beat, with the same decoding.
        selector: A Reward that picks in best-of-N, in place of the score itself.
        decoding: Of every sample; `max_new_tokens` where `budgets` is empty.
        budgets: Values of `max_new_tokens`, each an evaluation of its own.
        seeds: Sampled with each of them; figures are of all samples together, and by seed.
        ks: Of pass@k.
        limit: Most rows of each source.
        chat_template: In place of the tokenizer's own.
        system_prompt: Put before prompts that have none.
        protocol: Of `environment`: how the policy writes calls in its text; empty for an endpoint
            that returns calls.
        max_turns: Of `environment`.
        api_key_env: Environment variable with the endpoints' key.
    """  # noqa: E501 - a table has one line a row

    policy: str
    output_dir: str
    task: Task = "reward"
    data: Sequence[Source] = ()
    reward: str | None = None
    reward_model: str | None = None
    time: bool = False
    judge: str | None = None
    reference_policy: str | None = None
    selector: str | None = None
    decoding: Decoding = field(default_factory=Decoding)
    budgets: Sequence[int] = ()
    seeds: Sequence[int] = (0,)
    ks: Sequence[int] = (1,)
    limit: int | None = None
    chat_template: str | None = None
    system_prompt: str = ""
    protocol: str = "hermes"
    max_turns: int | None = None
    api_key_env: str | None = None

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        one_of("task", self.task, TASKS)
        if isinstance(self.decoding, Mapping):
            object.__setattr__(self, "decoding", from_table(Decoding, self.decoding, "[decoding]"))
        object.__setattr__(self, "data", as_sources(self.data) if self.data else ())
        budgets = tuple(self.budgets) or (self.decoding.max_new_tokens,)
        object.__setattr__(self, "budgets", budgets)
        for name in ("budgets", "ks"):
            values = getattr(self, name)
            for value in values:
                whole(name, value, 1)
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} has {values}; give each value once")
        for name in ("limit", "max_turns"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        odd = [s for s in self.seeds if isinstance(s, bool) or not isinstance(s, int)]
        if not self.seeds or odd or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be different numbers, at least one; got {self.seeds}")
        if self.task == "safety" and self.data:
            raise ConfigError("task 'safety' has prompts of its own; leave data out")
        if self.task != "safety" and not self.data:
            raise ConfigError(f"task {self.task!r} needs data: a file of prompts, or several")
        given = [v for v in (self.reward, self.reward_model) if v is not None]
        if self.task == "reward" and len(given) != 1:
            raise ConfigError(
                f"task 'reward' needs either reward or reward_model, got {len(given)} of them"
            )
        if self.task == "win-rate" and self.judge is None and self.reward_model is None:
            raise ConfigError("task 'win-rate' needs a judge: a reward model's folder or a model")

    @classmethod
    def of(cls, **settings: Any) -> Evaluation:
        """From keyword arguments or a table, unknown keys refused with the nearest valid one."""
        return from_table(cls, settings, "evaluation")
