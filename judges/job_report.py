"""What an offline job did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.judges.summary import Summary

#: Figures of a report that the manifest keeps too.
COUNTS = ("selected", "already", "written", "bad", "redone")


@dataclass(frozen=True)
class Report:
    """What a job did.

    Attributes:
        summary: Over all rows in the output.
        selected: Rows that the job is about.
        already: Rows that had results before.
        written: Rows scored now.
        bad: Rows that could not be used.
        redone: Results removed in order to be made again.
        seconds: Wall time by leaf path; the whole job under "".
        stopped: Ended by the user before it was done.
        problem: A leaf that failed too often over the whole of this run; empty where none did.
        overspent: Ended because what the output's rows cost reached the job's `max_cost`.
    """

    summary: Summary
    selected: int
    already: int
    written: int
    bad: int
    redone: int
    seconds: Mapping[str, float]
    stopped: bool
    problem: str = ""
    overspent: bool = False

    @property
    def waiting(self) -> int:
        """Rows that are neither scored nor bad: an engine gave them back for a later run."""
        left = self.selected - self.already - self.written - self.bad
        return 0 if self.stopped else max(0, left)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return counts | {
            "stopped": self.stopped,
            "problem": self.problem,
            "overspent": self.overspent,
            "waiting": self.waiting,
            "seconds": dict(self.seconds),
            "summary": self.summary.to_json(),
        }
