from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.reward import Reward
from assay.rewards import Length, Overlong, Repetition, Route, Term, WeightedSum
from tests.rewards.contract import check_contract
from tests.samples import sample


def value(reward: Reward, completion: Any, **rest: Any) -> float:
    found = reward.evaluate([Sample.of("q", completion, **rest)])[0]
    assert found.status == "scored"
    assert found.passed is None  # shaping terms never decide whether a sum passed
    assert found.value is not None
    assert math.copysign(1.0, found.value) == 1.0 or found.value < 0  # no -0.0
    return found.value


# Repetition


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        ("a b c d", 2, 0.0),
        ("a a a a", 1, -3 / 4),  # 4 unigrams, 1 unique
        ("a a a a", 2, -2 / 3),  # 3 bigrams, 1 unique
        ("a b a b a", 2, -2 / 4),  # ab ba ab ba: 4 bigrams, 2 unique
        ("a b", 3, 0.0),
        ("a b c", 3, 0.0),
        ("", 3, 0.0),
        ("A a", 1, -1 / 2),  # case is ignored
        ("a\n\ta", 1, -1 / 2),
    ],
)
def test_repetition(text: str, n: int, expected: float) -> None:
    assert value(Repetition(n=n), text) == pytest.approx(expected)
    assert value(Repetition(n=n, max_penalty=0.5), text) == pytest.approx(expected / 2)
    assert value(Repetition(n=n, max_penalty=0), text) == 0.0


def test_repetition_of_characters_for_languages_without_spaces() -> None:
    # 4 characters, 2-grams 你好 好你 你好: 3, of which 2 are unique.
    assert value(Repetition(n=2, unit="character"), "你好你好") == pytest.approx(-1 / 3)
    assert value(Repetition(n=2), "你好你好") == 0.0


def test_repetition_counts_reasoning_and_keeps_turns_apart() -> None:
    loop = "so so so so"
    assert value(Repetition(n=1), f"<think>{loop}</think>done") < 0
    message = {"role": "assistant", "content": "done", "reasoning_content": loop}
    assert value(Repetition(n=1), [message]) == pytest.approx(-3 / 5)
    turns = [
        {"role": "assistant", "content": "a b"},
        {"role": "tool", "content": "a b a b a b"},
        {"role": "assistant", "content": "c a b"},
    ]
    # Bigrams ab | ca ab: 3, of which 2 are unique; the tool's text and "b c" do not count.
    assert value(Repetition(n=2), turns) == pytest.approx(-1 / 3)


def test_repetition_note_and_range() -> None:
    reward = Repetition(n=1, max_penalty=0.5)
    assert reward.range == (-0.5, 0.0)
    assert reward.evaluate([sample("a a")])[0].note == "1 of 2 1-grams are repeats"


@given(st.text(), st.integers(1, 4), st.floats(0, 10), st.sampled_from(["word", "character"]))
def test_repetition_stays_in_its_range(text: str, n: int, penalty: float, unit: Any) -> None:
    reward = Repetition(n=n, max_penalty=penalty, unit=unit)
    found = value(reward, text)
    assert -penalty <= found <= 0.0
    doubled = value(reward, f"{text} {text}")
    assert doubled <= found + 1e-9 or unit == "character" or len(text.split()) < n


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "Repetition.n must be a whole number >= 1, got 0"),
        ({"n": 1.5}, "got 1.5"),
        ({"n": True}, "got True"),
        ({"max_penalty": -1.0}, "max_penalty must be finite and >= 0, got -1.0"),
        ({"max_penalty": math.nan}, "got nan"),
        ({"max_penalty": math.inf}, "got inf"),
        ({"unit": "token"}, "must be one of {'word', 'character'}, got 'token'"),
    ],
)
def test_repetition_configuration(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Repetition(**settings)
    assert message in str(error.value)


# Overlong


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 0.0),
        (16384, 0.0),  # L_max - L_c
        (16385, -1 / 4096),
        (17408, -0.25),
        (18432, -0.5),
        (20480, -1.0),
        (20481, -1.0),
        (100_000, -1.0),
    ],
)
def test_overlong(length: int, expected: float) -> None:
    assert value(Overlong(), "text", completion_ids=[7] * length) == expected


def test_a_truncated_completion_is_longer_than_the_limit() -> None:
    assert value(Overlong(), "done.", columns={"truncated": True}) == -1.0  # even without ids
    assert value(Overlong(), "done.", completion_ids=[7], truncated=True) == -1.0


