"""Judges for the command line's tests."""

from __future__ import annotations

from dataclasses import dataclass

from assay.judge import Judge, Verdict


@dataclass(frozen=True)
class Longer(Judge):
    """Prefers the longer answer and leans to the first slot; an empty pair is undecided."""

    lean: float = 0.1
    price: float | None = 0.25

    def compare(self, pairs):
        found = []
        for pair in pairs:
            a, b = len(pair.a[0].content), len(pair.b[0].content)
            if "down" in pair.a[0].content + pair.b[0].content:
                found.append(Verdict(None, status="failed", reason="the judge is down"))
            elif not a + b:
                found.append(Verdict(None, status="abstained", reason="nothing to compare"))
            else:
                p = min(1.0, a / (a + b) + self.lean)
                found.append(Verdict("A" if p > 0.5 else "B", p, cost=self.price, reason="length"))
        return found

    def fingerprint(self):
        return f"longer {self.lean} {self.price}"


longer = Longer()
not_a_judge = 3
