"""The miniature's environment: a shelf to look at, tasks that ask how much is left, and answers.

Fine-tuning shows four ways to work, most of them with a fault that the turn critic sees: looking
once and answering, looking twice at the same thing, calling the tool by a wrong argument first, and
answering without a look.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from assay.policy.environments.table_task import TableTask

ITEMS = ("apples", "bolts", "cups", "dates")
LOOK = {
    "name": "look",
    "description": "Look at an item.",
    "do": "get",
    "table": "shelf",
    "key": "item",
}
#: How often each way of working is fine-tuned on.
WAYS = {"once": 2, "twice": 3, "misnamed": 2, "guessed": 1}


def tasks(count: int, seed: int) -> list[TableTask]:
    """Tasks with shelves drawn at random."""
    coins = random.Random(f"shelf/{seed}")
    return [_task(coins) for _ in range(count)]


def agent_rows(found: Iterable[TableTask]) -> list[dict[str, Any]]:
    """RL rows: the task as text, which the stage turns into an environment."""
    return [{"task": task.to_json(), "uid": f"agent/{number}"} for number, task in enumerate(found)]


def agent_conversations(found: Iterable[TableTask]) -> list[dict[str, Any]]:
    """Fine-tuning rows: each way of working as often as `WAYS` says."""
    rows = []
    for number, task in enumerate(found):
        way = list(_dealt())[number % sum(WAYS.values())]
        rows.append({"messages": conversation(task, way), "tools": [tool_schema()]})
    return rows


def conversation(task: TableTask, way: str) -> list[dict[str, Any]]:
    """A whole episode; what the tool shows comes from the environment itself."""
    from assay.policy.environments.episode import Episode

    item = str(task.oracle[0][1]["item"])
    episode = Episode(task.environment())
    calls: dict[str, list[dict[str, str]]] = {
        "once": [{"item": item}],
        "twice": [{"item": item}, {"item": item}],
        "misnamed": [{"thing": item}, {"item": item}],
        "guessed": [],
    }
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.task}]
    for arguments in calls[way]:
        call = {"type": "function", "function": {"name": "look", "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append(
            {"role": "tool", "name": "look", "content": episode.call("look", arguments)}
        )
    said = task.answer if calls[way] else str(1 + int(str(task.answer)) % 9)
    messages.append({"role": "assistant", "content": f"{said}."})
    return messages


def tool_schema() -> dict[str, Any]:
    """The tool as the trainer shows it to the policy."""
    from transformers.utils import get_json_schema

    from assay.policy.environments.trl_factory import environment_factory

    spec = tasks(1, 0)[0].environment()
    instance = environment_factory(lambda **row: spec, spec, owns_reward=False)()
    return dict(get_json_schema(instance.look))


def _task(coins: random.Random) -> TableTask:
    shelf = {item: {"left": coins.randint(1, 9)} for item in coins.sample(ITEMS, 3)}
    item = coins.choice(sorted(shelf))
    return TableTask(
        task=f"How many {item} are left?",
        tables={"shelf": shelf},
        tools=(LOOK,),
        goal={},
        oracle=(("look", {"item": item}),),
        answer=str(shelf[item]["left"]),
        family="shelf",
        max_calls=4,
    )


def _dealt() -> Iterable[str]:
    for way, times in WAYS.items():
        yield from [way] * times
