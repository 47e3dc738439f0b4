"""Probes of a judge: each plans requests, states its null and says what it could have found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.bias_probes import (
    ChangeProbe,
    LengthProbe,
    PositionProbe,
    SelfPreferenceProbe,
)
from assay.calibration.intervals import Interval
from assay.calibration.paired_tests import false_discovery
from assay.calibration.probe import Probe
from assay.calibration.probe_changes import CHANGES
from assay.calibration.probe_estimates import Finding
from assay.calibration.probe_requests import (
    Answers,
    Ask,
    ProbeItem,
    Request,
    Version,
    Versions,
    answer,
)
from assay.calibration.repeat_probes import ScaleProbe, StabilityProbe, TemplateProbe
from assay.errors import DataError
from assay.judge import Choice, Judge, Pair

_LEAST = 10  # pairs below which no probe says anything


def standard_probes(
    *, own_name: str = "", templates: Sequence[str] = (), repeats: int = 3, grades: bool = True
) -> list[Probe]:
    """All probes, in the order of the report.

    Args:
        own_name: What the judge is called as an author, for self-preference.
        templates: Names of paraphrased prompts.
        repeats: Of stability; below 2 leaves it out.
        grades: Also ask for grades of single answers.
    """
    found: list[Probe] = [PositionProbe(), LengthProbe()]
    found += [ChangeProbe(change) for change in CHANGES]
    found += [SelfPreferenceProbe(own_name), TemplateProbe(tuple(templates))]
    if repeats >= 2:
        found.append(StabilityProbe(repeats))
    return [*found, ScaleProbe()] if grades else found


@dataclass(frozen=True, eq=False)
class ProbePlan:
    """What probes ask about items, each distinct request once.

    Args:
        items: Pairs.
        probes: From `standard_probes`, or some of them.

    Attributes:
        requests: Distinct requests.
        planned: How many there would be if probes did not share them.
    """

    items: Sequence[ProbeItem]
    probes: Sequence[Probe]
    requests: list[Request] = field(init=False)
    planned: int = field(init=False)
    _used: list[list[ProbeItem]] = field(init=False, repr=False)
    _index: list[Any] = field(init=False, repr=False)
    _place: dict[Any, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        requests: list[Request] = []
        place: dict[Any, int] = {}
        used, index = [], []
        for probe in self.probes:
            mine = [item for item in self.items if probe.usable(item)]
            table = []
            for item in mine:
                row = []
                for request in probe.requests(item):
                    at = place.setdefault(request.key, len(requests))
                    if at == len(requests):
                        requests.append(request)
                    row.append(at)
                table.append(row)
            used.append(mine)
            index.append(np.array(table, dtype=np.int64))
        object.__setattr__(self, "requests", requests)
        object.__setattr__(self, "planned", sum(table.size for table in index))
        object.__setattr__(self, "_used", used)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_place", place)

    def place(self, request: Request) -> int | None:
        """Where a request stands in `requests`; None if nobody asks it."""
        return self._place.get(request.key)

    def with_labels(self, labels: Mapping[str, Choice]) -> ProbePlan:
        """The same requests for items whose labels are others, by the pair's id.

        Which items a probe uses is not decided again: give every item that had a label one.
        """
        new = object.__new__(ProbePlan)
        for name in ("items", "probes", "requests", "planned", "_index", "_place"):
            object.__setattr__(new, name, getattr(self, name))
        renamed = {
            id(item): replace(item, label=labels.get(item.pair.id, item.label))
            for item in self.items
        }
        used = [[renamed[id(item)] for item in mine] for mine in self._used]
        object.__setattr__(new, "_used", used)
        return new

    def ask(self, versions: Version) -> Answers:
        """Put the requests to a judge."""
        return answer(self.requests, versions)

    def table(self, at: int, values: FloatArray) -> tuple[FloatArray, list[ProbeItem]]:
        """Rows of the probe number `at`, and their items; rows without an answer left out."""
        items = self._used[at]
        if not items:
            return np.zeros((0, 1)), []
        rows = self.probes[at].rows(values[self._index[at]], items)
        kept = np.isfinite(rows).all(axis=1).reshape(-1)
        return rows[kept], [item for item, keep in zip(items, kept, strict=True) if keep]

    def findings(self, values: FloatArray, level: float = 0.95) -> list[Finding]:
        """What the answers say, one finding per probe, p corrected for their number."""
        found = [self.finding(at, values, level) for at in range(len(self.probes))]
        tested = [f.p_value for f in found if not math.isnan(f.p_value)]
        q = iter(false_discovery(tested).tolist())
        return [f if math.isnan(f.p_value) else replace(f, q_value=next(q)) for f in found]

    def finding(self, at: int, values: FloatArray, level: float = 0.95) -> Finding:
        """What the probe number `at` says by itself; its p is corrected for nothing."""
        probe = self.probes[at]
        nothing = Interval(math.nan, math.nan, math.nan, level)
        if not self._used[at]:
            return Finding(probe.name, probe.measures, probe.null, nothing, problem=probe.why_not())
        rows, items = self.table(at, values)
        prompts = [item.prompt_id for item in items]
        units = len(set(prompts))
        if len(items) < _LEAST or units < _LEAST:
            return Finding(
                probe.name,
                probe.measures,
                probe.null,
                nothing,
                pairs=len(items),
                prompts=units,
                problem=f"{len(items)} pairs of {units} prompts can be used; it takes {_LEAST}",
            )
        found = probe.estimate(rows, prompts, level)
        tested = bool(probe.null)
        return Finding(
            probe.name,
            probe.measures,
            probe.null,
            found.interval,
            found.p_value if tested else math.nan,
            detectable=found.detectable if tested else math.nan,
            pairs=len(items),
            prompts=units,
            details=probe.details(rows),
        )


@dataclass(frozen=True, eq=False)
class ProbeRun:
    """Findings, and what they cost.

    Attributes:
        findings: One per probe.
        plan: What was asked.
        answers: What was said.
    """

    findings: list[Finding]
    plan: ProbePlan
    answers: Answers

    @property
    def asked(self) -> int:
        """Requests that the judge was asked; grades only if it grades."""
        asks = sum(isinstance(one, Ask) for one in self.plan.requests)
        return len(self.plan.requests) if self.answers.grades else asks


def run_probes(
    judge: Judge | Versions,
    pairs: Sequence[Pair | ProbeItem],
    probes: Sequence[Probe] | None = None,
) -> ProbeRun:
    """Probe a judge.

    Args:
        judge: Compares pairs; `Versions` adds paraphrased prompts, and how to repeat a request.
        pairs: With `prompt_id`, `label`, `author_a` and `author_b` in their columns where known.
        probes: All that the judge allows if not given.

    Raises:
        DataError: No pairs.
        JudgeError: The judge is down.

    Example:
        >>> from assay.judge import Verdict
        >>> from assay.messages import as_messages
        >>> class First(Judge):
        ...     def compare(self, pairs):
        ...         return [Verdict("A") for _ in pairs]
        ...
        ...     def fingerprint(self):
        ...         return "first"
        >>> say = lambda text: as_messages(text, role="assistant")
        >>> pairs = [Pair((), say(f"{i} is even."), say("Odd."), id=str(i)) for i in range(30)]
        >>> run = run_probes(First(), pairs, [PositionProbe()])
        >>> run.findings[0].flagged, run.findings[0].interval.low > 0.5
        (True, True)
    """
    if not pairs:
        raise DataError("there are no pairs to probe with, got 0; give at least some dozens")
    items = [p if isinstance(p, ProbeItem) else ProbeItem.of(p, i) for i, p in enumerate(pairs)]
    versions = judge if isinstance(judge, Versions) else Versions(judge)
    chosen = standard_probes(templates=tuple(versions.templates)) if probes is None else probes
    plan = ProbePlan(items, chosen)
    answers = plan.ask(versions)
    findings = plan.findings(answers.values)
    if not answers.grades:
        findings = [
            replace(f, problem="the judge does not grade single answers")
            if f.probe == "scale"
            else f
            for f in findings
        ]
    return ProbeRun(findings, plan, answers)
