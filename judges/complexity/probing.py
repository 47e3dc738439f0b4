"""Runs a program in the sandbox at growing sizes and reads what each run cost.

Every point is a fresh process, a fresh folder and a fresh input. Cost is counted steps (Python,
see `counting`) or CPU seconds of the process tree, taken outside the program.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.judges.complexity.counting import instrument, read_count
from assay.judges.complexity.input_plan import InputPlan
from assay.judges.complexity.program import Program
from assay.sandbox import FunctionTest, Job, Limits, Sandbox, StdioTest, Verdict
from assay.sandbox.job import TestResult

_GAIN = 3.0  #: how much a line's next point should cost more than its last

_SMALL = 64  # sizes up to which growth may be exponential

Ended = Literal["ok", "slow", "failed"]
Measure = Literal["steps", "cpu"]


@dataclass(frozen=True, slots=True)
class Point:
    """One run: where, and what it cost (steps or seconds)."""

    sizes: tuple[int, ...]
    shape: str
    seed: int
    cost: float
    ended: Ended = "ok"
    reason: str = ""


class Meter:
    """Measures one program.

    Args:
        sandbox: Where it runs.
        program: The program.
        inputs: Makes its inputs.
        seed: Shifts the seeds of all inputs, so that no two calls use the same ones.
        limits: Limits of each run; the CPU limit is set per call.
    """

    def __init__(
        self, sandbox: Sandbox, program: Program, inputs: InputPlan, seed: int, limits: Limits
    ) -> None:
        self.sandbox = sandbox
        self.program = program
        self.inputs = inputs
        self.seed = seed
        self.limits = limits
        self.spent_s = 0.0
        self.limit_s = math.inf  # what must not be passed by a search for the cause of a jump
        self.token = "steps" + secrets.token_hex(8)
        self.counted = (
            instrument(program.source, self.token, program.entry)
            if program.language == "python"
            else None
        )

    def measure(
        self, what: Measure, wanted: Sequence[tuple[tuple[int, ...], str]], cpu_s: float
    ) -> list[Point]:
        """Run one fresh input per (sizes, shape); jobs run side by side where workers allow.

        Args:
            what: Counted steps, or CPU seconds.
            wanted: Sizes in the order of the inputs' variables, and a shape.
            cpu_s: CPU limit of each run.
        """
        source = self.counted if what == "steps" else self.program.source
        assert source is not None
        limits = Limits(
            cpu_s=cpu_s,
            wall_s=cpu_s * 8 + 10,
            memory_mb=self.limits.memory_mb,
            output_mb=self.limits.output_mb,
        )
        jobs, seeds = [], []
        for sizes, shape in wanted:
            self.seed += 1
            started = time.process_time()
            made = self.inputs.make(sizes, self.seed, shape)
            self.spent_s += 0.5 * (time.process_time() - started)
            seeds.append(self.seed)
            jobs.append(Job(source, (self._test(made),), self.program.language, limits))
        points = []
        results = self.sandbox.run(jobs)
        for (sizes, shape), seed, result in zip(wanted, seeds, results, strict=True):
            test = result.tests[0]
            self.spent_s += test.cpu_s or 0.0
            message = result.message or test.reason or test.stderr[-200:]
            points.append(self._point(what, sizes, shape, seed, test, message))
        return points

    def _test(self, made: Any) -> StdioTest | FunctionTest:
        if isinstance(made, str):
            return StdioTest(made, "")
        return FunctionTest(self.program.entry or "", tuple(made), None)

    def _point(
        self,
        what: Measure,
        sizes: tuple[int, ...],
        shape: str,
        seed: int,
        test: TestResult,
        message: str,
    ) -> Point:
        if test.verdict is Verdict.TLE:
            return Point(sizes, shape, seed, math.inf, "slow", "ran into the time limit")
        if test.verdict not in (Verdict.AC, Verdict.WA):
            return Point(sizes, shape, seed, math.nan, "failed", f"{test.verdict}: {message}")
        cost = read_count(test.stderr, self.token) if what == "steps" else test.cpu_s
        if cost is None:
            return Point(sizes, shape, seed, math.nan, "failed", "reported no steps")
        return Point(sizes, shape, seed, cost)


@dataclass
class Line:
    """Sizes of one variable that grow until the cost reaches a target.

    Args:
        shape: Shape of the inputs.
        maximum: Largest size.
        target: Cost at which growth ends.
        ceiling: Cost that a step must not be expected to pass.
        floor: Cost that every run has (start-up), taken off before ratios are formed.
        noise: Smallest cost that means anything.
        fixed: Sizes of all variables, with None where this line grows.
        start: First sizes.
    """

    shape: str
    maximum: int
    target: float
    ceiling: float
    floor: float = 0.0
    noise: float = 1e-6
    fixed: tuple[int | None, ...] = (None,)
    start: tuple[int, ...] = (2, 3, 4, 6)
    points: list[Point] = field(default_factory=list)
    cliff: int | None = None
    failure: str = ""
    careful: bool = False
    _last: int = 0

    def sizes(self, size: int) -> tuple[int, ...]:
        """All variables when the growing ones have this size."""
        return tuple(size if one is None else one for one in self.fixed)

    def next_size(self) -> int | None:
        """The next size, or None where the line is complete."""
        if self.cliff is not None or self.failure:
            return None
        done = len(self.points)
        if done < len(self.start):
            size = min(self.start[done], self.maximum)
            return size if size > self._last and self.costs[-1:] < [self.ceiling] else None
        # Work that every input costs, padding for example, must not end growth before it starts.
        target = max(self.target, 12 * self.costs[0])
        if self._last >= self.maximum or self.costs[-1] >= target:
            return None
        return self._step(max(self.ceiling, 4 * target))

    def _step(self, ceiling: float) -> int | None:
        n, cost = self._last, self.costs[-1]
        before = max(0, len(self.points) - 3)
        gain = math.log(max(cost / self.costs[before], 1.0))
        span = math.log(n / self.grown[before])
        slope = max(gain / span, 0.1)
        cap = 4.0 if cost <= 2 * self.noise else max(2.0, (self.maximum / n) ** 0.1)
        factor = min(cap, _GAIN ** (1 / slope))
        size = min(max(n + 1, round(n * factor)), self.maximum)
        # Exponential growth gains by differences, not by ratios: the last step's rate bounds it.
        last = max(self.costs[-1] / self.costs[-2], 1.0)
        rate = math.log(last) / (self.grown[-1] - self.grown[-2])
        room = math.log(max(ceiling / cost, 1.0))
        if rate > 0.2 and n < _SMALL:
            size = min(size, n + max(0, int(room / rate)))
        if self.careful:
            size = min(size, n + 2)
        return size if size > n else None

    def record(self, size: int, point: Point) -> None:
        """Add a run."""
        if point.ended == "slow":
            unseen = bool(self.points) and self.costs[-1] <= 4 * self.noise
            if unseen and size <= _SMALL and not self.careful:
                # From nothing to too much: exponential growth, to be met in small steps.
                self.careful, self.maximum = True, size - 1
            else:
                self.cliff = size
        elif point.ended == "failed":
            self.failure = point.reason
        else:
            self.points.append(point)
            self._last = size

    @property
    def grown(self) -> list[int]:
        """The growing variable's size at each point."""
        place = self.fixed.index(None)
        return [point.sizes[place] for point in self.points]

    @property
    def costs(self) -> list[float]:
        """Costs above the floor."""
        return [max(point.cost - self.floor, self.noise) for point in self.points]


def grow(meter: Meter, what: Measure, lines: Sequence[Line], cpu_s: float, budget_s: float) -> None:
    """Let lines grow side by side until all are complete or the budget is spent.

    Args:
        meter: The program.
        what: Steps or CPU seconds.
        lines: Extended in place.
        cpu_s: CPU limit of each run.
        budget_s: CPU seconds (runs, and half of what making the inputs takes) for all lines.
    """
    until = meter.spent_s + budget_s
    while meter.spent_s < until:
        steps = [(line, line.next_size()) for line in lines]
        open_ = [(line, size) for line, size in steps if size is not None]
        if not open_:
            return
        wanted = [(line.sizes(size), line.shape) for line, size in open_]
        points = meter.measure(what, wanted, cpu_s)
        if what == "cpu":  # the smaller of two, each with an input of its own
            places = [i for i, point in enumerate(points) if point.ended == "ok"]
            again = meter.measure(what, [wanted[i] for i in places], cpu_s)
            for i, point in zip(places, again, strict=True):
                points[i] = min(points[i], point, key=_cost)
        for (line, size), point in zip(open_, points, strict=True):
            line.record(size, point)


def _cost(point: Point) -> float:
    return math.inf if math.isnan(point.cost) else point.cost
