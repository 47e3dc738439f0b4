"""Rewards inside TRL's GRPOTrainer, on one process and on two, and under AsyncGRPO's contract."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import pytest

from assay.errors import RewardError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards import AsyncReward, Route, Term, WeightedSum
from tests.ranks import run_ranks
from tests.samples import Broken, FromColumn

pytest.importorskip("trl")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@dataclass(frozen=True)
class ByPosition(Reward):
    """Row i of the batch gets `values[i]`: what a rollout is worth does not matter here."""

    values: tuple[Any, ...]
    name: str = "by_position"
    range = (-10.0, 10.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        rows = [self.values[i % len(self.values)] for i in range(len(samples))]
        return FromColumn("v").score([Sample((), (), {"v": row}) for row in rows])


@dataclass(frozen=True)
class WholeGroup(Reward):
    """0 for every rollout, if the group is whole."""

    size: int = 8
    name: str = "whole_group"
    scope = "group"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        groups = [s.group for s in samples]
        return [Score.of(float(groups.count(g) == self.size)) for g in groups]


def rows(count: int = 8) -> list[dict[str, Any]]:
    return [
        {
            "prompt": [{"role": "user", "content": f"task {i // 2}"}],  # duplicates among them
            "uid": f"u{i}",
            "domain": "odd" if i % 2 else "even",
            "odd": float(i) if i % 2 else None,
            "even": None if i % 2 else float(-i),
        }
        for i in range(count)
    ]


def train(reward: Any, **settings: Any) -> Any:
    """Run GRPO on the tiny Llama; the trainer afterwards."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from examples.tiny_models import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    settings = {
        "per_device_train_batch_size": 8,
        "num_generations": 8,
        "gradient_accumulation_steps": 1,
        "max_steps": 1,
        "max_completion_length": 8,
        "logging_steps": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "disable_tqdm": True,
    } | settings
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=tiny_llama(tokenizer),
            reward_funcs=reward,
            args=GRPOConfig(folder, **settings),
            train_dataset=Dataset.from_list(rows()),
            processing_class=tokenizer,
        )
        trainer.train()
    return trainer


def first_log(trainer: Any) -> dict[str, float]:
    log: dict[str, float] = trainer.state.log_history[0]
    return log


def test_every_leaf_is_in_the_trainers_log() -> None:
    reward = WeightedSum(
        {
            "a": Term(ByPosition(((1, True), (0.5, False)))),
            "b": Term(FromColumn("w", low=0), weight=2, gate="a"),
        }
    )
    # b's column is not in the dataset: it must be refused before it trains on nothing.
    with pytest.raises(ValueError, match=r"needs columns \['w'\]"):
        train(reward)
    reward = WeightedSum(
        {
            "a": Term(ByPosition(((1, True), (0.5, False)))),
            "b": Term(ByPosition(((0.25, True),)), weight=0.5),
        }
    )
    log = first_log(train(reward))
    assert log["reward"] == pytest.approx(0.75 + 0.125)
    assert log["reward/a/mean"] == pytest.approx(0.75)
    assert log["reward/b/mean"] == pytest.approx(0.25)
    assert log["reward/b/weighted_mean"] == pytest.approx(0.125)
    assert log["reward/a/scored"] == 8
    assert log["reward/a/failed"] == 0
    assert log["reward/a/seconds"] > 0
    assert log["rewards/reward/mean"] == log["reward"]


def test_a_missing_part_stays_missing_all_the_way_to_the_advantage() -> None:
    """TRL alone would count the None as 0 beside another reward and push the rollout down."""
    kept = [1.0, 2.0, 3.0, 5.0]
    reward = WeightedSum(
        {
            "one": Term(ByPosition((0.0,) * 8)),
            "judge": Term(
                ByPosition((1.0, "abstained", 2.0, "failed", 3.0, "abstained", 5.0, "failed"))
            ),
        }
    )
    trainer = train([reward], num_generations=8)
    advantages = list(trainer._logs["advantages"])
    mean, std = fmean(kept), stdev(kept)
    expected: list[float] = []
    for value in kept:
        expected += [(value - mean) / (std + 1e-4), 0.0]
    assert advantages == pytest.approx(expected, abs=1e-5)
    assert first_log(trainer)["reward"] == pytest.approx(mean)


