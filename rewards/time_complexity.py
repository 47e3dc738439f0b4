"""The efficiency reward: how a correct program's time complexity stands against the optimum."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, DataError
from assay.fenced_code import extract_code
from assay.judge import Estimate
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.settings import nonempty, one_of

if TYPE_CHECKING:
    from assay.judges.complexity import ComplexityJudge, Constraints, Expression, Program
    from assay.judges.complexity.input_plan import InputPlan

    Order = Literal["less", "equal", "greater", "incomparable"]

#: Size at which a variable without a maximum is taken in `graded` mode.
DEFAULT_SIZE = 1e6
_ASSIGNMENTS = 256  # of the program's names to the problem's variables that are tried


@dataclass(frozen=True)
class TimeComplexity(Reward):
    r"""R_time in [0, 1]: 1 where the program's complexity c is no worse than the optimum c*.

    `match`: 1[c <= c*]. `graded`: min(1, log cost(c*) / log cost(c)) at the maxima of the
    constraints. `ordinal`: 1 minus the distance of the two classes (constant, logn, linear, nlogn,
    quadratic, cubic, exponential) over 6.

    Put it behind a gate that only fully correct programs open, and let a missing score cost the
    bonus and no more; then, at equal format, every correct program outranks every other:

        "time": Term(TimeComplexity(), weight=0.5, gate="tests", on_missing="zero")

    Complexities are partly ordered (n + m log n against n needs a bound on m): where the two cannot
    be compared, or the judge cannot tell, the reward abstains. A program better than the optimum
    gets 1 and a flag: the judge or the label is wrong. A program of the same normalised structure
    as the reference solution is optimal whatever the judge says of it.

    A judge with an estimator that runs programs needs inputs: from `inputs`, or from what the row
    holds: a generator, an example input, or its tests (`assay.rewards.program_inputs`).

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stage 2. Its scale and comparison are
    not disclosed; these are ours.

    Args:
        judge: A `ComplexityJudge`; None takes the static estimator.
        mode: `match`, `graded` or `ordinal`.
        language: Language of the programs.
        column: Dataset column with the optimum, such as `n log n` or `O(V + E)`.
        solution_column: Optional column with a time-optimal solution, judged the same way: where
            its complexity is not the label's, the score is flagged.
        constraints_column: Optional column with bounds, such as `["m <= n", "n <= 2e5"]`.
        entry_column: Optional column with the function's name, where the program is a function.
        generator_column: Optional column with the text of `generate(n, seed)`, Python.
        example_column: Optional column with an example input, from which one is inferred.
        inputs: A module-level function from a row to an `InputPlan` or None, instead of these.
        no_optimum: What a row without an optimum is: `error` a DataError, `skip` a skipped score.
        bare: A completion without a code block is code.

    Raises:
        DataError: A row's optimum, constraints or generator cannot be read.

    Example:
        >>> code = "```python\nn = int(input())\nprint(sum(range(n)))\n```"
        >>> TimeComplexity()(completions=[code, code], optimal_complexity=["O(n)", "O(1)"])
        [1.0, 0.0]
    """

    judge: ComplexityJudge | None = None
    mode: Literal["match", "graded", "ordinal"] = "match"
    language: str = "python"
    column: str = "optimal_complexity"
    solution_column: str = "optimal_solution"
    constraints_column: str = "constraints"
    entry_column: str = "entry_point"
    generator_column: str = "generator"
    example_column: str = "example_input"
    inputs: Callable[[Mapping[str, Any]], InputPlan | None] | None = None
    no_optimum: Literal["error", "skip"] = "error"
    bare: bool = False
    name: str = "time_complexity"
    range = (0.0, 1.0)
    _judge: Any = field(
        init=False, repr=False, compare=False, default=None, metadata={"fingerprint": False}
    )

    def __post_init__(self) -> None:
        one_of("TimeComplexity.mode", self.mode, ("match", "graded", "ordinal"))
        one_of("TimeComplexity.no_optimum", self.no_optimum, ("error", "skip"))
        nonempty("TimeComplexity.column", self.column)
        if self.inputs is not None and not callable(self.inputs):
            raise ConfigError(
                "TimeComplexity.inputs must be a function of a row, got "
                f"{type(self.inputs).__name__}"
            )
        from assay.judges.complexity import ComplexityJudge

        if self.judge is not None and not callable(getattr(self.judge, "estimate", None)):
            raise ConfigError(
                f"TimeComplexity.judge must be a ComplexityJudge, got {type(self.judge).__name__}"
            )
        object.__setattr__(self, "_judge", self.judge or ComplexityJudge())
        needed = {self.column} if self.no_optimum == "error" else set()
        object.__setattr__(self, "columns", frozenset(needed))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Read every row's optimum, then judge all programs and reference solutions at once."""
        from assay.judges.complexity import Program

        bounds = [self._bound(sample.columns, index) for index, sample in enumerate(samples)]
        codes = [extract_code(s.answer, self.language, bare=self.bare).code for s in samples]
        programs: list[Program] = []
        owners: list[int] = []
        places: dict[tuple[str, int], int] = {}
        for index, (sample, code) in enumerate(zip(samples, codes, strict=True)):
            if bounds[index] is None:
                continue
            entry = sample.columns.get(self.entry_column)
            for kind, text in (("code", code), ("optimum", self._solution(sample))):
                if text:
                    places[kind, index] = len(programs)
                    owners.append(index)
                    entry_name = entry if isinstance(entry, str) else None
                    programs.append(Program(text, self.language, entry_name))
        estimates = self._estimates(samples, programs, owners)
        scores = []
        for index, bound in enumerate(bounds):
            if bound is None:
                scores.append(Score.skip(f"no {self.column}"))
                continue
            if ("code", index) not in places:
                scores.append(Score.of(0.0, passed=False, note="no code"))
                continue
            own = places["code", index]
            reference = places.get(("optimum", index))
            twin = reference is not None and _same(programs[own], programs[reference])
            scores.append(
                self._score(
                    estimates[own],
                    *bound,
                    None if reference is None else estimates[reference],
                    twin=twin,
                )
            )
        return scores

    def _estimates(
        self, samples: Sequence[Sample], programs: list[Program], owners: Sequence[int]
    ) -> list[Estimate]:
        if not getattr(self._judge, "takes_inputs", False):
            return list(self._judge.estimate(programs))
        plans = {index: self._inputs(samples[index].columns, index) for index in set(owners)}
        return list(self._judge.estimate(programs, [plans[index] for index in owners]))

    def _inputs(self, row: Mapping[str, Any], index: int) -> InputPlan | None:
        if self.inputs is not None:
            return self.inputs(row)
        from assay.judges.complexity import Constraints
        from assay.rewards.program_inputs import inputs_of

        try:
            return inputs_of(
                row,
                Constraints.of(row.get(self.constraints_column)),
                function=isinstance(row.get(self.entry_column), str),
                generator_column=self.generator_column,
                example_column=self.example_column,
            )
        except DataError as error:
            raise DataError(f"reward {self.name!r}: {error}", index) from None

    def _score(
        self,
        estimate: Estimate,
        optimum: Expression,
        constraints: Constraints,
        reference: Estimate | None,
        *,
        twin: bool,
    ) -> Score:
        from assay.judges.complexity import parse

        flags = list(estimate.flags)
        if reference is not None and reference.expression is not None:
            order, _ = _compare(parse(reference.expression), optimum, constraints)
            if order not in ("equal", "incomparable"):
                flags.append(
                    f"the reference solution reads {reference.expression}, its label {optimum}"
                )
        info: dict[str, Any] = {
            "complexity": estimate.expression,
            "optimal": str(optimum),
            "confidence": estimate.confidence,
            "method": estimate.method,
            "evidence": list(estimate.evidence),
        }
        if twin:
            return self._scored(
                1.0, f"the reference solution's own structure ({optimum})", info, flags
            )
        if estimate.failed:
            return Score.fail("; ".join(flags) or "the judge failed", info=info | {"flags": flags})
        if estimate.expression is None:
            return Score.abstain("the complexity is undecided", info=info | {"flags": flags})
        found = parse(estimate.expression)
        order, renamed = _compare(found, optimum, constraints)
        info["order"] = order
        if order == "incomparable":
            note = f"{found} and {optimum} cannot be compared without bounds on their variables"
            return Score.abstain(note, info=info | {"flags": flags})
        if order == "less":
            flags.append(f"{found} is better than the optimum {optimum}: judge or label is wrong")
        value = 1.0 if order != "greater" else self._partial(renamed, optimum, constraints)
        sign = {"less": "<", "equal": "=", "greater": ">"}[order]
        return self._scored(value, f"{found} {sign} {optimum}", info, flags)

    def _scored(self, value: float, note: str, info: Mapping[str, Any], flags: list[str]) -> Score:
        note = "; ".join([note, *(f"flag: {flag}" for flag in flags)])
        return Score.of(value, passed=value == 1.0, note=note, info={**info, "flags": flags})

    def _partial(self, found: Expression, optimum: Expression, constraints: Constraints) -> float:
        from assay.judges.complexity.expression import CLASSES

        if self.mode == "match":
            return 0.0
        if self.mode == "ordinal":
            classes = (found.to_class(), optimum.to_class())
            if None in classes:
                return 0.0
            own, best = (CLASSES.index(str(name)) for name in classes)
            return max(0.0, 1.0 - max(own - best, 0) / (len(CLASSES) - 1))
        sizes = dict.fromkeys(found.variables | optimum.variables, DEFAULT_SIZE)
        sizes |= {name: max(1.0, size) for name, size in constraints.maxima.items()}
        cost, least = found.log_evaluate(sizes), optimum.log_evaluate(sizes)
        return min(1.0, max(0.0, least) / cost) if cost > 0 else 1.0

    def _bound(self, row: Mapping[str, Any], index: int) -> tuple[Expression, Constraints] | None:
        from assay.judges.complexity import Constraints, parse

        if self.no_optimum == "skip" and row.get(self.column) is None:
            return None
        try:
            optimum = parse(row[self.column])
            return optimum, Constraints.of(row.get(self.constraints_column))
        except DataError as error:
            raise DataError(f"reward {self.name!r}: {error}", index) from None

    def _solution(self, sample: Sample) -> str | None:
        text = sample.columns.get(self.solution_column)
        if not isinstance(text, str) or not text.strip():
            return None
        return extract_code(text, self.language, bare=True).code or text


