"""One comparison of two answers by any judge, with the slots balanced, as a number in [0, 1]."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.errors import places_in
from assay.judge import Judge, Pair, Verdict, total_cost

Mode: TypeAlias = Literal["hard", "agree", "soft"]
MODES: tuple[Mode, ...] = ("hard", "agree", "soft")


@dataclass(frozen=True)
class Duel:
    """What a judge says of a pair, seen from its answer A.

    Attributes:
        first: P(A wins) where A was shown first, or None.
        second: P(A wins) where A was shown second, or None.
        note: Why there is no number, or what was cut.
        failed: Our side broke, rather than the judge being undecided.
        joint: P(A wins) of a judge that ran and joined both orders itself, or None.
        cost: What asking cost, in the currency of the judge's client, or None.
        dbar: (d_AB - d_BA) / 2 of a judge that tells its logits, in which a large preference is not
            rounded away as it is in probabilities near 0 or 1; or None.
    """

    first: float | None = None
    second: float | None = None
    note: str = ""
    failed: bool = False
    joint: float | None = None
    cost: float | None = None
    dbar: float | None = None

    @property
    def order_gap(self) -> float | None:
        """p_AB + p_BA - 1, > 0 where the judge favours the first slot; None with one order."""
        if self.first is None or self.second is None:
            return None
        return self.first - self.second

    @property
    def flipped(self) -> bool | None:
        """Whether both orders picked the same slot; None with one order."""
        if self.first is None or self.second is None:
            return None
        return (self.first - 0.5) * (self.second - 0.5) < 0

    def value(self, mode: Mode, tie: float = 0.5) -> float | None:
        """The duel as a number; None where the judge gave none.

        `hard`: 1[dbar > 0], and `tie` at dbar = 0. `agree`: 1 or 0 where both orders agree, else
        .5. `soft`: sigmoid(dbar), dbar the mean of A's logits over the orders that were run, or the
        logit of what the judge itself made of both.
        """
        known = [p for p in (self.first, self.second) if p is not None]
        if not known:
            return None
        if self.joint is not None and mode != "agree":
            known = [self.joint]
        if self.dbar is not None and mode != "agree":
            if mode == "soft":
                return _sigmoid(self.dbar)
            return tie if self.dbar == 0 else float(self.dbar > 0)
        if mode == "soft":
            return _sigmoid(math.fsum(map(_logit, known)) / len(known))
        # logit(a) + logit(c) > 0 iff a + c > 1, without a logarithm of 0
        lead = math.fsum(known) - len(known) / 2
        if mode == "agree" and not (all(p > 0.5 for p in known) or all(p < 0.5 for p in known)):
            return 0.5
        return tie if lead == 0 else float(lead > 0)


def run_duels(judge: Judge, pairs: Sequence[Pair], *, both: bool) -> list[Duel]:
    """Compare every pair, in both orders or in one chosen by a hash of the pair.

    A judge that runs both orders itself (its verdicts carry an order gap) is asked once.
    """
    if not pairs:
        return []
    model = _single(judge)
    if both and model is not None:  # one call, so that both orders share what they have in common
        with places_in([*range(len(pairs))] * 2):
            verdicts = model.compare([*pairs, *(pair.swapped() for pair in pairs)])
        half = len(pairs)
        return [_of_two(verdicts[i], verdicts[half + i]) for i in range(half)]
    if both:
        verdicts = judge.compare(pairs)
        missing = [i for i, verdict in enumerate(verdicts) if verdict.order_gap is None]
        swapped = [pairs[i].swapped() for i in missing]
        with places_in(missing):
            back = judge.compare(swapped) if swapped else []
        again = dict(zip(missing, back, strict=True))
        return [_of_two(verdict, again.get(i)) for i, verdict in enumerate(verdicts)]
    flipped = [_flip(pair) for pair in pairs]
    shown = [p.swapped() if flip else p for p, flip in zip(pairs, flipped, strict=True)]
    verdicts = (model or judge).compare(shown)
    duels = []
    for verdict, flip in zip(verdicts, flipped, strict=True):
        p = verdict.preference
        note, failed = _problem(verdict)
        if flip:
            duel = Duel(None, None if p is None else 1 - p, note, failed, cost=verdict.cost)
        else:
            duel = Duel(p, None, note, failed, cost=verdict.cost)
        duels.append(duel)
    return duels


def _single(judge: Judge) -> Judge | None:
    """A pair-wise model that runs the order it is given; None for any other judge."""
    from dataclasses import replace

    from assay.rewards.pairwise import PairwiseModel

    return replace(judge, order="single") if isinstance(judge, PairwiseModel) else None


def _flip(pair: Pair) -> bool:
    """Which answer is shown first, by a hash of prompt and answers: the same at every run."""
    text = repr((pair.prompt, pair.a, pair.b))
    return bool(hashlib.sha256(text.encode()).digest()[0] & 1)


def _of_two(verdict: Verdict, other: Verdict | None) -> Duel:
    if other is None:  # the judge ran both orders: undo the mean
        p, gap = verdict.preference, verdict.order_gap or 0.0
        note, failed = _problem(verdict)
        if p is None:
            return Duel(None, None, note, failed, cost=verdict.cost)
        first, second = (min(max(x, 0.0), 1.0) for x in (p + gap / 2, p - gap / 2))
        return Duel(first, second, note, failed, joint=p, cost=verdict.cost)
    cost = total_cost(verdict.cost, other.cost)
    shown_first, back = verdict.preference, other.preference
    notes = [_problem(verdict), _problem(other)]
    note = "; ".join(dict.fromkeys(text for text, _ in notes if text))
    if shown_first is None or back is None:  # one order alone is not balanced: no number
        return Duel(None, None, note, any(failed for _, failed in notes), cost=cost)
    ours, theirs = verdict.info.get("logit"), other.info.get("logit")
    dbar = None if ours is None or theirs is None else (float(ours) - float(theirs)) / 2
    return Duel(shown_first, 1 - back, note, cost=cost, dbar=dbar)


def _problem(verdict: Verdict) -> tuple[str, bool]:
    if verdict.status == "ok":
        return verdict.reason if verdict.reason.startswith("cut ") else "", False
    return verdict.reason or f"the judge {verdict.status}", verdict.status == "failed"


def _logit(p: float) -> float:
    p = min(max(p, 1e-12), 1 - 1e-12)
    return math.log(p) - math.log1p(-p)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