def test_abstaining_bonus_counted_as_zero_by_name() -> None:
    reward = WeightedSum(
        {
            "tests": Term(ByPosition(((1.0, True), (0.5, False)))),
            "time": Term(FromColumnAbstains(), weight=0.5, gate="tests", on_missing="zero"),
        }
    )
    trainer = train([reward])
    log = first_log(trainer)
    assert log["reward"] == pytest.approx(0.75)
    assert log["reward/time/zeroed"] == log["reward/time/abstained"] == 4
    assert log["reward/time/gated"] == 4
    assert "reward/time/mean" not in log


@dataclass(frozen=True)
class FromColumnAbstains(Reward):
    """A judge that never decides."""

    name: str = "undecided"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score.abstain("cannot tell") for _ in samples]


def test_an_all_failed_batch_raises_instead_of_training_on_nothing() -> None:
    with pytest.raises(RewardError, match="'reward/judge' failed on 8 of the 8 rows"):
        train([WeightedSum({"judge": Term(Broken())})])


def test_a_route_over_mixed_domains_trains_in_one_batch() -> None:
    route = Route("domain", {"odd": FromColumn("odd"), "even": FromColumn("even")})
    log = first_log(train([route], per_device_train_batch_size=16))
    assert log["route/odd/scored"] + log["route/even/scored"] == 16
    assert log["route/odd/skipped"] == 16 - log["route/odd/scored"]


def test_async_rewards_and_split_sums() -> None:
    reward = WeightedSum({"a": Term(ByPosition((1.0, 0.0)), weight=2), "b": ByPosition((0.5,))})
    parts, weights = reward.split()
    trainer = train(
        [AsyncReward(part) for part in parts],
        reward_weights=weights,
        multi_objective_aggregation="normalize_then_sum",
    )
    log = first_log(trainer)
    assert log["rewards/reward/a/mean"] == pytest.approx(0.5)
    assert log["rewards/reward/b/mean"] == pytest.approx(0.5)
    assert log["reward"] == pytest.approx(2 * 0.5 + 0.5)


def grpo_on_two_ranks() -> dict[str, float]:
    """Eight rollouts of one prompt, four on each rank."""
    reward = WeightedSum({"whole": Term(WholeGroup()), "x": Term(ByPosition((0.0, "failed", 1.0)))})
    trainer = train([reward], per_device_train_batch_size=4, ddp_backend="gloo")
    log = first_log(trainer)
    return {key: value for key, value in log.items() if key.startswith("reward/")}


def test_grpo_on_two_ranks_with_a_group_split_over_both() -> None:
    first, second = run_ranks("tests.rewards.test_trl:grpo_on_two_ranks")
    assert first["reward/whole/mean"] == 1.0
    # Every rank logs the average over ranks of its own four rows.
    assert first["reward/whole/scored"] == 4
    # Rows 1, 4 and 7 of the eight fail, whichever rank scores the group: 3 over two ranks.
    assert first["reward/x/failed"] == pytest.approx(1.5)
    assert second == {} or second["reward/whole/mean"] == 1.0


def _in_daemon(reward: Reward, queue: Any) -> None:
    """What AsyncGRPO's rollout worker does: a whole group, few keywords, on a thread."""

    async def call() -> list[float | None]:
        return await asyncio.to_thread(
            reward,
            completions=[[{"role": "assistant", "content": "x"}]] * 8,
            prompts=[[{"role": "user", "content": "p"}]] * 8,
            completion_ids=[[1, 2]] * 8,
            uid=["g"] * 8,
            x=[float(i) for i in range(8)],
        )

    assert multiprocessing.current_process().daemon
    queue.put(asyncio.run(call()))


def test_async_grpo_contract_in_a_spawned_daemon() -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    reward = WeightedSum({"x": Term(FromColumn("x")), "whole": Term(WholeGroup())})
    child = context.Process(target=_in_daemon, args=(reward, queue), daemon=True)
    child.start()
    assert queue.get(timeout=120) == [float(i) + 1.0 for i in range(8)]
    child.join(60)
    assert child.exitcode == 0
