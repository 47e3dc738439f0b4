"""The complexity judge: estimators from cheap to dear, stopping as soon as one is sure."""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assay.errors import ConfigError, ContractError, DataError, JudgeError, SandboxError
from assay.fingerprint import Fingerprinted, configuration_fingerprint, fingerprint_of
from assay.judge import Estimate
from assay.judges.complexity.expression import parse
from assay.judges.complexity.normal_form import structure_hash
from assay.judges.complexity.program import Program

if TYPE_CHECKING:
    from assay.judges.complexity.input_plan import InputPlan

#: Estimates kept in each process, least recently used out first.
CACHE_SIZE = 65_536
_RENAMED = 4  # variables up to which every renaming is tried

_Key = tuple[str, ...]


@runtime_checkable
class Estimator(Protocol):
    """One way to estimate a time complexity.

    It is a dataclass whose fields say everything that changes an estimate, or has a method
    `fingerprint() -> str`. One that runs programs says so by an attribute `takes_inputs = True`
    and is called as `estimate(programs, inputs)`.
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

    Equal programs (up to comments, strings, names and white space) with equal inputs are judged
    once and remembered, unless an estimator was down or the budget cut the judgement short.

    Args:
        estimators: Cheapest first.
        confident: Confidence from which no further estimator is asked.
        cross_check: Always ask at least two estimators where there are two.
        budget_s: Wall seconds of one call from which no further estimator is started, nor a further
            program by an estimator that runs programs: what was not judged by then is flagged. A
            call takes at most what the first estimator takes, this, and one program's run. None:
            no bound.

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

    @property
    def takes_inputs(self) -> bool:
        """Whether one of the estimators runs programs and so needs to know how to make inputs."""
        return any(getattr(one, "takes_inputs", False) for one in self.estimators)

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None] | None = None
    ) -> list[Estimate]:
        """One estimate per program, in order.

        Args:
            programs: The programs.
            inputs: How to make inputs for each, None where that is not known: for the estimators
                that run programs.

        Raises:
            ConfigError: Not as many inputs as programs.
            JudgeError: No estimator could work at all.
        """
        if inputs is not None and len(inputs) != len(programs):
            raise ConfigError(
                f"estimate needs inputs for each program, got {len(programs)} programs and "
                f"{len(inputs)} inputs; pass None where there are none"
            )
        start = time.monotonic()
        plans = list(inputs) if inputs is not None and self.takes_inputs else [None] * len(programs)
        prints = {id(plan): "" if plan is None else fingerprint_of(plan) for plan in plans}
        judge = self.fingerprint()
        keys: list[_Key] = [
            (judge, program.language, program.entry or "", _structure(program), prints[id(plan)])
            for program, plan in zip(programs, plans, strict=True)
        ]
        known: dict[_Key, Estimate] = {}
        fresh: dict[_Key, tuple[Program, InputPlan | None]] = {}
        for key, program, plan in zip(keys, programs, plans, strict=True):
            found = _CACHE.get(key)
            if found is not None:
                known[key] = found
            elif key not in known:
                fresh[key] = (program, plan)
        opinions: dict[_Key, list[Estimate]] = {key: [] for key in fresh}
        troubles: list[str] = []
        cut: set[_Key] = set()  # still unsure when the time was up
        for position, estimator in enumerate(self.estimators):
            least = 2 if self.cross_check else 1
            asked = [
                key
                for key in fresh
                if position < least or _combined(opinions[key]).confidence < self.confident
            ]
            if not asked:
                break
            if position > 0 and self._late(start):
                cut.update(asked)
                break
            try:
                for key, answer in self._ask(estimator, {key: fresh[key] for key in asked}, start):
                    opinions[key].append(answer)
                    asked.remove(key)
            except (JudgeError, SandboxError) as error:
                troubles.append(f"{type(estimator).__name__} could not work: {error}")
                continue
            cut.update(asked)
        if troubles and not any(opinions.values()):
            raise JudgeError("; ".join(troubles))
        for key in fresh:
            estimate = _combined(opinions[key])
            late = (f"the budget of {self.budget_s} s cut this short",) if key in cut else ()
            known[key] = replace(estimate, flags=(*estimate.flags, *troubles, *late))
            if troubles and not opinions[key]:
                known[key] = replace(known[key], failed=True)
            failed = any(opinion.failed for opinion in opinions[key])
            if not (troubles or failed or key in cut):
                _CACHE.put(key, estimate)
        return [known[key] for key in keys]

    def _late(self, start: float) -> bool:
        return self.budget_s is not None and time.monotonic() - start >= self.budget_s

    def _ask(
        self,
        estimator: Estimator,
        asked: Mapping[_Key, tuple[Program, InputPlan | None]],
        start: float,
    ) -> Iterator[tuple[_Key, Estimate]]:
        """What an estimator says; one that runs programs stops between two when time is up."""
        if isinstance(estimator, _RunsPrograms) and estimator.takes_inputs:
            for key, (program, plan) in asked.items():
                if self._late(start):
                    return
                yield key, _answers(estimator, estimator.estimate([program], [plan]), 1)[0]
            return
        answers = estimator.estimate([program for program, _ in asked.values()])
        yield from zip(asked, _answers(estimator, answers, len(asked)), strict=True)


@runtime_checkable
class _RunsPrograms(Protocol):
    takes_inputs: bool

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None]
    ) -> list[Estimate]: ...


def _answers(estimator: object, answers: list[Estimate], count: int) -> list[Estimate]:
    if len(answers) != count:
        raise ContractError(
            f"{type(estimator).__name__}.estimate gave {len(answers)} estimates for "
            f"{count} programs"
        )
    return answers


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
        if agree(opinion.expression, best.expression):
            doubt *= 1.0 - opinion.confidence
            methods.append(opinion.method)
        else:
            flags.append(
                f"{opinion.method} says {opinion.expression}, {best.method} says {best.expression}"
            )
    return Estimate(best.expression, 1.0 - doubt, "+".join(methods), evidence, tuple(flags))


def agree(one: str | None, other: str | None) -> bool:
    """Whether two estimates are the same up to the names of the sizes.

    >>> agree("n + m log n", "V log E + E"), agree("n", "n m"), agree("n", None)
    (True, False, False)
    """
    if one is None or other is None:
        return False
    try:
        left, right = parse(one), parse(other)
    except DataError:
        return False
    names, others = sorted(left.variables), sorted(right.variables)
    if len(names) != len(others) or len(names) > _RENAMED:
        return left == right
    return any(
        left.substitute(dict(zip(names, chosen, strict=True))) == right
        for chosen in itertools.permutations(others)
    )


def _structure(program: Program) -> str:
    try:
        return structure_hash(program.source, program.language)
    except DataError:
        return fingerprint_of(program.source)


class _Cache:
    """A bounded map, safe with threads; each process has its own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[_Key, Estimate] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> Estimate | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: _Key, estimate: Estimate) -> None:
        with self._lock:
            self._items[key] = estimate
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)


_CACHE = _Cache(CACHE_SIZE)
