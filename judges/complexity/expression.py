r"""Big-O expressions in several variables, in canonical form, with the partial order of dominance.

An expression is a minimum of sums of monomials (see `growth`); constants and dominated terms are
dropped, and the maximum of two terms is their sum.

>>> str(parse("O(3n^2 + n log n)"))
'n^2'
>>> str(parse(r"\mathcal{O}(n \log n + m)"))
'm + n log n'
>>> parse("n log n").compare(parse("n^2"))
'less'
>>> parse("E log V").compare(parse("V^2"))
'incomparable'
>>> parse("m").compare(parse("n"), constraints=["m <= n"])
'less'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from assay.errors import DataError
from assay.judges.complexity import expression_parser
from assay.judges.complexity.algebra import Sum
from assay.judges.complexity.growth import (
    ONE,
    Monomial,
    Regime,
    log_value,
    monomial,
    regimes,
    sign,
    surely_within,
    variables,
)
from assay.judges.complexity.spelling import spell

Order = Literal["less", "equal", "greater", "incomparable"]
Monomials = frozenset[Monomial]

#: The seven classes of the usual data sets, slowest growth first.
CLASSES = ("constant", "logn", "linear", "nlogn", "quadratic", "cubic", "exponential")
_REFERENCE = 1e6  # size at which a logarithm is weighed against powers in `to_class`
_LOG_WEIGHT = math.log(math.log2(_REFERENCE)) / math.log(_REFERENCE)


@dataclass(frozen=True, slots=True)
class Expression:
    """A growth rate in canonical form; make one with `parse`.

    Attributes:
        alternatives: The minimum is taken over these; each is a sum of monomials.
    """

    alternatives: frozenset[Monomials]

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables that grow."""
        return frozenset(v for terms in self.alternatives for m in terms for v in variables(m))

    def __str__(self) -> str:
        sums = sorted(" + ".join(sorted(map(spell, terms))) for terms in self.alternatives)
        return sums[0] if len(sums) == 1 else f"min({', '.join(sums)})"

    def compare(
        self,
        other: Expression,
        constraints: object = (),
        *,
        constant_below: float = 0.0,
    ) -> Order:
        """Where this expression stands against another as all variables grow.

        Args:
            other: What to compare with.
            constraints: `Constraints`, or relations such as `"m <= n"`, `"k = sqrt n"`,
                `"n <= 2e5"`. Relations between variables leave out the ways of growing that break
                them. Maxima decide what stays incomparable, when every variable has one: the two
                values there, equal within a factor of two.
            constant_below: Variables whose maximum is at most this count as constants.

        Returns:
            `less` means that this grows strictly slower.
        """
        from assay.judges.complexity.constraints import Constraints

        given = Constraints.of(constraints)
        small = given.constants(constant_below)
        left, right = self.without(small), other.without(small)
        names = left.variables | right.variables | given.related(left.variables | right.variables)
        below = above = True
        for regime in regimes(names - small):
            if not given.allow(regime):
                continue
            order = grows(left, right, regime)
            below, above = below and order <= 0, above and order >= 0
            if not below and not above:
                return given.order_at_maxima(left, right)
        if below and above:
            return "equal"
        return "less" if below else "greater"

    def without(self, names: Iterable[str]) -> Expression:
        """The expression with these variables taken as constants."""
        gone = frozenset(names) & self.variables
        return self if not gone else self.substitute(dict.fromkeys(gone))

    def substitute(self, names: Mapping[str, str | None]) -> Expression:
        """The expression with variables renamed, or made constants where the new name is None."""
        return canonical([[_rename(m, names) for m in terms] for terms in self.alternatives])

    def log_evaluate(self, values: Mapping[str, float]) -> float:
        """Natural logarithm of the value; no overflow.

        Args:
            values: A size, at least 1, of each variable.

        Raises:
            DataError: A variable has no value.
        """
        missing = sorted(self.variables - set(values))
        if missing:
            raise DataError(f"no value for {', '.join(missing)} in {self}; pass one for each")
        sums = []
        for terms in self.alternatives:
            logs = [log_value(m, values) for m in terms]
            top = max(logs)
            sums.append(top + math.log(math.fsum(math.exp(x - top) for x in logs)))
        return min(sums)

    def evaluate(self, values: Mapping[str, float]) -> float:
        """The value with unit constants and logarithms to base 2; infinite where too large.

        >>> parse("n log n").evaluate({"n": 1024})
        10240.0
        """
        value = self.log_evaluate(values)
        return round(math.exp(value), 9) if value < 709 else math.inf

    def to_class(self) -> str | None:
        """The nearest of the seven classes with all variables set to n, or None if there is none.

        Faster than every power is exponential. Else the exponent of n, in which a factor log n
        counts as it does at n = 10^6 (0.22), goes to the nearest class; ties go up. An expression
        that shrinks as n grows has no class.
        """
        single = self.substitute(dict.fromkeys(self.variables, "n"))
        (terms,) = single.alternatives
        weights = [_exponent(m) for m in terms]
        value = max(weights)
        if value < -1e-9:
            return None
        if value == math.inf:
            return "exponential"
        points = (0.0, _LOG_WEIGHT, 1.0, 1.0 + _LOG_WEIGHT, 2.0, 3.0)
        nearest = min(range(len(points)), key=lambda i: (abs(points[i] - value), -points[i]))
        return CLASSES[nearest]


