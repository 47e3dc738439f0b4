"""Tests of rows as the data sets on the hub have them.

| data set | columns read |
|---|---|
| HumanEval | `test`, `entry_point` (and the prompt's own helpers) |
| MBPP | `test_list`, with `test_setup_code` or `test_imports` |
| APPS, TACO | `input_output`: JSON `{"inputs", "outputs", "fn_name"?}`, with `starter_code` |
| CodeContests | `public_tests`, `private_tests`, `generated_tests`: `{"input", "output"}` lists |
| LiveCodeBench | `public_test_cases`, `private_test_cases`, with `metadata` and `starter_code` |
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.rewards.humaneval import check_tests, prelude_of
from assay.rewards.problem_tests import Tests, parsed
from assay.sandbox import FunctionTest, StdioTest

#: Most bytes that LiveCodeBench's compressed tests may unpack to.
MAX_UNPACKED = 512 << 20
_CONTESTS = ("public_tests", "private_tests", "generated_tests")


#: Sets of columns, one of which a row of a known format has.
KNOWN_COLUMNS: tuple[frozenset[str], ...] = (
    frozenset({"test", "entry_point"}),
    frozenset({"test_list"}),
    frozenset({"input_output"}),
    *(frozenset({column}) for column in _CONTESTS),
    frozenset({"public_test_cases"}),
    frozenset({"private_test_cases"}),
)
#: What LeetCode's own runner imports before a `class Solution`; answers leave it out.
LEETCODE_PRELUDE = """\
import bisect, collections, copy, functools, heapq, itertools, math, random, re, string
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from typing import *
"""


def hub_tests(row: Mapping[str, Any], prompt: str = "") -> Tests | None:
    """Tests of a row in one of the known formats, or None where it has none of their columns.

    Raises:
        DataError: The columns are there but cannot be read.
    """
    if row.get("test") is not None and row.get("entry_point") is not None:
        return _humaneval(row, prompt)
    if row.get("test_list") is not None:
        return _mbpp(row)
    if row.get("input_output") is not None:
        return _apps(row)
    if any(row.get(column) is not None for column in _CONTESTS):
        return _code_contests(row)
    if row.get("public_test_cases") is not None or row.get("private_test_cases") is not None:
        return _live_code_bench(row)
    return None


def _humaneval(row: Mapping[str, Any], prompt: str) -> Tests:
    test, entry = row["test"], row["entry_point"]
    if not isinstance(entry, str) or not isinstance(test, str):
        raise DataError("HumanEval's `test` and `entry_point` must be text")
    return Tests(check_tests(test, entry, prompt), prelude=prelude_of(prompt))


def _mbpp(row: Mapping[str, Any]) -> Tests:
    tests = _texts(parsed(row["test_list"], "test_list"), "test_list")
    imports = _texts(parsed(row.get("test_imports") or [], "test_imports"), "test_imports")
    setup = row.get("test_setup_code") or ""
    if not isinstance(setup, str):
        raise DataError(f"column 'test_setup_code' must be text, got {type(setup).__name__}")
    return Tests.asserts(tests, "\n".join([*imports, setup]).strip())


def _apps(row: Mapping[str, Any]) -> Tests:
    value = parsed(row["input_output"] or {}, "input_output")
    if value in ({}, []):
        return Tests()
    if not isinstance(value, Mapping):
        raise DataError(f"column 'input_output' must be an object, got {type(value).__name__}")
    inputs, outputs = _paired(value, "inputs", "outputs", "input_output")
    name = value.get("fn_name")
    if name is None:
        return Tests.stdio([(_lines(i), _lines(o)) for i, o in zip(inputs, outputs, strict=True)])
    # Call-based outputs are wrapped in a list in most rows and bare in others.
    if all(isinstance(o, list) and len(o) == 1 for o in outputs):
        outputs = [o[0] for o in outputs]
    entry = _entry(str(name), row)
    pairs = [(i if isinstance(i, list) else [i], o) for i, o in zip(inputs, outputs, strict=True)]
    return Tests.function(entry, pairs, prelude=_prelude(entry))


def _code_contests(row: Mapping[str, Any]) -> Tests:
    pairs: list[tuple[str, str]] = []
    for column in _CONTESTS:
        value = parsed(row.get(column) or {}, column)
        if isinstance(value, Sequence):  # one object per test
            value = {
                "input": [_field(item, "input", column) for item in value],
                "output": [_field(item, "output", column) for item in value],
            }
        if not value:
            continue
        inputs, outputs = _paired(value, "input", "output", column)
        pairs += [(_lines(i), _lines(o)) for i, o in zip(inputs, outputs, strict=True)]
    return Tests.stdio(pairs)


def _live_code_bench(row: Mapping[str, Any]) -> Tests:
    cases: list[StdioTest | FunctionTest] = []
    metadata = parsed(row.get("metadata") or {}, "metadata")
    name = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    for column in ("public_test_cases", "private_test_cases"):
        for item in _unpacked(row.get(column) or [], column):
            given, expected = _field(item, "input", column), _field(item, "output", column)
            if _field(item, "testtype", column) == "stdin":
                cases.append(StdioTest(given, expected))
                continue
            if not isinstance(name, str) or not name:
                raise DataError(f"column {column!r} calls a function, `metadata` has no func_name")
            arguments = [_json(line, column) for line in given.splitlines() if line.strip()]
            value = _json(expected, column)
            cases.append(FunctionTest(_entry(name, row), tuple(arguments), value))
    if len({type(case) for case in cases}) > 1:
        raise DataError("the row mixes stdin and function tests; all must be of one kind")
    prelude = _prelude(cases[0].entry) if cases and isinstance(cases[0], FunctionTest) else ""
    return Tests(tuple(cases), prelude)


def _prelude(entry: str) -> str:
    return LEETCODE_PRELUDE if entry.startswith("Solution.") else ""


def _unpacked(value: Any, column: str) -> Sequence[Any]:
    """Test cases as they are, as JSON, or as base64 of zlib of a pickled JSON string."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        try:
            packed = zlib.decompressobj()
            data = packed.decompress(base64.b64decode(value, validate=True), MAX_UNPACKED)
            if packed.unconsumed_tail:
                raise DataError(f"column {column!r} unpacks to more than {MAX_UNPACKED} bytes")
            value = _TextOnly(io.BytesIO(data)).load()
        except DataError:
            raise
        except Exception as error:  # broken pickles raise whatever they come across
            raise DataError(
                f"column {column!r} is neither JSON nor LiveCodeBench's packed form: {error}"
            ) from None
    value = parsed(value, column)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise DataError(f"column {column!r} must be a list of tests, got {type(value).__name__}")
    return value


