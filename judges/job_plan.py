"""What a job would do and cost, without scoring anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from assay.errors import DataError
from assay.judges.manifest import refuse_other
from assay.judges.offline import Listener, OfflineJob, has_failure
from assay.judges.results import finished_rows
from assay.judges.row_batches import batches
from assay.messages import Sample
from assay.reward import Reward


@runtime_checkable
class Costed(Protocol):
    """A reward that can tell beforehand what scoring takes."""

    def cost(self, samples: Sequence[Sample]) -> Mapping[str, float]:
        """Amounts by kind, e.g. `{"sandbox runs": 812}`; DataError for a row that it cannot use."""


@dataclass(frozen=True)
class LeafPlan:
    """One leaf: what it is, what it needs, what it would take at most (every gate open)."""

    path: str
    reward: str
    gate: str | None
    columns: tuple[str, ...]
    missing: Mapping[str, int]
    cost: Mapping[str, float]


@dataclass(frozen=True)
class Plan:
    """What a job would do.

    Attributes:
        selected: Rows that can be scored, in this shard and limit.
        groups: How many groups they form; None where the reward does not group.
        bad: Rows that cannot be scored.
        already: Rows that have results and keep them.
        redo: Results that would be removed and made again.
        batches: Scoring calls.
        columns: In how many of the rows each column stands.
        leaves: The reward, leaf by leaf.
    """

    selected: int
    groups: int | None
    bad: int
    already: int
    redo: int
    batches: int
    columns: Mapping[str, int]
    leaves: tuple[LeafPlan, ...]

    @property
    def remaining(self) -> int:
        """Rows to score."""
        return self.selected - self.already

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "selected": self.selected,
            "groups": self.groups,
            "bad": self.bad,
            "already": self.already,
            "redo": self.redo,
            "remaining": self.remaining,
            "batches": self.batches,
            "columns": dict(self.columns),
            "leaves": {
                leaf.path: {
                    "reward": leaf.reward,
                    "gate": leaf.gate,
                    "columns": list(leaf.columns),
                    "missing": dict(leaf.missing),
                    "cost": dict(leaf.cost),
                }
                for leaf in self.leaves
            },
        }


def plan(job: OfflineJob, listener: Listener) -> Plan:
    """Read the input, and the output if there is one; write and score nothing.

    Raises:
        ConfigError: The output was made by something else, and the job does not force it.
        DataError: As for the job itself.
    """
    known: dict[Any, bool] = {}
    if not job.resume and job.output.exists() and job.output.stat().st_size:
        listener.warned(
            f"{job.output} already holds results: this would be refused; continue it with "
            "--resume, or give another --output"
        )
    if job.output.exists() and job.output.stat().st_size and job.resume:
        if not job.force:
            refuse_other(job.output, job.manifest(listener))
        known = {row["id"]: has_failure(row) for row in finished_rows(job.output)}
    selection = job.select(known, listener)
    again = job.to_redo(selection, known)
    done = {i for ids in selection.found.values() for i in ids} - again
    leaves = job.reward.leaves()
    costs: dict[str, Counter[str]] = {path: Counter() for path in leaves}
    missing: dict[str, Counter[str]] = {path: Counter() for path in leaves}
    rows = (row for row in selection.rows() if row.id not in done)
    for batch in batches(rows, job.batch_size):
        samples = [row.sample for row in batch]
        for path, leaf in leaves.items():
            for sample in samples:
                missing[path].update(leaf.columns - sample.columns.keys())
            if isinstance(leaf, Costed):
                for amounts in _amounts(leaf, samples):
                    costs[path].update(amounts)
    gates = _gates(job.reward)
    return Plan(
        selected=selection.count,
        groups=len(selection.groups) if selection.source.grouped else None,
        bad=selection.bad,
        already=len(done),
        redo=len(again),
        batches=-(-(selection.count - len(done)) // job.batch_size),
        columns=dict(selection.columns),
        leaves=tuple(
            LeafPlan(
                path,
                repr(leaf),
                gates.get(path),
                tuple(sorted(leaf.columns)),
                missing[path],
                costs[path],
            )
            for path, leaf in leaves.items()
        ),
    )


def _amounts(leaf: Costed, samples: Sequence[Sample]) -> Iterator[Mapping[str, float]]:
    try:
        yield leaf.cost(samples)
    except DataError:
        if len(samples) > 1:
            for sample in samples:
                yield from _amounts(leaf, [sample])


def _gates(reward: Reward, above: str = "") -> dict[str, str]:
    """The gate of every leaf that stands behind one, however far above it is."""
    found: dict[str, str] = {}
    terms = getattr(reward, "terms", {})
    for name, child in reward.children().items():
        path = f"{above}{name}"
        gate = getattr(terms.get(name), "gate", None)
        for leaf in child.leaves():
            if gate is not None:
                found[f"{path}/{leaf}" if leaf else path] = f"{above}{gate}"
        for leaf, inner in _gates(child, f"{path}/").items():
            found.setdefault(leaf, inner)
    return found
