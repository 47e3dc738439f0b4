from __future__ import annotations

import datetime
import enum
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.judges.strict_json import encode_line, plain


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: float
    y: Any


def reject(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def roundtrip(value: Any) -> Any:
    line = encode_line(value)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return json.loads(line, parse_constant=reject)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ([math.nan, math.inf, -math.inf], ["NaN", "Infinity", "-Infinity"]),
        ({"deep": [{"v": math.nan}]}, {"deep": [{"v": "NaN"}]}),
        ([np.float64(0.5), np.float32(0.5), np.int64(3), np.bool_(True)], [0.5, 0.5, 3, True]),
        (np.float32("nan"), "NaN"),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        ({"s": {3, 1, 2}}, {"s": [1, 2, 3]}),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2,)), [1, [2]]),
        (b"ok \xff", "ok \\xff"),
        ({1: "a", None: "b", (1, 2): "c", "z": object}, None),
        (Colour.RED, "red"),
        (Point(1.0, {2}), {"x": 1.0, "y": [2]}),
        (Path("a/b"), "a/b"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        ("line\nbreak \u2028 and snow ☃", "line\nbreak \u2028 and snow ☃"),
        ("lone surrogate \ud800", "lone surrogate \ud800"),
    ],
)
def test_evidence_becomes_strict_json(value: Any, expected: Any) -> None:
    found = roundtrip(value)
    if expected is None:
        assert found == {"1": "a", "null": "b", "[1, 2]": "c", "z": "<class 'object'>"}
    else:
        assert found == expected


def test_tensors_become_lists() -> None:
    torch = pytest.importorskip("torch", reason="needs torch (extra models)")
    assert roundtrip({"t": torch.tensor([[1.0, 2.0]])}) == {"t": [[1.0, 2.0]]}


def test_a_cycle_ends() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    assert roundtrip(loop)["self"]["a"] == 1
    assert "..." in json.dumps(plain(loop))


@pytest.mark.timeout(30)
def test_a_graph_of_cycles_does_not_unfold() -> None:
    """A node that knows its parent and its many children, as trees do."""

    @dataclass
    class Node:
        parent: Any
        children: list[Any]

    root = Node(None, [])
    root.children = [Node(root, []) for _ in range(10)]
    row = roundtrip({"info": root})
    assert len(row["info"]["children"]) == 10
    assert len(json.dumps(row)) < 20_000


def test_what_stands_twice_side_by_side_is_written_twice() -> None:
    shared = {1, 2}
    assert plain([shared, shared]) == [[1, 2], [1, 2]]


def test_a_number_too_long_to_write_becomes_text() -> None:
    assert roundtrip({"n": 10**5000})["n"].startswith("0x")
    assert roundtrip({"n": 10**50}) == {"n": 10**50}