def test_truncation_is_read_from_the_last_id() -> None:
    values = Overlong(eos_token_ids=(2,))(completions=["a", "b"], completion_ids=[[7, 2], [7, 7]])
    assert values == [0.0, -1.0]


def test_a_hard_limit() -> None:
    reward = Overlong(max_tokens=4, cache_tokens=0)
    values = [value(reward, "x", completion_ids=[7] * n) for n in (3, 4, 5)]
    assert values == [0.0, 0.0, -1.0]


def test_overlong_in_other_units() -> None:
    reward = Overlong(max_tokens=4, cache_tokens=2, unit="characters")
    assert [value(reward, "x" * n) for n in range(6)] == [0, 0, 0, -0.5, -1, -1]
    reward = Overlong(max_tokens=4, cache_tokens=2, unit="words")
    assert value(reward, "one two three", completion_ids=[7] * 99) == -0.5
    turns = [
        {"role": "assistant", "content": "one", "reasoning_content": "two"},
        {"role": "tool", "content": "not counted at all"},
        {"role": "assistant", "content": "three"},
    ]
    assert value(reward, turns) == -0.5


def test_missing_ids_are_an_error_that_says_what_to_do() -> None:
    samples = [Sample.of("q", "a", completion_ids=[1]), Sample.of("q", "a")]
    with pytest.raises(DataError, match=r"no completion_ids; pass .*unit='words'") as error:
        Overlong().evaluate(samples)
    assert error.value.index == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be a whole number >= 1, got 0"),
        ({"cache_tokens": -1}, "cache_tokens must be a whole number >= 0, got -1"),
        ({"max_tokens": 5, "cache_tokens": 6}, "cache_tokens must be <= max_tokens, got 6 > 5"),
        ({"unit": "word"}, "must be one of {'tokens', 'characters', 'words'}, got 'word'"),
    ],
)
def test_overlong_configuration(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Overlong(**settings)
    assert message in str(error.value)


@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 700))
def test_overlong_never_rises_with_length(most: int, cache: int, length: int) -> None:
    reward = Overlong(max_tokens=most, cache_tokens=min(cache, most), unit="characters")
    assert -1.0 <= value(reward, "x" * (length + 1)) <= value(reward, "x" * length) <= 0.0


# Length


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 10, 1.0),
        ("x" * 11, 0.8),
        ("x" * 15, 0.0),
        ("x" * 99, 0.0),
        ("x", 1.0),
        ("", 0.0),
        (" \n", 0.0),
        (f"<think>{'y' * 99}</think>\nx\n", 1.0),
        ("<think>y", 0.0),
    ],
)
def test_length(text: str, expected: float) -> None:
    assert value(Length(target=10, slack=5), text) == pytest.approx(expected)


def test_length_is_hard_without_slack_and_counts_words_if_asked() -> None:
    assert [value(Length(target=2), "x" * n) for n in (2, 3)] == [1.0, 0.0]
    reward = Length(target=2, slack=4, unit="words")
    assert [value(reward, "wordy " * n) for n in (2, 3, 6)] == [1.0, 0.75, 0.0]


def test_a_truncated_answer_is_not_short() -> None:
    assert value(Length(target=9), "short", columns={"truncated": True}) == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": 0}, "Length.target must be a whole number >= 1, got 0"),
        ({"target": 5, "slack": -1}, "Length.slack must be a whole number >= 0, got -1"),
        ({"target": 5, "unit": "tokens"}, "must be one of {'characters', 'words'}, got 'tokens'"),
    ],
)
def test_length_configuration(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Length(**settings)
    assert message in str(error.value)


def test_shaping_leaves_passed_of_a_sum_to_the_others() -> None:
    total = WeightedSum({"short": Term(Length(target=1)), "loop": Term(Repetition())})
    assert total.evaluate([sample("far too long")])[0].passed is None
    route = Route("d", {"a": Length(target=1), "b": Length(target=99)})
    assert route(completions=["long", "long"], d=["a", "b"]) == [0.0, 1.0]


# All of them


@pytest.mark.parametrize(
    "reward",
    [
        Repetition(n=1),
        Repetition(n=2, unit="character"),
        Overlong(max_tokens=6, cache_tokens=4),
        Length(target=3, slack=9),
    ],
    ids=repr,
)
def test_contract(reward: Reward) -> None:
    samples = [
        Sample.of("q", text, completion_ids=list(range(size)))
        for text, size in [("a a a", 3), ("abc", 1), ("abcd abcd", 9), ("", 0)]
    ]
    check_contract(reward, [*samples, Sample.of("q", "a a", truncated=True)])
