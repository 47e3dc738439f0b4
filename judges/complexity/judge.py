"""The complexity judge: estimators from cheap to dear, stopping as soon as one is sure."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from assay.errors import ConfigError, ContractError, DataError, JudgeError, SandboxError
from assay.fingerprint import Fingerprinted, configuration_fingerprint, fingerprint_of
from assay.judge import Estimate
from assay.judges.complexity.expression import Expression, parse
from assay.judges.complexity.normalise import structure_hash
from assay.judges.complexity.program import Program

#: Estimates kept in each process, least recently used out first.
CACHE_SIZE = 65_536


@runtime_checkable
class Estimator(Protocol):
    """One way to estimate a time complexity.

    It is a dataclass whose fields say everything that changes an estimate, or has a method
    `fingerprint() -> str`.
    """

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program, in order; `expression` is None where it cannot tell."""


@dataclass(frozen=True)
class ComplexityJudge:
    r"""Asks one estimator after the other until one is sure enough.

    Two estimators that agree are surer than either: the confidences c and d become
    1 - (1 - c)(1 - d). Where they disagree the surer one stands and the estimate is flagged;
    nothing is averaged. An estimator that cannot work (sandbox or model down) is passed over and
    flagged; if none can tell, the estimate is undecided.

    Equal programs (up to comments, strings, names and white space) are judged once and remembered,
    unless an estimator was down or the budget cut the judgement short.

    Args:
        estimators: Cheapest first.
        confident: Confidence from which no further estimator is asked.
        cross_check: Always ask at least two estimators where there are two.
        budget_s: Wall seconds of one call from which no further estimator is started; None: no
            bound.

    Example:
        >>> from assay.judges.complexity import ComplexityJudge, Program
        >>> code = "n = int(input())\nfor i in range(n):\n    for j in range(n):\n        print(i)"
        >>> ComplexityJudge().estimate([Program(code, "python")])[0].expression
        'n^2'
    """

    estimators: tuple[Estimator, ...] = ()
    confident: float = 0.8
    cross_check: bool = False
    budget_s: float | None = field(default=None, metadata={"fingerprint": False})

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.estimators, Sequence):
            raise ConfigError(
                "ComplexityJudge.estimators must be a sequence of estimators, got "
                f"{type(self.estimators).__name__}"
            )
        estimators = tuple(self.estimators)
        if not estimators:
            from assay.judges.complexity.static import StaticEstimator

            estimators = (StaticEstimator(),)
        for estimator in estimators:
            if not isinstance(estimator, Estimator):
                raise ConfigError(
                    "ComplexityJudge.estimators must have estimate(), got "
                    f"{type(estimator).__name__}"
                )
        object.__setattr__(self, "estimators", estimators)
        if not 0 < self.confident <= 1:
            raise ConfigError(f"ComplexityJudge.confident must lie in (0, 1], got {self.confident}")

    def fingerprint(self) -> str:
        """A hash of the estimators and the rules by which they are combined."""
        prints = [
            estimator.fingerprint()
            if isinstance(estimator, Fingerprinted)
            else configuration_fingerprint(estimator)
            for estimator in self.estimators
        ]
        return fingerprint_of(("ComplexityJudge", prints, self.confident, self.cross_check))

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program, in order.

        Raises:
            JudgeError: No estimator could work at all.
        """
        start = time.monotonic()
        judge = self.fingerprint()
        keys: list[tuple[str, ...]] = [
            (judge, p.language, p.entry or "", _structure(p)) for p in programs
        ]
        known: dict[tuple[str, ...], Estimate] = {}
        fresh: dict[tuple[str, ...], Program] = {}
        for key, program in zip(keys, programs, strict=True):
            found = _CACHE.get(key)
            if found is not None:
                known[key] = found
            elif key not in known:
                fresh[key] = program
        opinions: dict[tuple[str, ...], list[Estimate]] = {key: [] for key in fresh}
        troubles: list[str] = []
        cut: set[tuple[str, ...]] = set()  # still unsure when the time was up
        for position, estimator in enumerate(self.estimators):
            least = 2 if self.cross_check else 1
            asked = [
                key
                for key in fresh
                if position < least or _combined(opinions[key]).confidence < self.confident
            ]
            late = self.budget_s is not None and time.monotonic() - start >= self.budget_s
            if not asked:
                break
            if late and position > 0:
                cut.update(asked)
                break
            try:
                answers = estimator.estimate([fresh[key] for key in asked])
            except (JudgeError, SandboxError) as error:
                troubles.append(f"{type(estimator).__name__} could not work: {error}")
                continue
            if len(answers) != len(asked):
                raise ContractError(
                    f"{type(estimator).__name__}.estimate gave {len(answers)} estimates for "
                    f"{len(asked)} programs"
                )
            for key, answer in zip(asked, answers, strict=True):
                opinions[key].append(answer)
        if troubles and not all(opinions.values()):
            raise JudgeError("; ".join(troubles))
        for key in fresh:
            estimate = _combined(opinions[key])
            known[key] = replace(estimate, flags=(*estimate.flags, *troubles))
            failed = any(opinion.failed for opinion in opinions[key])
            if not (troubles or failed or key in cut):
                _CACHE.put(key, estimate)
        return [known[key] for key in keys]


def _combined(opinions: Sequence[Estimate]) -> Estimate:
    evidence = tuple(line for opinion in opinions for line in opinion.evidence)
    flags = [flag for opinion in opinions for flag in opinion.flags]
    decided = [opinion for opinion in opinions if opinion.expression is not None]
    if not decided:
        method = "+".join(opinion.method for opinion in opinions) or "none"
        failed = any(opinion.failed for opinion in opinions)
        return Estimate(None, 0.0, method, evidence, tuple(flags), failed)
    best = max(decided, key=lambda opinion: opinion.confidence)
    doubt = 1.0
    methods = []
    for opinion in decided:
        if _agree(opinion.expression, best.expression):
            doubt *= 1.0 - opinion.confidence
            methods.append(opinion.method)
        else:
            flags.append(
                f"{opinion.method} says {opinion.expression}, {best.method} says {best.expression}"
            )
    return Estimate(best.expression, 1.0 - doubt, "+".join(methods), evidence, tuple(flags))


def _agree(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    try:
        left, right = parse(one), parse(other)
    except DataError:
        return False
    return _in_n(left) == _in_n(right) if max(map(_count, (left, right))) <= 1 else left == right


def _count(expression: Expression) -> int:
    return len(expression.variables)


def _in_n(expression: Expression) -> Expression:
    return expression.substitute(dict.fromkeys(expression.variables, "n"))


def _structure(program: Program) -> str:
    try:
        return structure_hash(program.source, program.language)
    except DataError:
        return fingerprint_of(program.source)


class _Cache:
    """A bounded map, safe with threads; each process has its own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[tuple[str, ...], Estimate] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> Estimate | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: tuple[str, ...], estimate: Estimate) -> None:
        with self._lock:
            self._items[key] = estimate
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)


_CACHE = _Cache(CACHE_SIZE)
