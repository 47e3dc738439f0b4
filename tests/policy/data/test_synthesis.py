"""Agents of several styles in real environments, driven by a scripted model."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError, JudgeError
from assay.judges import Endpoint, Reply, Request
from assay.judges.chat_protocol import read_reply
from assay.judges.results import ResultFile
from assay.judges.turn_critic import RuleCritic
from assay.messages import Message, ToolCall
from assay.policy.data.synthesis import SynthesisPlan, synthesise
from assay.policy.data.trajectories import read_trajectories, read_trajectory
from assay.policy.environments import environment, generate, play
from assay.policy.environments.styles import NativeTools, PlanThenAct, ReActAgent
from tests.judges.scripted import ScriptedClient

SPECS = {spec.task: spec for spec in generate(6)}


def step(prompt_messages):
    """The next step of the oracle of the task that stands in a conversation, or its answer."""
    spec = next(s for s in SPECS.values() if any(s.task in m.content for m in prompt_messages))
    made = sum(m.role == "tool" or m.content.startswith("Observation:") for m in prompt_messages)
    return spec.oracle[made] if made < len(spec.oracle) else spec.answer


def native(prompt, request):
    found = step(request.messages)
    if isinstance(found, str):
        return Reply(found)
    assert request.tools
    return Reply("", tool_calls=(ToolCall(found[0], dict(found[1])),))


def hermes(prompt, request):
    found = step(request.messages)
    if isinstance(found, str):
        return f"<think>done</think>{found}"
    call = json.dumps({"name": found[0], "arguments": dict(found[1])})
    return f"<think>next</think><tool_call>{call}</tool_call>"


def react(prompt, request):
    found = step(request.messages)
    if isinstance(found, str):
        return f"Thought: it is done\nFinal Answer: {found}"
    call = f"Thought: next\nAction: {found[0]}\nAction Input: {json.dumps(dict(found[1]))}"
    return call + "\nObservation: made up by the model"


def planner(prompt, request):
    if request.messages[0].content.startswith("You are about"):
        return "1. Do it."
    assert "1. Do it." in request.messages[0].content
    return native(prompt, request)


STYLES = {
    "native": NativeTools(ScriptedClient(native), system="Be careful."),
    "hermes": NativeTools(ScriptedClient(hermes)),
    "react": ReActAgent(ScriptedClient(react)),
    "plan": PlanThenAct(ScriptedClient(planner)),
}


@pytest.mark.parametrize("name", STYLES)
def test_every_style_solves_what_its_model_can(name):
    for spec in SPECS.values():
        played = play(spec, STYLES[name].agent(0))
        assert played.outcome.passed, (spec.id, played.outcome.note)
        ids = [call.id for m in played.trajectory.messages for call in m.tool_calls]
        assert len(set(ids)) == len(ids) == len(spec.oracle)
    if name == "plan":
        assert played.trajectory.turns[0].message.reasoning == "Plan:\n1. Do it."
    if name == "react":
        assert played.trajectory.turns[0].message.reasoning == "next"


@pytest.mark.parametrize("form", ["hermes", "miroflow", "react", "openai"])
def test_rows_in_one_form(tmp_path, form):
    specs = list(SPECS.values())[:2]
    out = tmp_path / "rows.jsonl"
    plan = SynthesisPlan(STYLES, RuleCritic(), form=form, concurrency=2)
    made = synthesise(specs, plan, out)
    assert {name: dict(fates) for name, fates in made.fates.items()} == {
        name: {"kept": 2} for name in STYLES
    }
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["agent"] for row in rows} == set(STYLES) and len({row["id"] for row in rows}) == 8
    for row in rows:
        trajectory = read_trajectory(row, form)
        assert len(row["verdicts"]) == len(trajectory.turns)
        spec = next(s for s in specs if s.id == row["environment"])
        calls = [c for m in trajectory.messages for c in m.tool_calls]
        assert [(c.name, dict(c.arguments)) for c in calls] == [
            (name, dict(arguments)) for name, arguments in spec.oracle
        ]
    assert len(list(read_trajectories(out, form))) == 8


def test_failures_are_left_out_and_broken_models_tried_again(tmp_path):
    spec = next(iter(SPECS.values()))
    out = tmp_path / "rows.jsonl"
    down = ScriptedClient(lambda *_: Reply("", status="failed", error="no server"))
    idle = ScriptedClient(lambda *_: "Done.")
    plan = SynthesisPlan({"down": NativeTools(down), "idle": NativeTools(idle)}, attempts=2)
    made = synthesise([spec], plan, out)
    assert made.to_json()["agents"] == {
        "down": {"model failed": 2},
        "idle": {"failed the task": 2},
    }
    assert out.read_text() == "" and "no server" in next(iter(made.errors))
    again = SynthesisPlan({"down": STYLES["native"], "idle": STYLES["native"]}, attempts=2)
    made = synthesise([spec], again, out)
    assert made.fates["down"] == {"kept": 2} and made.fates["idle"] == {"failed the task": 2}
    with pytest.raises(JudgeError, match="does not answer"):
        play(spec, NativeTools(down).agent(0))


def test_a_killed_run_goes_on(tmp_path):
    specs, out = list(SPECS.values())[:3], tmp_path / "rows.jsonl"
    plan = SynthesisPlan({"native": STYLES["native"]}, concurrency=1)
    synthesise(specs, plan, out)
    whole = out.read_text()
    lines = whole.splitlines(keepends=True)
    out.write_text("".join(lines[:2]) + lines[2][:40])
    made = synthesise(specs, plan, out)
    assert sorted(out.read_text().splitlines()) == sorted(whole.splitlines())
    assert made.fates["native"] == {"kept": 3}
    out.write_text("{}\n")
    with pytest.raises(DataError, match="not written by this command"):
        synthesise(specs, plan, out)


def test_half_a_character_ends_no_run_and_one_process_writes(tmp_path):
    spec, out = next(iter(SPECS.values())), tmp_path / "rows.jsonl"

    def cut(prompt, request):  # a reply that ends inside a pair of surrogates
        found = hermes(prompt, request)
        return f"<think>cut \ud83d</think>{found}" if isinstance(found, str) else found

    plan = SynthesisPlan({"cut": NativeTools(ScriptedClient(cut))})
    assert synthesise([spec], plan, out).fates["cut"] == {"kept": 1}
    assert json.loads(out.read_text())["agent"] == "cut"
    with ResultFile(out, resume=True), pytest.raises(ConfigError, match="another process"):
        synthesise([spec], plan, out)


def test_repeated_calls_are_out_of_the_loss(tmp_path):
    spec = list(SPECS.values())[1]

    def twice(prompt, request):
        results = [m for m in request.messages if m.role == "tool"]
        if len(results) == 1:  # the first call once more
            name, arguments = spec.oracle[0]
            return Reply("", tool_calls=(ToolCall(name, dict(arguments)),))
        messages = [m for m in request.messages if m is not (results[1] if results[1:] else None)]
        return native(prompt, type(request)(tuple(messages), tools=request.tools))

    plan = SynthesisPlan({"twice": NativeTools(ScriptedClient(twice))}, RuleCritic(), form="openai")
    synthesise([spec], plan, tmp_path / "rows.jsonl")
    row = json.loads((tmp_path / "rows.jsonl").read_text())
    flags = [m["loss"] for m in row["conversations"] if m["role"] == "assistant"]
    assert flags[1] == 0 and flags.count(0) == 1
    strict = SynthesisPlan(plan.agents, RuleCritic(), most_failing=0.0)
    assert synthesise([spec], strict, tmp_path / "none.jsonl").fates["twice"] == {
        "failed the task": 1
    }


@pytest.mark.parametrize(
    "settings",
    [{"agents": {}}, {"attempts": 0}, {"form": "xml"}, {"most_failing": 2}, {"concurrency": 0}],
)
def test_unusable_plans(settings):
    with pytest.raises(ConfigError):
        SynthesisPlan(**{"agents": STYLES} | settings)


def test_tools_go_to_the_endpoint_and_calls_come_back():
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    broken = {"id": "y", "type": "function", "function": {"name": "g", "arguments": "{"}}
    body = {
        "choices": [
            {"message": {"role": "assistant", "content": None, "tool_calls": [call, broken, 3]}}
        ]
    }
    reply = read_reply(json.dumps(body).encode())
    first, second = reply.tool_calls
    assert (first.id, first.name, first.arguments) == ("x", "f", {"a": 1})
    assert second.arguments is None and second.error and reply.text == ""
    request = Request((Message("user", "go"),), seed=3, tools=({"name": "f"},))
    sent = Endpoint("http://127.0.0.1:9/v1", "m").body(request)
    assert sent["tools"] == [{"name": "f"}] and sent["seed"] == 3


def test_command_line(tmp_path):
    words = ["data", "trajectories", "--output", str(tmp_path / "rows.jsonl"), "--count", "2"]
    wrong = CliRunner().invoke(app, [*words, "--agent", "native"])
    assert wrong.exit_code == 2
    words += ["--agent", "react:r=http://127.0.0.1:9/v1,m", "--json", str(tmp_path / "c.json")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1, done.output
    assert json.loads((tmp_path / "c.json").read_text())["agents"] == {"r": {"model failed": 2}}
    assert environment("orders", 0).id == "orders/0"
