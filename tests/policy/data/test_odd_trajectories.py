"""Trajectories as models and exporters really write them: nothing is lost, nothing guessed."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judges.turn_critic import RuleCritic
from assay.messages import Message, ToolCall, Trajectory
from assay.policy.data.mistakes import mistake_report
from assay.policy.data.supervised import losses_of_row, supervised_row, supervised_rows
from assay.policy.data.trajectories import read_trajectory, trajectory_row
from assay.rewards.turn_reward import TurnReward

ASKED = {"role": "user", "content": "Find it."}
MALFORMED = ["{bad", "[1, 2]", '"{}"', '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": "</tool_call>"', ""]


def calling(name: str, arguments: str) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


@pytest.mark.parametrize("form", ["openai", "trl", "hermes", "miroflow", "react", "tau_bench"])
@pytest.mark.parametrize("arguments", MALFORMED)
@pytest.mark.parametrize("name", ["find", "", "\u5de5\u5177"])
def test_a_malformed_call_stays_one_in_every_form(form: str, arguments: str, name: str) -> None:
    run = read_trajectory({"messages": [ASKED, calling(name, arguments)]})
    if not run.turns[0].message.tool_calls[0].error:  # no arguments are fine
        assert arguments == "" and name
        return
    row = json.loads(json.dumps(trajectory_row(run, form)))
    again = read_trajectory(row, form if form in ("hermes", "miroflow", "react") else "auto")
    (call,) = again.turns[0].message.tool_calls
    assert call.error
    assert "malformed_call" in RuleCritic().review([again])[0][0].findings


def test_calls_that_a_form_cannot_hold_are_not_dropped() -> None:
    run = read_trajectory({"messages": [ASKED, calling("find", "{}")]})
    with pytest.raises(DataError, match="'find' is called"):
        trajectory_row(run, "who_and_when")


def test_who_and_when_keeps_developer_messages_apart_from_turns() -> None:
    run = read_trajectory({"messages": [{"role": "developer", "content": "Be brief."}, ASKED]})
    assert not read_trajectory(trajectory_row(run, "who_and_when")).turns


@pytest.mark.parametrize("budget", [-1, 2.5, math.inf, True, "many"])
def test_a_budget_is_a_count(budget: Any) -> None:
    with pytest.raises(DataError, match="`budget` must be a whole number"):
        read_trajectory({"messages": [ASKED], "budget": budget})


def test_a_schema_that_refers_elsewhere_is_refused_and_not_fetched() -> None:
    tool = {"name": "find", "parameters": {"$ref": "http://example.com/schema.json"}}
    run = Trajectory((Message("assistant", tool_calls=(ToolCall("find", {"q": 1}),)),), (tool,))
    with pytest.raises(DataError, match="refer to what is not in them"):
        RuleCritic().review([run])


@pytest.mark.parametrize("told", ["first", -1, 1.5, True, math.inf])
def test_a_mistaken_step_is_a_count(told: Any) -> None:
    run = Trajectory((Message("assistant", "x"),), info={"mistake_step": told})
    with pytest.raises(DataError, match="mistake_step of run"):
        mistake_report([run], RuleCritic().review([run]))


def test_runs_of_one_name_and_runs_without_turns_are_all_counted() -> None:
    runs = [Trajectory((Message("user", "x"),), id="a", info={"mistake_step": 0})] * 2
    report = mistake_report(runs, RuleCritic().review(runs))
    assert report.runs == 2 and sorted(report.guesses) == ["a", "a#1"]


def test_rows_for_fine_tuning_are_checked() -> None:
    run = Trajectory((Message("user", "x"), Message("assistant", "y")))
    with pytest.raises(DataError, match="flag must be 0 or 1"):
        supervised_row(run, [2])
    with pytest.raises(ConfigError, match="form must be one of"):
        supervised_row(run, [1], "tau_bench")
    with pytest.raises(ConfigError, match="batch must be"):
        list(supervised_rows([run], RuleCritic(), batch=0))
    with pytest.raises(DataError, match="a message must be a mapping"):
        losses_of_row({"messages": [5]})


def test_one_column_in_no_tuple_is_not_taken_letter_by_letter() -> None:
    with pytest.raises(ConfigError, match=r"written \('evidence',\)"):
        TurnReward(RuleCritic(), info_columns="evidence")  # type: ignore[arg-type]
