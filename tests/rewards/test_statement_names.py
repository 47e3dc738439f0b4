from __future__ import annotations

import ast

import pytest

from assay.rewards.statement_names import bound, read


@pytest.mark.parametrize(
    ("source", "reads", "binds"),
    [
        ("x = x + y", "x y", "x"),
        ("x += 1", "x", "x"),
        ("a.b = c[d]", "a c d", ""),
        ("for i in xs:\n    y = i\nelse:\n    z = y", "xs", "i y z"),
        ("[i for i in xs if i > k]", "xs k", ""),
        ("{k: v for k, v in xs}", "xs", ""),
        ("(y := f(x))", "f x", "y"),
        ("def f(a, b=c):\n    d = a\n    return d + e", "c e", "f"),
        ("lambda a: a + b", "b", ""),
        ("with open(p) as f:\n    f.read()", "open p", "f"),
        ("try:\n    x = 1\nexcept E as e:\n    print(e)", "E print", "x e"),
        ("import a.b as c, d.e", "", "c d"),
        ("match x:\n    case [y, *z]:\n        y", "x", "y z"),
        ("class A(B):\n    c = d", "B d", "A"),
    ],
)
def test_what_a_statement_reads_and_binds(source: str, reads: str, binds: str) -> None:
    (statement,) = ast.parse(source).body
    assert read(statement) == set(reads.split())
    assert bound(statement) == set(binds.split())


def test_statements_in_order() -> None:
    assert read(ast.parse("x = y\nz = x\nw = v").body) == {"y", "v"}
