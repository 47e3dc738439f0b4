"""The static estimator: the time complexity of a program from its syntax tree alone."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.judge import Estimate
from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.expression import Expression, canonical, parse
from assay.judges.complexity.growth import (
    Gauge,
    Monomial,
    exponential,
    logarithm,
    monomial,
    variable,
)
from assay.judges.complexity.growth import times as product
from assay.judges.complexity.interpreter import Interpreter
from assay.judges.complexity.ir import Call, Class, Comprehension, ForEach, Function, Loop, Node
from assay.judges.complexity.lowering import Lowering
from assay.judges.complexity.machine import TooLarge
from assay.judges.complexity.program import Program
from assay.judges.complexity.traversal import walk
from assay.judges.complexity.values import Value
from assay.syntax import require_language

if TYPE_CHECKING:
    from tree_sitter import Parser

    from assay.judges.complexity.features import Description

_NAMES = ("n", "m", "k", "q", "p", "r", "s", "t", "u", "w", "x", "y", "z")
_FEWEST = 3  # evidence lines
_BATCH = 64


@contextmanager
def _collector_off() -> Iterator[None]:
    """Trees are many small objects without cycles: the collector only slows their making down."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class StaticEstimator:
    r"""Reads syntax trees; nothing is run.

    >>> code = "n = int(input())\nfor i in range(n):\n    for j in range(i):\n        print(j)"
    >>> StaticEstimator().estimate([Program(code, "python")])[0].expression
    'n^2'
    """

    name = "static"

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program; what does not parse has none, with confidence 0.

        Raises:
            ConfigError: A language that is not known.
            ImportError: A grammar that is not installed; names the pip command.
        """
        estimates: list[Estimate] = []
        for start in range(0, len(programs), _BATCH):
            with _collector_off():
                estimates += [self._estimate(p) for p in programs[start : start + _BATCH]]
        return estimates

    def describe(self, program: Program) -> tuple[Description, Estimate]:
        """What describes the program for the learned estimator, and the estimate itself."""
        from assay.judges.complexity import features

        reading = read(program)
        if reading is None:
            return features.describe([], Interpreter(program.language), None, None), _UNREADABLE
        estimate = self._from(reading)
        expression = parse(estimate.expression) if estimate.expression else None
        found = features.describe(reading.nodes, reading.machine, reading.total, expression)
        return found, estimate

    def _estimate(self, program: Program) -> Estimate:
        reading = read(program)
        if reading is None:
            return _UNREADABLE
        estimate = self._from(reading)
        reading.machine.forget()
        return estimate

    def _from(self, reading: Reading) -> Estimate:
        total, machine = reading.total, reading.machine
        if total is None:
            return Estimate(None, 0.0, self.name, (), ("too large to read",))
        names = _names(total, machine)
        confidence = 0.95 * math.prod(sorted(machine.doubts)[:4])
        evidence = _evidence(total, machine, names)
        expression = _spelled(total, tuple(sorted(names.items())))
        return Estimate(expression, round(confidence, 3), self.name, evidence, tuple(machine.flags))


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a program.

    Attributes:
        total: Its cost, or None where it was too large.
        machine: The state after reading.
        nodes: The program in the neutral form.
    """

    total: Cost | None
    machine: Interpreter
    nodes: list[Node]


_UNREADABLE = Estimate(None, 0.0, "static", (), ("does not parse",))


def node_kinds(program: Program) -> list[str]:
    """Kinds of the named nodes of a program's tree, in order of the text, without comments."""
    require_language(program.language)
    tree = _parser(program.language).parse(program.source.encode("utf-8", "replace"))
    kinds: list[str] = []
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        if "comment" not in node.type:
            kinds.append(node.type)
            stack.extend(reversed(node.named_children))
    return kinds


def read(program: Program) -> Reading | None:
    """The cost of a program and the machine that read it; None where it does not parse."""
    require_language(program.language)
    tree = _parser(program.language).parse(program.source.encode("utf-8", "replace"))
    root = tree.root_node
    if root.has_error or root.named_child_count == 0:
        return None
    machine = Interpreter(program.language)
    nodes: list[Node] = []
    try:
        nodes = _lowering(program.language).program(root)
        total = machine.settled(run(nodes, machine, program.entry))
        return Reading(total, machine, nodes)
    except (TooLarge, RecursionError):
        return Reading(None, machine, nodes)


