from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judges.client import Reply, Request
from assay.policy.data.reconstruction import (
    FullMarks,
    Reconstructor,
    SameFinalAnswer,
    reconstruction_report,
)
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.data.trace_faults import trace_fault
from assay.rewards import AnswerMatch, Length
from tests.policy.data.scripted_models import ScriptedModel

ROW = {"prompt": "6 times 7?", "completion": "42", "id": "sum"}


def _replayer(text: str, request: Request) -> str:
    """Reads the last number out of the reasoning, as an honest replay does."""
    reasoning = text.split("Reasoning:")[1]
    numbers = [word.strip(".") for word in reasoning.split() if word.strip(".").isdigit()]
    return numbers[-1] if numbers else "NO ANSWER"


def _author(*traces: str) -> ScriptedModel:
    left = list(traces)
    return ScriptedModel(lambda text, request: left.pop(0))


def _run(*traces: str, **settings: Any) -> dict[str, Any]:
    rule = Reconstructor(_author(*traces), ScriptedModel(_replayer), **settings)
    return rule([ROW])[0]


def test_a_trace_that_leads_to_the_answer_is_kept() -> None:
    row = _run("Seven sixes: 6, 12, 18, 24, 30, 36 and at last 42.")
    assert row["messages"][-1]["content"] == "42"
    assert row["messages"][-1]["reasoning_content"].startswith("Seven sixes")
    assert row["messages"][0] == {"role": "user", "content": "6 times 7?"}
    assert row["id"] == "sum"
    told = row["reconstruction"]
    assert told["kept"] and told["tries"][0]["replayed"] == 1.0 and told["without_trace"] == 0.0


def test_a_trace_that_leads_elsewhere_is_tried_again_and_then_dropped() -> None:
    second = _run("That makes 41.", "No: it makes 42.")
    assert second["reconstruction"]["kept"] and len(second["reconstruction"]["tries"]) == 2
    never = _run("That makes 41.", "It makes 43.")
    assert not never["reconstruction"]["kept"]
    assert "reasoning_content" not in never["messages"][-1]


def test_a_trace_that_speaks_of_the_answer_is_not_replayed() -> None:
    row = _run("The given answer is 42, so 6 times 7 is 42.", "Count up to 42.")
    first, second = row["reconstruction"]["tries"]
    assert "speaks of the answer" in first["refused"] and first["replayed"] is None
    assert second["replayed"] == 1.0
    long = {
        "prompt": "Write it.",
        "completion": "An answer of more than forty characters, whole.",
    }
    copied = Reconstructor(
        _author("First I think. " + long["completion"], ""), ScriptedModel(_replayer)
    )([long])[0]
    assert [one["refused"] for one in copied["reconstruction"]["tries"]] == [
        "holds the whole answer, so its replay would prove nothing",
        "empty",
    ]


def test_several_replays_must_agree() -> None:
    said = iter(["42", "41"] * 9)
    flaky = ScriptedModel(lambda text, request: next(said))
    rule = Reconstructor(_author("It is 42."), flaky, tries=1, replays=2, control=False)
    assert not rule([ROW])[0]["reconstruction"]["kept"]
    half = Reconstructor(
        _author("It is 42."), flaky, tries=1, replays=2, faithful=0.5, control=False
    )
    row = half([ROW])[0]
    assert row["reconstruction"]["kept"] and row["reconstruction"]["without_trace"] is None


def test_the_control_shows_answers_that_need_no_trace() -> None:
    knows = ScriptedModel(lambda text, request: "42")
    row = Reconstructor(_author("Bananas are yellow."), knows)([ROW])[0]
    assert row["reconstruction"]["kept"]  # the replay says 42, whatever the trace says ...
    report = reconstruction_report([row])
    assert report["faithfulness"] == report["without trace"] == 1.0  # ... and the control tells


def test_a_reward_says_whether_a_replay_is_right() -> None:
    row = {"prompt": "6 times 7?", "completion": "It is 42", "answer": "42"}
    same = FullMarks(AnswerMatch(column="answer"))
    rule = Reconstructor(_author("That makes 42."), ScriptedModel(_replayer), same=same)
    assert rule([row])[0]["reconstruction"]["kept"]
    assert SameFinalAnswer()(row, ["Final answer: It is 42", "41"]) == [True, False]


