"""Where to measure a program of two variables: lines that grow one of them, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.judges.complexity.fitting import NAMES, choose
from assay.judges.complexity.input_plan import InputPlan
from assay.judges.complexity.probing import Line, Meter, grow

_SMALL, _LARGE = 4, 48  # sizes of one variable while the other grows
_TARGET, _CEILING = 4e4, 4e5
_AFFORDABLE = 3000.0  # steps that a line may cost before its variable grows
SHAPES = 2  #: the first shapes of a plan; put the dear ones first
_ALIKE = 1.1  # what is added at two held sizes differs by less where they do not matter
_ROOM = 4  # a variable bounded by another stays this far below it, where n - k is about n


def lines_of_two(meter: Meter, inputs: InputPlan, budget_s: float) -> list[Line]:
    """Grow each variable with the other small, both together, then each with the other larger.

    The larger size is chosen from what the first lines cost, so that an exponential variable is
    held where it can be afforded.

    Args:
        meter: The program.
        inputs: Makes its inputs; two variables.
        budget_s: CPU seconds for all lines.
    """
    shapes = inputs.shapes[:SHAPES]
    first = [_line(inputs, shape, place, _SMALL) for shape in shapes for place in (0, 1)]
    both = min(inputs.maxima.values())
    if not inputs.relations:
        together = Line("", both, 2 * _TARGET, 2 * _CEILING, fixed=(None, None))
        first += [replace(together, shape=shape, points=[]) for shape in shapes]
    grow(meter, "steps", first, cpu_s=2.5, budget_s=0.6 * budget_s)
    second = []
    for shape in shapes:
        for place in (0, 1):
            other = [
                line
                for line in first
                if line.shape == shape and line.fixed[1 - place] is None and line.fixed[place]
            ]
            held = _held(other[0]) if other else _LARGE
            if held > 2 * _SMALL:
                second.append(_line(inputs, shape, place, held))
    grow(meter, "steps", second, cpu_s=2.5, budget_s=0.4 * budget_s)
    return first + second


def axis_classes(lines: Sequence[Line]) -> tuple[str, str]:
    """The largest class that each variable shows while the other is held."""
    found = []
    for place in (0, 1):
        most = NAMES.index("n")
        for line in lines:
            if line.fixed[place] is not None or line.fixed[1 - place] is None:
                continue
            points = [p for p in line.points if p.sizes[place] >= 6] or line.points
            points = points if len(points) >= 5 else line.points
            if len(points) < 4:
                continue
            sizes = [float(p.sizes[place]) for p in points]
            name, _ = choose(sizes, [max(p.cost, 1e-9) for p in points], noise=0.03)
            most = max(most, NAMES.index(name or "n^2"))
        found.append(NAMES[most])
    return found[0], found[1]


def apart(lines: Sequence[Line]) -> bool:
    """Whether one variable is exponential and the other's cost does not depend on it.

    An exponential variable has few sizes, too few to tell k log n from k. But what k adds to the
    cost while n is held is the same for each held n, where the cost is a sum of the two.
    """
    classes = axis_classes(lines)
    for place in (0, 1):
        if NAMES.index(classes[place]) < NAMES.index("2^n"):
            continue
        added: dict[int, float] = {}
        grown = [line for line in lines if line.fixed[1 - place] is None and line.fixed[place]]
        common = set.intersection(*(set(line.grown) for line in grown)) if len(grown) > 1 else set()
        if len(common) < 4:
            return False
        for line in grown:
            costs = dict(zip(line.grown, line.costs, strict=True))
            added[line.fixed[place] or 0] = costs[max(common)] - costs[min(common)]
        if len(added) > 1 and max(added.values()) < _ALIKE * min(added.values()):
            return True
    return False


def _line(inputs: InputPlan, shape: str, place: int, other: int) -> Line:
    """A line along one variable, cut to sizes that keep the relation between the two."""
    names, most = list(inputs.maxima), list(inputs.maxima.values())
    other = min(other, most[1 - place])
    line = Line(shape, most[place], _TARGET, _CEILING)
    if (names[place], names[1 - place]) in inputs.relations:  # grows up to the other
        other = min(48 * other, most[1 - place])
        line = replace(line, maximum=max(4, min(line.maximum, other // _ROOM)))
    elif (names[1 - place], names[place]) in inputs.relations:  # starts at the other
        least = _ROOM * other
        line = replace(line, start=(least, least + 1, least + least // 2, 2 * least))
    return replace(line, fixed=(None, other) if place == 0 else (other, None))


def _held(line: Line) -> int:
    """The largest size up to `_LARGE` that the line reached cheaply."""
    cheap = [n for n, c in zip(line.grown, line.costs, strict=True) if c <= _AFFORDABLE]
    return min(_LARGE, max(cheap, default=_SMALL))
