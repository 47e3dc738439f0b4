from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.judges.complexity.learned import row_of
from assay.judges.complexity.normal_form import structure_hash
from assay.judges.complexity.program import Program
from assay.judges.complexity.static import StaticEstimator
from examples.problems import load
from tests.judges.complexity.rewriting import rewritten
from tests.judges.complexity.static_programs import CASES

VARIANTS = 1000


def programs() -> list[Program]:
    """Small programs in seven languages and the solutions of our own problems."""
    small = [Program(case.code, case.language) for case in CASES]
    solutions = [
        Program(solution.source, solution.language)
        for problem in load()
        for solution in problem.solutions
    ]
    return small + solutions


def variants(count: int) -> Iterator[tuple[Program, Program]]:
    """Programs with a rewritten one each; every language has its turn as often as another."""
    by_language: dict[str, list[Program]] = {}
    for program in programs():
        by_language.setdefault(program.language, []).append(program)
    languages = sorted(by_language)
    for seed in range(count):
        language = languages[seed % len(languages)]
        chosen = by_language[language]
        program = chosen[seed // len(languages) % len(chosen)]
        yield program, Program(rewritten(program.source, language, seed), language)


def test_a_rewritten_program_has_other_names_comments_and_strings() -> None:
    code = "int f(int n) { int s = 0; /* ends at once */ for (int i = 0; i < n; i++) s += i; }"
    other = rewritten(code, "c", 1)
    assert "at once" not in other and "int s" not in other and "for (int " in other
    assert structure_hash(other, "c") == structure_hash(code, "c")


@pytest.mark.slow
def test_names_comments_and_strings_change_nothing_in_1000_variants_of_all_languages() -> None:
    pairs = list(variants(VARIANTS))
    assert {program.language for program, _ in pairs} >= {
        "python", "java", "c", "cpp", "javascript", "go", "rust",
    }  # fmt: skip
    assert sum(old.source != new.source for old, new in pairs) == VARIANTS
    estimator = StaticEstimator()
    before = estimator.estimate([old for old, _ in pairs])
    after = estimator.estimate([new for _, new in pairs])
    changed = [
        (old.language, a.expression, b.expression, new.source)
        for (old, new), a, b in zip(pairs, before, after, strict=True)
        if a.expression != b.expression
    ]
    assert not changed, (len(changed), changed[0])


def test_names_comments_and_strings_change_nothing_in_every_language() -> None:
    for old, new in variants(70):
        left, estimate = row_of(old)
        right, other = row_of(new)
        assert estimate.expression == other.expression, new.source
        assert left.words == right.words, new.source
