"""The empirical estimator on programs that try to look faster than they are."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.judge import Estimate
from assay.judges.complexity import ComplexityJudge
from assay.judges.complexity.counting import instrument, read_count
from assay.judges.complexity.empirical import EmpiricalEstimator
from assay.judges.complexity.expression import parse
from assay.judges.complexity.generators import infer
from assay.judges.complexity.input_plan import InputPlan
from assay.judges.complexity.program import Program
from assay.judges.complexity.written_generator import written_plan
from assay.sandbox import Bubblewrap, Job, Sandbox, StdioTest, Verdict

#: The programs of the hostile suite's complexity cases, rewritten here.
INSERTION = """
def work(xs):
    a = list(xs)
    for i in range(1, len(a)):
        j = i
        while j and a[j - 1] > a[j]:
            a[j - 1], a[j] = a[j], a[j - 1]
            j -= 1
    return a[0] if a else 0
"""
REPLAY = """
import hashlib, os, pickle
known = {}
def work(xs):
    key = hashlib.md5(repr(xs).encode()).hexdigest()
    if key in known:
        return known[key]
    for folder in ("/dev/shm", "/tmp", "."):
        path = os.path.join(folder, key)
        if os.path.exists(path):
            return pickle.load(open(path, "rb"))
    s = 0
    for i in range(len(xs)):
        for j in range(len(xs)):
            s ^= xs[i] + xs[j]
    known[key] = s
    for folder in ("/dev/shm", "/tmp", "."):
        try:
            pickle.dump(s, open(os.path.join(folder, key), "wb"))
        except OSError:
            pass
    return s
"""
SIZE_SWITCH = """
def work(xs):
    n = len(xs)
    if n < 5000:
        return sum(xs)
    s = 0
    for i in range(n):
        for j in range(n):
            s ^= xs[i] + xs[j]
    return s
"""
TIMER = """
import time
time.time = time.perf_counter = time.process_time = lambda: 0.0
def work(xs):
    return sum(1 for a in xs for b in xs if a < b)
"""
PADDED = """
def work(xs):
    n = len(xs)
    spare = 20000 - n * n
    while spare > 0:
        spare -= 1
    return sum(1 for a in xs for b in xs if a < b)
"""
FORGED = """
def work(xs):
    runtime = globals().get("_assay_steps")
    s = 0
    for i in range(len(xs)):
        for j in range(len(xs)):
            s ^= xs[i]
    if runtime is not None:
        runtime[0] = float(100 + len(xs))
    return s
