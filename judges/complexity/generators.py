r"""Input generators inferred from one example input.

An example such as `5 2\n1 4 2 3 9\n1 3\n2 4\n` is read as a template: numbers of the first line
that count something later (values in a line, lines, letters) are the variables, the rest keeps its
kind and its range. Recognised: integers, arrays, permutations, sorted arrays, texts, grids, trees
(edges or parents) and graphs. What is inferred is a guess: a generator written for the problem is
better.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.judges.complexity import shapes
from assay.judges.complexity.input_plan import InputPlan

Kind = Literal["integers", "sorted", "permutation", "words", "parents", "edges", "tree"]
_NAMES = ("n", "m", "k")
_VALUE_MAXIMUM = 10**12
_SIZE_MAXIMUM = 200_000


@dataclass(frozen=True)
class Extent:
    """A length: a header number plus `offset`, or a constant (`header` None)."""

    header: int | None
    offset: int

    def at(self, sizes: Sequence[int]) -> int:
        """The length when the header holds these numbers."""
        return max(0, self.offset + (0 if self.header is None else sizes[self.header]))


@dataclass(frozen=True)
class Block:
    """Lines of one form.

    Attributes:
        rows: How many lines.
        width: Items on each; letters of each for `words`.
        kind: What stands there.
        low: Least value.
        high: Greatest value.
        letters: Letters of words.
        vertices: Header number that counts the vertices of edges.
    """

    rows: Extent
    width: Extent
    kind: Kind
    low: int = 0
    high: int = 10**6
    letters: tuple[str, ...] = ()
    vertices: int | None = None

    def values(self, sizes: Sequence[int], rng: random.Random, shape: str) -> list[list[Any]]:
        """Fresh lines."""
        rows, width = self.rows.at(sizes), self.width.at(sizes)
        if self.kind == "words":
            return [[shapes.text(width, rng, shape, self.letters)] for _ in range(rows)]
        if self.kind == "parents":
            return [list(shapes.parents(width + 1, rng, shape))]
        if self.kind == "tree":
            above = shapes.parents(rows + 1, rng, shape)
            return [[p, i + 2, *self._rest(width, rng)] for i, p in enumerate(above)]
        if self.kind == "edges":
            pairs = shapes.edges(sizes[self.vertices or 0], rows, rng, shape)
            return [[a, b, *self._rest(width, rng)] for a, b in pairs]
        if self.kind == "permutation":
            return [list(shapes.permutation(width, rng, shape)) for _ in range(rows)]
        if rows > 1 and width <= 3:  # columns, each with the shape
            columns = [shapes.integers(rows, rng, shape, self.low, self.high) for _ in range(width)]
            return [list(row) for row in zip(*columns, strict=True)]
        found = [shapes.integers(width, rng, shape, self.low, self.high) for _ in range(rows)]
        return [sorted(row) for row in found] if self.kind == "sorted" else found

    def _rest(self, width: int, rng: random.Random) -> list[int]:
        return [rng.randint(max(self.low, 0), self.high) for _ in range(width - 2)]


@dataclass(frozen=True)
class Template:
    """A header and the blocks below it; called, it makes stdin text.

    Attributes:
        header: Example values of the header.
        variables: Places in the header (or beyond it, where there is no header) that grow.
        blocks: What follows.
        shown: Whether the header is printed.
    """

    header: tuple[int, ...]
    variables: tuple[int, ...]
    blocks: tuple[Block, ...]
    shown: bool = True

    def __call__(self, *sizes: int, seed: int, shape: str = "random") -> str:
        """Fresh input."""
        rng = random.Random(f"{seed} {sizes} {shape}")
        numbers = list(self.header)
        for place, size in zip(self.variables, sizes, strict=True):
            numbers[place] = size
        for place in range(len(numbers)):  # a parameter stays what it was, within the sizes
            if (
                place not in self.variables
                and self.variables
                and numbers[place] <= max(self.header)
            ):
                numbers[place] = min(numbers[place], max(sizes))
        lines = [" ".join(map(str, numbers))] if self.shown else []
        for block in self.blocks:
            lines += [" ".join(map(str, row)) for row in block.values(numbers, rng, shape)]
        return "\n".join(lines) + "\n"


def infer(example: str) -> InputPlan | None:
    r"""An input plan from an example of stdin, or None where no variable is found.

    >>> plan = infer("5\n3 1 4 1 5\n")
    >>> dict(plan.maxima)
    {'n': 200000}
    >>> plan.generate(3, seed=0, shape="equal").split()[0]
    '3'
    """
    lines = [line.split() for line in example.splitlines() if line.strip()]
    if not lines:
        return None
    if all(map(_is_integer, lines[0])) and len(lines[0]) <= len(_NAMES):
        header, body = tuple(map(int, lines[0])), lines[1:]
        if not body:
            most = dict.fromkeys(_NAMES[: len(header)], _VALUE_MAXIMUM)
            places = tuple(range(len(header)))
            return InputPlan(Template(header, places, ()), most, ("random",))
        return _plan(header, body, shown=True)
    lengths = [len(lines[0])] if all(map(_is_integer, lines[0])) else []
    if not lengths:
        lengths = list(dict.fromkeys(len(line[0]) for line in lines if len(line) == 1))[:2]
    return _plan(tuple(lengths), lines, shown=False) if lengths else None


def _plan(header: tuple[int, ...], body: list[list[str]], *, shown: bool) -> InputPlan | None:
    blocks: list[Block] = []
    start = 0
    while start < len(body):
        end = start + 1
        while end < len(body) and _form(body[end]) == _form(body[start]):
            end += 1
        counted = [i for i, h in enumerate(header) if h == end - start]
        if not counted and end - start > 1 and _apart(header, body[start:end]):
            end = start + 1
        blocks.append(_block(header, body[start:end]))
        start = end
    used = {e.header for b in blocks for e in (b.rows, b.width) if e.header is not None}
    used |= {b.vertices for b in blocks if b.vertices is not None}
    if not used:
        return None
    places = tuple(sorted(used))
    template = Template(header, places, tuple(blocks), shown)
    square = any(b.rows.header is not None and b.width.header is not None for b in blocks)
    most = 1000 if square else _SIZE_MAXIMUM
    return InputPlan(template, {_NAMES[p]: most for p in places}, shapes.SHAPES)


def _form(line: list[str]) -> tuple[int, bool]:
    return len(line), all(map(_is_integer, line))


def _apart(header: tuple[int, ...], lines: list[list[str]]) -> bool:
    """Lines that are alike but stand for different things: two arrays, two words."""
    width = len(lines[0]) if all(map(_is_integer, lines[0])) else len(lines[0][0])
    return width in header


def _block(header: tuple[int, ...], lines: list[list[str]]) -> Block:
    rows = _extent(header, len(lines), None) if len(lines) > 1 else Extent(None, 1)
    if not all(map(_is_integer, lines[0])):
        letters = tuple(sorted({c for line in lines for word in line for c in word}))
        width = _extent(header, len(lines[0][0]), rows.header)
        return Block(rows, width, "words", letters=letters)
    values = [int(one) for line in lines for one in line]
    low, high = _range(values)
    if len(lines) > 1 and len(lines[0]) in (2, 3):
        ends = [int(one) for line in lines for one in line[:2]]
        for place, size in enumerate(header):
            if min(ends) >= 1 and max(ends) <= size:
                if rows.header == place and rows.offset == 0 and len(lines) == size:
                    continue  # as many lines as vertices: pairs of values more often
                kind: Kind = "tree" if len(lines) == size - 1 else "edges"
                width = Extent(None, len(lines[0]))
                count = Extent(place, -1) if kind == "tree" else rows
                return Block(count, width, kind, 1, 10**6, vertices=place)
    if len(lines) == 1:
        width = _extent(header, len(values), None)
    else:
        width = Extent(None, len(lines[0]))
        if len(lines[0]) > 3 or len(header) > 1 or len(lines[0]) == len(lines):
            width = _extent(header, len(lines[0]), rows.header)
    kind = "integers"
    if len(lines) == 1 and width.header is not None:
        if width.offset == -1 and all(1 <= p <= i + 1 for i, p in enumerate(values)):
            kind = "parents"
        elif len(values) > 2 and sorted(values) == list(range(1, len(values) + 1)):
            kind = "permutation"
        elif len(values) > 3 and values == sorted(set(values)):
            kind = "sorted"
    return Block(rows, width, kind, low, high)


def _extent(header: tuple[int, ...], length: int, taken: int | None) -> Extent:
    """The header number that the length equals (another than `taken` if there is one)."""
    same = [i for i, h in enumerate(header) if h == length]
    same.sort(key=lambda i: i == taken)
    if same:
        return Extent(same[0], 0)
    less = [i for i, h in enumerate(header) if h == length + 1 and length > 0]
    return Extent(less[0], -1) if less else Extent(None, length)


def _range(values: list[int]) -> tuple[int, int]:
    if set(values) <= {0, 1}:
        return 0, 1
    return (-(10**6), 10**6) if min(values) < 0 else (min(1, *values), 10**6)


def _is_integer(word: str) -> bool:
    return word.lstrip("-").isdecimal()
