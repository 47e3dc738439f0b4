"""A task over a small database as plain data: it can be stored in a dataset row and read back."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from assay.errors import ConfigError
from assay.policy.environments.spec import EnvironmentSpec, Finding
from assay.policy.environments.table_tools import Tables, table_tool

#: Expected differences from the start: table, key, and fields; None for a deleted row.
Patch = Mapping[str, Mapping[str, Mapping[str, Any] | None]]


@dataclass(frozen=True)
class TableTask:
    """A task whose verifier compares the whole final database with the one that is wanted.

    Args:
        task: What the agent is asked.
        tables: The database at the start.
        tools: Descriptions of tools (`assay.policy.environments.table_tools`).
        goal: Expected differences from the start; everything else must be as it was, so that side
            effects fail. A key that is new must give all its fields.
        oracle: Calls that get there, `[name, arguments]` each.
        answer: Text that the agent's answer must contain as a word, or None.
        family: What it is one of.
        max_calls: Budget.

    Raises:
        ConfigError: From `environment`: malformed tools or tables.

    Example:
        >>> cup = TableTask("Empty cup a.", {"cups": {"a": {"ml": 5}}}, ({
        ...     "name": "empty", "description": "Empty a cup.", "do": "change",
        ...     "arguments": {"cup": {"type": "string"}},
        ...     "effects": [{"set": ["cups", {"arg": "cup"}, "ml"], "to": 0}]},),
        ...     {"cups": {"a": {"ml": 0}}}, (("empty", {"cup": "a"}),))
        >>> TableTask.from_json(cup.to_json()) == cup
        True
    """

    task: str
    tables: Tables
    tools: tuple[Mapping[str, Any], ...]
    goal: Patch
    oracle: tuple[tuple[str, Mapping[str, Any]], ...]
    answer: str | None = None
    family: str = ""
    max_calls: int = 30

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(dict(tool) for tool in self.tools))
        calls = tuple((str(name), dict(arguments)) for name, arguments in self.oracle)
        object.__setattr__(self, "oracle", calls)

    def fingerprint(self) -> str:
        """A hash of everything that makes this task another one: text, tables, tools and goal."""
        parts = [self.task, self.tables, self.tools, self.goal, self.answer]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """As text for a dataset column; Arrow would merge the fields of different rows."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableTask:
        """Read `to_json` back.

        Raises:
            ConfigError: It is no such text.
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise ConfigError(f"not a table task: {error}; it must be what to_json wrote") from None

    def environment(self, id: str = "") -> EnvironmentSpec:
        """The environment of this task."""
        return EnvironmentSpec(
            id=id or f"{self.family or 'table'}/{self.fingerprint()[:12]}",
            task=self.task,
            tools=tuple(map(table_tool, self.tools)),
            start=partial(copy.deepcopy, self.tables),
            verify=partial(_verify, wanted=patched(self.tables, self.goal), words=self.answer),
            max_calls=self.max_calls,
            family=self.family,
            oracle=self.oracle,
            answer=f"Done. {self.answer}" if self.answer is not None else "Done.",
        )


def patched(tables: Tables, patch: Patch) -> Tables:
    """The tables with the patch put on."""
    wanted = copy.deepcopy(tables)
    for table, rows in patch.items():
        if table not in wanted:
            raise ConfigError(f"the goal names table {table!r}; the tables are {sorted(wanted)}")
        for key, fields in rows.items():
            if fields is None:
                wanted[table].pop(key, None)
            else:
                wanted[table][key] = {**wanted[table].get(key, {}), **fields}
    return wanted


def differences(found: Tables, wanted: Tables, most: int = 3) -> list[str]:
    """The first differences of two databases, for people; the order of lists is none."""
    texts: list[str] = []
    for table in sorted(wanted.keys() | found.keys()):
        have, want = found.get(table, {}), wanted.get(table, {})
        for key in sorted(have.keys() | want.keys()):
            if have.get(key) == want.get(key):
                continue
            if key not in want or key not in have:
                texts.append(f"{table}[{key}] is {'missing' if key in want else 'not wanted'}")
                continue
            texts += [
                f"{table}[{key}].{field} is {have[key].get(field)!r}, should be "
                f"{want[key].get(field)!r}"
                for field in sorted(have[key].keys() | want[key].keys())
                if _plain(have[key].get(field)) != _plain(want[key].get(field))
            ]
    return texts[:most]


def _plain(value: Any) -> Any:
    """A list without its order: services may be added in any."""
    return sorted(map(repr, value)) if isinstance(value, list) else value


def says(answer: str | None, words: str) -> bool:
    """Whether an answer contains `words` as a word of its own, in whatever case.

    >>> says("It costs 120 in all.", "120"), says("It costs 1200.", "120"), says(None, "120")
    (True, False, False)
    """
    found = re.search(rf"(?<![\w.]){re.escape(words)}(?!\w|\.\d)", answer or "", re.IGNORECASE)
    return found is not None


def _verify(state: Tables, answer: str | None, *, wanted: Tables, words: str | None) -> Finding:
    wrong: Sequence[str] = differences(state, wanted)
    if not wrong and words is not None and not says(answer, words):
        wrong = [f"the answer must say {words!r}, got {answer!r:.80}"]
    return Finding.of(not wrong, "; ".join(wrong))
