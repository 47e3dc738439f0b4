import pytest

from assay.errors import ConfigError, DataError
from assay.judge import Item
from assay.judges import LLMPointwise, LLMReference, Reply, Rubric, RubricCriterion
from assay.messages import as_messages
from tests.judges.scripted import ScriptedClient, between, verdict

RUBRIC = Rubric(
    (
        RubricCriterion("right", "Is it right?", weight=3),
        RubricCriterion("short", "Is it short?", low=0, high=1),
    )
)


def item(said="four", prompt="2 + 2?", **columns):
    return Item(as_messages(prompt, role="user"), as_messages(said, role="assistant"), columns)


def scores(*values):
    """A client that gives these (right, short) grades, one after the other."""
    left = iter(values)

    def say(prompt, request):
        right, short = next(left)
        return verdict(prompt, reason="seen", scores={"right": right, "short": short})

    return ScriptedClient(say)


def test_weighted_grades():
    judge = LLMPointwise(scores((5, 1), (3, 0), (1, 1)), RUBRIC)
    grades = judge.grade([item(), item(), item()])
    # (3 * 1 + 1 * 1) / 4; (3 * .5 + 0) / 4; (0 + 1) / 4
    assert [g.value for g in grades] == [1.0, 0.375, 0.25]
    assert grades[1].criteria == {"right": 3.0, "short": 0.0} and grades[1].reason == "seen"
    prompt = judge.client.asked[0].messages[-1].content
    assert "- right (integer from 1 to 5): Is it right?" in prompt
    assert between(prompt, "answer") == "four"


def test_unknown_criteria():
    (found,) = LLMPointwise(scores((None, 1)), RUBRIC).grade([item()])
    assert found.status == "abstained" and "cannot tell right" in found.reason
    assert found.criteria == {"right": None, "short": 1.0}
    lenient = Rubric(RUBRIC.criteria, unknown="reweight")
    assert LLMPointwise(scores((None, 1)), lenient).grade([item()])[0].value == 1.0
    assert LLMPointwise(scores((None, None)), lenient).grade([item()])[0].status == "abstained"


@pytest.mark.parametrize("right", [0, 6, 2.5, "5", True])
def test_grades_off_the_scale_are_no_verdict(right):
    (found,) = LLMPointwise(scores((right, 1)), RUBRIC).grade([item()])
    assert found.status == "abstained" and "right" in found.reason


def test_repeats():
    (found,) = LLMPointwise(scores((5, 1), (5, 1), (1, 1)), RUBRIC, repeats=3, seed=0).grade(
        [item()]
    )
    assert found.criteria["right"] == pytest.approx(11 / 3) and found.agreement == 2 / 3
    assert found.value == pytest.approx((3 * (11 / 3 - 1) / 4 + 1) / 4)


def test_failures_are_not_grades():
    client = ScriptedClient(lambda *_: Reply("", status="failed", error="down"))
    assert LLMPointwise(client).grade([item()])[0].status == "failed"
    with pytest.raises(DataError, match="'gold'"):
        LLMPointwise(client, reference="gold").grade([item(gold="")])


def says(word):
    return ScriptedClient(lambda prompt, _: verdict(prompt, equivalent=word))


@pytest.mark.parametrize(
    ("word", "status", "value"),
    [
        ("yes", "ok", 1.0),
        ("no", "ok", 0.0),
        ("unknown", "abstained", None),
        ("?", "abstained", None),
    ],
)
def test_reference(word, status, value):
    (found,) = LLMReference(says(word)).grade([item("It is <b>four</b>", answer=4)])
    assert (found.status, found.value) == (status, value)


def test_reference_shows_the_last_answer_only():
    client = says("yes")
    answer = [
        {"role": "assistant", "content": "let me look"},
        {"role": "tool", "content": "secret 5"},
        {"role": "assistant", "content": "<think>is it 5?</think>four"},
    ]
    LLMReference(client, column="gold").grade([item(answer, gold="four")])
    prompt = client.asked[0].messages[-1].content
    assert between(prompt, "answer") == "four" and "secret" not in prompt
    with pytest.raises(DataError, match="'answer'"):
        LLMReference(client).grade([item()])


def test_reference_majority():
    words = iter(["yes", "no", "yes", "yes", "no", "unknown"])
    client = ScriptedClient(lambda prompt, _: verdict(prompt, equivalent=next(words)))
    judge = LLMReference(client, repeats=3, seed=0)
    first, second = judge.grade([item("4", answer="4")] * 2)
    assert (first.value, first.agreement) == (1.0, 2 / 3)
    assert second.status == "abstained"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RubricCriterion("no name", "q"), "letters, digits"),
        (lambda: RubricCriterion("a", " "), "empty question"),
        (lambda: RubricCriterion("a", "q", weight=0), "weight"),
        (lambda: RubricCriterion("a", "q", weight="2"), "weight must be finite"),
        (lambda: RubricCriterion("a", "q", low=2, high=2), "below high"),
        (lambda: RubricCriterion("a", "q", low=5, high=1), "below high"),
        (lambda: RubricCriterion("a", "q", low=0.5), "whole numbers"),
        (lambda: Rubric(()), "distinct names"),
        (lambda: Rubric((RubricCriterion("a", "q"),) * 2), "distinct names"),
        (lambda: Rubric(RUBRIC.criteria, unknown="zero"), "unknown"),
        (lambda: Rubric.of({"criteria": [{"name": "a", "qestion": "q"}]}), "qestion"),
        (lambda: Rubric.of([1]), "a table with a list"),
    ],
)
def test_unusable_rubrics(build, message):
    with pytest.raises(ConfigError, match=message):
        build()


def test_rubric_from_a_file(tmp_path):
    path = tmp_path / "rubric.toml"
    path.write_text(
        'unknown = "reweight"\n[[criteria]]\nname = "right"\nquestion = "Is it?"\nweight = 2\n'
    )
    rubric = Rubric.from_file(path)
    assert (
        rubric.criteria == (RubricCriterion("right", "Is it?", 2),) and rubric.unknown == "reweight"
    )
    with pytest.raises(ConfigError, match="cannot read"):
        Rubric.from_file(tmp_path / "none.toml")
    assert LLMPointwise(says("x"), rubric).fingerprint() != LLMPointwise(says("x")).fingerprint()
