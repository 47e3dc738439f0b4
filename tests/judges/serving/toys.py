"""Rewards and judges of a few lines that the server's tests serve by name."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import DataError, JudgeError, RewardError
from assay.fingerprint import configuration_fingerprint
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges.order import BothOrders
from assay.messages import Sample
from assay.reward import Reward, Score

#: Sizes of the batches that `Words` was called with, and what `Slow` waits for.
batches: list[int] = []
gate = threading.Event()


@dataclass(frozen=True)
class Words(Reward):
    """Number of words of the answer; some words do something else."""

    name: str = "words"
    range = (0.0, 1000.0)
    pause_s: float = 0.0

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        batches.append(len(samples))
        if self.pause_s:
            time.sleep(self.pause_s)
        scores = []
        for index, sample in enumerate(samples):
            text = sample.answer
            if text == "unusable":
                raise DataError("this row cannot be used", index)
            if text == "crash":
                raise KeyError("boom")
            if text == "poison":
                raise RewardError("one row takes the whole call down")
            if text == "down":
                scores.append(Score.fail("the judge is down"))
            elif text == "skip":
                scores.append(Score.skip("not for this row"))
            else:
                note = sample.columns.get("note", "")
                scores.append(
                    Score.of(
                        float(len(text.split())),
                        passed=len(text.split()) > 2,
                        note=str(note),
                        info={"seen": {1, 2}, "prompt": sample.prompt[0].content}
                        if sample.prompt
                        else {},
                    )
                )
        return scores


@dataclass(frozen=True)
class Answer(Reward):
    """1 where the answer holds column `answer`."""

    name: str = "answer"
    columns = frozenset({"answer"})
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [
            Score.of(
                float(s.columns["answer"] in s.answer), parts={"length": Score.of(len(s.answer))}
            )
            for s in samples
        ]


@dataclass(frozen=True)
class Slow(Reward):
    """Waits until the test opens the gate."""

    name: str = "slow"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        batches.append(len(samples))
        gate.wait(20)
        return [Score.of(1.0) for _ in samples]


@dataclass(frozen=True)
class Rank(Reward):
    """Share of its group that a completion is at least as long as."""

    name: str = "rank"
    scope = "group"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        batches.append(len(samples))
        sizes = [len(s.answer) for s in samples]
        return [Score.of(sum(n >= m for m in sizes) / len(sizes)) for n in sizes]


@dataclass(frozen=True)
class Longer(Judge):
    """Prefers the longer answer, with a liking for the first slot; grades by length."""

    bias: float = 0.1

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        found = []
        for pair in pairs:
            a, b = (sum(len(m.content) for m in side) for side in (pair.a, pair.b))
            if "down" in pair.a[0].content:
                raise JudgeError("the judge is down")
            p = min(1.0, (0.75 if a > b else 0.25 if b > a else 0.5) + self.bias)
            choice = "A" if p > 0.5 else "B" if p < 0.5 else "tie"
            found.append(Verdict(choice, p, reason=f"{a} against {b} characters"))  # type: ignore[arg-type]
        return found

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        return [
            Grade(
                float(len(item.answer[0].content)),
                criteria={"length": float(len(item.answer[0].content)), "style": None},
                reason="counted",
            )
            for item in items
        ]

    def fingerprint(self) -> str:
        return configuration_fingerprint(self)


@dataclass(frozen=True)
class OnlyCompares(Judge):
    """Has no grade."""

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [Verdict(None, status="abstained", reason="cannot say") for _ in pairs]

    def fingerprint(self) -> str:
        return "only-compares"


words = Words()
words_again = Words()
other_words = Words(pause_s=0.001)
patient = Words(pause_s=0.02)
answer = Answer()
slow = Slow()
rank = Rank()
longer = Longer()
both = BothOrders(Longer())
only_compares = OnlyCompares()


@dataclass(frozen=True)
class Evident(Reward):
    """Evidence as a code reward gives it."""

    name: str = "evident"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        info = {"verdict": "WA", "passed": 1, "total": 3, "tests": ["AC", "WA", "-"]}
        part = Score.of(0.5, passed=False, note="1 of 3 tests passed", info=info)
        return [Score.of(0.5, passed=False, parts={"tests": part}) for _ in samples]


evident = Evident()
