import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import Item
from assay.judges.checklist import Checklist
from assay.judges.client import Reply, Request
from assay.policy.data.refinement import Refiner, refinement_report
from assay.policy.data.row_files import read_rows, write_rows
from tests.policy.data.scripted_models import ScriptedModel


def has_two(item: Item) -> bool:
    return "two" in item.answer[-1].content


def has_one(item: Item) -> bool:
    return "one" in item.answer[-1].content


CHECKS = Checklist({"one": has_one, "two": has_two})
ROW = {"prompt": "Count to two.", "completion": "zero"}


def _model(*answers: str) -> ScriptedModel:
    """Writes the answers one after the other; its critiques are always the same."""
    left = list(answers)

    def say(text: str, request: Request) -> str:
        if "List what is wrong" in text:
            return "- a number is missing"
        return left.pop(0)

    return ScriptedModel(say)


def test_it_stops_when_the_checklist_holds() -> None:
    model = _model("one", "one two", "never asked for")
    row = Refiner(model, CHECKS, rounds=5)([ROW])[0]
    assert row["completion"][0]["content"] == "one two"
    told = row["refinement"]
    assert (told["stopped"], told["rounds"], told["holds"]) == ("holds", 2, True)
    assert (told["share_before"], told["share_after"]) == (0.0, 1.0)
    assert len(model.asked) == 4
    # The critic and the author are told what the checks found.
    assert "- two: not met" in model.asked[2] and "a number is missing" in model.asked[3]


def test_it_stops_without_gain_and_keeps_the_best_answer() -> None:
    row = Refiner(_model("one", "worse", "worse still"), CHECKS, rounds=5)([ROW])[0]
    assert row["completion"][0]["content"] == "one"
    assert (row["refinement"]["stopped"], row["refinement"]["rounds"]) == ("no gain", 2)
    patient = Refiner(_model("one", "worse", "one two"), CHECKS, rounds=5, patience=2)([ROW])[0]
    assert patient["refinement"]["stopped"] == "holds"


def test_it_stops_after_the_last_round() -> None:
    row = Refiner(_model("one"), CHECKS, rounds=1)([ROW])[0]
    assert (row["refinement"]["stopped"], row["refinement"]["share_after"]) == ("rounds", 0.5)


def test_an_answer_that_holds_is_left_alone() -> None:
    model = _model("changed")
    row = Refiner(model, CHECKS)([{"prompt": "?", "completion": "one two"}])[0]
    assert (row["completion"][0]["content"], model.asked) == ("one two", [])
    forced = Refiner(_model("one two three"), CHECKS, at_least=1)(
        [{"prompt": "?", "completion": "one two"}]
    )[0]
    assert forced["refinement"]["rounds"] == 1
    assert forced["completion"][0]["content"] == "one two"  # no gain: the first answer stays


def test_a_missing_answer_is_written_first() -> None:
    row = Refiner(_model("one two"), CHECKS)([{"prompt": "Count to two."}])[0]
    assert row["completion"][0]["content"] == "one two"


def test_a_content_critic_ends_only_what_passes_the_checks() -> None:
    def say(text: str, request: Request) -> str:
        return "NOTHING TO IMPROVE." if "List what is wrong" in text else "one two"

    def unknown(item: Item) -> None:
        return None

    vague = Checklist({"one": has_one, "vague": unknown})
    row = Refiner(ScriptedModel(say), vague)([{"prompt": "?", "completion": "one"}])[0]
    assert row["refinement"]["stopped"] == "content"
    unmet = Refiner(ScriptedModel(say), CHECKS)([ROW])[0]
    assert unmet["refinement"]["stopped"] == "holds"


def test_a_model_that_is_down_loses_nothing() -> None:
    def say(text: str, request: Request) -> str | None:
        return None if "List what is wrong" in text else "one"

    rows = Refiner(ScriptedModel(say), CHECKS)([ROW, {"prompt": "?", "completion": "one two"}])
    assert rows[0]["refinement"]["stopped"] == "failed"
    assert rows[0]["refinement"]["problem"] == "the model is down"
    assert rows[0]["completion"][0]["content"] == "zero"
    assert rows[1]["refinement"]["stopped"] == "holds"
    report = refinement_report(rows)
    assert report["stopped"] == {"failed": 1, "holds": 1}


def test_settings_and_rows_are_checked() -> None:
    with pytest.raises(ConfigError, match="at_least must be <= rounds"):
        Refiner(_model(), CHECKS, rounds=1, at_least=2)
    with pytest.raises(ConfigError, match=r"author must be an assay.judges.client.Client"):
        Refiner("gpt", CHECKS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="row 0 has no 'prompt'"):
        Refiner(_model(), CHECKS)([{"completion": "x"}])


