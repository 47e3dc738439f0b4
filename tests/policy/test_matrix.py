from typing import Any

from assay.policy.matrix import part_figures


def _part(value: float | None, passed: bool | None, status: str = "scored") -> dict[str, Any]:
    return {"value": value, "status": status, "passed": passed}


def test_a_closed_gate_is_no_pass_and_a_failure_is_unknown() -> None:
    opened = {"tests": _part(1.0, True), "time": _part(1.0, True), "length": _part(0.2, None)}
    slow = {"tests": _part(1.0, True), "time": _part(0.0, False), "length": _part(0.4, None)}
    wrong = {"tests": _part(0.5, False), "time": _part(None, None, "gated")}
    broken = {"tests": _part(None, None, "failed"), "time": _part(None, None, "abstained")}
    rare = part_figures([{"parts": parts} for parts in (opened, wrong, broken)])
    assert rare["part time"] == 1.0  # of the one program that came so far
    assert rare["passed time"] == 0.5 and rare["passed tests"] == 0.5
    often = part_figures([{"parts": parts} for parts in (opened, slow, slow, opened)])
    assert often["part time"] == 0.5 and often["passed time"] == 0.5  # no worse than `rare`
    assert "passed length" not in often and often["part length"] > 0
    assert part_figures([]) == {}