class _TextOnly(pickle.Unpickler):
    """Reads plain values; a pickle that names any class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it would load {module}.{name}; only text is read")


def _entry(name: str, row: Mapping[str, Any]) -> str:
    """`Solution.f` where the starter code is a class, as on LeetCode."""
    starter = row.get("starter_code")
    return f"Solution.{name}" if isinstance(starter, str) and "class Solution" in starter else name


def _paired(
    value: Any, first: str, second: str, column: str
) -> tuple[Sequence[Any], Sequence[Any]]:
    if not isinstance(value, Mapping):
        raise DataError(f"column {column!r} must be an object, got {type(value).__name__}")
    inputs, outputs = value.get(first), value.get(second)
    if not isinstance(inputs, list | tuple) or not isinstance(outputs, list | tuple):
        raise DataError(f"column {column!r} needs lists {first!r} and {second!r}")
    if len(inputs) != len(outputs):
        raise DataError(f"column {column!r}: {len(inputs)} {first}, {len(outputs)} {second}")
    return inputs, outputs


def _texts(value: Any, column: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise DataError(f"column {column!r} must be a list of texts, got {type(value).__name__}")
    if not all(isinstance(item, str) for item in value):
        raise DataError(f"column {column!r} must hold texts only")
    return list(value)


def _lines(value: Any) -> str:
    """Text, or the lines of one: some rows have lists of lines."""
    if isinstance(value, list | tuple):
        return "\n".join(_lines(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


def _field(item: Any, key: str, column: str) -> str:
    if not isinstance(item, Mapping) or not isinstance(item.get(key), str):
        raise DataError(f"column {column!r}: each test must be an object with text {key!r}")
    return str(item[key])


def _json(text: str, column: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"column {column!r}: {text!r:.60} is not JSON: {error}") from None
