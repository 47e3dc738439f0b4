"""From measured points to a growth class: steps first, time as a check on them, or time alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.judge import Estimate
from assay.judges.complexity.fitting import (
    CLASSES,
    NAMES,
    Fit,
    choose,
    fit_costs,
    relative_fit,
    slope,
)
from assay.judges.complexity.probing import Line, Meter, Point, grow

_NOISE_S = 0.0015  # what CPU time cannot resolve
_TIMED_S = 0.004  # what it resolves well enough for a ratio
_TIME_NOISE = 0.08
_NOTHING = 3.0  # steps: a difference that the length of the printed number makes
_SECONDS = 2.5  # costs below are CPU seconds: no run has so few steps


@dataclass
class Finding:
    """What the points say; `name` is a class of `fitting`, in the variable `n`."""

    name: str | None
    confidence: float = 0.0
    shape: str = ""
    predict: Callable[[float], float] | None = None
    largest: int = 0
    expression: str | None = None
    evidence: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    def estimate(self, method: str) -> Estimate:
        """As an `Estimate`."""
        return Estimate(
            self.expression,
            round(self.confidence, 3) if self.expression is not None else 0.0,
            method,
            tuple(self.evidence),
            tuple(self.flags),
        )


def rename(name: str | None, variable: str) -> str | None:
    """A class with the variable's own name.

    >>> rename("n log n", "V")
    'V log V'
    """
    if name is None:
        return None
    return " ".join(part.replace("n", variable) for part in name.split(" "))


def decide_steps(meter: Meter, lines: Sequence[Line], variable: str, seed: int) -> Finding | None:
    """The worst shape's class by counted steps; None where counting did not work."""
    if all(line.failure for line in lines) or not any(len(line.points) >= 4 for line in lines):
        return None
    finding = Finding(None)
    ranked: list[tuple[int, float, Line, Fit, list[Point]]] = []
    for line in lines:
        points, note = _settle(meter, line, finding)
        fit = _fit_points(points, seed, samples=0)
        costs = [p.cost for p in points]
        sizes = f"{variable}={points[0].sizes[0]}..{points[-1].sizes[0]}" if points else "no points"
        finding.evidence.append(
            f"{line.shape}: steps {min(costs, default=0):.4g}..{max(costs, default=0):.4g} at "
            f"{sizes} -> {rename(fit.name, variable) or 'undecided'} "
            f"(residual {fit.residual:.3f}){note}"
        )
        if points:
            rank = NAMES.index(fit.name) if fit.name is not None else -1
            at_last = points[-1].cost / max(1, points[-1].sizes[0])
            ranked.append((rank, at_last, line, fit, points))
    if not ranked:
        return finding
    rank, _, line, fit, points = max(ranked, key=lambda one: one[:2])
    unclear = [one for one in ranked if one[0] < 0 and one[1] > ranked[0][1] / 2]
    finding.shape, finding.largest = line.shape, points[-1].sizes[0]
    if rank < 0 or (unclear and fit.confidence < 0.5):
        return finding
    fit = _fit_points(points, seed)
    finding.name, finding.confidence = fit.name, 0.95 * fit.confidence
    finding.expression = rename(fit.name, variable)
    finding.predict = predictor(fit.name or "1", points)
    return finding


def predictor(name: str, points: Sequence[Point]) -> Callable[[float], float]:
    """Cost at any size under a class, with the smaller classes that the points need."""
    sizes = np.array([float(p.sizes[0]) for p in points])
    costs = np.array([max(p.cost, 1e-9) for p in points])
    polynomial = NAMES.index("2^n")
    below = [n for n in NAMES[: NAMES.index(name)] if NAMES.index(n) < polynomial]
    used = [*below, name]
    basis = np.stack([CLASSES[one](sizes) for one in used], axis=1)
    weights, _ = relative_fit(basis, costs)

    def predict(size: float) -> float:
        at = np.array([size])
        return float(sum(w * CLASSES[n](at)[0] for w, n in zip(weights, used, strict=True)))

    return predict