"""


def array(n: int, seed: int, shape: str) -> tuple[list[int]]:
    rng = random.Random(seed)
    values = rng.choices(range(10**6), k=n)
    if shape != "random":
        values.sort(reverse=shape == "reversed")
    return (values,)


PLAN = InputPlan(array, {"n": 20_000}, ("random", "sorted", "reversed"))


@pytest.fixture(scope="module")
def estimator() -> Iterator[EmpiricalEstimator]:
    with Bubblewrap(workers=2) as sandbox:
        yield EmpiricalEstimator(sandbox, budget_s=4.0, time_target_s=0.08)


def one(estimator: EmpiricalEstimator, source: str, plan: InputPlan = PLAN) -> Estimate:
    return estimator.estimate([Program(source, "python", "work")], [plan])[0]


@pytest.mark.parametrize("source", [INSERTION, REPLAY, TIMER], ids=["best", "replay", "timer"])
def test_tricks_do_not_hide_the_square(estimator: EmpiricalEstimator, source: str) -> None:
    estimate = one(estimator, source)
    assert estimate.expression == "n^2", estimate
    assert estimate.confidence > 0.6


def test_padding_does_not_hide_the_square(estimator: EmpiricalEstimator) -> None:
    estimate = one(estimator, PADDED)
    assert estimate.expression in ("n^2", None), estimate


def test_a_size_switch_is_found_or_flagged(estimator: EmpiricalEstimator) -> None:
    estimate = one(estimator, SIZE_SWITCH)
    assert estimate.expression == "n^2" or estimate.flags, estimate


@pytest.mark.slow  # decided by CPU time, which a busy machine blurs
def test_forged_steps_are_contradicted_by_time(estimator: EmpiricalEstimator) -> None:
    estimate = one(estimator, FORGED)
    assert estimate.expression != "n", estimate
    assert any("time" in flag for flag in estimate.flags), estimate


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cx_best_case", "cx_replay", "cx_size_switch"])
def test_hostile_suite(estimator: EmpiricalEstimator, name: str) -> None:
    folder = os.environ.get("ASSAY_HOSTILE")
    if not folder:
        pytest.skip("set ASSAY_HOSTILE to the folder of the hostile programs")
    estimate = one(estimator, (Path(folder) / f"{name}.py").read_text(encoding="utf-8"))
    assert estimate.expression == "n^2" or (name == "cx_size_switch" and estimate.flags), estimate


def test_a_sort_and_a_hash_table_are_told_apart(estimator: EmpiricalEstimator) -> None:
    plan = infer("5\n3 1 4 1 5\n")
    assert plan is not None
    plan = replace(plan, shapes=("random",), maxima={"n": 20_000})
    sort = "n = int(input())\na = sorted(map(int, input().split()))\nprint(a[0])\n"
    table = "n = int(input())\nprint(len(set(map(int, input().split()))))\n"
    programs = [Program(sort, "python"), Program(table, "python")]
    found = estimator.estimate(programs, [plan, plan])
    assert [one.expression for one in found] == ["n log n", "n"]


def test_two_variables(estimator: EmpiricalEstimator) -> None:
    plan = infer("3 2\n5 6 7\n1 9\n")
    assert plan is not None
    plan = replace(plan, shapes=("random",), maxima={"n": 2000, "m": 2000})
    source = "input()\na = input().split()\nb = input().split()\n"
    source += "print(sum(1 for x in a for y in b if x == y))\n"
    estimate = estimator.estimate([Program(source, "python")], [plan])[0]
    assert estimate.expression is not None
    assert parse(estimate.expression) == parse("n m"), estimate


def test_undecided_is_an_answer(estimator: EmpiricalEstimator) -> None:
    broken = one(estimator, "def work(xs):\n    raise ValueError\n")
    assert broken.expression is None
    assert broken.confidence == 0.0
    without = estimator.estimate([Program("print(1)", "python")])[0]
    assert without.expression is None
    assert "no input generator" in without.evidence[0]


def test_inputs_must_match_programs(estimator: EmpiricalEstimator) -> None:
    with pytest.raises(ConfigError, match="1 programs and 0 inputs"):
        estimator.estimate([Program("print(1)", "python")], [])
    with pytest.raises(ConfigError, match="must be > 0"):
        EmpiricalEstimator(budget_s=0)


def test_the_judge_flags_where_reading_and_running_disagree(
    estimator: EmpiricalEstimator,
) -> None:
    """A judge that asks both does not average."""

    class Trusting:
        takes_inputs = False

        def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
            return [Estimate("n", 0.9, "static") for _ in programs]

        def fingerprint(self) -> str:
            return "trusting"

    judge = ComplexityJudge((Trusting(), estimator), cross_check=True)
    estimate = judge.estimate([Program(INSERTION, "python", "work")], [PLAN])[0]
    assert any("static says n" in flag and "n^2" in flag for flag in estimate.flags), estimate


def test_a_generator_that_fails_leaves_the_program_undecided(
    estimator: EmpiricalEstimator,
) -> None:
    plan = written_plan("def generate(n, seed):\n    raise ValueError('no')\n")
    estimate = one(estimator, INSERTION, plan)
    assert estimate.expression is None
    assert "inputs could not be made: the input generator failed" in estimate.evidence[0]


@pytest.mark.slow  # a fresh process for each input
def test_a_generator_from_a_row_makes_the_inputs(estimator: EmpiricalEstimator) -> None:
    text = "def generate(n, seed):\n    return [[(seed * i) % 1009 for i in range(n)]]\n"
    estimate = one(estimator, INSERTION, written_plan(text, {"n": 5000}))
    assert estimate.expression == "n^2", estimate


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Bubblewrap(workers=1) as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "stdin", "stdout"),
    [
        ("print(sorted(input().split(), key=len)[::-1])", "a bbb cc", "['bbb', 'cc', 'a']"),
        (
            "a = [3, 1, 2]\na.sort()\ndel a[0]\na[0:1] = [7, 8]\nprint(*a, 2 in a)",
            "",
            "7 8 3 False",
        ),
        ("from __future__ import annotations\nprint([x for x in range(3) if x])", "", "[1, 2]"),
        (
            "class A:\n    def f(self):\n        return 1\nclass B(A):\n    def f(self):\n"
            "        return super().f() + 1\nprint(B().f())",
            "",
            "2",
        ),
        ("def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f(900))", "", "900"),
        ("s = '''a\nb'''\nprint(len(s))\nraise SystemExit", "", "3"),
        (
            "print(sum(map(int, '1 2 3'.split())), dict(zip('ab', [1, 2])))",
            "",
            "6 {'a': 1, 'b': 2}",
        ),
    ],
)
def test_counting_changes_no_answer(sandbox: Sandbox, source: str, stdin: str, stdout: str) -> None:
    counted = instrument(source, "T")
    assert counted is not None
    result = sandbox.run([Job(counted, (StdioTest(stdin, stdout),), comparison="exact")])[0]
    test = result.tests[0]
    assert test.stdout.strip() == stdout, test
    assert test.verdict in (Verdict.AC, Verdict.WA)
    assert (read_count(test.stderr, "T") or 0) > 0


def test_what_is_not_python_is_not_counted() -> None:
    assert instrument("int main() { return 0; }", "T") is None
