"""From counted steps at growing sizes to a growth class."""

from __future__ import annotations

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
from assay.judges.complexity.probing import Line, Meter, Point

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


def _settle(meter: Meter, line: Line, finding: Finding) -> tuple[list[Point], str]:
    """The points that show the growth of large sizes, and what was noticed on the way."""
    points = list(line.points)
    place = _jump(points)
    if place is None and line.cliff is not None and _unforeseen(points, line.cliff):
        seen = any("cost jumps" in flag for flag in finding.flags)
        finding.flags.append(
            f"{line.shape}: cost jumps between size {points[-1].sizes[0]} and {line.cliff}"
        )
        if seen:  # measured once, for the first shape: these runs are dear
            return [], " above the jump, not measured"
        return _above(meter, line, line.cliff), " above the jump, by CPU time"
    if place is None:
        kept, note, sure = _steady(points)
        return (kept, note) if sure else _denser(meter, line, kept, note)
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


def _denser(meter: Meter, line: Line, kept: list[Point], note: str) -> tuple[list[Point], str]:
    """More points at the largest sizes, where growth changed shortly before them."""
    last = line.points[-1].sizes[0]
    known = {p.sizes[0] for p in line.points}
    sizes = sorted({round(last * part) for part in (0.5, 0.62, 0.78, 0.9)} - known)
    if last < 32:
        return kept, note
    more = meter.measure("steps", [((size,), line.shape) for size in sizes], 6.0)
    tail = [p for p in (*line.points, *more) if p.ended == "ok" and p.sizes[0] >= last // 2]
    tail.sort(key=lambda p: p.sizes[0])
    fit = _fit_points(tail, 0, samples=0)
    if fit.name is None or fit.residual > 0.02:
        return kept, note
    return tail, " by the largest sizes: growth changes below them"


def _steady(points: list[Point]) -> tuple[list[Point], str, bool]:
    """Without the smallest sizes; only the last ones where growth changes on the way."""
    kept = [p for p in points if p.sizes[0] >= 8]
    if len(kept) < 5:
        kept = points[-7:]
    if len(kept) < 4:
        return kept, "", True
    fit = _fit_points(kept, 0, samples=0)
    if fit.name is not None and fit.residual < 0.04 and not _bends_up(kept, fit.name):
        return kept, "", True
    for count in (7, 6, 5, 4):  # the longest tail that fits almost exactly
        tail = kept[-count:]
        again = _fit_points(tail, 0, samples=0)
        if len(tail) == count and again.name is not None and again.residual < 0.004:
            return tail, " by the largest sizes: growth changes below them", True
    return kept, "", False


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
        if meter.spent_s > meter.limit_s:
            break
        size = min(round(cliff * factor), line.maximum)
        point = meter.measure("cpu", [((size,), line.shape)], 12.0)[0]
        if point.ended != "ok":
            break
        points.append(point)
    return points