def parse(text: str) -> Expression:
    """The expression that a spelling stands for; all logarithms have base 2 unless they say else.

    Raises:
        DataError: Not an expression; says what was not understood.

    >>> str(parse("O(N·log N)")), str(parse("2^(2n)")), str(parse("quadratic"))
    ('n log n', '4^n', 'n^2')
    """
    if not isinstance(text, str):
        raise DataError(f"a complexity must be text, got {type(text).__name__}; pass a string")
    return _parse(text)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Expression:
    value = expression_parser.read(text)
    return canonical([[m for s in group for m in _positive(s, text)] for group in value])


def canonical(alternatives: Iterable[Iterable[Monomial]]) -> Expression:
    """The canonical expression for a minimum of sums of monomials."""
    sums = {_irredundant(frozenset(terms) or frozenset({ONE})) for terms in alternatives}
    kept = sorted(sums, key=_sort_key)
    index = 0
    while len(kept) > 1 and index < len(kept):
        rest = Expression(frozenset(kept[:index] + kept[index + 1 :]))
        alone = Expression(frozenset({kept[index]}))
        if rest.compare(alone) in ("less", "equal"):
            del kept[index]
        else:
            index += 1
    return Expression(frozenset(kept))


@lru_cache(maxsize=16384)
def _irredundant(terms: Monomials) -> Monomials:
    kept = sorted(terms)
    index = 0
    while len(kept) > 1 and index < len(kept):
        rest = kept[:index] + kept[index + 1 :]
        if _within(kept[index], rest):
            kept = rest
        else:
            index += 1
    return frozenset(kept)


def _within(term: Monomial, rest: list[Monomial]) -> bool:
    if any(surely_within(term, other) for other in rest):
        return True
    names = variables(term).union(*map(variables, rest))
    return all(any(sign(term, other, r) <= 0 for other in rest) for r in regimes(names))


def grows(left: Expression, right: Expression, regime: Regime) -> int:
    """-1, 0 or 1: left grows slower than, as fast as, or faster than right along a regime."""
    return sign(_leading(left, regime), _leading(right, regime), regime)


def _leading(of: Expression, regime: Regime) -> Monomial:
    least: Monomial | None = None
    for terms in of.alternatives:
        most: Monomial | None = None
        for term in terms:
            if most is None or sign(term, most, regime) > 0:
                most = term
        assert most is not None
        if least is None or sign(most, least, regime) < 0:
            least = most
    assert least is not None
    return least


def _positive(terms: Sum, text: str) -> list[Monomial]:
    """Terms that are added: what is subtracted only lowers an upper bound, `n - k` is O(n)."""
    kept = [m for m, coefficient in terms.items() if coefficient > 0]
    if not kept and any(coefficient < 0 for coefficient in terms.values()):
        raise DataError(
            f"not a complexity: {text!r:.80} only subtracts, so it bounds nothing; write an upper "
            "bound such as 'n' or 'n + m'"
        )
    return kept or [ONE]


def _rename(of: Monomial, names: Mapping[str, str | None]) -> Monomial:
    terms: dict[tuple[tuple[tuple[str, int], float], ...], float] = {}
    for gauge, coefficient in of:
        powers: dict[tuple[str, int], float] = {}
        for (name, level), power in gauge:
            new = names.get(name, name)
            if new is not None:
                powers[new, level] = powers.get((new, level), 0.0) + power
        key = tuple(sorted(powers.items()))
        terms[key] = terms.get(key, 0.0) + coefficient
    return monomial(terms)


def _exponent(of: Monomial) -> float:
    total = 0.0
    for gauge, coefficient in of:
        (_, level), power = gauge[0]
        if len(gauge) > 1 or power != 1.0 or level == 0:
            sign_of = sign(of, ONE, {"n": (0, 1.0)})
            return math.inf * sign_of if sign_of else 0.0
        weight = 1.0 if level == 1 else _LOG_WEIGHT if level == 2 else _LOG_WEIGHT / 3
        total += coefficient * (weight if level < 80 else 0.0)
    return total


def _sort_key(terms: Monomials) -> list[Monomial]:
    return sorted(terms)
