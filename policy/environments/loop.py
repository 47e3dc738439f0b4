"""A plain Python loop around an environment: any agent, no trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import ConfigError
from assay.messages import Message, ToolCall, Trajectory
from assay.policy.environments.episode import Episode, Outcome
from assay.policy.environments.spec import EnvironmentSpec
from assay.policy.environments.trimming import keep_last_results
from assay.protocols import Protocol, protocol

#: Reads the conversation and the tools' schemas, writes the next assistant message.
Agent = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], Message]


@dataclass(frozen=True, slots=True)
class Played:
    """A finished run.

    Attributes:
        trajectory: Everything that was said, nothing trimmed; `outcome` is the value.
        outcome: How it ended.
        episode: The environment as the run left it.
        stopped: `answered`, `budget` (of calls) or `turns`.
    """

    trajectory: Trajectory
    outcome: Outcome
    episode: Episode
    stopped: str

    __hash__ = None  # type: ignore[assignment]


def play(
    spec: EnvironmentSpec,
    agent: Agent,
    *,
    system: str | None = None,
    keep_results: int | None = None,
    max_turns: int | None = None,
    text_protocol: str | Protocol | None = None,
) -> Played:
    """Let an agent work on a task until it answers or its budget is used up.

    An agent whose budget is used up gets one more turn to answer. A message without tool calls is
    the answer.

    Args:
        spec: The environment.
        agent: Writes the next message.
        system: Text of a system message.
        keep_results: The agent sees only this many of the latest tool results; None for all.
        max_turns: Assistant turns at most; None for the budget of calls plus one.
        text_protocol: For agents that write calls as text: `hermes`, `miroflow` or `react`.

    Raises:
        ConfigError: The agent returned something that is no assistant message.

    Example:
        >>> from assay.policy.environments import environment
        >>> from assay.policy.environments.agents import Oracle, do_nothing
        >>> spec = environment("orders", seed=1)
        >>> play(spec, Oracle(spec)).outcome.passed, play(spec, do_nothing).outcome.passed
        (True, False)
    """
    reader = None if text_protocol is None else protocol(text_protocol)
    messages = [Message("system", system)] if system else []
    messages.append(Message("user", spec.task))
    episode, schemas = Episode(spec), spec.schemas()
    limit = spec.max_calls + 1 if max_turns is None else max_turns
    answer, stopped = None, "turns"
    for _ in range(limit):
        final = not episode.left
        view = messages if keep_results is None else keep_last_results(messages, keep_results)
        message = _read(agent(tuple(view), schemas), reader)
        messages.append(message)
        if not message.tool_calls:
            answer, stopped = message.split()[1], "answered"
            break
        messages.extend(_result(episode, call) for call in message.tool_calls)
        if final:
            stopped = "budget"
            break
    outcome = episode.outcome(answer)
    trajectory = Trajectory(tuple(messages), schemas, outcome.value, spec.id)
    return Played(trajectory, outcome, episode, stopped)


def replay(spec: EnvironmentSpec, completion: Sequence[Message]) -> Outcome:
    """Do the calls of a stored completion again in a fresh environment, and verify the end.

    Right for environments whose results depend on their state and the calls alone, such as the
    generated ones: a reward can then verify a completion wherever it was made.
    """
    episode, answer = Episode(spec), None
    for message in completion:
        if message.role == "assistant":
            for call in message.tool_calls:
                episode.call_of(call)
            answer = None if message.tool_calls else message.split()[1]
    return episode.outcome(answer)


def _result(episode: Episode, call: ToolCall) -> Message:
    return Message(
        "tool", episode.call_of(call), name=call.name or None, tool_call_id=call.id or None
    )


def _read(message: Any, reader: Protocol | None) -> Message:
    if not isinstance(message, Message) or message.role != "assistant":
        raise ConfigError(
            f"an agent must return an assistant Message, got {message!r:.80}; wrap text as "
            "Message('assistant', text)"
        )
    if reader is None:
        return message
    reasoning, text = message.split()
    turn = reader.parse(text)
    calls = (*message.tool_calls, *turn.calls)
    return replace(message, content=turn.text, reasoning=reasoning, tool_calls=calls)
