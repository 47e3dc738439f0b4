from __future__ import annotations

import ast

import pytest

from assay.sandbox.asserts import rewrite
from assay.sandbox.evaluator import evaluate
from assay.sandbox.job import AssertTest
from assay.sandbox.safe_names import EvaluationError


def plan(source, program="def f(x): ...", setup=""):
    return rewrite(AssertTest(source, setup), program)


@pytest.mark.parametrize(
    ("source", "probes", "checks"),
    [
        ("assert f(1) == 2", ["f(1)"], ["_probe_0 == 2"]),
        ("assert f(1) is None", ["f(1)"], ["_probe_0 is None"]),
        ("assert f(1) in (1, 2)", ["f(1)"], ["_probe_0 in (1, 2)"]),
        ("assert not f(1), 'message'", ["f(1)"], ["not _probe_0"]),
        ("assert abs(f(1) - 0.5) < 1e-06", ["f(1)"], ["abs(_probe_0 - 0.5) < 1e-06"]),
        ("assert set(f((1, 2))) == set((4,))", ["f((1, 2))"], ["set(_probe_0) == set((4,))"]),
        ("assert f(1)[0].x == 3", ["f(1)[0].x"], ["_probe_0 == 3"]),
        (
            "assert S().m(1) == 2 and g() > 1",
            ["S().m(1)", "g()"],
            ["_probe_0 == 2 and _probe_1 > 1"],
        ),
        (
            "for a, b in [(1, 2), (3, 4)]:\n    assert f(a) == b",
            ["f(1)", "f(3)"],
            ["_probe_0 == 2", "_probe_1 == 4"],
        ),
        (
            "assert all(f(a) == b for a, b in [(1, 2), (3, 4)])",
            ["f(1)", "f(3)"],
            ["_probe_0 == 2 and _probe_1 == 4"],
        ),
        ("want = [1, 2]\nassert f(1) == want", ["f(1)"], ["_probe_0 == [1, 2]"]),
        ("x = [2, 1]\nf(x)\nassert x == [1, 2]", ["x"], ["_probe_0 == [1, 2]"]),
        (
            "assert math.isclose(f(1), 2.0, rel_tol=0.1)",
            ["f(1)"],
            ["math.isclose(_probe_0, 2.0, rel_tol=0.1)"],
        ),
    ],
)
def test_rewriting(source, probes, checks):
    made = plan(source)
    assert [text for kind, text in made.steps if kind == "value"] == probes
    assert [ast.unparse(check.expression) for check in made.checks] == checks


@pytest.mark.parametrize(
    "source",
    [
        "assert f(1) == g(2)",  # the expected value would come from the program's process
        "assert True",
        "try:\n    f(1)\n    assert False\nexcept ValueError:\n    pass",
        "if f(1):\n    assert f(2) == 1",
        "assert (lambda x: x)(f)(1) == f(2)",
        "for x in f(1):\n    assert f(x) == 1",
        "assert f(1) ==",
    ],
)
def test_what_stays_in_the_process(source):
    assert plan(source) is None


def test_a_program_cannot_pull_the_comparison_in_by_redefining_builtins():
    made = plan("assert set(f(1)) == set((4, 5))", "def set(x): return 1\ndef f(x): return 0")
    assert [text for _, text in made.steps] == ["f(1)"]


def test_a_function_under_test_may_have_a_builtin_name():
    made = plan("assert max(1) == 7", "def max(x):\n    return 7\n")
    assert [text for _, text in made.steps] == ["max(1)"]
    assert plan("assert max(1) == 7", "def f(x): ...") is None


def test_verdicts_of_a_plan():
    made = plan("for x in range(3):\n    assert f(x) == x * x")
    assert made.failed([0, 1, 4]) == ""
    assert made.failed([0, 1, 5]) == "f(2) == 2 * 2: got 5"
    with pytest.raises(EvaluationError, match="TypeError"):
        plan("assert f(1) + 1 == 2").failed(["x"])


def value(text, **names):
    return evaluate(ast.parse(text, mode="eval").body, names)


def test_evaluator_agrees_with_python():
    texts = [
        "[1, 2][-1] + 3",
        "sorted({3, 1})",
        "1 < 2 < 3",
        "'a' in 'abc'",
        "round(2.567, 1)",
        "[x * y for x in range(3) for y in (1, 2) if x]",
        "{'a': 1}['a']",
        "(1, 2) == [1, 2]",
        "1 if [] else 2",
        "None is None",
        "len('abc') == 3 and 5",
        "[1, 2, 3][::2]",
        "-3 // 2",
    ]
    for text in texts:
        assert value(text) == eval(text), text


@pytest.mark.parametrize(
    "text",
    [
        "9 ** 9 ** 9",
        "[0] * 10**9",
        "'x' * 10**9",
        "range(10**12)",
        "open('x')",
        "().__class__",
        "'%s' % 1",
        "__import__('os')",
        "[x for x in range(10**6) for y in range(10**6)]",
        "f(1)",
        "(lambda: 1)()",
        "'{}'.format(1)",
        "1 << 10**9",
    ],
)
def test_evaluator_refuses(text):
    with pytest.raises(EvaluationError):
        value(text)
