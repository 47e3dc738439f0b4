from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from assay.diagnostics import leaf_scores
from assay.judges.score_table import print_summary
from assay.judges.summary import (
    BINS,
    MOST_NOTES,
    LeafSummary,
    Summary,
    kind_of_note,
    leaf_of,
    sparkline,
)
from assay.rewards import Reward, Route, Score, Term, WeightedSum
from tests.judges import toy_rewards


def scored(value: float, passed: bool | None = None, note: str = "") -> dict[str, Any]:
    return Score.of(value, passed=passed, note=note).to_json()


def drawn(summary: Summary, reward: Reward, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    print_summary(summary, reward, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_mean_quantiles_and_shares() -> None:
    leaf = LeafSummary()
    values = [0.0, 0.25, 0.5, 1.0]
    for value in values:
        leaf.add(scored(value, passed=value == 1.0, note="" if value == 1.0 else "short"))
    leaf.add(Score.fail("down").to_json())
    leaf.add(Score.skip("chat row").to_json())
    found = leaf.to_json()
    assert found["mean"] == pytest.approx(1.75 / 4)
    expected = np.quantile(values, [0, 0.1, 0.5, 0.9, 1])
    assert list(found["quantiles"]) == ["min", "p10", "p50", "p90", "max"]
    assert list(found["quantiles"].values()) == pytest.approx(list(expected))
    assert (found["passed"], found["judged"]) == (1, 4)
    assert found["rows"] == {"scored": 4, "skipped": 1, "gated": 0, "abstained": 0, "failed": 1}
    assert found["notes"][0] == {"status": "scored", "note": "short", "rows": 3}
    json.dumps(found, allow_nan=False)


def test_nothing_scored_has_no_mean_and_still_draws() -> None:
    summary = Summary(list(toy_rewards.reward.leaves()))
    assert summary.to_json()["total"]["mean"] is None
    assert summary.to_json()["total"]["quantiles"] == {}
    assert "full marks" in drawn(summary, toy_rewards.reward, 80)


def test_histogram_bins() -> None:
    leaf = LeafSummary()
    for value in (-5.0, 0.0, 0.999, 1.0, 7.0):
        leaf.add(scored(value))
    counts = leaf.histogram(0.0, 1.0)
    assert len(counts) == BINS
    assert (counts[0], counts[-1], sum(counts)) == (2, 3, 5)
    assert LeafSummary().histogram(1.0, 1.0) == [0] * BINS


def test_sparkline() -> None:
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""
    assert sparkline([1, 10_000]) == "▁█"  # one row in ten thousand still shows


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("only 12 characters", "only N characters"),
        ("1,234.5 of 7 tests passed; TLE", "N of N tests passed; TLE"),
        ("0 of 3 tests passed; RE: exit status 1", "N of N tests passed; RE"),
        ("python3 and x86_64 stay", "python3 and x86_64 stay"),
        ("KeyError: boom", "KeyError: boom"),
        ("two\n  lines", "two lines"),
    ],
)
def test_notes_are_counted_by_kind(note: str, kind: str) -> None:
    assert kind_of_note(note) == kind


def test_notes_do_not_fill_memory() -> None:
    leaf = LeafSummary()
    for i in range(3 * MOST_NOTES):
        leaf.add(scored(0.0, False, f"note{i}"))
    assert len(leaf.notes) == MOST_NOTES + 1
    assert leaf.notes[("scored", "other notes")] == 2 * MOST_NOTES


def test_leaves_are_read_as_the_trainers_log_reads_them() -> None:
    inner = WeightedSum({"a": Term(toy_rewards.Brief()), "b": Term(toy_rewards.Brief(), gate="a")})
    reward = Route("domain", {"code": inner, "chat": toy_rewards.Brief()})
    scores = [
        Score.of(1.0, parts={"code": Score.of(1.0, parts={"a": Score.of(1.0), "b": Score.of(0)})}),
        Score.of(0.5, parts={"chat": Score.of(0.5, note="n")}),
        Score.fail("down", parts={"code": Score.fail("down")}),
        Score.gate("closed"),
    ]
    for path in reward.leaves():
        for row, expected in zip(scores, leaf_scores(scores, path), strict=True):
            found = leaf_of(row.to_json(), path)
            assert (found["status"], found["value"]) == (expected.status, expected.value), path


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_its_terminal(width: int) -> None:
    reward = WeightedSum(
        {
            "a_component_with_a_very_long_name_indeed": Term(toy_rewards.Brief()),
            "number": Term(toy_rewards.Number(), on_missing="zero"),
        }
    )
    summary = Summary(list(reward.leaves()))
    first = "a_component_with_a_very_long_name_indeed"
    for i in range(100):
        parts = {
            first: scored(i / 100, i == 99, f"only {i % 3} characters " + "long " * 30),
            "number": Score.fail("the divider is down").to_json() if i % 5 == 0 else scored(0.1),
        }
        summary.add({**scored(i / 100 + 0.1, i == 99), "id": i, "parts": parts})
    text = drawn(summary, reward, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "1.0%" in text and "█" in text
    assert "20 \N{MULTIPLICATION SIGN} the divider is down" in text
    assert ("min" in text) == (width == 120)


def test_reasons_name_status_and_count() -> None:
    summary = Summary([""])
    for _ in range(3):
        summary.add({"id": 1, **scored(0.5, False, "2 of 4 tests passed")})
    summary.add({"id": 2, **scored(1.0, True, "notes of full marks are no reason")})
    summary.add({"id": 3, **Score.abstain("the judge could not decide").to_json()})
    text = drawn(summary, toy_rewards.brief, 100)
    assert "below full marks" in text and "3 \N{MULTIPLICATION SIGN} N of N tests passed" in text
    assert "abstained" in text and "1 \N{MULTIPLICATION SIGN} the judge could not decide" in text
    assert "no reason" not in text


def test_a_failed_route_is_not_held_against_the_routes_it_passed_by() -> None:
    row = Score.fail("down", parts={"code": Score.fail("down")}).to_json()
    assert leaf_of(row, "chat")["status"] == "skipped"
    assert leaf_of(row, "code")["status"] == "failed"
    assert leaf_of(Score.fail("down").to_json(), "code")["status"] == "failed"
