"""Rewards of a few lines for the tests of the offline job; also loaded by path from the CLI."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.errors import DataError
from assay.rewards import Reward, Sample, Score, Term, WeightedSum


@dataclass(frozen=True)
class Brief(Reward):
    """min(1, length / 10); `unusable` completions are DataErrors with or without their index."""

    name: str = "brief"
    range = (0.0, 1.0)
    sleep_s: float = 0.0

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        for index, sample in enumerate(samples):
            if sample.answer == "unusable":
                raise DataError("this completion cannot be used", index)
            if sample.answer == "unusable somewhere":
                raise DataError("something in this batch cannot be used")
            if sample.answer == "crash":
                raise KeyError("boom")
        time.sleep(self.sleep_s * len(samples))
        return [
            Score.of(
                min(1.0, len(s.answer) / 10),
                passed=len(s.answer) >= 10,
                note="" if len(s.answer) >= 10 else "too short",
            )
            for s in samples
        ]


@dataclass(frozen=True)
class Number(Reward):
    """Column `n` over 100; fails where the environment variable ASSAY_TEST_DOWN is set."""

    name: str = "number"
    columns = frozenset({"n"})
    range = (0.0, 1.0)

    def cost(self, samples: Sequence[Sample]) -> Mapping[str, float]:
        return {"divisions": len(samples)}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        if os.environ.get("ASSAY_TEST_DOWN"):
            return [Score.fail("the divider is down") for _ in samples]
        return [
            Score.of(s.columns["n"] / 100, info={"odd": {1, 2}, "inf": float("inf")})
            for s in samples
        ]


@dataclass(frozen=True)
class Rank(Reward):
    """Share of its group that a completion is at least as long as; says how large the group was."""

    name: str = "rank"
    scope = "group"
    range = (0.0, 1.0)
    sleep_s: float = 0.0

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        time.sleep(self.sleep_s * len(samples))
        groups: dict[str, list[int]] = {}
        for sample in samples:
            groups.setdefault(str(sample.group), []).append(len(sample.answer))
        for index, sample in enumerate(samples):
            if sample.answer == "unusable":
                raise DataError("this completion cannot be used", index)
        scores = []
        for sample in samples:
            lengths = groups[str(sample.group)]
            share = sum(len(sample.answer) >= other for other in lengths) / len(lengths)
            scores.append(Score.of(share, info={"group_size": len(lengths)}))
        return scores


reward = WeightedSum({"brief": Term(Brief()), "number": Term(Number(), weight=0.5)})
slow = WeightedSum({"brief": Term(Brief(sleep_s=0.002)), "number": Term(Number(), weight=0.5)})
bonus = WeightedSum({"brief": Term(Brief()), "number": Term(Number(), on_missing="zero")})
brief = Brief()
rank = Rank()
slow_rank = Rank(sleep_s=0.002)
not_a_reward = print


@dataclass(frozen=True)
class Deadly(Reward):
    """Ends its process on `die` completions: once, if the file `mark` can be made; else always."""

    mark: str = ""
    name: str = "deadly"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        for sample in samples:
            if sample.answer == "die":
                try:
                    if self.mark:
                        os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os._exit(9)
        time.sleep(0.01 * len(samples))
        return [
            Score.of(1.0, info={"gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}) for _ in samples
        ]