def _same(one: Program, other: Program) -> bool:
    from assay.judges.complexity import structure_hash

    try:
        return structure_hash(one.source, one.language) == structure_hash(
            other.source, other.language
        )
    except DataError:
        return False


def _compare(
    found: Expression, optimum: Expression, constraints: Constraints
) -> tuple[Order, Expression]:
    """The order of the two, and `found` in the optimum's variables.

    The judge names variables as it meets them in the program; the label has the problem's names.
    Where names are left over on both sides, every assignment must lead to the same order. A name
    that only the program has, and that nothing bounds, must not matter: n + m log n against n is
    undecided until something is known of m. Where the constraints give the maxima of the problem's
    variables, the program has no other sizes than those: then its own names stand for them, and
    again every assignment must lead to the same order.
    """
    related = (small.variables | large.variables for small, large in constraints.relations)
    known = optimum.variables.union(constraints.maxima, *related)
    strange = sorted(found.variables - known)
    free = sorted(optimum.variables - found.variables)
    if not strange or not free:
        order = found.compare(optimum, constraints)
        if strange and optimum.variables:
            bounded = found.without(strange).compare(optimum, constraints)
            order = order if order == bounded else "incomparable"
        renamed = found
    else:
        order, renamed = _agreed(
            found, optimum, constraints, strange, itertools.permutations(free, len(strange))
        )
    problem = sorted(constraints.maxima)
    if order != "incomparable" or not strange or not optimum.variables <= set(problem):
        return order, renamed
    if len(problem) ** len(strange) > _ASSIGNMENTS:
        return order, renamed
    meant = itertools.product(problem, repeat=len(strange))
    return _agreed(found, optimum, constraints, strange, meant)


def _agreed(
    found: Expression,
    optimum: Expression,
    constraints: Constraints,
    strange: Sequence[str],
    assignments: Iterable[tuple[str, ...]],
) -> tuple[Order, Expression]:
    """The order to which every assignment of names to the strange ones leads, if it is one."""
    results: dict[Order, Expression] = {}
    for chosen in assignments:
        renamed = found.substitute(dict(zip(strange, chosen, strict=True)))
        results[renamed.compare(optimum, constraints)] = renamed
    if len(results) == 1:
        return next(iter(results.items()))
    return "incomparable", found
