"""Counts the steps of an instrumented Python program; runs inside the sandbox, with the program.

`counting` rewrites a program so that loops, comprehensions and functions add to `steps`, and calls
go through `priced`, which adds what a call of the library costs at the size it is given: a sort
n log n unless its list is in order, a slice its length, `x in list` the elements it compares. A
step weighs about as much as one turn of a Python loop; what C does to an element weighs less.

The program shares this process and can forge the count. That is why the estimator believes it only
where the CPU time, taken outside, grows alike.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import itertools
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

Price = Callable[[Any, tuple[Any, ...], Any], float]  # (owner, arguments, result)

steps = [0.0]
_COPY = 1 / 8  #: an element copied or compared in C
_LETTER = 1 / 64  #: a character of a text: no object behind it
_SCAN = 1 / 4  #: an element looked at through its type's slots
_SIZED = (list, tuple, set, frozenset, dict, str, bytes, bytearray, range, collections.deque)
_depth = [0]


def one() -> bool:
    """A step of a comprehension; always true."""
    steps[0] += 1
    return True


def bulk(value: Any) -> Any:
    """A value whose elements were just copied: a slice, a sum of lists, a starred argument."""
    if isinstance(value, _SIZED):
        steps[0] += len(value) * (_LETTER if isinstance(value, str | bytes) else _COPY)
    elif type(value) is int and value > 1 << 64:
        steps[0] += value.bit_length() / 64 - 1  # one word is what every number costs
    return value


def inside(item: Any, container: Any) -> bool:
    """`item in container`, at the price of the elements compared."""
    found = item in container
    if isinstance(container, list | tuple | collections.deque):
        steps[0] += (container.index(item) + 1 if found else len(container)) * _SCAN
    elif isinstance(container, str | bytes):
        steps[0] += len(container) * _LETTER
    return found


def removal(container: Any) -> None:
    """Elements of a list move when a slice is stored or an item deleted."""
    if isinstance(container, list):
        steps[0] += len(container) * _COPY


def priced(function: Any) -> Any:
    """The function itself, or one that pays for it as well."""
    steps[0] += 1
    kind = type(function)
    if kind is FunctionType or kind is MethodType:
        return function
    owner = None
    rule: Price | None
    if kind is BuiltinFunctionType:
        owner = function.__self__
        if owner is None or type(owner) is ModuleType:
            rule = _FUNCTIONS.get(function)
        else:
            rule = _method(owner, function.__name__)
    elif isinstance(function, type):
        if function in _LAZY:
            return functools.partial(_lazy, function)
        rule = _result if function in _TYPES else None
        if function is collections.Counter:
            rule = _first
    else:
        rule = None
    if rule is None:
        return function
    return functools.partial(_pay, function, rule, owner)


def reporting(function: Any, report: Callable[[], None]) -> Any:
    """The entry function, reporting when its outermost call ends."""

    @functools.wraps(function)
    def entry(*arguments: Any, **keywords: Any) -> Any:
        _depth[0] += 1
        if _depth[0] == 1:
            steps[0] = 0.0
        try:
            return function(*arguments, **keywords)
        finally:
            _depth[0] -= 1
            if _depth[0] == 0:
                report()

    return entry


def report(token: str) -> None:
    """Write the count where the estimator reads it."""
    os.write(2, f"\n{token} {steps[0]:.3f}\n".encode())


def _pay(function: Any, rule: Price, owner: Any, *arguments: Any, **keywords: Any) -> Any:
    if rule is _sort:
        subject = owner if owner is not None and type(owner) is list else arguments[0]
        if not isinstance(subject, _SIZED):
            subject = list(subject)
            arguments = (subject, *arguments[1:])
        steps[0] += _sorting(subject, bool(keywords.get("key")))
        return function(*arguments, **keywords)
    result = function(*arguments, **keywords)
    steps[0] += rule(owner, arguments, result)
    return result


def _lazy(kind: Any, *arguments: Any, **keywords: Any) -> Iterator[Any]:
    return _stepping(kind(*arguments, **keywords))


def _stepping(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        steps[0] += _SCAN
        yield value


def _sorting(values: Any, keyed: bool) -> float:
    """Timsort: n steps on a rising or falling list, else n log n."""
    n = len(values)
    if n < 2:
        return 1.0
    if not keyed and isinstance(values, list | tuple):
        try:
            following = itertools.islice(values, 1, None)
            if all(map(operator.le, values, following)):
                return n * 0.5
            if all(map(operator.ge, values, itertools.islice(values, 1, None))):
                return n * 0.5
        except TypeError:
            pass
    return n * (1.0 + math.log2(n)) * 0.5


def _length(value: Any) -> float:
    return float(len(value)) if isinstance(value, _SIZED) else 0.0


def _result(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return _length(result) * (_LETTER if isinstance(result, str | bytes) else _SCAN)


def _first(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return sum(_length(a) for a in arguments[:1]) * _SCAN


def _owner(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return _length(owner) * (_LETTER if isinstance(owner, str | bytes) else _SCAN)


def _all(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return (_length(owner) + sum(map(_length, arguments))) * _SCAN


def _smaller(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return min([_length(owner), *map(_length, arguments)]) * _SCAN


def _moved(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    """Elements behind the place of an insertion or removal in a list."""
    if not arguments or not isinstance(owner, list):
        return 0.0
    place = int(arguments[0])
    place = max(0, place + len(owner)) if place < 0 else min(place, len(owner))
    return (len(owner) - place) * _COPY


def _found(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return (int(result) + 1) * _SCAN


def _heap(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return math.log2(len(arguments[0]) + 2) * 0.5


def _bisection(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return math.log2(len(arguments[0]) + 1) * 0.5


def _insort(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return math.log2(len(arguments[0]) + 1) * 0.5 + len(arguments[0]) * _COPY / 2


def _largest(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return _length(arguments[1]) * math.log2(arguments[0] + 2) * 0.5


def _power(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    if len(arguments) == 3:
        return float(abs(int(arguments[1])).bit_length()) * 0.5
    return result.bit_length() / 64 if type(result) is int else 0.0


def _euclid(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return sum(int(a).bit_length() for a in arguments) * 0.125


def _counted(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return float(arguments[-1]) * _SCAN


def _turned(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    return float(abs(arguments[0])) * _COPY if arguments else _COPY


def _sort(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    raise AssertionError("a sort is paid for before it runs")


def _parts(owner: Any, arguments: tuple[Any, ...], result: Any) -> float:
    """A text cut into pieces: every piece is an object."""
    return _length(owner) * _LETTER + _length(result) * _SCAN


_TYPES: set[Any] = {
    list,
    tuple,
    set,
    frozenset,
    dict,
    collections.deque,
    collections.OrderedDict,
    str,
    bytes,
}
_TYPES |= {bytearray, collections.defaultdict}
_LAZY: set[Any] = {map, filter, zip, enumerate, reversed}
_LAZY |= {kind for kind in vars(itertools).values() if isinstance(kind, type)} - {itertools.tee}

_FUNCTIONS: dict[Any, Price] = {
    **dict.fromkeys((sum, min, max, any, all, functools.reduce, heapq.heapify), _first),
    **dict.fromkeys((input, repr, bin, format, divmod), _result),
    **dict.fromkeys((heapq.heappush, heapq.heappop, heapq.heapreplace, heapq.heappushpop), _heap),
    **dict.fromkeys((bisect.bisect_left, bisect.bisect_right), _bisection),
    **dict.fromkeys((bisect.insort_left, bisect.insort_right), _insort),
    heapq.nlargest: _largest,
    heapq.nsmallest: _largest,
    sorted: _sort,
    pow: _power,
    math.gcd: _euclid,
    math.factorial: _counted,
    math.comb: _counted,
    math.prod: _first,
    math.fsum: _first,
    builtins.print: _all,
}

_METHODS: dict[type, dict[str, Price]] = {
    list: {
        "sort": _sort,
        "extend": _first,
        "insert": _moved,
        "pop": _moved,
        "index": _found,
        **dict.fromkeys(("remove", "count", "reverse", "copy", "clear"), _owner),
    },
    tuple: {"index": _found, "count": _owner},
    str: {
        **dict.fromkeys(("join", "format", "ljust", "rjust", "zfill", "replace"), _result),
        **dict.fromkeys(("find", "rfind", "index", "rindex", "count"), _owner),
        **dict.fromkeys(("split", "rsplit", "splitlines", "partition"), _parts),
        **dict.fromkeys(("strip", "lstrip", "rstrip", "encode"), _owner),
        **dict.fromkeys(("lower", "upper", "translate", "isdigit"), _owner),
        **dict.fromkeys(("startswith", "endswith"), _first),
    },
    bytes: {
        **dict.fromkeys(("join", "replace"), _result),
        **dict.fromkeys(("find", "count", "strip", "decode"), _owner),
        **dict.fromkeys(("split", "splitlines"), _parts),
    },
    dict: {"copy": _owner, "update": _first, "fromkeys": _result, "clear": _owner},
    set: {
        **dict.fromkeys(("update", "union", "difference", "symmetric_difference"), _all),
        **dict.fromkeys(("issuperset", "issubset", "difference_update"), _all),
        **dict.fromkeys(("intersection", "intersection_update", "isdisjoint"), _smaller),
        **dict.fromkeys(("copy", "clear"), _owner),
    },
    collections.deque: {
        "rotate": _turned,
        **dict.fromkeys(("extend", "extendleft"), _first),
        **dict.fromkeys(("insert", "remove", "index", "count", "reverse", "copy"), _owner),
    },
}


def _method(owner: Any, name: str) -> Price | None:
    kind = type(owner)
    table = _METHODS.get(kind)
    if table is None:
        if name in ("read", "readline", "readlines", "split"):
            return _result
        base = next((known for known in _METHODS if isinstance(owner, known)), None)
        table = _METHODS[base] if base is not None else {}
    return table.get(name)
