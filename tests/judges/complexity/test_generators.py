"""Inputs inferred from one example keep its form, at any size."""

from __future__ import annotations

import pytest

from assay.errors import ConfigError
from assay.judges.complexity.argument_generators import infer_arguments
from assay.judges.complexity.generators import infer
from assay.judges.complexity.input_plan import InputPlan


def made(example: str, *sizes: int, shape: str = "random", seed: int = 1) -> list[list[str]]:
    plan = infer(example)
    assert plan is not None
    text = plan.generate(*sizes, seed=seed, shape=shape)
    assert text == plan.generate(*sizes, seed=seed, shape=shape), "deterministic in its seed"
    return [line.split() for line in text.splitlines()]


def test_array_with_its_length() -> None:
    lines = made("5\n3 1 4 1 5\n", 7)
    assert lines[0] == ["7"]
    assert len(lines[1]) == 7


def test_shapes_of_an_array() -> None:
    rising = [int(x) for x in made("5\n3 1 4 1 5\n", 9, shape="sorted")[1]]
    falling = [int(x) for x in made("5\n3 1 4 1 5\n", 9, shape="reversed")[1]]
    equal = made("5\n3 1 4 1 5\n", 9, shape="equal")[1]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    assert len(set(equal)) == 1


def test_different_seeds_differ() -> None:
    assert made("5\n3 1 4 1 5\n", 9, seed=1) != made("5\n3 1 4 1 5\n", 9, seed=2)


def test_permutation_and_sorted_array() -> None:
    assert sorted(map(int, made("4\n3 1 4 2\n", 6)[1])) == [1, 2, 3, 4, 5, 6]
    values = [int(x) for x in made("5\n1 5 9 12 40\n", 6)[1]]
    assert values == sorted(values)


def test_negative_numbers_stay_possible() -> None:
    values = [int(x) for x in made("4\n-3 5 -1 9\n", 50)[1]]
    assert min(values) < 0 < max(values)


def test_two_arrays() -> None:
    lines = made("3 2\n5 6 7\n1 9\n", 4, 6)
    assert [len(line) for line in lines] == [2, 4, 6]


def test_text() -> None:
    lines = made("abcab\n", 8)
    assert len(lines) == 1
    assert len(lines[0][0]) == 8
    assert set(lines[0][0]) <= set("abc")


def test_two_words() -> None:
    lines = made("kitten\nsmall\n", 3, 9)
    assert [len(line[0]) for line in lines] == [3, 9]


def test_word_with_its_length() -> None:
    lines = made("5\nababa\n", 7)
    assert lines[0] == ["7"]
    assert len(lines[1][0]) == 7


def test_grid() -> None:
    lines = made("2 3\n1 2 3\n4 5 6\n", 4, 5)
    assert lines[0] == ["4", "5"]
    assert [len(line) for line in lines[1:]] == [5, 5, 5, 5]


def test_graph() -> None:
    lines = made("4 5\n1 2\n2 3\n3 4\n1 4\n1 3\n", 6, 9)
    assert lines[0] == ["6", "9"]
    assert len(lines) == 10
    assert all(1 <= int(x) <= 6 for line in lines[1:] for x in line)


def test_tree() -> None:
    lines = made("4\n1 2\n1 3\n3 4\n", 6)
    assert len(lines) == 6
    assert sorted(int(b) for _, b in lines[1:]) == [2, 3, 4, 5, 6]
    path = made("4\n1 2\n1 3\n3 4\n", 5, shape="sorted")[1:]
    assert path == [["1", "2"], ["2", "3"], ["3", "4"], ["4", "5"]]


def test_single_numbers_are_values() -> None:
    plan = infer("12\n")
    assert plan is not None
    assert plan.maxima["n"] >= 10**12
    assert plan.generate(77, seed=0, shape="random") == "77\n"


@pytest.mark.parametrize("example", ["", "hello world, how\nare you today then\n"])
def test_nothing_to_grow(example: str) -> None:
    assert infer(example) is None


def test_arguments() -> None:
    plan = infer_arguments(([3, 1, 2], 3, "ab"))
    assert plan is not None
    values, n, text = plan.generate(5, 4, seed=0, shape="random")
    assert (len(values), n, len(text)) == (5, 5, 4)
    numbers = infer_arguments((12,))
    assert numbers is not None
    assert numbers.generate(9, seed=0, shape="random") == (9,)
    assert infer_arguments(({"a": 1},)) is None


def test_a_plan_must_have_variables_and_known_relations() -> None:
    with pytest.raises(ConfigError, match="at least one variable"):
        InputPlan(lambda n, seed, shape: "", {})
    with pytest.raises(ConfigError, match="unknown variables"):
        InputPlan(lambda n, seed, shape: "", {"n": 10}, relations=(("k", "n"),))
    with pytest.raises(ConfigError, match="integer >= 2"):
        InputPlan(lambda n, seed, shape: "", {"n": 1})
