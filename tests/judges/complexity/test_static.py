from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.judges.complexity.expression import parse
from assay.judges.complexity.judge import agree
from assay.judges.complexity.labelled import evaluate, predicted, read_labelled
from assay.judges.complexity.program import Program
from assay.judges.complexity.static import StaticEstimator, node_kinds
from tests.judges.complexity.mended_programs import MENDED
from tests.judges.complexity.static_programs import CASES, PYTHON, Case

ESTIMATOR = StaticEstimator()


def expression_of(code: str, language: str, entry: str | None = None) -> str | None:
    return ESTIMATOR.estimate([Program(code, language, entry)])[0].expression


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_hand_written_programs(case: Case) -> None:
    estimate = ESTIMATOR.estimate([Program(case.code, case.language)])[0]
    assert estimate.expression is not None
    assert parse(estimate.expression) == parse(case.expected), estimate


@pytest.mark.parametrize("case", MENDED, ids=[case.name for case in MENDED])
def test_programs_that_were_once_read_wrongly(case: Case) -> None:
    estimate = ESTIMATOR.estimate([Program(case.code, case.language)])[0]
    assert agree(case.expected, estimate.expression or ""), estimate


@pytest.mark.parametrize("language", ["python", "c", "cpp", "java", "javascript", "go", "rust"])
def test_what_does_not_parse_has_no_estimate(language: str) -> None:
    estimate = ESTIMATOR.estimate([Program("for ((( {{{", language)])[0]
    assert estimate.expression is None
    assert estimate.confidence == 0
    assert "does not parse" in estimate.flags


def test_an_unknown_language_or_entry_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="language must be one of"):
        ESTIMATOR.estimate([Program("x", "cobol")])
    with pytest.raises(ConfigError, match="no function 'g' in the program; it defines: f"):
        ESTIMATOR.estimate([Program("def f():\n    pass", "python", "g")])


def test_the_entry_decides_what_counts() -> None:
    code = (
        "def f(a):\n    return sorted(a)\n\ndef g(a):\n    return [x * y for x in a for y in a]\n"
        "print(f(list(map(int, input().split()))))"
    )
    assert expression_of(code, "python", "g") == "n^2"
    assert expression_of(code, "python") == "n log n"


def test_evidence_names_lines_and_reasons() -> None:
    estimate = ESTIMATOR.estimate([Program(PYTHON[4].code, "python")])[0]
    assert estimate.evidence[0].startswith("line 4: runs over its range: n^2")
    assert estimate.method == "static"
    assert 0.5 < estimate.confidence <= 1


def test_what_is_guessed_costs_confidence() -> None:
    sure = ESTIMATOR.estimate([Program(PYTHON[2].code, "python")])[0]
    code = "x = int(input())\nwhile unknown(x):\n    x = other(x)\nprint(x)"
    guessed = ESTIMATOR.estimate([Program(code, "python")])[0]
    assert guessed.confidence < sure.confidence


def test_the_number_of_test_cases_is_flagged() -> None:
    case = next(c for c in PYTHON if c.name == "test cases are left out")
    flags = ESTIMATOR.estimate([Program(case.code, "python")])[0].flags
    assert flags == ("the number of test cases is left out",)


def test_a_loop_over_cases_is_less_sure_than_one_over_data() -> None:
    cases = "for _ in range(int(input())):\n    x = int(input())\n    print(x + 1)\n"
    data = "n = int(input())\nfor x in map(int, input().split()):\n    print(x)\n"
    found = ESTIMATOR.estimate([Program(cases, "python"), Program(data, "python")])
    assert found[0].confidence < 0.7 < found[1].confidence


def test_deep_and_wide_programs_end() -> None:
    deep = "x = " + "(" * 300 + "1" + ")" * 300
    wide = (
        "\n".join(f"def f{i}(n):\n    f{i + 1}(n)\n    f{i + 1}(n)" for i in range(60)) + "\nf0(1)"
    )
    for code in (deep, wide):
        assert len(ESTIMATOR.estimate([Program(code, "python")])) == 1


