"""The loop of an audit: each way of mending leaves less of what was found, on other pairs."""

from __future__ import annotations

from examples.audit_loop import run


def test_every_way_of_mending_helps_on_fresh_pairs():
    found = {row["judge"]: row for row in run()}
    before = found.pop("as trained")
    assert before["first_pick_rate"] > 0.58 and before["ece"] > before["chance"]
    assert len(found) == 3
    for after in found.values():
        assert abs(after["first_pick_rate"] - 0.5) < 0.4 * (before["first_pick_rate"] - 0.5)
        assert after["flip_rate"] < before["flip_rate"] - 0.05
        assert after["ece"] < before["ece"] / 2
        assert after["log_loss"] < before["log_loss"]
        assert after["accuracy"] > before["accuracy"] - 0.01
