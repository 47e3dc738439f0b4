"""A judge asked in one order, its liking for the first place subtracted: `Corrected`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.calibration.correction import PositionCorrection
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import Choice, Grade, Item, Judge, Pair, Verdict


@dataclass(frozen=True)
class Corrected(Judge):
    """`judge`, its P(the first-shown wins) with an audited position term taken out.

    Half the price of `BothOrders`, and worth less: the term is a mean over the pairs of the audit
    and holds for this judge, prompt and task alone. A verdict without a probability, or one that
    both orders were asked for, stays as it is: there is nothing to subtract from.

    Args:
        judge: Compares pairs in the order given.
        correction: From an audit, or the file that it wrote (`correction.json`).

    Raises:
        ConfigError: The file is missing or holds no correction.

    Example:
        >>> class Leaning(Judge):
        ...     def compare(self, pairs):
        ...         return [Verdict("A", 0.6) for _ in pairs]
        ...
        ...     def fingerprint(self):
        ...         return "leaning"
        >>> (verdict,) = Corrected(Leaning(), PositionCorrection(0.8)).compare([Pair((), (), ())])
        >>> verdict.choice, round(verdict.p_a, 2)
        ('B', 0.4)
    """

    judge: Judge
    correction: PositionCorrection | str | Path

    def __post_init__(self) -> None:
        if not isinstance(self.judge, Judge):
            raise ConfigError(
                f"Corrected.judge must be a judge, got {type(self.judge).__name__}; wrap a judge"
            )
        if isinstance(self.correction, str | Path):
            object.__setattr__(self, "correction", PositionCorrection.load(self.correction))
        if not isinstance(self.correction, PositionCorrection):
            raise ConfigError(
                "Corrected.correction must be a PositionCorrection or its file, got "
                f"{type(self.correction).__name__}"
            )

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judge reads."""
        return self.judge.columns

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The judge's verdicts without the place."""
        assert isinstance(self.correction, PositionCorrection)
        verdicts = self.judge.compare(pairs)
        known = [v.p_a for v in verdicts if v.p_a is not None and v.order_gap is None]
        found = iter(self.correction.p_first(known).tolist())
        return [
            _moved(v, next(found)) if v.p_a is not None and v.order_gap is None else v
            for v in verdicts
        ]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """As the judge grades: a single answer has no place."""
        return self.judge.grade(items)

    def fingerprint(self) -> str:
        """A hash of the judge and of the term."""
        assert isinstance(self.correction, PositionCorrection)
        return fingerprint_of(("corrected", self.judge, self.correction.b))


def _moved(verdict: Verdict, p: float) -> Verdict:
    choice: Choice | None = verdict.choice
    if choice in ("A", "B"):
        choice = "A" if p > 0.5 else "B" if p < 0.5 else "tie"
    return replace(verdict, choice=choice, p_a=p)