def run(nodes: list[Node], machine: Interpreter, entry: str | None) -> Cost:
    """Read what a program runs: its entry, its main, its statements, or what nobody calls."""
    functions = _functions(nodes)
    if entry is not None:
        machine.read([n for n in nodes if isinstance(n, Function | Class)])
        chosen = [f for f in functions if f.name == entry]
        if not chosen:
            known = ", ".join(sorted({f.name for f in functions if f.name})) or "none"
            raise ConfigError(f"no function {entry!r} in the program; it defines: {known}")
        _enter(chosen, machine)
        return machine.sum or ONE
    machine.read(nodes)
    mains = [f for f in functions if f.name == "main"]
    if machine.language != "python" and mains:
        _enter(mains[-1:] if machine.language != "java" else mains[:1], machine)
    elif functions and not machine.called and not _is_script(nodes):
        called = {name for f in functions for name in _called(f)}
        alone = [f for f in functions if f.name not in called and not f.name.startswith("__")]
        _enter(alone or functions, machine)
    return machine.sum or ONE


def _is_script(nodes: list[Node]) -> bool:
    """Whether statements outside functions do something: call, loop or branch."""
    return any(
        not isinstance(node, Function | Class)
        and any(isinstance(part, Call | Loop | ForEach | Comprehension) for part in walk([node]))
        for node in nodes
    )


def _enter(functions: list[Function], machine: Interpreter) -> None:
    for function in functions:
        types = function.types
        given = [
            Value("object")
            if position == 0 and machine.receivers(function)
            else machine.parameter(types[position], function, position)
            for position in range(len(function.parameters))
        ]
        if function.name == "main":
            given = [Value("object") for _ in given]
        machine.invoke(function, given, function, None)


def _functions(nodes: list[Node]) -> list[Function]:
    found: list[Function] = []
    for node in nodes:
        if isinstance(node, Function):
            found.append(node)
        elif isinstance(node, Class):
            found.extend(node.methods)
            found.extend(_functions(node.fields))
    return found


def _called(function: Function) -> set[str]:
    from assay.judges.complexity.facts import function_facts

    return function_facts(function).calls - {function.name}


def _names(total: Cost, machine: Interpreter) -> dict[str, str]:
    """Letters for the sizes in a cost, in the order in which they were first met."""
    used = cost.names(total)
    ordered = [name for name in machine.sizes.values() if name in used]
    letters = [*_NAMES, *(f"n{i}" for i in range(2, 2 + len(ordered)))]
    return dict(zip(ordered, letters, strict=False))


def to_expression(total: Cost, names: dict[str, str]) -> Expression:
    """A cost as an expression."""
    return canonical([[_monomial(term, names) for term in total] or [()]])


def _monomial(term: cost.Term, names: dict[str, str]) -> Monomial:
    result: Monomial = ()
    for name, power, logs in term:
        letter = names.get(name.lstrip("^!"), "n")
        of = variable(letter)
        if name[0] == "^":
            raised = exponential([(math.log(2.0) * power, of)])
            result = product(result, raised or ())
        elif name[0] == "!":
            ((_, log_n),) = logarithm(of)
            stirling = exponential([(1.0, product(of, log_n)), (-1.0, of), (0.5, log_n)])
            result = product(result, stirling or ())
        else:
            powers = {_level(letter, 1): power, _level(letter, 2): logs}
            result = product(result, monomial(powers))
    return result


def _level(letter: str, level: int) -> Gauge:
    return (((letter, level), 1.0),)


def _evidence(total: Cost, machine: Interpreter, names: dict[str, str]) -> tuple[str, ...]:
    """The lines that cost as much as the whole, most first."""
    whole = cost.degree(total)
    lines: list[str] = []
    ranked = [(cost.degree(note[0]), -note[1], note) for note in machine.notes]
    ranked.sort(key=lambda item: item[:2], reverse=True)
    for degree, _, (amount, line, why) in ranked:
        if lines and (degree < whole or len(lines) >= _FEWEST):
            break
        letters = {name: names.get(name, "n") for name in cost.names(amount)}
        text = f"line {line}: {why}: {_spelled(amount, tuple(sorted(letters.items())))}"
        if text not in lines:
            lines.append(text)
    return tuple(lines)


@lru_cache(maxsize=8192)
def _spelled(of: Cost, names: tuple[tuple[str, str], ...]) -> str:
    return str(to_expression(of, dict(names)))


_LOWERINGS = {
    "python": ("lowering_python", "PythonLowering"),
    "java": ("lowering_java", "JavaLowering"),
    "c": ("lowering_c", "CLowering"),
    "cpp": ("lowering_c", "CLowering"),
    "javascript": ("lowering_javascript", "JavaScriptLowering"),
    "go": ("lowering_go", "GoLowering"),
    "rust": ("lowering_rust", "RustLowering"),
}


@cache
def _lowering(language: str) -> Lowering:
    module, name = _LOWERINGS[language]
    made: Lowering = getattr(import_module(f"assay.judges.complexity.{module}"), name)()
    return made


_local = threading.local()


def _parser(language: str) -> Parser:
    parsers = _local.__dict__.setdefault("parsers", {})
    if language not in parsers:
        from tree_sitter import Parser

        from assay.syntax import grammar

        parsers[language] = Parser(grammar(language))
    found: Parser = parsers[language]
    return found
