"""Episodes, the plain loop, trimming, set depths, and the class that TRL gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.messages import Message, ToolCall
from assay.policy.environments import (
    DEPTHS,
    EnvironmentSpec,
    Episode,
    Finding,
    Tool,
    ToolError,
    ToolUnavailable,
    depth_environment,
    environment,
    environment_factory,
    keep_last_results,
    play,
    validate,
)
from assay.policy.environments.agents import Oracle, Scripted
from assay.policy.environments.loop import replay
from assay.policy.environments.trl_factory import ToolCallRefused, VerifiedOutcome

NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}},
          "required": ["n"], "additionalProperties": False}  # fmt: skip


def add(state: list[int], /, n: int) -> str:
    if n > 100:
        raise ToolError("too much")
    if n == 13:
        raise ToolUnavailable("the adder is down")
    state.append(n)
    return f"total {sum(state)}"


def adder(max_calls: int = 5) -> EnvironmentSpec:
    return EnvironmentSpec(
        "adder", "Make 7.", (Tool("add", "Add.", NUMBER, add, changes=True),), list,
        lambda state, answer: Finding.of(sum(state) == 7, f"total {sum(state)}"),
        max_calls=max_calls, oracle=(("add", {"n": 3}), ("add", {"n": 4})),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "fault", "message", "whose"),
    [
        ("add", {"n": 3}, "", "total 3", ""),
        ("add", {"n": "3"}, "", "arguments.n must be integer", "agent"),
        ("add", {}, "", "lacks", "agent"),
        ("add", {"n": 3, "m": 1}, "", "add: ", "agent"),
        ("add", {"n": 500}, "", "add: too much", "agent"),
        ("subtract", {"n": 1}, "", "there is no tool 'subtract'; the tools are: add", "agent"),
        ("add", None, "arguments: bad JSON at character 3", "cannot be read: arguments", "agent"),
        ("add", {"n": 13}, "", "environment error, not your fault: add: the adder", "environment"),
    ],
)
def test_calls(name: str, arguments: Any, fault: str, message: str, whose: str) -> None:
    episode = Episode(adder())
    shown = episode.call(name, arguments, fault)
    assert message in shown and episode.calls[0].error == whose
    assert ("error" in json.loads(shown)) if whose else shown == "total 3"


def test_an_environment_fault_is_never_held_against_the_agent() -> None:
    episode = Episode(adder())
    episode.call("add", {"n": 13})
    outcome = episode.outcome("Done.")
    assert outcome.value is None and outcome.passed is None and "adder is down" in outcome.note
    episode.call("add", {"n": 7})  # it got there all the same
    assert episode.outcome("Done.").passed


def test_budget() -> None:
    episode = Episode(adder(max_calls=2))
    for _ in range(2):
        episode.call("add", {"n": 1})
    assert "the budget of 2 calls is used up; answer now" in episode.call("add", {"n": 5})
    assert episode.state == [1, 1] and episode.left == 0


def test_an_agent_out_of_budget_gets_one_turn_to_answer() -> None:
    spec = adder(max_calls=2)
    done = play(spec, Scripted([("add", {"n": 3}), ("add", {"n": 4})], "7"))
    assert done.outcome.passed and done.stopped == "answered"
    endless = play(spec, Scripted([("add", {"n": 1})] * 50, "7"))
    assert endless.stopped == "budget" and len(endless.trajectory.turns) == 3
    assert play(spec, Scripted([("add", {"n": 1})] * 50, ""), max_turns=1).stopped == "turns"


def test_agents_that_write_their_calls_as_text() -> None:
    texts = iter(['<tool_call>{"name": "add", "arguments": {"n": 7}}</tool_call>', "It is 7."])
    done = play(adder(), lambda *_: Message("assistant", next(texts)), text_protocol="hermes")
    assert done.outcome.passed and done.trajectory.outcome == 1.0


def test_malformed_calls_of_an_agent_are_refused_and_recorded() -> None:
    texts = iter(['<tool_call>{"name": "add", "arguments": {n}}</tool_call>', "It is 7."])
    done = play(adder(), lambda *_: Message("assistant", next(texts)), text_protocol="hermes")
    assert done.episode.calls[0].error == "agent" and done.outcome.passed is False


def test_an_agent_must_return_a_message() -> None:
    with pytest.raises(ConfigError, match="must return an assistant Message, got 'text'"):
        play(adder(), lambda *_: "text")  # type: ignore[arg-type, return-value]


def test_context_trimming_is_what_the_agent_sees_and_not_what_is_kept() -> None:
    seen: list[list[str]] = []
    script = Scripted([("add", {"n": 1})] * 4, "4")

    def agent(messages: Any, tools: Any) -> Message:
        seen.append([m.content for m in messages if m.role == "tool"])
        return script(messages, tools)

    done = play(adder(), agent, keep_results=1)
    assert [text.startswith("total") for text in seen[-1]] == [False, False, False, True]
    kept = [m.content for m in done.trajectory.messages if m.role == "tool"]
    assert kept == ["total 1", "total 2", "total 3", "total 4"]


def test_keep_last_results() -> None:
    run = [Message("tool", str(i)) for i in range(3)]
    assert [m.content for m in keep_last_results(run, 5)] == ["0", "1", "2"]
    assert all("left out" in m.content for m in keep_last_results(run, 0))
    with pytest.raises(ConfigError, match="keep must be >= 0"):
        keep_last_results(run, -1)


def test_replay_gives_the_same_outcome() -> None:
    spec = environment("hotel", 4)
    done = play(spec, Oracle(spec))
    assert replay(spec, done.trajectory.messages) == done.outcome
    assert not replay(spec, done.trajectory.messages[:-3]).passed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tools": ()}, "needs tools of different names"),
        ({"max_calls": 601}, "whole number from 1 to 600, got 601"),
        ({"max_calls": 0}, "whole number from 1 to 600, got 0"),
    ],
)
def test_specs_that_are_none(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"id": "x", "task": "", "tools": adder().tools, "start": list,
                             "verify": adder().verify}  # fmt: skip
    with pytest.raises(ConfigError, match=message):
        EnvironmentSpec(**(given | change))


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("Add", NUMBER, "a tool's name must match"),
        ("reset", NUMBER, "rename the tool"),
        ("add", {"type": "array"}, "must be of type 'object'"),
        ("add", {"type": "object", "oneOf": []}, "uses"),
    ],
)
def test_tools_that_are_none(name: str, schema: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Tool(name, "", schema, add)


# Set depths.


@pytest.mark.parametrize("depth", DEPTHS)
def test_depth_is_what_it_takes(depth: int) -> None:
    spec = depth_environment(depth, seed=3)
    assert validate(spec).problems == ()
    done = play(spec, Oracle(spec))
    assert done.outcome.passed and done.outcome.calls == depth <= spec.max_calls <= 600
    short = play(spec, Scripted(spec.oracle[:-1], spec.answer))
    assert short.outcome.passed is False


def test_no_call_opens_two_doors_and_wrong_ones_are_errors() -> None:
    spec = depth_environment(10)
    episode = Episode(spec)
    doors = [call[1]["door"] for call in spec.oracle]
    assert "there is no door" in episode.call("open_door", {"door": doors[5]})
    told = spec.task.split("There are doors ")[1].split(".")[0].split(", ")
    wrong = next(door for door in told if door != doors[0])
    assert "a wall" in episode.call("open_door", {"door": wrong})
    assert episode.state == {"room": 0}


def test_depth_outside_the_range() -> None:
    with pytest.raises(ConfigError, match="from 1 to 600, got 601"):
        depth_environment(601)


# For TRL.


def test_factory_gives_tools_as_methods_with_schemas() -> None:
    from transformers.utils import get_json_schema

    spec = environment("stock", 0)
    instance = environment_factory(lambda seed, **_: environment("stock", seed), spec)()
    schema = get_json_schema(instance.move_stock)["function"]
    assert schema["name"] == "move_stock"
    properties = schema["parameters"]["properties"]
    assert {name: p["type"] for name, p in properties.items()} == {
        "source": "string", "target": "string", "quantity": "integer",
    }  # fmt: skip
    assert schema["parameters"]["required"] == ["source", "target", "quantity"]
    get_json_schema(instance.list_stock)
    public = {name for name in dir(type(instance)) if not name.startswith("_")}
    assert public == {"reset", "get_reward", "list_stock", "move_stock"}


def test_factory_plays_an_episode_and_starts_afresh() -> None:
    spec = environment("stock", 2)
    instance = environment_factory(lambda seed, **_: environment("stock", seed), spec)()
    assert instance.reset(seed=2) == spec.task
    for name, arguments in spec.oracle:
        getattr(instance, name)(**arguments)
    assert instance.get_reward() == 1.0
    with pytest.raises(ToolCallRefused, match="there is no"):
        instance.move_stock(source="x", target="y", quantity=1)
    instance.reset(seed=2)
    assert instance.get_reward() == 0.0


def test_verified_outcome_reads_the_answer() -> None:
    spec = environment("invoices", 0)
    factory = environment_factory(lambda **_: spec, spec, owns_reward=False)
    instance = factory()
    assert not hasattr(instance, "get_reward")
    instance.reset()
    for name, arguments in spec.oracle:
        getattr(instance, name)(**arguments)
    said = [[{"role": "assistant", "content": text}] for text in (spec.answer, "No idea.")]
    assert VerifiedOutcome()(said, environments=[instance, instance]) == [1.0, 0.0]


def test_one_factory_is_for_one_set_of_tools() -> None:
    spec = environment("stock", 0)
    instance = environment_factory(lambda **_: environment("files", 0), spec)()
    with pytest.raises(ConfigError, match="has other tools than 'stock/0'"):
        instance.reset()


def test_messages_carry_call_ids() -> None:
    done = play(adder(), Scripted([("add", {"n": 7})], "7"))
    call: ToolCall = done.trajectory.messages[1].tool_calls[0]
    assert done.trajectory.messages[2].tool_call_id == call.id == "c1"
