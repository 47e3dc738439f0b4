"""The rollouts of a prompt against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, places_in
from assay.judge import Judge, Pair
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.duel import Duel, Mode, run_duels
from assay.rewards.duel_log import duel_figures
from assay.rewards.pairwise_reward import check_duel_settings
from assay.rewards.schedule import SCHEDULES, Schedule, all_pairs, circular_pairs, swiss_pairs
from assay.rewards.strengths import Outcome, bradley_terry, expected_win_rates, win_rates


@dataclass(frozen=True)
class TournamentReward(Reward):
    """How a rollout fares against the other rollouts of its prompt, in [0, 1].

    Every meeting is run in both orders, so a judge that only looks at the slot gives every rollout
    the same reward. Group-scoped: the dataset needs a column `uid`.

    | schedule | pairs of n rollouts |
    |---|---|
    | `all` | n (n - 1) / 2 |
    | `circular` | n x rounds: the next `rounds` of a circle |
    | `swiss` | n / 2 x rounds: neighbours in the table, round by round; whom an odd number leaves
    without any meeting plays one more |

    `win_rate` is the mean outcome over a rollout's own meetings. `bradley_terry` fits strengths
    with a normal prior and gives the expected win rate against all others: better where not all
    have met the same opponents.

    Args:
        model: A `PairwiseModel`, or any judge with `compare`.
        schedule: See above.
        rounds: Of `circular` and `swiss`.
        mode: A meeting's outcome: `soft` sigmoid(dbar), `hard` win or loss (a tie is .5), `agree`
            .5 where the orders disagree.
        aggregate: See above.

    Identical rollouts meet nobody twice over: they share one entry and one reward. The trainer's
    log gets `order_gap`, `order_gap_size`, `flip_rate` and `zero_variance_groups`, as of
    `PairwiseReward`.

    Example:
        >>> from assay.judge import Judge, Verdict
        >>> class Shorter(Judge):
        ...     def compare(self, pairs):
        ...         gaps = [len(p.b[-1].content) - len(p.a[-1].content) for p in pairs]
        ...         return [Verdict("A" if gap > 0 else "B", float(gap > 0)) for gap in gaps]
        ...
        ...     def fingerprint(self):
        ...         return "shorter"
        >>> reward = TournamentReward(Shorter(), mode="hard")
        >>> reward(completions=["4", "It is four.", "four"], prompts=["2 + 2?"] * 3, uid=["p"] * 3)
        [1.0, 0.0, 0.5]
    """

    model: Judge
    schedule: Schedule = "all"
    rounds: int = 3
    mode: Mode = "soft"
    aggregate: Literal["win_rate", "bradley_terry"] = "win_rate"
    name: str = "tournament"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    range: tuple[float, float] = field(default=(0.0, 1.0))

    scope = "group"

    def __post_init__(self) -> None:
        check_duel_settings(self, self.model, self.mode, "both")
        object.__setattr__(self, "columns", self.model.columns or frozenset())
        if self.schedule not in SCHEDULES:
            raise ConfigError(
                f"TournamentReward.schedule must be one of {set(SCHEDULES)}, got {self.schedule!r}"
            )
        if self.aggregate not in ("win_rate", "bradley_terry"):
            raise ConfigError(
                "TournamentReward.aggregate must be one of {'win_rate', 'bradley_terry'}, got "
                f"{self.aggregate!r}"
            )
        if self.rounds < 1:
            raise ConfigError(f"TournamentReward.rounds must be >= 1, got {self.rounds}")

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Run every group's tournament; the meetings of all groups share the judge's calls."""
        groups: dict[str | None, list[int]] = {}
        for index, sample in enumerate(samples):
            groups.setdefault(sample.group, []).append(index)
        fields = [_Field(samples, rows) for rows in groups.values()]
        if self.schedule == "swiss":
            for _ in range(self.rounds):
                self._play(fields, [group.swiss() for group in fields])
            self._play(fields, [group.left_out() for group in fields])
        else:
            self._play(fields, [self._pairs(group) for group in fields])
        scores: dict[int, Score] = {}
        for rows, group in zip(groups.values(), fields, strict=True):
            scores.update(zip(rows, group.scores(self.mode, self.aggregate), strict=True))
        return [scores[i] for i in range(len(samples))]

    def figures(self, samples: Sequence[Sample], scores: Sequence[Score]) -> dict[str, float]:
        """Order gaps, flips, and groups without a signal."""
        return duel_figures(samples, scores)

    def _pairs(self, group: _Field) -> list[tuple[int, int]]:
        size = len(group.entrants)
        return all_pairs(size) if self.schedule == "all" else circular_pairs(size, self.rounds)

    def _play(self, fields: list[_Field], rounds: list[list[tuple[int, int]]]) -> None:
        pairs = [
            group.pair(i, j)
            for group, meetings in zip(fields, rounds, strict=True)
            for i, j in meetings
        ]
        first = [
            group.rows[i]
            for group, meetings in zip(fields, rounds, strict=True)
            for i, _ in meetings
        ]
        with places_in(first):
            duels = iter(run_duels(self.model, pairs, both=True))
        for group, meetings in zip(fields, rounds, strict=True):
            for i, j in meetings:
                group.book(i, j, next(duels), self.mode)


