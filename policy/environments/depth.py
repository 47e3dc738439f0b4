"""Environments whose shortest solution is known and set: a corridor of rooms, one door each."""

from __future__ import annotations

import hashlib
import random
from functools import partial
from typing import Any

from assay.errors import ConfigError
from assay.policy.environments.spec import MOST_CALLS, EnvironmentSpec, Finding, Tool, ToolError

#: Depths of the published horizon of "up to 600 tool calls", and on the way there.
DEPTHS = (10, 50, 100, 200, 400, 600)


def depth_environment(depth: int, seed: int = 0, slack: float = 0.5) -> EnvironmentSpec:
    """An environment that takes exactly `depth` tool calls, neither fewer nor, at best, more.

    Each room has three doors with random names and a note that says which one leads on; the next
    note is seen only once that door is open, and a wrong door is an error. The last room holds a
    word. The names are drawn from the seed and 48 bits each, so none can be guessed.

    Args:
        depth: Calls of the shortest solution, 1 to 600.
        seed: Of names and words.
        slack: Budget beyond the depth, as a share of it, up to 600 calls in all.

    Raises:
        ConfigError: A depth outside 1 to 600.

    >>> depth_environment(200).max_calls, depth_environment(600).max_calls
    (300, 600)
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MOST_CALLS:
        raise ConfigError(f"depth must be a whole number from 1 to {MOST_CALLS}, got {depth!r:.80}")
    rooms = [_room(seed, index) for index in range(depth)]
    word = _name("word", seed, depth)
    return EnvironmentSpec(
        id=f"corridor/{depth}/{seed}",
        task=(
            "You stand in the first room of a corridor. "
            + _note(rooms[0])
            + " Go on to the end and tell the word that you find there."
        ),
        tools=(
            Tool(
                "open_door",
                "Open a door of the room you are in, by its name, and read what is behind it.",
                {
                    "type": "object",
                    "properties": {"door": {"type": "string"}},
                    "required": ["door"],
                    "additionalProperties": False,
                },
                partial(_open, rooms=rooms, word=word),
                changes=True,
            ),
        ),
        start=partial(dict, room=0),
        verify=partial(_verify, depth=depth, word=word),
        max_calls=min(MOST_CALLS, depth + max(1, int(depth * slack))),
        family="corridor",
        oracle=tuple(("open_door", {"door": right}) for right, _ in rooms),
        answer=f"The word is {word}.",
    )


def _room(seed: int, index: int) -> tuple[str, list[str]]:
    """The right door's name, and all doors in the order in which they are told."""
    doors = [_name("door", seed, index, which) for which in range(3)]
    right = doors[0]
    random.Random(f"{seed}/{index}").shuffle(doors)
    return right, doors


def _name(*parts: Any) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:12]


def _note(room: tuple[str, list[str]]) -> str:
    right, doors = room
    return f"There are doors {', '.join(doors)}. A note says: take {right}."


def _open(
    state: dict[str, int], /, door: str, *, rooms: list[tuple[str, list[str]]], word: str
) -> str:
    room = state["room"]
    if room == len(rooms):
        raise ToolError("there are no doors left; you are at the end")
    right, doors = rooms[room]
    if door not in doors:
        raise ToolError(f"there is no door {door!r:.40} in this room. {_note(rooms[room])}")
    if door != right:
        raise ToolError(f"behind {door} is a wall. {_note(rooms[room])}")
    state["room"] = room + 1
    if state["room"] == len(rooms):
        return f"This is the last room. On the wall is the word {word}."
    return f"Room {state['room'] + 1}. " + _note(rooms[state["room"]])


def _verify(state: dict[str, int], answer: str | None, *, depth: int, word: str) -> Finding:
    if state["room"] < depth:
        return Finding.of(False, f"stopped in room {state['room'] + 1}, {depth} doors to open")
    return Finding.of(word in (answer or ""), f"the answer must tell the word {word}")
