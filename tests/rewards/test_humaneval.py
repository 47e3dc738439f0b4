"""`check(candidate)` taken apart means what it means as a whole: right passes, wrong does not."""

from __future__ import annotations

import pytest

from assay.rewards import PassRate
from assay.rewards.humaneval import check_tests

RIGHT = "```python\ndef f(x):\n    return x + 1\n```"
WRONG = "```python\ndef f(x):\n    return 0\n```"

#: Source around `check`, and into how many tests it comes apart.
CHECKS = {
    "asserts in a function of its own": (
        "def check(candidate):\n    def t(x, y):\n        assert candidate(x) == y\n    t(1, 2)",
        1,
    ),
    "asserts in a class of its own": (
        "def check(c):\n    class T:\n        def run(self):\n            assert c(1) == 2\n"
        "    T().run()",
        1,
    ),
    "a helper that asserts, after an assert": (
        "def same(a, b):\n    assert a == b\n"
        "def check(candidate):\n    assert candidate(-1) == 0\n    same(candidate(2), 3)",
        1,
    ),
    "unittest's asserts, after an assert": (
        "import unittest\nT = unittest.TestCase()\n"
        "def check(candidate):\n    assert candidate(-1) == 0\n    T.assertEqual(candidate(2), 3)",
        1,
    ),
    "raise": (
        "def check(candidate):\n    assert candidate(-1) == 0\n"
        "    if candidate(2) != 3:\n        raise ValueError",
        1,
    ),
    "a trailing call that must not fail": (
        "def check(candidate):\n    assert candidate(-1) == 0\n"
        "    {3: 1}.__getitem__(candidate(2))",
        1,
    ),
    "a loop binds what a later assert reads": (
        "def check(candidate):\n    for i in range(3):\n        last = candidate(i)\n"
        "        assert last == i + 1\n    assert last == 3",
        1,
    ),
    "a loop adds up what a later assert reads": (
        "def check(candidate):\n    total = 0\n    for i in range(3):\n"
        "        total += candidate(i)\n"
        "        assert total > -1\n    assert total == 6",
        1,
    ),
    "a loop fills what a later assert reads": (
        "def check(candidate):\n    xs = []\n    for i in range(3):\n"
        "        xs.append(candidate(i))\n"
        "        assert xs\n    assert xs == [1, 2, 3]",
        1,
    ),
    "an assert on what the candidate was given": (
        "def check(c):\n    xs = [1]\n    assert c(xs[0]) == 2\n    assert xs == [1]",
        1,
    ),
    "a walrus": ("def check(c):\n    assert (r := c(1)) == 2\n    assert r == 2", 1),
    "return": ("def check(c):\n    assert c(1) == 2\n    return\n    assert False", 1),
    "global": ("N = 0\ndef check(c):\n    global N\n    N = c(1)\n    assert N == 2", 1),
    "a parameter called candidate": (
        "def check(candidate):\n    g = lambda candidate: candidate + 1\n"
        "    assert g(1) == candidate(1)",
        1,
    ),
    "candidate wrapped": (
        "def check(candidate):\n    old = candidate\n    candidate = lambda x: old(x)\n"
        "    assert candidate(1) == 2",
        1,
    ),
    "the module calls check itself": (
        "def check(f):\n    assert f(1) == 2\n    assert f(2) == 3\n\ncheck(f)",
        2,
    ),
    "loops with one variable": (
        "def check(c):\n    for i in range(3):\n        assert c(i) == i + 1\n"
        "    for i in range(5):\n        assert c(i) == i + 1",
        2,
    ),
    "asserts over one list": (
        "import math\ndef check(c):\n    xs = [1, 2]\n    assert all(c(x) == x + 1 for x in xs)\n"
        "    assert math.isclose(c(xs[0]), 2)\n    assert math.isclose(c(xs[1]), 3)",
        3,
    ),
    "a value for each assert": (
        "def check(c):\n    got = c(1)\n    assert got == 2\n    got = c(2)\n    assert got == 3",
        2,
    ),
    "an exception is asked for": (
        "def check(c):\n    try:\n        c('a')\n        assert False\n    except TypeError:\n"
        "        pass\n    assert c(1) == 2",
        2,
    ),
    "hints and a message": (
        "from typing import Callable\ndef check(candidate: Callable[[int], int], /) -> None:\n"
        "    assert candidate(1) == 2, f'candidate(1) is {candidate(1)}'\n    print('candidate')",
        1,
    ),
}


@pytest.mark.parametrize(("test", "count"), CHECKS.values(), ids=CHECKS)
def test_a_check_passes_what_is_right_and_nothing_else(test: str, count: int) -> None:
    assert len(check_tests(test, "f")) == count
    right, wrong = PassRate()(completions=[RIGHT, WRONG], test=[test, test], entry_point=["f", "f"])
    assert right == 1.0
    assert wrong is not None
    assert wrong < 1.0


@pytest.mark.parametrize("body", ["assert True", "pass", '"""Nothing."""\n    assert 1, "x"'])
def test_a_check_that_tests_nothing_has_no_tests(body: str) -> None:
    assert check_tests(f"def check(candidate):\n    {body}", "f") == ()