class _Field:
    """The entrants of one group and how they have fared."""

    def __init__(self, samples: Sequence[Sample], rows: Sequence[int]) -> None:
        self.entrants: list[Sample] = []
        self.rows: list[int] = []  # of every entrant, in the batch
        self.entry: list[int] = []  # of every sample
        alike: dict[tuple[str, ...], list[int]] = {}  # only these are compared in full
        for row in rows:
            sample = samples[row]
            known = alike.setdefault(tuple(m.content for m in sample.completion), [])
            for number in known:
                other = self.entrants[number]
                if (other.prompt, other.completion) == (sample.prompt, sample.completion):
                    self.entry.append(number)
                    break
            else:
                self.entry.append(len(self.entrants))
                known.append(len(self.entrants))
                self.entrants.append(sample)
                self.rows.append(row)
        size = len(self.entrants)
        self.outcomes: list[Outcome] = []
        self.points = [0.0] * size  # above an even outcome, so that sitting out is neutral
        self.byes = [0] * size
        self.met: set[tuple[int, int]] = set()
        self.gaps: list[list[float]] = [[] for _ in range(size)]
        self.flips = [0] * size
        self.costs: list[float | None] = [None] * size
        self.missing: list[list[Duel]] = [[] for _ in range(size)]

    def pair(self, i: int, j: int) -> Pair:
        a, b = self.entrants[i], self.entrants[j]
        return Pair(a.prompt, a.completion, b.completion, a.columns)

    def swiss(self) -> list[tuple[int, int]]:
        size = len(self.entrants)
        if len(self.met) == size * (size - 1) // 2:
            return []
        pairs = swiss_pairs(self.points, self.met, self.byes)
        playing = {i for pair in pairs for i in pair}
        for i in range(size):
            self.byes[i] += i not in playing
        return pairs

    def left_out(self) -> list[tuple[int, int]]:
        """A meeting of whoever had none with the neighbour in the table."""
        size = len(self.entrants)
        met = {i for pair in self.met for i in pair}
        if size < 2 or len(met) == size:
            return []
        table = sorted(range(size), key=lambda i: (-self.points[i], i))
        found = []
        for i in sorted(set(range(size)) - met):
            place = table.index(i)
            j = table[place + 1] if place + 1 < size else table[place - 1]
            found.append((min(i, j), max(i, j)))
        return found

    def book(self, i: int, j: int, duel: Duel, mode: Mode) -> None:
        self.met.add((i, j))
        if duel.cost is not None:  # halved, so that a group's costs add up to what was paid
            self.costs[i] = (self.costs[i] or 0.0) + duel.cost / 2
            self.costs[j] = (self.costs[j] or 0.0) + duel.cost / 2
        value = duel.value(mode)
        if value is None:
            self.missing[i].append(duel)
            self.missing[j].append(duel)
            return
        self.outcomes.append((i, j, value))
        self.points[i] += value - 0.5
        self.points[j] += 0.5 - value
        if duel.order_gap is not None:
            self.gaps[i].append(duel.order_gap)
            self.gaps[j].append(duel.order_gap)
            self.flips[i] += bool(duel.flipped)
            self.flips[j] += bool(duel.flipped)

    def scores(self, mode: Mode, aggregate: str) -> list[Score]:
        size = len(self.entrants)
        if size < 2:
            if len(self.entry) > 1:  # every rollout is the same: each is as good as the others
                return [Score.of(0.5, note="all rollouts are identical") for _ in self.entry]
            return [Score.abstain("the only rollout of its group: nothing to compare it with")]
        rates = win_rates(size, self.outcomes)
        expected = rates
        if aggregate == "bradley_terry":
            expected = list(expected_win_rates(bradley_terry(size, self.outcomes)))
        meetings = Counter(i for outcome in self.outcomes for i in outcome[:2])
        made = []
        for i in range(size):
            info: dict[str, Any] = {"meetings": meetings[i], "win_rate": rates[i]}
            if self.costs[i] is not None:
                info["cost"] = self.costs[i]
            if self.gaps[i]:
                info["order_gap"] = sum(self.gaps[i]) / len(self.gaps[i])
                info["order_gaps"] = self.gaps[i]
                info["flips"] = self.flips[i]
            value = expected[i]
            if rates[i] is None or value is None:
                made.append(self._without_verdict(i, info))
                continue
            note = f"{len(self.missing[i])} meetings without a verdict" if self.missing[i] else ""
            made.append(Score.of(value, note=note, info=info))
        return [made[number] for number in self.entry]

    def _without_verdict(self, i: int, info: dict[str, Any]) -> Score:
        note = next((duel.note for duel in self.missing[i] if duel.note), "no verdict")
        failed = any(duel.failed for duel in self.missing[i])
        return (Score.fail if failed else Score.abstain)(note, info=info)