_KEPT = frozenset(
    [
        "int",
        "input",
        "list",
        "map",
        "range",
        "len",
        "print",
        "sum",
        "max",
        "min",
        "sorted",
        "sort",
        "append",
        "set",
        "str",
        "split",
        "def",
        "return",
        "for",
        "in",
        "while",
        "if",
        "else",
        "and",
        "or",
        "not",
        "break",
        "import",
        "from",
        "bisect",
        "bisect_left",
        "collections",
        "deque",
        "popleft",
        "pop",
        "Counter",
        "count",
        "heapq",
        "heappush",
        "heappop",
        "itertools",
        "permutations",
        "combinations",
        "functools",
        "lru_cache",
        "True",
        "False",
        "None",
        "is",
        "pass",
        "continue",
    ]
)


def rewrite(code: str, seed: int) -> str:
    """Rename what a Python program defines, and rewrite its comments and strings."""
    chooser = random.Random(seed)
    new: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        word = match[0]
        if word in _KEPT or match.string[max(match.start() - 1, 0)] == "'":
            return word
        if word not in new:
            tempting = [
                "binary_search",
                "constant",
                "O1",
                "logn",
                "fast",
                "memo",
                "visited",
                "sqrt_n",
            ]
            new[word] = f"{chooser.choice(tempting)}_{len(new)}"
        return new[word]

    code = re.sub(r"#.*", "", code)
    code = re.sub(r'"""[^"]*"""', f'"""O({chooser.choice("1n")}) {chooser.random()}"""', code)
    pieces = re.split(r"('[^'\n]*'|\"\"\".*?\"\"\")", code)
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            pieces[i] = re.sub(r"[A-Za-z_]\w*", name, piece)
        elif len(piece) > 4:
            pieces[i] = f"'claims O(1) {chooser.random()}'"
    lines = "".join(pieces).splitlines()
    return "\n".join(f"{line}  # O(log n) {chooser.random()}" for line in lines)


def test_names_comments_and_strings_change_nothing_in_1000_variants() -> None:
    variants = [(case, seed) for case in PYTHON for seed in range(1000 // len(PYTHON) + 1)]
    assert len(variants) >= 1000
    programs = [Program(rewrite(case.code, seed), "python") for case, seed in variants]
    expected = {case.name: expression_of(case.code, "python") for case in PYTHON}
    estimates = ESTIMATOR.estimate(programs)
    changed = [
        (case.name, estimate.expression, program.source)
        for (case, _), program, estimate in zip(variants, programs, estimates, strict=True)
        if estimate.expression != expected[case.name]
    ]
    assert not changed, (len(changed), changed[0])


def test_order_and_batch_do_not_matter() -> None:
    programs = [Program(case.code, case.language) for case in CASES]
    together = ESTIMATOR.estimate(programs)
    alone = [ESTIMATOR.estimate([program])[0] for program in reversed(programs)]
    assert together == alone[::-1]


def test_kinds_of_nodes_leave_comments_out() -> None:
    with_comment = node_kinds(Program("x = 1  # two", "python"))
    assert with_comment == node_kinds(Program("x = 1", "python"))


@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="ASSAY_DATA is unset: no labelled data")
@pytest.mark.parametrize("language", ["python", "java"])
def test_accuracy_on_labelled_programs(language: str) -> None:
    rows = read_labelled(Path(os.environ["ASSAY_DATA"], "codecomplex", "labelled.jsonl.gz"))
    rows = [row for row in rows if row.program.language == language]
    result = evaluate(rows, ESTIMATOR, "static")
    assert result.accuracy(language) >= 0.65
    assert all(predicted(e) for e in ESTIMATOR.estimate([row.program for row in rows[:5]]))
