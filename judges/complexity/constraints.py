"""What is known about the sizes of a problem: relations between variables, and maxima."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.errors import DataError
from assay.judges.complexity.growth import Regime

if TYPE_CHECKING:
    from assay.judges.complexity.expression import Expression, Order

_RELATION = re.compile(r"(<=|>=|==|<|>|=|≤|≥|\\leq?\b|\\geq?\b)")
_SIDES = {"≤": "<=", "≥": ">=", "<": "<=", ">": ">=", "=": "=="}
_FACTOR = math.log(2.0)


@dataclass(frozen=True, slots=True)
class Constraints:
    """Bounds on variables.

    Attributes:
        relations: Pairs (small, large): the first grows at most as fast as the second.
        maxima: The largest value of a variable, such as {"n": 2e5}.
    """

    relations: tuple[tuple[Expression, Expression], ...] = ()
    maxima: Mapping[str, float] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, given: object) -> Constraints:
        """Constraints from themselves, maxima, or texts such as `"1 <= m <= n, n <= 2 * 10^5"`.

        None is no constraint; text that is a JSON list or object is read as such.

        Raises:
            DataError: A text is no relation, or no JSON.
        """
        if given is None:
            return cls()
        if isinstance(given, Constraints):
            return given
        if isinstance(given, str) and given.lstrip().startswith(("[", "{")):
            try:
                given = json.loads(given)
            except ValueError as error:
                raise DataError(f"constraints {given!r:.80} are not JSON: {error}") from None
        if isinstance(given, Mapping):
            return cls((), {str(name): float(value) for name, value in given.items()})
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, Iterable):
            raise DataError(
                f"constraints must be texts, maxima or Constraints, got {type(given).__name__}; "
                "pass for example ['m <= n', 'n <= 2e5']"
            )
        relations: list[tuple[Expression, Expression]] = []
        maxima: dict[str, float] = {}
        for text in texts:
            for part in re.split(r"[;\n]|,(?!\d{3}\b)|\band\b", str(text)):
                if part.strip():
                    _read(part.strip(), relations, maxima)
        return cls(tuple(relations), maxima)

    def constants(self, below: float) -> frozenset[str]:
        """Variables whose maximum is at most `below`."""
        return frozenset(name for name, value in self.maxima.items() if value <= below)

    def related(self, names: frozenset[str]) -> frozenset[str]:
        """Variables that a relation ties to these, directly or through others."""
        found = names
        while True:
            more = found.union(
                *(
                    small.variables | large.variables
                    for small, large in self.relations
                    if (small.variables | large.variables) & found
                )
            )
            if more == found:
                return found - names
            found = more

    def allow(self, regime: Regime) -> bool:
        """Whether growing in this way keeps every relation."""
        from assay.judges.complexity.expression import grows

        return all(
            grows(small, large, regime) <= 0
            for small, large in self.relations
            if small.variables | large.variables <= regime.keys()
        )

    def order_at_maxima(self, left: Expression, right: Expression) -> Order:
        """The order of the two values at the maxima, equal within a factor of two."""
        if not left.variables | right.variables <= self.maxima.keys():
            return "incomparable"
        gap = left.log_evaluate(self.maxima) - right.log_evaluate(self.maxima)
        return "equal" if abs(gap) <= _FACTOR else "less" if gap < 0 else "greater"


def _read(
    text: str, relations: list[tuple[Expression, Expression]], maxima: dict[str, float]
) -> None:
    from assay.judges.complexity import algebra
    from assay.judges.complexity.expression import parse
    from assay.judges.complexity.expression_parser import read

    pieces = _RELATION.split(text)
    if len(pieces) < 3 or not all(piece.strip() for piece in pieces):
        raise DataError(
            f"not a constraint: {text!r:.80}; write it like 'm <= n' or '1 <= n <= 2e5'"
        )
    for left, sign, right in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
        way = _SIDES.get(sign, ">=" if sign.startswith("\\g") else "<=" if "\\" in sign else sign)
        small, large = (right, left) if way == ">=" else (left, right)
        bound = algebra.number(read(re.sub(r"(\d),(?=\d{3}\b)", r"\1", large)))
        least = algebra.number(read(small))
        if bound is None and least is None:
            relations.append((parse(small), parse(large)))
            if way == "==":
                relations.append((parse(large), parse(small)))
        elif bound is not None and least is None:
            names = parse(small).variables
            if len(names) == 1 and str(parse(small)) in names:
                (name,) = names
                maxima[name] = min(bound, maxima.get(name, math.inf))
