"""The offline job: scores a file with a reward, row by row onto a file that survives a kill."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from assay.errors import ConfigError, DataError, RewardError
from assay.judges.engines import Engine, InProcess
from assay.judges.job_report import COUNTS, Report
from assay.judges.manifest import Manifest, State, manifest_path, refuse_other
from assay.judges.results import ResultFile, finished_rows
from assay.judges.row_batches import batches, group_batches
from assay.judges.rows import BadRow, Row, RowSource
from assay.judges.scoring import ErrorBudget
from assay.judges.selection import Selection, Shard
from assay.judges.summary import Summary
from assay.reward import Reward, Score


class Listener(Protocol):
    """Hears how a job goes."""

    def started(self, total: int, done: int) -> None:
        """Scoring begins: `total` rows, `done` of them from an earlier run."""

    def advanced(self, rows: int, cost: float = 0.0) -> None:
        """So many more rows are on disk, or were set aside, and what they cost."""

    def bad(self, place: str, reason: str) -> None:
        """A row cannot be scored."""

    def warned(self, text: str) -> None:
        """Something to know, not an error."""


@dataclass
class OfflineJob:
    """Scores the rows of a file.

    Args:
        reward: Any Reward; a group-scoped one sees every group whole.
        input: File of rows.
        output: File of results, appended to.
        label: The input's name in messages; its path if empty.
        rename: Old column name by new one.
        shard: Which part of the rows.
        limit: At most so many rows.
        batch_size: Rows that are scored, written and flushed together.
        resume: Continue an output that holds results.
        retry_failed: With `resume`: score rows again in which something failed.
        force: Continue although the reward or the input changed.
        strict: The first bad row ends the job.
        max_error_rate: A leaf that fails on more of its rows ends the job; None: the reward's.
        max_cost: No further batch begins once the rows in the output cost so much together, rows of
            earlier runs included; in the currency of the judges' prices. None: no bound.
        about: For people, kept in the manifest.
        source: File that defines the reward; its content is part of the manifest.
        engine: Where batches are scored; None for this process. Others write rows as they come
            back, in an order of their own; `assay.judges.exported_results` restores the input's.
    """

    reward: Reward
    input: Path
    output: Path
    label: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    shard: Shard = field(default_factory=Shard)
    limit: int | None = None
    batch_size: int = 64
    resume: bool = False
    retry_failed: bool = False
    force: bool = False
    strict: bool = False
    max_error_rate: float | None = None
    max_cost: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        self.label = self.label or str(self.input)
        limit = self.max_error_rate
        if limit is not None and not 0 <= limit <= 1:
            raise ConfigError(f"max_error_rate must lie in [0, 1], got {limit}")
        if self.max_cost is not None and not self.max_cost > 0:
            raise ConfigError(f"max_cost must be > 0, got {self.max_cost}")
        if self.output.exists() and self.input.exists() and self.output.samefile(self.input):
            raise ConfigError(f"--output {self.output} is the input; give it another name")

    def select(self, known: Mapping[Any, bool], listener: Listener) -> Selection:
        """The first pass: which rows, and what is wrong with the others.

        Raises:
            DataError: A bad row where `strict`, and whatever `Selection.survey` raises.
        """
        source = RowSource(
            self.input,
            self.label,
            self.rename,
            self.reward.columns,
            self.reward.scope == "group",
            self.reward.eos_token_ids,
        )
        selection = Selection(source, self.shard, self.limit)
        selection.survey(known, lambda bad: self._complain(bad, listener))
        return selection

    def ids(self) -> Iterator[Any]:
        """Ids of the rows that the job is about, in the order of the input."""
        selection = self.select({}, _Silent())
        return (row.id for row in selection.rows())

    def run(self, listener: Listener) -> Report:
        """Score what is not scored yet.

        A KeyboardInterrupt ends the job in good order: the report then says `stopped`.

        Raises:
            ConfigError: The output cannot be used (see `ResultFile` and `refuse_other`).
            DataError: The input is damaged, or a row is bad where `strict`.
            RewardError: A leaf failed too often so far, or the reward broke its contract. A leaf of
                which that is only known at the end stands in the report.
        """
        start = time.perf_counter()
        with ResultFile(self.output, resume=self.resume) as results:
            manifest = self.manifest(listener)
            if results.size and not self.force:
                refuse_other(self.output, manifest)
            known = {row["id"]: has_failure(row) for row in finished_rows(self.output)}
            selection = self.select(known, listener)
            again = self.to_redo(selection, known)
            redone = results.drop(lambda row: row["id"] in again) if again else 0
            run = _Run(self, selection, results, listener, known.keys() - again)
            state: State = "failed"
            try:
                manifest.write(manifest_path(self.output))
                stopped = run.go()
                if stopped or run.budget.problem():
                    state = "stopped" if stopped else "failed"
                else:
                    state = "waiting" if run.report(redone, stopped=False).waiting else "done"
            finally:
                run.seconds[""] = time.perf_counter() - start
                report = run.report(redone, stopped=state == "stopped")
                counts = {name: getattr(report, name) for name in COUNTS}
                replace(manifest, counts=counts, state=state).write(manifest_path(self.output))
        return report

    def manifest(self, listener: Listener) -> Manifest:
        """What this job is made of."""
        try:
            fingerprint = self.reward.fingerprint()
        except ConfigError as error:
            fingerprint = ""
            listener.warned(f"the reward has no fingerprint, so a change goes unseen: {error}")
        return Manifest(
            reward=fingerprint,
            source="" if self.source is None else _sha256(self.source),
            input=_sha256(self.input),
            rename=dict(self.rename),
            shard=str(self.shard),
            about={"input": self.label, "reward": repr(self.reward)[:2000], **self.about},
        )

    def to_redo(self, selection: Selection, known: Mapping[Any, bool]) -> set[Any]:
        """Ids whose results are to be made again: what failed, and groups that are not whole."""
        again: set[Any] = set()
        for group, ids in selection.found.items():
            retry = {i for i in ids if self.retry_failed and known[i]}
            if selection.source.grouped:
                partial = len(ids) < selection.groups[group]
                again.update(ids if retry or partial else ())
            else:
                again |= retry
        return again

    def _complain(self, bad: BadRow, listener: Listener) -> None:
        if self.strict:
            raise DataError(f"{self.label}:{bad.line}: {bad.reason}")
        listener.bad(f"{self.label}:{bad.line}", bad.reason)


class _Silent:
    """A listener for a second reading: everything was said at the first."""

    def started(self, total: int, done: int) -> None:
        """Nothing."""

    def advanced(self, rows: int, cost: float = 0.0) -> None:
        """Nothing."""

    def bad(self, place: str, reason: str) -> None:
        """Nothing."""

    def warned(self, text: str) -> None:
        """Nothing."""


@dataclass
class _Run:
    """The second pass of a job: batches in, results out."""

    job: OfflineJob
    selection: Selection
    results: ResultFile
    listener: Listener
    done: set[Any]
    written: int = 0
    bad: int = 0
    already: int = 0
    overspent: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    summary: Summary = field(init=False)
    budget: ErrorBudget = field(init=False)

    def __post_init__(self) -> None:
        job = self.job
        limit = job.reward.max_error_rate if job.max_error_rate is None else job.max_error_rate
        self.budget = ErrorBudget(job.reward, limit)
        self.summary = Summary(list(self.job.reward.leaves()))
        for row in finished_rows(self.job.output):
            self.summary.add(row)
        self.bad = self.selection.bad
        self.already = sum(i in self.done for ids in self.selection.found.values() for i in ids)

    def go(self) -> bool:
        """Score batch after batch; whether the user stopped it."""
        job = self.job
        self.listener.started(self.selection.count, self.already)
        # Reading ahead would ask for a batch before the one in hand is paid for.
        engine = job.engine or InProcess(read_ahead=job.max_cost is None)
        scores = engine.scores(job.reward, self._until_spent())
        try:
            for batch, found in scores:
                before = self.summary.cost
                for bad in found.bad:
                    job._complain(bad, self.listener)
                self.bad += len(found.bad)
                try:
                    self.budget.charge([score for _, score in found.scored])
                except RewardError:
                    self._write(self._intact(found.scored))  # they may have been paid for
                    raise
                self._write(found.scored)
                for path, seconds in found.seconds.items():
                    self.seconds[path] = self.seconds.get(path, 0.0) + seconds
                self.listener.advanced(len(batch), self.summary.cost - before)
                left = self.selection.count - self.already - self.written - self.bad
                if engine.takes_all and left > 0 and self._spent():
                    self.overspent = True
                    break
        except KeyboardInterrupt:
            return True
        finally:
            scores.close()
        return self.overspent

    def _write(self, scored: Sequence[tuple[Row, Score]]) -> None:
        rows = [{"id": row.id, **score.to_json()} for row, score in scored]
        self.results.append(rows)
        for output in rows:
            self.summary.add(output)
        self.written += len(rows)

    def _intact(self, scored: Sequence[tuple[Row, Score]]) -> list[tuple[Row, Score]]:
        """Rows (whole groups) without a failure; a resume makes the others."""
        grouped = self.selection.source.grouped
        units = [row.sample.group if grouped else row.line for row, _ in scored]
        broken = {
            unit
            for unit, (_, score) in zip(units, scored, strict=True)
            if has_failure(score.to_json())
        }
        return [one for unit, one in zip(units, scored, strict=True) if unit not in broken]

    def report(self, redone: int, *, stopped: bool) -> Report:
        """What was done so far."""
        return Report(
            self.summary,
            self.selection.count,
            self.already,
            self.written,
            self.bad,
            redone,
            self.seconds,
            stopped,
            self.budget.problem(),
            self.overspent,
        )

    def _until_spent(self) -> Iterator[list[Row]]:
        """Batches, until what came back has cost as much as the job may cost."""
        for batch in self._batches():
            if self._spent():
                self.overspent = True
                return
            yield batch

    def _spent(self) -> bool:
        """Whether the output's rows cost what they may."""
        return self.job.max_cost is not None and self.summary.cost >= self.job.max_cost

    def _batches(self) -> Iterator[list[Row]]:
        rows = (row for row in self.selection.rows() if row.id not in self.done)
        size = self.job.batch_size
        if self.selection.source.grouped:
            return group_batches(rows, self.selection.groups, size)
        return batches(rows, size)


def has_failure(row: Mapping[str, Any]) -> bool:
    """Whether a result, or a part of it at any depth, says that our side broke."""
    return row["status"] == "failed" or any(has_failure(part) for part in row["parts"].values())


def _sha256(path: Path) -> str:
    """Of a file's bytes, or of all files in a folder with their names."""
    if path.is_dir():
        inner = sorted(one for one in path.rglob("*") if one.is_file())
        parts = "".join(f"{_sha256(one)} {one.relative_to(path)}\n" for one in inner)
        return hashlib.sha256(parts.encode()).hexdigest()
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
