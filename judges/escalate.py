"""A cheap judge first, a stronger one where the cheap one is unsure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from assay.errors import ConfigError, ContractError, places_in
from assay.fingerprint import configuration_fingerprint
from assay.judge import Grade, Item, Judge, Pair, Verdict, columns_of, total_cost

Asked = TypeVar("Asked", Pair, Item)
Said = TypeVar("Said", Verdict, Grade)


@dataclass(frozen=True)
class Escalate(Judge):
    """Judges from cheap to strong; each is asked only about what the ones before left unsure.

    A verdict is sure if it has a choice, 2 |p_a - .5| >= `min_confidence`, its order gap is at most
    `max_order_gap` in size, and its agreement (of repeats, or of a panel) is at least
    `min_agreement`; what a judge does not report is not held against it. A grade is sure if it
    has a value outside `unsure_grades` and enough agreement. What is still unsure after the last
    judge is the last judge's opinion, as it is; where that one failed or abstained, so does this.

    `cost` is that of all judges that were asked, and `info["asked"]` says what each of them said.

    Args:
        judges: At least two, the cheapest first.
        min_confidence: In [0, 1].
        max_order_gap: In [0, 1]; None asks no more of the gap.
        min_agreement: In [0, 1].
        unsure_grades: The closed interval of grades that go on, for example (.4, .6), or None.

    Source: Jung et al., Trust or Escalate, arXiv:2407.18370 (there with a threshold from
    calibration data, which `assay.calibration` gives).
    """

    judges: tuple[Judge, ...]
    min_confidence: float = 0.5
    max_order_gap: float | None = 0.5
    min_agreement: float = 0.0
    unsure_grades: tuple[float, float] | None = None

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(self.judges))
        if len(self.judges) < 2:
            raise ConfigError(f"Escalate needs at least two judges, got {len(self.judges)}")
        for name in ("min_confidence", "max_order_gap", "min_agreement"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ConfigError(f"Escalate.{name} must lie in [0, 1], got {value}")
        if self.unsure_grades is not None and not self.unsure_grades[0] <= self.unsure_grades[1]:
            raise ConfigError(
                f"Escalate.unsure_grades must be (low, high), got {self.unsure_grades}"
            )

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judges read."""
        return columns_of(self.judges)

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair."""
        return self._through(list(pairs), lambda judge, some: judge.compare(some), self._sure)

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item."""
        return self._through(list(items), lambda judge, some: judge.grade(some), self._sure_grade)

    def fingerprint(self) -> str:
        """A hash of the judges and of when the next one is asked."""
        return configuration_fingerprint(self)

    def _through(
        self,
        asked: list[Asked],
        ask: Callable[[Judge, list[Asked]], list[Said]],
        sure: Callable[[Said], bool],
    ) -> list[Said]:
        said: list[list[Said]] = [[] for _ in asked]
        left = list(range(len(asked)))
        for level, judge in enumerate(self.judges):
            if not left:
                break
            with places_in(left):
                answers = ask(judge, [asked[i] for i in left])
            if len(answers) != len(left):
                raise ContractError(
                    f"judge {level} gave {len(answers)} answers to {len(left)} items"
                )
            for i, answer in zip(left, answers, strict=True):
                said[i].append(answer)
            left = [i for i in left if not sure(said[i][-1])]
        return [_last(answers) for answers in said]

    def _sure(self, verdict: Verdict) -> bool:
        p_a = verdict.preference
        if p_a is None or not self._agreed(verdict):
            return False
        gap = verdict.order_gap
        steady = gap is None or self.max_order_gap is None or abs(gap) <= self.max_order_gap
        return 2 * abs(p_a - 0.5) >= self.min_confidence and steady

    def _sure_grade(self, grade: Grade) -> bool:
        if grade.value is None or not self._agreed(grade):
            return False
        unsure = self.unsure_grades
        return unsure is None or not unsure[0] <= grade.value <= unsure[1]

    def _agreed(self, opinion: Verdict | Grade) -> bool:
        return opinion.agreement is None or opinion.agreement >= self.min_agreement


def _last(answers: Sequence[Said]) -> Said:
    last = answers[-1]
    info: dict[str, Any] = {**last.info, "asked": [_brief(answer) for answer in answers]}
    return replace(last, cost=total_cost(*(answer.cost for answer in answers)), info=info)


def _brief(answer: Verdict | Grade) -> dict[str, Any]:
    if isinstance(answer, Verdict):
        return {
            "status": answer.status,
            "choice": answer.choice,
            "p_a": answer.p_a,
            "order_gap": answer.order_gap,
            "cost": answer.cost,
        }
    return {"status": answer.status, "value": answer.value, "cost": answer.cost}
