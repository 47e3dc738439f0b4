"""Advantages of single turns: how turn values and a trajectory's advantage are put together.

Pure Python on numbers; the trainer in `assay.policy.turn_credit` spreads what comes out over the
tokens of each turn, and any other trainer can do the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import ConfigError, DataError
from assay.settings import one_of, real

Mode = Literal["trajectory", "mask", "negative", "additive", "mt_grpo", "gigpo", "return"]
MODES: tuple[Mode, ...] = get_args(Mode)
#: Modes in which turns of one trajectory can have different advantages.
TURN_MODES = frozenset({"negative", "additive", "mt_grpo", "gigpo", "return"})


@dataclass(frozen=True, slots=True)
class Rollout:
    """One trajectory of a group, as credit is assigned to it.

    Attributes:
        advantage: A_i of the whole trajectory, as GRPO has it.
        turns: z_it, one per assistant turn, < 0 for a failing one, None where the critic abstained;
            None as a whole where nobody judged this trajectory's turns.
        anchors: Name of the state in which each turn was taken; only `gigpo` reads it.
        outcome: O_i, the trajectory's reward before normalisation; only `gigpo` reads it.
    """

    advantage: float
    turns: tuple[float | None, ...] | None
    anchors: tuple[str, ...] | None = None
    outcome: float | None = None


@dataclass(frozen=True, slots=True)
class TurnAdvantages:
    """What came out for one trajectory, one entry per turn.

    Attributes:
        advantages: A_it.
        terms: The turn's own part of it, A_it - A_i, after weight, mean and caps.
        kept: False where the turn's tokens leave the loss.
    """

    advantages: tuple[float, ...]
    terms: tuple[float, ...]
    kept: tuple[bool, ...]


@dataclass(frozen=True)
class TurnCredit:
    """How turn values z enter the advantage A_it of turn t of trajectory i.

    | mode | rule |
    |---|---|
    | `trajectory` | A_it = A_i: turn values are only logged |
    | `mask` | A_it = A_i, and failing turns leave the loss |
    | `negative` | A_it = A_i + w z_it, z = -c for a failing turn and 0 otherwise; z is not centred |
    | `additive` | A_i + w (z_it - mean) / (std + eps), statistics pooled over all non-final turns of the group; final turns A_i |
    | `mt_grpo` | first turn: A_i + w (z_i0 - mean) / (std + eps) over the group's first turns; later turns A_i |
    | `gigpo` | A_i + w (R_it - mean) / (std + eps) over turns of the group in the same anchor state, R_it = sum over k >= t of gamma^(k-t) z_ik plus gamma^(T-t) O_i; a state met once: A_i |
    | `return` | A_it = A_i + w Z_it, Z_it = sum over k >= t of gamma^(k-t) z_ik |

    Standard deviations are sample ones, as TRL's. A turn on which the critic abstained is in no
    statistic and gets no term: it keeps A_i, or leaves the loss with `on_abstain="mask"`. In sums
    over later turns it is left out.

    `additive`, `mt_grpo` and `gigpo` centre the turn values. Where values are 0 and -c only, that
    makes every innocent turn positive and rare failures large: at a failure share q a passing turn
    gets +sqrt(q / (1 - q)) and a failing one -sqrt((1 - q) / q). `negative` does not; with the
    others set `turn_cap`. No mode normalises by turn index: a policy that decides when it stops
    decides who is in such a group.

    Args:
        mode: See the table.
        weight: w >= 0. The report gives no value; 1 is ours.
        gamma: Discount in [0, 1] of later turns; None for 0 in `return` (a turn's own value) and
            .95 in `gigpo`.
        turn_cap: Largest size of one turn's term; None for no limit.
        cap: Largest sum of the sizes of a trajectory's terms: larger ones are scaled down
            together. None for no limit.
        per_turn_mean: Divide the terms by the trajectory's number of turns, so that their sum does
            not grow with up to 600 turns.
        on_abstain: What becomes of a turn without a verdict: `outcome` or `mask`.
        eps: Added to standard deviations.

    Raises:
        ConfigError: A setting that is none.

    Source: `negative` and `mask`: Nanbeige4.1-3B report (arXiv:2602.13367), in words, magnitudes
    ours. `mt_grpo`: arXiv:2505.11821, whose turn reward is that of the first turn. `gigpo`:
    arXiv:2505.10978, sections 4.2 and 4.3. `additive`: Dr.Credit.

    >>> group = [Rollout(1.0, (0.0, -0.5, None)), Rollout(-1.0, (0.0,))]
    >>> [credit.advantages for credit in TurnCredit().assign(group)]
    [(1.0, 0.5, 1.0), (-1.0,)]
    """  # noqa: E501 - a table has one line a row

    mode: Mode = "negative"
    weight: float = 1.0
    gamma: float | None = None
    turn_cap: float | None = None
    cap: float | None = None
    per_turn_mean: bool = False
    on_abstain: Literal["outcome", "mask"] = "outcome"
    eps: float = 1e-4

    def __post_init__(self) -> None:
        one_of("TurnCredit.mode", self.mode, MODES)
        one_of("TurnCredit.on_abstain", self.on_abstain, ("outcome", "mask"))
        one_of("TurnCredit.per_turn_mean", self.per_turn_mean, (True, False))
        real("TurnCredit.weight", self.weight, 0)
        real("TurnCredit.eps", self.eps, 0)
        if self.gamma is not None:
            real("TurnCredit.gamma", self.gamma, 0, 1)
            if self.mode not in ("return", "gigpo"):
                raise ConfigError(
                    f"TurnCredit.gamma is read by modes 'return' and 'gigpo' only, got "
                    f"{self.gamma} with mode {self.mode!r}; leave it out"
                )
        for name in ("turn_cap", "cap"):
            value = getattr(self, name)
            if value is not None:
                real(f"TurnCredit.{name}", value, 0)

    @property
    def masks(self) -> bool:
        """Whether turns can leave the loss."""
        return self.mode == "mask" or self.on_abstain == "mask"

    @property
    def varies(self) -> bool:
        """Whether turns of one trajectory can have different advantages."""
        return self.mode in TURN_MODES and self.weight > 0

    def assign(self, group: Sequence[Rollout]) -> list[TurnAdvantages | None]:
        """Advantages of all turns of one group; None for a trajectory without turn values.

        Args:
            group: All rollouts of one prompt.

        Raises:
            DataError: `negative` was given a value > 0, or `gigpo` a trajectory whose anchors are
                not one per turn.
        """
        terms = self._terms(group)
        return [
            None if rollout.turns is None else self._advantages(rollout, row)
            for rollout, row in zip(group, terms, strict=True)
        ]

    def _advantages(self, rollout: Rollout, terms: list[float | None]) -> TurnAdvantages:
        turns = rollout.turns or ()
        scale = self.weight / (len(turns) if self.per_turn_mean and turns else 1)
        scaled = [0.0 if term is None else scale * term for term in terms]
        if (most := self.turn_cap) is not None:
            scaled = [min(max(term, -most), most) for term in scaled]
        total = math.fsum(map(abs, scaled))
        if self.cap is not None and total > self.cap:
            scaled = [term * self.cap / total for term in scaled]
        return TurnAdvantages(
            advantages=tuple(rollout.advantage + term for term in scaled),
            terms=tuple(scaled),
            kept=tuple(self._kept(value) for value in turns),
        )

    def _kept(self, value: float | None) -> bool:
        if value is None:
            return self.on_abstain == "outcome"
        return self.mode != "mask" or value >= 0

    def _terms(self, group: Sequence[Rollout]) -> list[list[float | None]]:
        """Each turn's term before weight and caps; None where it has none."""
        turns = [list(rollout.turns or ()) for rollout in group]
        match self.mode:
            case "negative":
                return [[_no_praise(value) for value in row] for row in turns]
            case "return":
                return [_returns(row, self.gamma or 0.0) for row in turns]
            case "additive":
                return self._normalised([[*row[:-1], *([None] if row else [])] for row in turns])
            case "mt_grpo":
                return self._normalised([[*row[:1], *([None] * (len(row) - 1))] for row in turns])
            case "gigpo":
                return self._by_anchor(group)
        return [[None] * len(row) for row in turns]

    def _normalised(self, rows: list[list[float | None]]) -> list[list[float | None]]:
        """All values there are, normalised together."""
        given = [value for row in rows for value in row if value is not None]
        mean, scale = self._statistics(given)
        return [[None if v is None else (v - mean) / scale for v in row] for row in rows]

    def _by_anchor(self, group: Sequence[Rollout]) -> list[list[float | None]]:
        gamma = 0.95 if self.gamma is None else self.gamma
        returns: list[list[float | None]] = []
        states: defaultdict[str, list[float]] = defaultdict(list)
        for index, rollout in enumerate(group):
            turns = rollout.turns or ()
            anchors = rollout.anchors or ()
            if len(anchors) != len(turns):
                raise DataError(
                    f"mode 'gigpo' needs one anchor state per turn, got {len(anchors)} anchors for "
                    f"{len(turns)} turns; let the anchor function return one for each",
                    index,
                )
            row = _returns(turns, gamma, last=rollout.outcome or 0.0)
            returns.append([None] * len(row) if rollout.outcome is None else row)
            for state, value in zip(anchors, returns[-1], strict=True):
                if value is not None:
                    states[state].append(value)
        statistics = {
            state: self._statistics(given) for state, given in states.items() if len(given) > 1
        }
        rows: list[list[float | None]] = []
        for rollout, values in zip(group, returns, strict=True):
            found: list[float | None] = []
            for state, value in zip(rollout.anchors or (), values, strict=True):
                if value is None or state not in statistics:
                    found.append(None)
                else:
                    mean, scale = statistics[state]
                    found.append((value - mean) / scale)
            rows.append(found)
        return rows

    def _statistics(self, values: Sequence[float]) -> tuple[float, float]:
        """Mean, and sample standard deviation + eps; a value alone has no term."""
        if len(values) < 2:
            return (values[0] if values else 0.0), 1.0
        mean = math.fsum(values) / len(values)
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
        return mean, (spread + self.eps) or 1.0


def _returns(turns: Sequence[float | None], gamma: float, last: float = 0.0) -> list[float | None]:
    """Discounted sums over later turns, `last` paid on top of the final one; None stays None."""
    found: list[float | None] = []
    ahead = last
    for position, value in enumerate(reversed(turns)):
        ahead = (value or 0.0) + (gamma * ahead if position else ahead)
        found.append(None if value is None else ahead)
    return found[::-1]


def _no_praise(value: float | None) -> float | None:
    if value is not None and value > 0:
        raise DataError(
            f"mode 'negative' takes turn values <= 0 (-c for a failing turn, else 0), got {value}; "
            "use mode 'return' or 'additive' for rewards that also praise turns"
        )
    return value