def test_the_command_goes_on_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    rows = [{"prompt": f"Count {i}.", "completion": "zero"} for i in range(6)]
    write_rows(tmp_path / "rows.jsonl", rows)
    output = tmp_path / "out.jsonl"
    calls: list[str] = []

    def say(text: str, request: Request) -> str:
        calls.append(text)
        if len(calls) == 9:  # in the third batch of two rows
            raise KeyboardInterrupt
        return "- nothing" if "List what is wrong" in text else "one two"

    def client(*args: Any, **settings: Any) -> ScriptedModel:
        return ScriptedModel(say)

    monkeypatch.setattr("assay.policy.evaluation.samplers.client_of", client)
    arguments = ["data", "refine", "--input", str(tmp_path / "rows.jsonl"), "--author", "m"]
    arguments += ["--output", str(output), "--batch-size", "2", "--rounds", "1"]
    arguments += ["--checklist", "tests.policy.data.test_refinement:CHECKS"]
    CliRunner().invoke(app, arguments)
    assert not output.is_file()
    progress = tmp_path / "out.jsonl.progress"
    with progress.open("a") as file:
        file.write('{"_place": 4, "torn')  # as a kill while writing leaves it
    assert len(progress.read_text().splitlines()) == 1 + 4 + 1
    other = CliRunner().invoke(app, [*arguments, "--patience", "2"])
    assert isinstance(other.exception, ConfigError) and "other settings" in str(other.exception)
    file_json = tmp_path / "r.json"
    done = CliRunner().invoke(app, [*arguments, "--json", str(file_json)])
    assert done.exit_code == 0, done.output
    assert len(calls) == 9 + 4  # the third batch alone was done again
    assert [row["prompt"][0]["content"] for row in read_rows(output)] == [
        row["prompt"] for row in rows
    ]
    assert not progress.is_file()
    assert json.loads(file_json.read_text())["stopped"] == {"holds": 6}


def test_a_check_that_cannot_tell_is_no_gain() -> None:
    def first(item: Item) -> bool | None:
        return None if "vague" in item.answer[-1].content else "one" in item.answer[-1].content

    # "zero two" meets one of two; of "vague two" only the one that was met can be told.
    vague = Checklist({"one": first, "two": has_two})
    row = Refiner(_model("vague two"), vague)([{"prompt": "?", "completion": "zero two"}])[0]
    assert row["completion"][0]["content"] == "zero two"
    assert row["refinement"]["stopped"] == "no gain"
    # What could not be told before and all holds now is one.
    row = Refiner(_model("one two"), vague)([{"prompt": "?", "completion": "vague two"}])[0]
    assert row["completion"][0]["content"] == "one two"


def test_replies_that_are_no_answers() -> None:
    class Replying(ScriptedModel):
        """Replies of which only the text is scripted come with a finish reason."""

        def answer(self, requests: Sequence[Request]) -> list[Reply]:
            found = super().answer(requests)
            return [replace(r, finish_reason=self.name) for r in found]

    def say(text: str, request: Request) -> str:
        critique = "List what is wrong" in text
        return "<think>Hm.</think>\n" + ("NOTHING TO IMPROVE" if critique else "one two")

    # A model that never stops: half an answer is none, whatever the checklist says of it.
    endless = Refiner(Replying(say, "length"), CHECKS)([ROW])[0]
    assert endless["completion"][0]["content"] == "zero"
    assert endless["refinement"]["history"][-1]["problem"] == "cut at the token limit"
    bare = Refiner(Replying(say, "length"), CHECKS)([{"prompt": "?"}])[0]
    assert bare["refinement"]["stopped"] == "failed" and not bare["completion"]
    # Reasoning is neither the critique nor the answer.
    thinking = Refiner(Replying(say, "stop"), CHECKS)([{"prompt": "?"}])[0]
    assert thinking["completion"][0]["content"] == "one two"
    only = Refiner(Replying(lambda *_: "<think>Hm.</think>", "stop"), CHECKS)([ROW])[0]
    assert only["refinement"]["problem"] == "an empty reply"


def test_two_criteria_of_one_name_are_refused() -> None:
    from assay.cli_refined_data import _checklist

    spec = "tests.policy.test_evaluate:match"
    with pytest.raises(ConfigError, match="two criteria are called"):
        _checklist(None, [spec, spec], [], None, None)
