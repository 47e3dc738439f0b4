"""Rewards that the adapters are tried with."""

from __future__ import annotations

from dataclasses import dataclass

from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards import AnswerMatch, ChatFormat, Term, WeightedSum

composed = WeightedSum(
    {"format": Term(ChatFormat(), 0.5), "answer": Term(AnswerMatch(column="answer"), gate="format")}
)


@dataclass(frozen=True)
class Politeness(Reward):
    """-1 for each turn that shouts, and the share of quiet turns; abstains on an empty answer."""

    name: str = "politeness"
    range = (0.0, 1.0)

    def score(self, samples: list[Sample]) -> list[Score]:  # type: ignore[override]
        scores = []
        for sample in samples:
            turns = [-1.0 if "!" in turn.message.content else 0.0 for turn in sample.turns]
            if not sample.answer:
                scores.append(Score.abstain("nothing was said"))
            else:
                quiet = turns.count(0.0) / len(turns)
                scores.append(Score.of(quiet, passed=quiet == 1, turns=turns))
        return scores


@dataclass(frozen=True)
class Longest(Reward):
    """1 for the longest answer of a group."""

    name: str = "longest"
    scope = "group"
    range = (0.0, 1.0)

    def score(self, samples: list[Sample]) -> list[Score]:  # type: ignore[override]
        most = max(len(sample.answer) for sample in samples)
        return [Score.of(float(len(sample.answer) == most)) for sample in samples]


politeness = Politeness()
longest = Longest()