def time_check(
    meter: Meter, finding: Finding, maximum: int, target_s: float, budget_s: float
) -> None:
    """Compare the growth of time with that of steps; time decides where it grows faster."""
    if finding.name is None or finding.predict is None:
        return
    top = finding.largest
    floor = min(
        p.cost for p in meter.measure("cpu", [((min(2, maximum),), finding.shape)] * 3, 2.0)
    )
    start = tuple(sorted({max(2, top // 4), max(2, top // 2), top}))
    line = Line(
        finding.shape,
        maximum,
        target_s,
        8 * target_s,
        floor=floor,
        noise=_NOISE_S,
        start=start,
    )
    grow(meter, "cpu", [line], cpu_s=max(2.0, 12 * target_s), budget_s=budget_s)
    timed = [(p.sizes[0], c) for p, c in zip(line.points, line.costs, strict=True) if c > _TIMED_S]
    if line.cliff is not None and finding.predict(line.cliff) < 4 * finding.predict(top):
        finding.flags.append(f"time jumps at size {line.cliff}: far slower than its steps foretell")
        finding.expression, finding.confidence = None, 0.0
        return
    if len(timed) < 2 or timed[-1][0] < 2 * timed[0][0]:
        finding.evidence.append(f"CPU time: too short to compare up to size {line.grown[-1:]}")
        return
    sizes, times = [float(n) for n, _ in timed], [t for _, t in timed]
    steps = [finding.predict(n) for n in sizes]
    by_time, by_steps = slope(sizes, times), slope(sizes, steps)
    finding.evidence.append(
        f"CPU time {times[0]:.3f}..{times[-1]:.3f} s at sizes {timed[0][0]}..{timed[-1][0]}: "
        f"slope {by_time:.2f}, steps {by_steps:.2f}"
    )
    span = math.log(sizes[-1] / sizes[0])
    if by_time - by_steps > 0.4 + 0.4 / span + 0.05 * by_steps:
        finding.flags.append(
            f"time grows faster than steps (slope {by_time:.2f} against {by_steps:.2f}): "
            "steps hidden, forged or not modelled"
        )
        fit = fit_costs(sizes, times, noise=2 * _TIME_NOISE, largest="n^4")
        finding.expression = fit.name if fit.confidence >= 0.6 else None
        finding.confidence = 0.5 * fit.confidence
    elif by_steps - by_time > 0.6 + 0.4 / span + 0.1 * by_steps:
        finding.flags.append(
            f"time grows more slowly than steps (slope {by_time:.2f} against {by_steps:.2f})"
        )
        finding.confidence *= 0.7


def decide_time(
    meter: Meter,
    shapes: Sequence[str],
    maximum: int,
    variable: str,
    target_s: float,
    budget_s: float,
) -> Finding:
    """The class by CPU time alone; undecided where neighbours cannot be told apart."""
    finding = Finding(None)
    base = meter.measure("cpu", [((2,), shapes[0])] * 3, 5.0)
    alive = [p.cost for p in base if p.ended == "ok"]
    if not alive:
        finding.evidence.append(f"the program does not run: {base[0].reason}")
        return finding
    start = tuple(n for n in (4, 8, 12, 16) if n <= maximum)
    lines = [
        Line(s, maximum, target_s, 6 * target_s, floor=min(alive), noise=_NOISE_S, start=start)
        for s in shapes
    ]
    grow(meter, "cpu", lines, cpu_s=max(2.0, 10 * target_s), budget_s=budget_s)
    best: tuple[int, str | None, Line] | None = None
    for line in lines:
        timed = [(n, c) for n, c in zip(line.grown, line.costs, strict=True) if c > _TIMED_S]
        name = _by_time(timed)
        finding.evidence.append(
            f"{line.shape}: CPU {max(line.costs, default=0):.3f} s at size {line.grown[-1:]} -> "
            f"{rename(name, variable) or 'undecided'}"
        )
        rank = NAMES.index(name) if name is not None else -1
        if len(timed) >= 4 and (best is None or rank > best[0]):
            best = (rank, name, line)
    if best is None or best[1] is None:
        return finding
    finding.name, finding.shape = best[1], best[2].shape
    finding.expression, finding.confidence = rename(best[1], variable), 0.75
    return finding


def _by_time(timed: Sequence[tuple[int, float]]) -> str | None:
    """The class whose pure form fits clearly best; None where its neighbour fits about as well."""
    if len(timed) < 4:
        return None
    sizes = np.array([float(n) for n, _ in timed])
    costs = np.array([c for _, c in timed])
    last = len(NAMES) if sizes.max() <= 60 else NAMES.index("2^n")
    pure = []
    for name in NAMES[:last]:
        columns = np.stack([np.ones_like(sizes), CLASSES[name](sizes)], axis=1)
        pure.append((relative_fit(columns, costs)[1], name))
    pure.sort()
    (best, name), (second, other) = pure[0], pure[1]
    if best > 2 * _TIME_NOISE:
        return None
    pair = {name, other}
    if pair == {"n", "n log n"}:
        # A hash table outgrows the caches and looks like n log n; a sort is steeper still.
        steep = slope(sizes.tolist(), costs.tolist())
        return "n" if steep < 1.05 else "n log n" if 1.12 < steep < 1.3 else None
    return name if second > 1.25 * best + 0.01 else None


def _settle(meter: Meter, line: Line, finding: Finding) -> tuple[list[Point], str]:
    """The points that show the growth of large sizes, and what was noticed on the way."""
    points = list(line.points)
    place = _jump(points)
    if place is None and line.cliff is not None and _unforeseen(points, line.cliff):
        finding.flags.append(
            f"{line.shape}: cost jumps between size {points[-1].sizes[0]} and {line.cliff}"
        )
        return _above(meter, line, line.cliff), " above the jump, by CPU time"
    if place is None:
        return _steady(points)
    finding.flags.append(
        f"{line.shape}: cost jumps between size {points[place - 1].sizes[0]} and "
        f"{points[place].sizes[0]}"
    )
    first = points[place].sizes[0]
    tail = points[place:]
    for factor in (1.2, 1.45, 1.75, 2.1):
        size = round(first * factor)
        if len(tail) >= 5 or size > line.maximum:
            break
        if size > tail[-1].sizes[0]:
            point = meter.measure("steps", [((size,), line.shape)], 6.0)[0]
            if point.ended != "ok":
                break
            tail.append(point)
    return tail, " above the jump"


def _steady(points: list[Point]) -> tuple[list[Point], str]:
    """Without the smallest sizes; only the last ones where growth changes on the way."""
    kept = [p for p in points if p.sizes[0] >= 8]
    if len(kept) < 5:
        kept = points[-7:]
    if len(kept) < 4:
        return kept, ""
    fit = _fit_points(kept, 0, samples=0)
    if fit.name is not None and fit.residual < 0.04 and not _bends_up(kept, fit.name):
        return kept, ""
    tails = []
    for count in (7, 6, 5, 4):
        tail = kept[-count:]
        again = _fit_points(tail, 0, samples=0)
        if len(tail) == count and again.name is not None and again.residual < 0.02:
            tails.append((again.residual > 0.004, count, again.residual, tail))
    if tails:  # the longest that fits almost exactly, else the one that fits best
        exact = [tail for tail in tails if not tail[0]]
        chosen = exact[0] if exact else min(tails, key=lambda tail: tail[2])
        return chosen[3], " by the largest sizes: growth changes below them"
    return kept, ""


def _bends_up(points: Sequence[Point], name: str) -> bool:
    """Whether the last sizes grow faster than the fit of all of them says."""
    last = points[-3:]
    predict = predictor(name, points)
    sizes = [float(p.sizes[0]) for p in last]
    seen = slope(sizes, [p.cost for p in last])
    told = slope(sizes, [max(predict(n), 1e-9) for n in sizes])
    return seen > told + 0.3


def _fit_points(points: Sequence[Point], seed: int, samples: int = 20) -> Fit:
    sizes = [float(p.sizes[0]) for p in points]
    costs = [max(p.cost, 1e-9) for p in points]
    if len(costs) >= 4 and sizes[-1] >= 100 * sizes[0] and max(costs) - min(costs) < _NOTHING:
        return Fit("1", 0.0, 1.0)
    noise = _TIME_NOISE if max(costs, default=0.0) < _SECONDS else 0.02
    return fit_costs(sizes, costs, noise=noise, samples=samples, seed=seed)


def _jump(points: Sequence[Point]) -> int | None:
    """Index of the first point above a jump of the cost, or None."""
    for i in range(4, len(points)):
        before, here = points[i - 1], points[i]
        usual = slope(
            [float(p.sizes[0]) for p in points[max(0, i - 5) : i]],
            [max(p.cost, 1e-9) for p in points[max(0, i - 5) : i]],
        )
        step = here.sizes[0] / before.sizes[0]
        small = here.sizes[0] < 64
        if not small and here.cost > 5 * before.cost * step ** (max(usual, 0.0) + 0.7):
            return i
    return None


def _unforeseen(points: Sequence[Point], cliff: int) -> bool:
    """Whether the points did not foretell that this size takes too long."""
    if len(points) < 4 or cliff < 64:
        return False
    name, _ = choose([float(p.sizes[0]) for p in points[-8:]], [p.cost for p in points[-8:]])
    return name is not None and predictor(name, points[-8:])(cliff) < 3e6


def _above(meter: Meter, line: Line, cliff: int) -> list[Point]:
    """Points above a jump that counting is too slow for, in CPU seconds."""
    points: list[Point] = []
    for factor in (0.85, 1.0, 1.2, 1.45):
        size = min(round(cliff * factor), line.maximum)
        point = meter.measure("cpu", [((size,), line.shape)], 12.0)[0]
        if point.ended != "ok":
            break
        points.append(point)
    return points
