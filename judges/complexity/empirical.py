"""Time complexity by experiment: fresh inputs of growing size in the sandbox.

Python programs are counted (`counting`): steps have no noise, but the program could forge them. CPU
time, taken outside, has noise, but cannot be forged. So steps choose the class and time must grow
alike; where time grows faster, time decides and a flag says so. Other languages have time only,
and neighbours that time cannot tell apart are left undecided.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from assay.errors import ConfigError, DataError
from assay.judge import Estimate
from assay.judges.complexity.deciding import Finding, decide_steps
from assay.judges.complexity.expression import parse
from assay.judges.complexity.input_plan import InputPlan
from assay.judges.complexity.plane import SHAPES, apart, axis_classes, lines_of_two
from assay.judges.complexity.probing import Line, Meter, grow
from assay.judges.complexity.program import Program
from assay.judges.complexity.surfaces import Surface, fit_surface, spell
from assay.judges.complexity.timing import decide_time, time_check
from assay.sandbox import Limits, Sandbox, default_sandbox

_STEPS_TARGET, _STEPS_CEILING = 1e5, 1e6


@dataclass(frozen=True)
class EmpiricalEstimator:
    r"""Estimates time complexity by running programs.

    Args:
        sandbox: Where they run; None takes the best backend of this machine.
        budget_s: CPU seconds for each program, its runs and its inputs together.
        seed: Seed of the inputs.
        time_target_s: CPU seconds at which sizes stop growing.
        memory_mb: Memory of each run.

    Example:
        >>> from assay.judges.complexity.program import Program
        >>> inputs = InputPlan(lambda n, seed, shape: ([seed] * n,), {"n": 10000})
        >>> source = "def f(a):\n    return sum(x > 1 for x in a)\n"
        >>> estimator = EmpiricalEstimator(budget_s=4.0)
        >>> estimator.estimate([Program(source, "python", "f")], [inputs])[0].expression
        'n'
    """

    sandbox: Sandbox | None = None
    budget_s: float = 10.0
    seed: int = 0
    time_target_s: float = 0.25
    memory_mb: int = 1024
    name: str = field(default="empirical", init=False)
    takes_inputs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.budget_s > 0 or not self.time_target_s > 0:
            raise ConfigError(
                "budget_s and time_target_s must be > 0, got "
                f"{self.budget_s!r} and {self.time_target_s!r}"
            )

    def estimate(
        self, programs: Sequence[Program], inputs: Sequence[InputPlan | None] | None = None
    ) -> list[Estimate]:
        """One estimate a program; a program without inputs is left undecided.

        Args:
            programs: The programs.
            inputs: How to make inputs for each; `generators.infer` makes them from an example.
        """
        given = list(inputs) if inputs is not None else [None] * len(programs)
        if len(given) != len(programs):
            raise ConfigError(
                f"estimate needs inputs for each program, got {len(programs)} programs and "
                f"{len(given)} inputs; pass None where there are none"
            )
        sandbox = self.sandbox or default_sandbox()
        return [
            self._one(sandbox, program, made) for program, made in zip(programs, given, strict=True)
        ]

    def _one(self, sandbox: Sandbox, program: Program, inputs: InputPlan | None) -> Estimate:
        if inputs is None:
            return _undecided("no input generator and no example to infer one from")
        if len(inputs.maxima) > 2:
            return _undecided(f"more than two variables: {', '.join(inputs.maxima)}")
        limits = Limits(memory_mb=self.memory_mb, output_mb=64)
        meter = Meter(sandbox, program, inputs, self.seed * 1_000_003, limits)
        meter.limit_s = 1.5 * self.budget_s
        started = time.monotonic()
        try:
            if len(inputs.maxima) == 1:
                finding = self._single(meter, inputs)
            else:
                finding = self._double(meter, inputs)
        except DataError as error:  # a generator that came with a row
            return _undecided(f"inputs could not be made: {error}")
        finding.evidence.append(
            f"{meter.spent_s:.1f} CPU s, {time.monotonic() - started:.1f} s in all"
        )
        return finding.estimate(self.name)

    def _single(self, meter: Meter, inputs: InputPlan) -> Finding:
        (variable, maximum), *_ = inputs.maxima.items()
        if meter.counted is not None:
            lines = [Line(shape, maximum, _STEPS_TARGET, _STEPS_CEILING) for shape in inputs.shapes]
            grow(meter, "steps", lines, cpu_s=2.5, budget_s=0.6 * self.budget_s)
            finding = decide_steps(meter, lines, variable, self.seed)
            if finding is not None:
                left = max(0.2 * self.budget_s, self.budget_s - meter.spent_s)
                time_check(meter, finding, maximum, self.time_target_s, left)
                return finding
        return decide_time(
            meter, inputs.shapes, maximum, variable, self.time_target_s, self.budget_s
        )

    def _double(self, meter: Meter, inputs: InputPlan) -> Finding:
        names = tuple(inputs.maxima)
        if meter.counted is None:
            return Finding(None, evidence=["two variables need counted steps (Python programs)"])
        lines = lines_of_two(meter, inputs, 0.8 * self.budget_s)
        findings = []
        for shape in inputs.shapes[:SHAPES]:
            points = [p for line in lines if line.shape == shape for p in line.points]
            if len(points) < 12:
                continue
            pairs = [(p.sizes[0], p.sizes[1]) for p in points]
            own = [line for line in lines if line.shape == shape]
            surface = fit_surface(
                pairs,
                [p.cost for p in points],
                axis_classes(own),
                noise=0.05,
                mixed=not apart(own),
            )
            text = spell(surface.terms, (names[0], names[1])) if surface.terms else None
            note = f"{shape}: {len(points)} points up to {max(p.cost for p in points):.3g} steps"
            note += f" -> {text or 'undecided'} (residual {surface.residual:.3f})"
            findings.append((surface, text, note))
        return _worst_surface(findings, inputs)


def _undecided(why: str) -> Estimate:
    return Estimate(None, 0.0, "empirical", (why,))


def _worst_surface(findings: Sequence[tuple[Surface, str | None, str]], plan: InputPlan) -> Finding:
    """The shape whose costs grow largest decides; by value where two cannot be compared."""
    finding = Finding(None, evidence=[note for _, _, note in findings])
    decided = [(surface, text) for surface, text, _ in findings if text is not None]
    if not decided or len(decided) * 2 < len(findings):
        return finding
    bounds = [f"{small} <= {large}" for small, large in plan.relations]
    x, y = (float(min(most, 10_000)) for most in plan.maxima.values())
    best, text = decided[0]
    for surface, other in decided[1:]:
        order = parse(other).compare(parse(text), constraints=bounds)
        clean = max(surface.residual, best.residual) < 0.04
        larger = (
            surface.predict(x, y) > best.predict(x, y)
            if clean
            else surface.residual < best.residual
        )
        if order == "greater" or (order == "incomparable" and larger):
            best, text = surface, other
    finding.expression = _essential(text, bounds)
    finding.confidence = max(0.5, 0.95 - 4 * best.residual)
    return finding


def _essential(text: str, bounds: Sequence[str]) -> str:
    """Without the terms that the relations make smaller than another: n k + k^2 where k <= n."""
    terms = text.split(" + ")
    for term in list(terms):
        rest = [one for one in terms if one != term]
        if any(parse(term).compare(parse(o), constraints=bounds) == "less" for o in rest):
            terms = rest
    return " + ".join(terms)
