"""Trajectories of agents: read from every form that they come in, and written back.

    >>> row = {"messages": [
    ...     {"role": "user", "content": "When was tea taxed?"},
    ...     {"role": "assistant", "content": 'Let me see. <tool_call>{"name": "find", '
    ...      '"arguments": {"q": "tea tax"}}</tool_call>'},
    ...     {"role": "user", "content": "<tool_response>In 1767.</tool_response>"},
    ... ]}
    >>> trajectory = read_trajectory(row)
    >>> trajectory.turns[0].message.tool_calls[0].name, trajectory.turns[0].results[0].content
    ('find', 'In 1767.')

Forms: `openai` (`messages` with `tool_calls`), `trl` (`prompt` and `completion`), the text
protocols `hermes`, `miroflow` and `react` in either, `toolmind` (`conversations` with `loss`),
`tau_bench` (`traj`) and `who_and_when` (`history`). `auto` tells them by columns and marks.

What a model wrote badly is kept: a malformed call says where it broke, and a turn is never dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import Trajectory
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.data.supervised import (
    Labelled,
    labelled,
    loss_flags,
    losses_of_row,
    supervised_row,
    supervised_rows,
)
from assay.policy.data.trajectory_forms import FORMS, form_of
from assay.policy.data.trajectory_rows import WRITERS

__all__ = [
    "FORMS",
    "Labelled",
    "labelled",
    "loss_flags",
    "losses_of_row",
    "read_trajectories",
    "read_trajectory",
    "supervised_row",
    "supervised_rows",
    "trajectory_row",
    "write_trajectories",
]


def read_trajectory(row: Mapping[str, Any], form: str = "auto") -> Trajectory:
    """The trajectory in a row.

    Args:
        row: Of a data set, or what `trajectory_row` wrote.
        form: A key of `FORMS`, or `auto`.

    Raises:
        ConfigError: No such form.
        DataError: The row is not of that form, or a message in it cannot be read.
    """
    if form != "auto" and form not in FORMS:
        raise ConfigError(f"form must be 'auto' or one of {sorted(FORMS)}, got {form!r:.80}")
    if not isinstance(row, Mapping):
        raise DataError(f"a row must be a mapping, got {type(row).__name__}")
    return FORMS[form_of(row) if form == "auto" else form](row)


def read_trajectories(path: str | Path, form: str = "auto") -> Iterator[Trajectory]:
    """The trajectories of a file (JSON lines, a JSON list, parquet; also gzip), one at a time.

    Raises:
        DataError: No such file, or a row that cannot be read; says which.
    """
    for number, row in enumerate(read_rows(path)):
        try:
            yield read_trajectory(row, form)
        except DataError as error:
            raise DataError(f"{path}, row {number + 1}: {error}", number) from error


def trajectory_row(trajectory: Trajectory, form: str = "openai") -> dict[str, Any]:
    """A trajectory as a row of one of the forms; `read_trajectory` gives it back.

    The text protocols carry no ids of calls, names of results or error marks: names and order of
    calls and results come back, ids do not. MiroFlow holds the results of one turn as one text.
    A malformed call stays one. Who&When has no calls but fenced code that a terminal runs.

    Raises:
        ConfigError: No such form.
        DataError: The form has no place for something in the trajectory.
    """
    if form not in WRITERS:
        raise ConfigError(f"form must be one of {sorted(WRITERS)}, got {form!r:.80}")
    return WRITERS[form](trajectory)


def write_trajectories(
    path: str | Path, trajectories: Iterable[Trajectory], form: str = "openai"
) -> int:
    """Write rows as JSON lines; returns how many. The file appears whole or not at all."""
    return write_rows(path, (trajectory_row(one, form) for one in trajectories))
