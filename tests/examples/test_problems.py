"""Every solution of every problem runs in the sandbox and does what its label says."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator

import pytest

from assay.sandbox import Bubblewrap, Job, Limits, Sandbox, StdioTest, Verdict
from assay.sandbox.job import Result
from examples.problems import Problem, Solution, load, rows

PROBLEMS = load()
LIMITS = Limits(cpu_s=4.0)
TRICKS = {
    "hard-coded",
    "lying-comment",
    "size-switch",
    "best-case",
    "padding",
    "timer-patch",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Bubblewrap(workers=2) as opened:
        yield opened


def fresh(problem: Problem, size: int, seeds: int) -> list[str]:
    """Small fresh inputs of every shape."""
    sizes = [min(size, most) for most in problem.constraints.values()]
    return [
        problem.generate(*sizes, seed=seed, shape=shape)
        for shape in problem.shapes
        for seed in range(seeds)
    ]


def run(
    sandbox: Sandbox, solutions: list[Solution], tests: list[tuple[str, str]]
) -> dict[str, Result]:
    cases = tuple(StdioTest(stdin, expected) for stdin, expected in tests)
    jobs = [Job(s.source, cases, language=s.language, limits=LIMITS) for s in solutions]
    return dict(zip((s.name for s in solutions), sandbox.run(jobs), strict=True))


def of_language(problem: Problem, *languages: str) -> list[Solution]:
    return [s for s in problem.solutions if s.language in languages]


def check(sandbox: Sandbox, problem: Problem, solutions: list[Solution], seeds: int) -> None:
    results = run(sandbox, solutions, list(problem.tests))
    inputs = [text for size in (1, 3, 6) for text in fresh(problem, size, seeds)]
    best = problem.optimal
    answers = run(sandbox, [best], [(text, "") for text in inputs])[best.name]
    expected = [(text, test.stdout) for text, test in zip(inputs, answers.tests, strict=True)]
    others = run(sandbox, [s for s in solutions if s.kind != "wrong"], expected)
    for solution in solutions:
        result = results[solution.name]
        where = f"{problem.uid}/{solution.name}"
        if solution.kind == "wrong":
            assert result.verdict in (Verdict.WA, Verdict.RE), f"{where}: {result.verdict}"
            continue
        bad = next((t for t in result.tests if t.verdict is not Verdict.AC), None)
        assert bad is None, f"{where}: {bad}"
        bad = next((t for t in others[solution.name].tests if t.verdict is not Verdict.AC), None)
        if solution.kind == "hard-coded":
            assert bad is not None, f"{where} passes fresh inputs too: it is no trick"
        else:
            assert bad is None, f"{where}: disagrees with {best.name} on fresh input: {bad}"


def test_there_are_sixty_problems() -> None:
    assert len(PROBLEMS) == 60
    assert len({problem.statement for problem in PROBLEMS}) == 60


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.uid)
def test_a_problem_is_complete(problem: Problem) -> None:
    right = problem.of_kind("right")
    assert len(right) >= 2 or len({s.complexity for s in problem.labelled()}) >= 1
    assert problem.of_kind("wrong")
    tricks = [s for s in problem.solutions if s.kind not in ("right", "wrong")]
    assert tricks
    assert {s.kind for s in tricks} <= TRICKS
    assert len(problem.tests) >= 3
    assert len({s.name for s in problem.solutions}) == len(problem.solutions)
    one = fresh(problem, 8, 1)
    assert one == fresh(problem, 8, 1), "generate must be deterministic in its seed"


def test_most_problems_have_two_classes() -> None:
    several = [p for p in PROBLEMS if len({s.complexity for s in p.of_kind("right")}) >= 2]
    assert len(several) >= 50


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.uid)
def test_python_solutions(sandbox: Sandbox, problem: Problem) -> None:
    check(sandbox, problem, of_language(problem, "python"), seeds=1)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.uid)
def test_all_languages_on_more_inputs(sandbox: Sandbox, problem: Problem) -> None:
    languages = {s.language for s in problem.solutions}
    check(sandbox, problem, of_language(problem, *languages), seeds=4)


def test_rows_are_dataset_rows() -> None:
    for row, problem in zip(rows(), PROBLEMS, strict=True):
        assert row["uid"] == problem.uid
        assert row["prompt"][0]["content"] == problem.statement
        assert len(json.loads(row["tests"])) == len(problem.tests)
        assert row["optimal_complexity"] == problem.solutions[0].complexity
        assert json.loads(row["constraints"]) == problem.constraints


@pytest.mark.skipif(
    importlib.util.find_spec("assay.judges.complexity.expression") is None,
    reason="assay.judges.complexity.expression is not there yet",
)
def test_labels_parse_and_the_first_solution_is_the_best() -> None:
    from assay.judges.complexity.expression import parse

    for problem in PROBLEMS:
        best = parse(str(problem.optimal.complexity))
        for solution in problem.labelled():
            label = parse(str(solution.complexity))
            assert label.compare(best) != "less", f"{problem.uid}/{solution.name}"
