"""CPU time, taken outside the program: a check on counted steps, or the only measure there is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.judges.complexity.deciding import Finding, rename
from assay.judges.complexity.fitting import CLASSES, NAMES, fit_costs, relative_fit, slope
from assay.judges.complexity.probing import Line, Meter, grow

_NOISE_S = 0.0015  # what CPU time cannot resolve
_TIMED_S = 0.004  # what it resolves well enough for a ratio
_TIME_NOISE = 0.08
_SLOPE = 0.3  # by how much the growth of time may differ from that of its class


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
    steep = slope(sizes.tolist(), costs.tolist())
    if {name, other} == {"n", "n log n"}:
        # A hash table outgrows the caches and looks like n log n; a sort is steeper still.
        return "n" if steep < 1.05 else "n log n" if 1.12 < steep < 1.3 else None
    if {name, other} == {"n^2", "n^2 log n"}:  # a tenth in the slope: below what noise makes
        return "n^2" if 1.75 < steep < 2.06 else None
    told = slope(sizes.tolist(), CLASSES[name](sizes).tolist()) if name != "1" else 0.0
    if sizes.max() > 60 and abs(steep - told) > _SLOPE:
        return None
    return name if second > 1.25 * best + 0.01 else None
