"""Ways to drive a language model through an environment: native calls, ReAct, plan then act."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from assay.errors import JudgeError
from assay.fingerprint import configuration_fingerprint
from assay.judges.client import Client, Reply, Request
from assay.judges.prompt_template import PromptTemplate
from assay.messages import Message, ToolCall
from assay.policy.environments.loop import Agent
from assay.protocols import React, protocol

Tools = Sequence[Mapping[str, Any]]
_REACT = React()


class AgentStyle(ABC):
    """A way to use a model as an agent; makes a fresh agent for every run."""

    @abstractmethod
    def agent(self, seed: int) -> Agent:
        """An agent for one run; different seeds sample differently."""

    def fingerprint(self) -> str:
        """A hash of the model and of how it is used."""
        return configuration_fingerprint(self)


@dataclass(frozen=True)
class NativeTools(AgentStyle):
    """The model's own tool calls: the server's where it reads them, else Hermes text.

    Args:
        client: The model.
        system: Text of a system message, or None.
    """

    client: Client
    system: str | None = None

    def agent(self, seed: int) -> Agent:
        """Asks for the next message, with the tools on offer."""

        def act(messages: Sequence[Message], tools: Tools) -> Message:
            first = [Message("system", self.system)] if self.system else []
            reply = _ask(self.client, [*first, *messages], seed, tools)
            return _called(reply, len(messages))

        return act


@dataclass(frozen=True)
class ReActAgent(AgentStyle):
    """Thought, Action, Action Input and Observation as text.

    Args:
        client: The model; it needs no tool calling.

    Source: Yao et al., ReAct, arXiv:2210.03629.
    """

    client: Client

    def agent(self, seed: int) -> Agent:
        """Shows calls and results as ReAct text and reads the next step."""

        def act(messages: Sequence[Message], tools: Tools) -> Message:
            shown = [Message("system", _fill("react_agent", tools=_listed(tools)))]
            shown += [_as_react(message) for message in messages]
            text = _ask(self.client, shown, seed).text
            return _of_react(text.split("\nObservation:", 1)[0], len(messages))

        return act


@dataclass(frozen=True)
class PlanThenAct(AgentStyle):
    """A plan first, without tools; then native calls that follow it.

    The plan is the first call's reasoning in the trajectory.

    Args:
        client: The model.
    """

    client: Client

    def agent(self, seed: int) -> Agent:
        """Plans at the first turn of a run, acts at every turn."""
        plan: list[str] = []

        def act(messages: Sequence[Message], tools: Tools) -> Message:
            fresh = not plan
            if fresh:
                system = Message("system", _fill("plan_agent", tools=_listed(tools)))
                reply = _ask(self.client, [system, *messages], seed)
                plan.append(Message("assistant", reply.text).split()[1].strip())
            system = Message("system", _fill("act_agent", plan=plan[0]))
            reply = _ask(self.client, [system, *messages], seed, tools)
            message = _called(reply, len(messages))
            if fresh:
                thought = f"Plan:\n{plan[0]}"
                if message.reasoning:
                    thought += f"\n\n{message.reasoning}"
                message = replace(message, reasoning=thought)
            return message

        return act


def _ask(client: Client, messages: Sequence[Message], seed: int, tools: Tools = ()) -> Reply:
    request = Request(tuple(messages), seed=seed, tools=tuple(tools))
    (reply,) = client.ask([request])
    if reply.status == "failed":
        raise JudgeError(f"the agent's model does not answer: {reply.error}")
    return reply


def _called(reply: Reply, turn: int) -> Message:
    """The assistant message of a reply; calls that the server left in the text are read."""
    reasoning, text = Message("assistant", reply.text).split()
    calls = reply.tool_calls
    if not calls:
        read = protocol("hermes").parse(text)
        calls, text = tuple(read.calls), read.text
    return Message("assistant", text.strip(), reasoning=reasoning, tool_calls=_named(calls, turn))


def _of_react(text: str, number: int) -> Message:
    turn, thoughts = _REACT.parse(text), _REACT.thoughts(text)
    calls = _named(turn.calls, number)
    return Message("assistant", turn.text.strip(), reasoning=thoughts or None, tool_calls=calls)


def _named(calls: Sequence[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """Calls with ids of their own, where the protocol gave none."""
    return tuple(
        call if call.id else replace(call, id=f"call_{turn}_{i}") for i, call in enumerate(calls)
    )


def _as_react(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", _REACT.render_result(message.content))
    if message.role != "assistant":
        return message
    parts = [f"Thought: {message.reasoning}"] if message.reasoning else []
    parts += [_REACT.render_call(call) for call in message.tool_calls]
    if not message.tool_calls:
        parts.append(f"Final Answer: {message.content}")
    return Message("assistant", "\n".join(parts))


def _listed(tools: Tools) -> str:
    return "\n".join(json.dumps(dict(tool.get("function", tool))) for tool in tools)


def _fill(name: str, **values: str) -> str:
    return PromptTemplate(_text(name), tuple(values)).fill(**values)


@cache
def _text(name: str) -> str:
    return files("assay.policy.environments").joinpath(f"prompts/{name}.txt").read_text("utf-8")
