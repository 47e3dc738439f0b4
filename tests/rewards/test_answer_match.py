"""Answers in the forms that models write them in: what is the same, and what only looks so."""

from __future__ import annotations

import pytest

from assay.rewards.answer_match import AnswerMatch

SAME = [
    ("1/2", "0.5"), (r"\boxed{\frac{1}{2}}", "0.5"), (r"\boxed{-\frac{3}{4}}", "-0.75"),
    ("3 1/2", "3.5"), ("3\u00bd", "3.5"), ("0.3333333", "1/3"), ("50 percent", "0.5"),
    (r"\boxed{42\%}", "0.42"), ("1\u202f234", "1234"), ("1'234'567", "1,234,567"),
    (r"\boxed{1{,}234}", "1234"), ("minus 5", "-5"), ("\u2013 5", "-5"), ("-5%", "-0.05"),
    ("5km", "5 km"), ("1,000.0 km", "1000 km"), ("$5", "5 dollars"), ("\u20ac3.5m", "3.5 million"),
    ("1e3", "1000"), (r"$1.5 \times 10^{3}$", "1500"), ("1 x 10^-3", "0.001"), ("10\u00b2", "100"),
    ("\u0661\u0662", "12"), ("The answer is 42.", "42"), ("So the answer is **Paris**", "paris"),
    (r"\boxed{\text{New York}}", "new york"), ("in 1776", "1776"), ("<Paris>", "Paris"),
    ("the 4th of July, 1776", "1776-07-04"), ("x >= 2", "x \u2265 2"), ("True", True),
    ("no", False),
]  # fmt: skip
DIFFERENT = [
    ("1/2", "1/3"), ("3\u00bd", "31/2"), ("50%", "50"), ("1,00", "100"), ("12,34", "1234"),
    ("100 200", "100200"), ("--5", "5"), ("-5 km", "5 km"), ("-5 and 3", "5 and 3"),
    ("5 km", "5 miles"), ("5000 m", "5 km"), ("\u20ac5", "$5"), ("10\u00b2", "102"), ("1/0", "0"),
    ("1234567", "1234568"), ("9007199254740993", "9007199254740992"), ("x > 2", "x < 2"),
    ("x <= 2", "x < 2"), ("the answer is 41", "42"), ("I answer is it", "it's"), ("yes", False),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_the_same_answer_in_another_form(answer: str, gold: str | bool) -> None:
    assert AnswerMatch()(completions=[answer], answer=[gold]) == [1.0]


@pytest.mark.parametrize(("answer", "gold"), DIFFERENT)
def test_what_only_looks_the_same(answer: str, gold: str | bool) -> None:
    assert AnswerMatch()(completions=[answer], answer=[gold]) == [0.0]


def test_a_tolerance_that_is_set_holds_for_whole_numbers_too() -> None:
    assert AnswerMatch(relative=0.01)(completions=["1234568"], answer=["1234567"]) == [1.0]
    assert AnswerMatch(absolute=1)(completions=["42", "40"], answer=[41, 42]) == [1.0, 0.0]


@pytest.mark.parametrize("unit", ["<answer>", "the answer is ", "answer:", "1,", "9", "\\frac{"])
def test_long_texts_come_to_an_end(unit: str) -> None:
    assert AnswerMatch(longest=0)(completions=[unit * 20_000], answer=["42"]) == [0.0]