def test_a_model_that_is_down_is_counted() -> None:
    rule = Reconstructor(
        ScriptedModel(lambda text, request: None), ScriptedModel(_replayer), control=False
    )
    row = rule([ROW])[0]
    assert row["reconstruction"]["problem"] == "the model is down"
    assert reconstruction_report([row])["failed"] == 1


def test_settings_and_rows_are_checked() -> None:
    with pytest.raises(ConfigError, match="faithful must be > 0"):
        Reconstructor(_author(), faithful=0)
    with pytest.raises(DataError, match="needs `prompt` and the answer"):
        Reconstructor(_author())([{"prompt": "?"}])
    with pytest.raises(DataError, match="empty answer"):
        Reconstructor(_author())([{"prompt": "?", "completion": "<think>so</think>"}])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    def say(text: str, request: Request) -> str:
        if "Correct answer" in text:
            return "It makes 42." if "6 times 7" in text else "No idea."
        return _replayer(text, request)

    monkeypatch.setattr(
        "assay.policy.evaluation.samplers.client_of", lambda *a, **k: ScriptedModel(say)
    )
    write_rows(tmp_path / "rows.jsonl", [ROW, {"prompt": "Who?", "completion": "Ann"}])
    arguments = ["data", "reconstruct", "--input", str(tmp_path / "rows.jsonl")]
    arguments += ["--output", str(tmp_path / "out.jsonl"), "--author", "m"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "faithfulness: 0.3333" in done.output  # one of three traces led to its answer
    (row,) = read_rows(tmp_path / "out.jsonl")
    assert row["messages"][-1]["reasoning_content"] == "It makes 42."


def test_a_trace_that_only_carries_the_answer_is_not_replayed() -> None:
    row = _run("Final answer: **42**", "So the answer is \\boxed{42}.")
    assert {one["refused"] for one in row["reconstruction"]["tries"]} == {
        "says the answer and no reasoning"
    }
    long = "def add(first, second):\n    return first + second\n\nprint(add(1, 2))"
    copied = "I write def  add( first, second ): return first+second; print( add(1,2) )"
    fault = trace_fault(copied, "Add.", long, 1000)
    assert fault.startswith("holds the whole answer")
    assert not trace_fault("I add the first to the second.", "Add.", long, 1000)


def test_a_replayer_that_is_down_is_no_verdict() -> None:
    down = ScriptedModel(lambda text, request: None)
    row = Reconstructor(_author("It makes 42."), down)([ROW])[0]
    told = row["reconstruction"]
    assert (told["kept"], told["problem"], len(told["tries"])) == (False, "the model is down", 1)
    # A reward that does not say `passed` says nothing of a replay, and that is counted.
    silent = FullMarks(Length(target=1))
    rule = Reconstructor(_author("It makes 42."), ScriptedModel(_replayer), same=silent, tries=1)
    report = reconstruction_report(rule([ROW]))
    assert (report["kept"], report["untold"], report["failed"]) == (0, 1, 0)


def test_a_trace_that_never_stops_is_refused() -> None:
    class Endless(ScriptedModel):
        def answer(self, requests: Sequence[Request]) -> list[Reply]:
            return [replace(r, finish_reason="length") for r in super().answer(requests)]

    rule = Reconstructor(Endless(lambda *_: "It makes 42."), ScriptedModel(_replayer), tries=1)
    told = rule([ROW])[0]["reconstruction"]
    assert not told["kept"] and told["tries"][0]["refused"] == "cut at the token limit"


def test_a_model_that_reasons_before_the_trace() -> None:
    row = _run("<think>I must not copy the given answer.</think>It makes 42.")
    assert row["messages"][-1]["reasoning_content"] == "It makes 42."
    row = _run("<think>It makes 42.</think>")
    assert row["messages"][-1]["reasoning_content"] == "It makes 42."
