"""Metrics of turn credit by hand, and spans of turns in loss masks."""

from __future__ import annotations

import pytest
import torch

from assay.policy.credit_assignment import Rollout, TurnCredit
from assay.policy.turn_log import JudgedTurns, failures_by_criterion, turn_metrics
from assay.policy.turn_spans import spread, turn_counts, turn_ids
from assay.reward import Score


def test_metrics() -> None:
    turns = [(0.0, -1.0, None), (-1.0,), None]
    judged = [
        JudgedTurns(turns[0], {"logical_soundness": 1, "informational_gain": 0}),
        JudgedTurns(turns[1], {"logical_soundness": 1, "informational_gain": 1}),
        JudgedTurns(None),
    ]
    credits = TurnCredit("mask").assign([Rollout(0.0, row) for row in turns])
    assert turn_metrics(judged, credits) == pytest.approx(
        {
            "unjudged": 1 / 3,
            "turns": 2.0,
            "abstained": 1 / 4,
            "failing": 2 / 3,
            "failing/logical_soundness": 2 / 4,
            "failing/informational_gain": 1 / 4,
            "failing/turn_0": 1 / 2,
            "failing/turn_1": 1.0,
            "credit": 0.0,
            "credit/failing": 0.0,
            "credit/passing": 0.0,
            "masked": 2 / 4,
        }
    )


def test_metrics_without_anything_to_count_are_left_out() -> None:
    assert turn_metrics([], []) == {}
    assert turn_metrics([JudgedTurns(None)], [None]) == {"unjudged": 1.0}
    credits = TurnCredit().assign([Rollout(0.0, (None,))])
    found = turn_metrics([JudgedTurns((None,))], credits)
    assert found["abstained"] == 1.0 and "failing" not in found and "credit/failing" not in found


def test_failures_are_found_inside_sums() -> None:
    inner = Score.of(0, info={"by_criterion": {"tool_call_accuracy": 2}})
    assert failures_by_criterion(Score.of(1, parts={"a": Score.of(1), "turns": inner})) == {
        "tool_call_accuracy": 2
    }
    assert failures_by_criterion(Score.of(1)) == {}


def test_spans() -> None:
    mask = torch.tensor([[1, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 1, 1]])
    ids = turn_ids(mask)
    assert ids.tolist() == [[0, 0, -1, -1, 1, -1], [-1] * 6, [-1, 0, -1, 1, 1, 1]]
    assert turn_counts(ids) == [2, 0, 2]
    found = spread([[1.0, 2.0], [], [3.0, 4.0, 5.0]], ids)
    assert found.tolist() == [[1, 1, 0, 0, 2, 0], [0] * 6, [0, 3, 0, 4, 4, 4]]
    empty = turn_ids(torch.zeros(2, 0))
    assert turn_counts(empty) == [0, 0] and spread([[], []], empty).shape == (2, 0)
