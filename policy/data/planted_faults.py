"""Plants one fault in a run that went well, to see whether a critic finds the turn.

Kinds: `wrong_tool`, `bad_argument_type`, `missing_argument`, `repeated_call`, `ignored_error`,
`answer_without_evidence`. Results stay as they were, so that no environment gives the fault away.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import ConfigError
from assay.judges.evidence import identifiers, large_numbers
from assay.judges.tool_outcomes import answers_error, outcome_of
from assay.judges.tool_schemas import Toolbox
from assay.messages import Message, ToolCall, Trajectory

ERRORS = (
    "Error: the record could not be read",
    '{"error": "lookup failed"}',
    "Error: operation failed, nothing was changed",
    "Exception: backend returned no data",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A run with a fault.

    Attributes:
        run: The changed run.
        turn: Index of the turn that is at fault.
        kind: A key of `KINDS`.
    """

    run: Trajectory
    turn: int
    kind: str

    __hash__ = None  # type: ignore[assignment]


def plant(
    run: Trajectory, kind: str, tools: Sequence[Mapping[str, Any]], seed: int = 0
) -> Planted | None:
    """The run with one fault of that kind, or None where it has no place for one.

    Args:
        run: A run that went well.
        kind: A key of `KINDS`.
        tools: Schemas of the tools on offer.
        seed: Of the choice of place and fault.

    Raises:
        ConfigError: No such kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind must be one of {sorted(KINDS)}, got {kind!r:.80}")
    return KINDS[kind](run, tools, random.Random(f"{seed}/{kind}/{run.id}"))


def _wrong_tool(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    """A tool that there is not, or another one that does not take these arguments."""
    place = _some_call(run, coin)
    if place is None:
        return None
    position, call = place
    box = Toolbox(tools)
    others = [replace(call, name=name) for name in sorted(box.names - {call.name})]
    misfits = [other for other in others if box.fault(other)]
    made_up = replace(call, name=coin.choice(("lookup", "run_query", f"{call.name}_v2")))
    chosen = coin.choice(misfits) if misfits and coin.random() < 0.5 else made_up
    return _with_call(run, position, chosen, "wrong_tool")


def _bad_argument_type(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    place = _some_call(run, coin, arguments=True)
    if place is None:
        return None
    position, call = place
    given = dict(call.arguments or {})
    name = coin.choice(sorted(given))
    value = given[name]
    others: tuple[Any, ...] = ([], 12345) if isinstance(value, str) else ("many", None)
    given[name] = coin.choice(others)
    return _with_call(run, position, replace(call, arguments=given), "bad_argument_type")


def _missing_argument(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    required = _required(tools)
    place = _some_call(run, coin, among={name for name, keys in required.items() if keys})
    if place is None:
        return None
    position, call = place
    present = [key for key in required[call.name] if key in (call.arguments or {})]
    if not present:
        return None
    gone = coin.choice(sorted(present))
    kept = {k: v for k, v in (call.arguments or {}).items() if k != gone}
    return _with_call(run, position, replace(call, arguments=kept), "missing_argument")


def _repeated_call(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    """The same call and the same answer once more, right after."""
    place = _some_call(run, coin, worked=True)
    if place is None:
        return None
    position, _ = place
    end = _after_results(run.messages, position)
    again = run.messages[position:end]
    messages = (*run.messages[:end], *again, *run.messages[end:])
    return Planted(
        replace(run, messages=messages), _turn(run.messages, position) + 1, "repeated_call"
    )


def _ignored_error(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    """A call goes wrong, and the words that follow it stay what they were."""
    error = coin.choice(ERRORS)
    places = [
        position
        for position, message in enumerate(run.messages)
        if len(message.tool_calls) == 1
        and (end := _after_results(run.messages, position)) == position + 2
        and end < len(run.messages)
        and outcome_of(run.messages[position + 1]) == "ok"
        and _speaks(run.messages[end])
        and not answers_error(run.messages[end].content, error)
    ]
    if not places:
        return None
    position = coin.choice(places)
    messages = list(run.messages)
    messages[position + 1] = replace(messages[position + 1], content=error)
    changed = replace(run, messages=tuple(messages))
    return Planted(changed, _turn(run.messages, position) + 1, "ignored_error")


def _answer_without_evidence(run: Trajectory, tools: Any, coin: random.Random) -> Planted | None:
    """The calls before an answer vanish, the answer with what they had brought stays."""
    places = []
    for position, message in enumerate(run.messages):
        if not _speaks(message):
            continue
        start = position
        while start and run.messages[start - 1].role in ("tool", "assistant"):
            start -= 1
        if start == position or not any(m.tool_calls for m in run.messages[:start]):
            continue
        rest = "\n".join(m.content for m in run.messages[:start]).lower()
        told = identifiers(message.content)
        told += [f"{number:g}" for number in large_numbers(message.content)]
        told = list(dict.fromkeys(told))
        lost = [word for word in told if word not in rest.replace(",", "")]
        if len(lost) >= 2 and len(lost) > 0.6 * len(told):
            places.append((start, position))
    if not places:
        return None
    start, position = coin.choice(places)
    messages = (*run.messages[:start], *run.messages[position:])
    changed = replace(run, messages=messages)
    return Planted(changed, _turn(messages, start), "answer_without_evidence")


KINDS: dict[str, Callable[[Trajectory, Any, random.Random], Planted | None]] = {
    "wrong_tool": _wrong_tool,
    "bad_argument_type": _bad_argument_type,
    "missing_argument": _missing_argument,
    "repeated_call": _repeated_call,
    "ignored_error": _ignored_error,
    "answer_without_evidence": _answer_without_evidence,
}


def _some_call(
    run: Trajectory,
    coin: random.Random,
    *,
    arguments: bool = False,
    worked: bool = False,
    among: set[str] | None = None,
) -> tuple[int, ToolCall] | None:
    """Position and call of one of the messages with a single, well-formed call."""
    places = []
    for position, message in enumerate(run.messages):
        if len(message.tool_calls) != 1 or message.tool_calls[0].error:
            continue
        call = message.tool_calls[0]
        if arguments and not call.arguments:
            continue
        if among is not None and call.name not in among:
            continue
        end = _after_results(run.messages, position)
        results = run.messages[position + 1 : end]
        if worked and not (results and all(outcome_of(m) == "ok" for m in results)):
            continue
        places.append((position, call))
    return coin.choice(places) if places else None


def _with_call(run: Trajectory, position: int, call: ToolCall, kind: str) -> Planted:
    messages = list(run.messages)
    messages[position] = replace(messages[position], tool_calls=(replace(call, raw=""),))
    changed = replace(run, messages=tuple(messages))
    return Planted(changed, _turn(run.messages, position), kind)


def _required(tools: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    found = {}
    for tool in tools:
        body = tool.get("function", tool)
        schema = body.get("parameters") or body.get("input_schema") or {}
        found[body["name"]] = list(schema.get("required", ()))
    return found


def _after_results(messages: Sequence[Message], position: int) -> int:
    end = position + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    return end


def _speaks(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and bool(message.content.strip())


def _turn(messages: Sequence[Message], position: int) -> int:
    return sum(message.role == "assistant" for message in messages[:position])
