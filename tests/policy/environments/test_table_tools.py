"""Tools and tasks as data: operands, requirements, effects, and specs that a model writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from assay.errors import ConfigError, JudgeError
from assay.judges.client import Client, Reply, Request
from assay.policy.environments import Episode, SpecWriter, play, validate
from assay.policy.environments.agents import Oracle
from assay.policy.environments.families import table_task
from assay.policy.environments.spec import ToolError
from assay.policy.environments.table_task import TableTask, differences, says
from assay.policy.environments.table_tools import table_tool, value_of
from assay.policy.environments.written_spec import read_task

TABLES: dict[str, Any] = {
    "bills": {
        "b1": {"owner": "Ada", "state": "open", "sum": 30, "notes": ["urgent"]},
        "b2": {"owner": "Ben", "state": "open", "sum": 50, "notes": []},
        "b3": {"owner": "Ada", "state": "paid", "sum": 70, "notes": []},
    },
    "purse": {"main": {"money": 60}},
}
DUE = {"cell": ["bills", {"arg": "bill_id"}, "sum"]}
MONEY = ["purse", "main", "money"]
LIST = {"name": "list_bills", "description": "List bills.", "do": "list", "table": "bills",
        "filter": ["owner", "state"], "show": ["owner", "state", "sum"]}  # fmt: skip
SHOW = {
    "name": "show_bill",
    "description": "Show.",
    "do": "get",
    "table": "bills",
    "key": "bill_id",
}
PAY = {
    "name": "pay",
    "description": "Pay a bill.",
    "do": "change",
    "arguments": {"bill_id": {"type": "string"}},
    "requires": [
        {"left": {"cell": ["bills", {"arg": "bill_id"}, "state"]}, "op": "==", "right": "open",
         "else": "it is paid already"},
        {"left": {"cell": MONEY}, "op": ">=", "right": DUE, "else": "not enough money"},
    ],
    "effects": [
        {"set": ["bills", {"arg": "bill_id"}, "state"], "to": "paid"},
        {"add": MONEY, "by": {"difference": [0, DUE]}},
    ],
}  # fmt: skip


LOOK: tuple[str, dict[str, str]] = ("list_bills", {})


def task(**change: Any) -> TableTask:
    given: dict[str, Any] = {
        "task": "Pay all open bills of Ada and Ben, Ben first if the money allows it.",
        "tables": TABLES,
        "tools": (LIST, SHOW, PAY),
        "goal": {"bills": {"b2": {"state": "paid"}}, "purse": {"main": {"money": 10}}},
        "oracle": (("list_bills", {"state": "open"}), ("pay", {"bill_id": "b2"})),
    }
    return TableTask(**(given | change))


def test_reading() -> None:
    episode = Episode(task().environment())
    assert [row["id"] for row in json.loads(episode.call("list_bills", {"owner": "Ada"}))] == [
        "b1",
        "b3",
    ]
    assert json.loads(episode.call("list_bills", {"owner": "Ada", "state": "paid"})) == [
        {"id": "b3", "owner": "Ada", "state": "paid", "sum": 70}
    ]
    assert json.loads(episode.call("show_bill", {"bill_id": "b1"}))["notes"] == ["urgent"]
    assert "there is no 'b9' in bills" in episode.call("show_bill", {"bill_id": "b9"})


def test_requirements_hold_before_anything_changes() -> None:
    episode = Episode(task().environment())
    episode.call("pay", {"bill_id": "b2"})
    assert episode.state["purse"]["main"]["money"] == 10
    before = json.dumps(episode.state)
    assert "not enough money" in episode.call("pay", {"bill_id": "b1"})
    assert "it is paid already" in episode.call("pay", {"bill_id": "b2"})
    assert json.dumps(episode.state) == before
    assert TABLES["purse"]["main"]["money"] == 60


@pytest.mark.parametrize(
    ("effect", "check"),
    [
        ({"append": ["bills", "b1", "notes"], "value": {"arg": "x"}}, ["urgent", "v"]),
        ({"remove": ["bills", "b1", "notes"], "value": "urgent"}, []),
        ({"set": ["bills", "b1", "notes"], "to": {"join": [{"arg": "x"}, "-", 1]}}, "v-1"),
    ],
)
def test_effects_on_fields(effect: dict[str, Any], check: Any) -> None:
    tool = table_tool(PAY | {"arguments": {"x": {"type": "string"}}, "requires": [],
                             "effects": [effect]})  # fmt: skip
    state = json.loads(json.dumps(TABLES))
    tool.run(state, x="v")
    assert state["bills"]["b1"]["notes"] == check


def test_insert_and_delete() -> None:
    insert = {"insert": "purse", "key": {"arg": "x"}, "row": {"money": {"product": [2, 3]}}}
    tool = table_tool(PAY | {"arguments": {"x": {"type": "string"}}, "requires": [],
                             "effects": [insert, {"delete": ["bills", "b1"]}]})  # fmt: skip
    state = json.loads(json.dumps(TABLES))
    tool.run(state, x="spare")
    assert state["purse"]["spare"] == {"money": 6} and "b1" not in state["bills"]
    with pytest.raises(ToolError, match="exists already"):
        tool.run(json.loads(json.dumps(TABLES)), x="main")


@pytest.mark.parametrize(
    "operand",
    [{"arg": "y"}, {"cell": ["bills", "b1", "colour"]}, {"sum": [1], "arg": "x"}, {"root": [4]},
     {"cell": ["cats", "b1", "sum"]}],
)  # fmt: skip
def test_operands_that_are_none(operand: Any) -> None:
    with pytest.raises(ConfigError):
        value_of(operand, TABLES, {"x": 1})


@pytest.mark.parametrize(
    "change",
    [{"do": "jump"}, {"effects": []}, {"effects": [{"explode": 1}]}, {"arguments": None},
     {"requires": [{"left": 1, "op": "~", "right": 2, "else": ""}]},
     {"requires": [{"left": 1, "op": "=="}]}],
)  # fmt: skip
def test_tools_that_are_none(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        table_tool(PAY | change)


def test_the_whole_database_is_compared() -> None:
    spec = task().environment()
    assert play(spec, Oracle(spec)).outcome.passed
    other = task(oracle=(("pay", {"bill_id": "b1"}),)).environment()
    note = play(other, Oracle(other)).outcome.note
    assert "bills[b1].state is 'paid', should be 'open'" in note
    assert differences({"t": {"a": {"l": [1, 2]}}}, {"t": {"a": {"l": [2, 1]}}}) == []
    assert differences({"t": {"a": {}}}, {"t": {"b": {}}}) == [
        "t[a] is not wanted",
        "t[b] is missing",
    ]


@pytest.mark.parametrize(
    ("answer", "words", "right"),
    [("It is 120.", "120", True), ("1200", "120", False), ("120.5", "120", False),
     ("12:00 it is", "12:00", True), (None, "1", False)],
)  # fmt: skip
def test_says(answer: str | None, words: str, right: bool) -> None:
    assert says(answer, words) is right


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"oracle": ()}, "there is no oracle"),
        ({"goal": {"purse": {"main": {"money": 60}}}}, "does nothing is not failed"),
        ({"oracle": (("pay", {"bill_id": "b2"}),)}, "nothing says bill_id='b2'"),
        ({"oracle": (("list_bills", {}), ("pay", {"bill_id": "b1"}))}, "the oracle fails"),
        (
            {
                "oracle": (
                    ("list_bills", {}),
                    ("pay", {"bill_id": "b9"}),
                    ("pay", {"bill_id": "b2"}),
                )
            },
            "the oracle's call of pay fails",
        ),
        (
            {
                "oracle": (
                    ("list_bills", {}),
                    ("pay", {"bill_id": "b2"}),
                    ("pay", {"bill_id": "b2"}),
                )
            },
            "lazy agent 'all_but_last' is not failed",
        ),
    ],
)
def test_validation_says_what_is_wrong(change: dict[str, Any], problem: str) -> None:
    found = validate(task(**change).environment())
    assert not found.passed and any(problem in text for text in found.problems), found.problems


# Written by a model.


class Writer(Client):
    """Replies in turn; what it was asked is kept."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.asked = list(replies), []  # type: ignore[var-annotated]

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked.append(requests[0].messages)
        return [self.replies.pop(0)]

    def fingerprint(self) -> str:
        return "writer"


