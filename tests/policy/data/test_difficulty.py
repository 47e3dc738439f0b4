"""The difficulty filter: 1..5 of 8, unknown rollouts, both stages, files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.difficulty import DifficultyFilter, MeetsBound, Solved, filter_files


def score(passed: bool | None = True, status: str = "scored", **parts: Any) -> dict[str, Any]:
    return {"status": status, "passed": passed, "parts": parts}


def rollouts(k: int, unknown: int = 0, n: int = 8) -> list[dict[str, Any]]:
    failed = [score(None, "failed") for _ in range(unknown)]
    return [score(i < k) for i in range(n - unknown)] + failed


@pytest.mark.parametrize(
    ("k", "unknown", "decision"),
    [
        (0, 0, "too hard"),
        (1, 0, "kept"),
        (5, 0, "kept"),
        (6, 0, "too easy"),
        (8, 0, "too easy"),
        (1, 4, "kept"),  # k is 1 to 5
        (0, 1, "undecided"),  # 0 or 1
        (5, 1, "undecided"),  # 5 or 6
        (6, 2, "too easy"),  # 6 to 8
    ],
)
def test_the_reports_rule(k: int, unknown: int, decision: str) -> None:
    result = DifficultyFilter()({"p": rollouts(k, unknown)})
    assert dict(result.counts) == {decision: 1}
    assert result.solved["p"] == (k, k + unknown)
    assert result.kept == (["p"] if decision == "kept" else [])


def test_incomplete_groups_are_counted_and_too_large_ones_refused() -> None:
    assert DifficultyFilter()({"p": rollouts(2, n=7)}).counts == {"incomplete": 1}
    with pytest.raises(DataError, match="'p' has 9 rollouts, more than n=8"):
        DifficultyFilter()({"p": rollouts(2, n=9)})


def test_solved_reads_the_tests_part_where_there_is_one() -> None:
    assert Solved()(score(False, tests=score(True))) is True
    assert Solved()(score(True, tests=score(None, "gated"))) is False  # never got there
    assert Solved()(score(True, tests=score(None, "failed"))) is None
    assert Solved()(score(None, tests=score(None))) is None
    assert Solved("code/tests")(score(False, code=score(False, tests=score(True)))) is True


def test_stage_two_asks_for_correctness_unless_told_otherwise() -> None:
    fast = score(True, tests=score(True), time=score(True))
    slow = score(False, tests=score(True), time=score(False))
    wrong = score(False, tests=score(False), time=score(None, "gated"))
    unsure = score(True, tests=score(True), time=score(None, "abstained"))
    assert [MeetsBound()(s) for s in (fast, slow, wrong, unsure)] == [True, False, False, None]
    free = MeetsBound(require_correct=False)
    wrong_but_fast = score(False, tests=score(False), time=score(True))
    assert [free(wrong_but_fast), MeetsBound()(wrong_but_fast)] == [True, False]
    assert free(wrong) is None  # nobody judged it
    with pytest.raises(DataError, match="no part 'time', only"):
        MeetsBound()(score(True, tests=score(True)))


def test_settings() -> None:
    with pytest.raises(ConfigError, match="low=6, high=5, n=8"):
        DifficultyFilter(low=6)


def test_files(tmp_path: Path) -> None:
    rows, scores = [], []
    for problem, k in (("easy", 7), ("right", 3), ("hard", 0)):
        for i in range(8):
            name = f"{problem}-{i}"
            rows.append({"id": name, "uid": problem, "prompt": problem, "completion": "x"})
            scores.append({"id": name} | score(i < k))
    for name, lines in (("rows", rows), ("scores", scores)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    out = tmp_path / "kept.jsonl"
    counts = filter_files(tmp_path / "rows.jsonl", tmp_path / "scores.jsonl", out)
    assert counts == {
        "problems": 3,
        "written": 1,
        "unscored": 0,
        "too easy": 1,
        "kept": 1,
        "too hard": 1,
    }
    assert json.loads(out.read_text()) == {"uid": "right", "prompt": "right", "solved": 3}
    (tmp_path / "other.jsonl").write_text('{"id": "z", "status": "scored", "parts": {}}\n')
    with pytest.raises(DataError, match="no id of"):
        filter_files(tmp_path / "rows.jsonl", tmp_path / "other.jsonl", out)


def short(score: Mapping[str, Any]) -> bool:
    return float(score["value"]) < 0.5


def test_the_command_takes_any_criterion(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from assay.cli import app
    from assay.policy.data.row_files import write_rows

    rollouts = [{"id": i, "uid": "p", "prompt": "?", "completion": "x"} for i in range(1, 3)]
    scores = [{"id": i, "status": "scored", "value": i - 1, "parts": {}} for i in range(1, 3)]
    write_rows(tmp_path / "r.jsonl", rollouts)
    write_rows(tmp_path / "s.jsonl", scores)
    arguments = ["data", "filter", "--rollouts", str(tmp_path / "r.jsonl"), "--n", "2"]
    arguments += ["--scores", str(tmp_path / "s.jsonl"), "--output", str(tmp_path / "k.jsonl")]
    arguments += ["--high", "1", "--criterion", "tests.policy.data.test_difficulty:short"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "kept: 1" in done.output  # one of two rollouts is short
    wrong = CliRunner().invoke(app, [*arguments[:-1], "tests.policy.data.test_difficulty:SCORE"])
    assert isinstance(wrong.exception, ConfigError)


def test_what_is_not_known_is_not_a_failure() -> None:
    assert Solved()(score(None, "skipped")) is None  # the reward did not look at the row
    # Judged, but the judge does not say full marks.
    assert MeetsBound()(score(True, tests=score(True), time=score(None))) is None
    failed = [score(None, "failed")] * 8
    assert DifficultyFilter()({"p": failed}).counts == {"undecided": 1}
    with pytest.raises(DataError, match="what `assay score` wrote"):
        Solved()({"value": 1.0})


@pytest.mark.parametrize("settings", [{"n": 0}, {"n": "8"}, {"low": 0.5}, {"high": True}])
def test_settings_that_are_no_counts(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be a whole number"):
        DifficultyFilter(**settings)


def test_a_criterion_says_true_false_or_none() -> None:
    numpy = pytest.importorskip("numpy")
    few = DifficultyFilter(lambda s: numpy.bool_(s["passed"]))
    assert few({"p": rollouts(3)}).counts == {"kept": 1}
    with pytest.raises(DataError, match=r"must say True, False or None of a score, got 1\.0"):
        DifficultyFilter(lambda s: float(s["passed"]))({"p": rollouts(3)})  # type: ignore[arg-type,return-value]


def test_ids_that_do_not_tell_rows_apart(tmp_path: Path) -> None:
    from assay.policy.data.row_files import write_rows

    files = tmp_path / "r.jsonl", tmp_path / "s.jsonl"
    row, one = {"id": 1, "uid": "p", "prompt": "?"}, {"id": 1} | score(True)
    for rows, scores, what in (
        ([row, row], [one], "another rollout has the id 1"),
        ([row], [one, one], "the id 1 stands twice"),
        ([row], [score(True)], "an id is text or a whole number, got None"),
    ):
        write_rows(files[0], rows)
        write_rows(files[1], scores)
        with pytest.raises(DataError, match=what):
            filter_files(*files, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
