"""Every solution of every problem runs in the sandbox and does what its label says."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox import Bubblewrap, Job, Limits, Sandbox, StdioTest, Verdict
from assay.sandbox.job import Result
from examples.problems import Problem, inputs_of, load, rows
from examples.problems.__main__ import write

PROBLEMS = load()
Outcomes = dict[tuple[str, str], Result]
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


def stdin_of(problem: Problem, sizes: tuple[int, ...], seeds: int) -> list[tuple[str, str]]:
    """The problem's own tests, then fresh inputs without an answer."""
    made = [text for size in sizes for text in fresh(problem, size, seeds)]
    return [*problem.tests, *((text, "") for text in made)]


def run_all(
    sandbox: Sandbox, sizes: tuple[int, ...], seeds: int, languages: set[str] | None
) -> Outcomes:
    """Every solution on every input, in one batch."""
    jobs, places = [], []
    for problem in PROBLEMS:
        cases = tuple(StdioTest(a, b) for a, b in stdin_of(problem, sizes, seeds))
        for s in problem.solutions:
            if languages is None or s.language in languages:
                jobs.append(Job(s.source, cases, language=s.language, limits=LIMITS))
                places.append((problem.uid, s.name))
    return dict(zip(places, sandbox.run(jobs), strict=True))


def check(problem: Problem, outcomes: Outcomes) -> None:
    known = len(problem.tests)
    best = outcomes[problem.uid, problem.optimal.name]
    for solution in problem.solutions:
        result = outcomes.get((problem.uid, solution.name))
        where = f"{problem.uid}/{solution.name}"
        if result is None:
            continue
        own, others = result.tests[:known], result.tests[known:]
        bad = next((t for t in own if t.verdict is not Verdict.AC), None)
        if solution.kind == "wrong":
            assert bad is not None, f"{where} passes every test"
            continue
        assert bad is None, f"{where}: {bad}"
        pairs = zip(others, best.tests[known:], strict=True)
        differs = next((t for t, right in pairs if t.stdout.split() != right.stdout.split()), None)
        if solution.kind == "hard-coded":
            assert differs is not None, f"{where} is right on fresh inputs too: it is no trick"
        else:
            assert differs is None, f"{where} disagrees with {problem.optimal.name}: {differs}"


@pytest.fixture(scope="module")
def python_outcomes(sandbox: Sandbox) -> Outcomes:
    return run_all(sandbox, (6,), 1, {"python"})


@pytest.fixture(scope="module")
def all_outcomes(sandbox: Sandbox) -> Outcomes:
    return run_all(sandbox, (1, 3, 7), 3, None)


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
def test_python_solutions(python_outcomes: Outcomes, problem: Problem) -> None:
    check(problem, python_outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.uid)
def test_all_languages_on_more_inputs(all_outcomes: Outcomes, problem: Problem) -> None:
    check(problem, all_outcomes)


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


def test_programs_and_rows_are_written_as_files(tmp_path: Path) -> None:
    count = write(tmp_path)
    programs = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name != "rows.jsonl"
    ]
    assert len(programs) == count == sum(len(problem.solutions) for problem in load())
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["uid"] for line in lines] == [problem.uid for problem in load()]


def test_rows_lead_to_their_problems_inputs() -> None:
    for row, problem in zip(rows(), load(), strict=True):
        plan = inputs_of(row)
        assert plan is not None and dict(plan.maxima) == dict(problem.constraints)
    assert inputs_of({"uid": "of another set"}) is None