def good() -> dict[str, Any]:
    """What a model may write: a generated task as JSON."""
    fields = json.loads(table_task("tickets", 0).to_json())
    return {name: fields[name] for name in ("task", "tables", "tools", "goal", "oracle", "answer")}


def test_a_written_environment_is_validated_like_the_others() -> None:
    writer = Writer(Reply(f"Here it is:\n```json\n{json.dumps(good())}\n```"))
    spec = SpecWriter(writer).environment("a help desk")
    assert spec is not None and validate(spec).passed and spec.family == "written"
    assert "about this: a help desk." in writer.asked[0][0].content


def test_what_is_wrong_goes_back_to_the_model() -> None:
    bad = good() | {"oracle": good()["oracle"][:-1]}
    writer = Writer(Reply("no"), Reply(json.dumps(bad)), Reply(json.dumps(good())))
    written, problems = SpecWriter(writer).write("a help desk")
    assert written is not None
    assert problems[0] == "the reply holds no JSON object" and "the oracle fails" in problems[1]
    assert "the oracle fails" in writer.asked[2][-1].content


def test_attempts_end_and_failures_are_ours() -> None:
    assert SpecWriter(Writer(Reply("no"), Reply("no")), attempts=2).environment("x") is None
    with pytest.raises(JudgeError, match="the model that writes environments failed: down"):
        SpecWriter(Writer(Reply.failed("down"))).write("x")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tables": []}, "'tables' must be"),
        ({"tables": {"t": {"a": 3}}}, "must hold rows"),
        ({"tables": {"t": {"a": None}}}, "is null"),
        ({"oracle": [["assign"]]}, "a call of 'oracle'"),
        ({"answer": 3}, "'answer' must be text"),
        ({"tools": [LIST]}, "no tool changes anything"),
        ({"tools": [{"name": "x"}]}, "malformed"),
        ({"tools": [*good()["tools"][1:], good()["tools"][0] | {"table": "cats"}]}, "table 'cats'"),
        ({"goal": {"cats": {"a": {"b": 1}}}}, "cats"),
    ],
)
def test_written_specs_that_are_none(change: dict[str, Any], problem: str) -> None:
    task, found = read_task(json.dumps(good() | change))
    assert task is None and problem in found, found


def test_fields_that_lack() -> None:
    fields = good()
    del fields["goal"]
    assert read_task(json.dumps(fields))[1] == "the object lacks ['goal']"
    assert "not one JSON object" in read_task('{"task": NaN}')[1]
