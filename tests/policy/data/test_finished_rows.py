"""Long jobs on rows: killed, run twice at once, and with a model that is down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, JudgeError
from assay.policy.data.finished_rows import OUTAGE, FinishedRows
from assay.policy.data.row_files import read_rows

Rows = Sequence[Mapping[str, Any]]

KILLED = """
import os, signal, sys
from pathlib import Path
from assay.policy.data.finished_rows import FinishedRows

seen = []
def work(rows):
    seen.extend(rows)
    if len(seen) > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return [row | {"by": "first"} for row in rows]

list(FinishedRows(Path(sys.argv[1]), "m", 2).run([{"i": i, "_place": 0} for i in range(9)], work))
"""


def _problem(row: Mapping[str, Any]) -> str:
    return str(row.get("problem", ""))


def _down(rows: Rows) -> list[dict[str, Any]]:
    return [dict(row) | {"problem": "down"} for row in rows]


def test_kill_9_loses_and_doubles_nothing(tmp_path: Path) -> None:
    output = tmp_path / "new" / "out.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(output)], env=os.environ)
    assert killed.returncode == -signal.SIGKILL and not output.exists()
    asked: list[int] = []

    def work(rows: Rows) -> list[dict[str, Any]]:
        asked.extend(row["i"] for row in rows)
        return [dict(row) | {"by": "second"} for row in rows]

    # A column of the row's own is called as the progress calls a place.
    rows = [{"i": i, "_place": 0} for i in range(9)]
    list(FinishedRows(output, "m", 2).run(rows, work))
    assert asked == [4, 5, 6, 7, 8]
    written = list(read_rows(output))
    assert [(row["i"], row["_place"]) for row in written] == [(i, 0) for i in range(9)]
    assert [row["by"] for row in written] == ["first"] * 4 + ["second"] * 5
    assert [file.name for file in output.parent.iterdir()] == ["out.jsonl"]


def test_a_second_job_on_the_same_output_is_refused(tmp_path: Path) -> None:
    job = FinishedRows(tmp_path / "out.jsonl", "m", 1)
    running = job.run([{"i": 0}, {"i": 1}], lambda rows: rows)
    next(running)
    with pytest.raises(ConfigError, match="another process writes"):
        list(job.run([{"i": 0}, {"i": 1}], lambda rows: rows))
    assert [row["i"] for row in running] == [1]


def test_rows_are_looked_at_before_a_model_is_asked(tmp_path: Path) -> None:
    job = FinishedRows(tmp_path / "out.jsonl", "m", 1)
    with pytest.raises(DataError, match="row 2 cannot be written as JSON"):
        list(job.run([{"i": 0}, {"i": float("nan")}], lambda rows: pytest.fail("asked")))
    with pytest.raises(DataError, match="holds no rows"):
        list(job.run([], lambda rows: rows))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [3, OUTAGE + 5])
def test_where_a_model_is_down_no_row_is_finished(tmp_path: Path, rows: int) -> None:
    job = FinishedRows(tmp_path / "out.jsonl", "m", 2)
    data = [{"i": i} for i in range(rows)]
    with pytest.raises(JudgeError, match="no answer: down; mend the model"):
        list(job.run(data, _down, problem=_problem))
    done = list(job.run(data, lambda some: [dict(row) for row in some], problem=_problem))
    assert done == data == list(read_rows(job.output))


def test_a_single_row_without_an_answer_is_its_own_fault(tmp_path: Path) -> None:
    def work(rows: Rows) -> list[dict[str, Any]]:
        return [dict(r) | ({"problem": "too long"} if r["i"] % 3 == 2 else {}) for r in rows]

    job = FinishedRows(tmp_path / "out.jsonl", "m", 2)
    done = list(job.run([{"i": i} for i in range(9)], work, problem=_problem))
    assert [_problem(row) for row in done] == ["", "", "too long"] * 3
