"""The interface that every reward has, and the score it gives.

An author writes one method, `score`. Trainers call the object itself (TRL's contract); composition,
files and servers call `evaluate`, the checked form of `score`.
"""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, ClassVar, Literal

from assay.diagnostics import Recorder, emit, enforce_error_rate, tell, timed
from assay.errors import ContractError, DataError, JudgeError, RewardError, SandboxError
from assay.fingerprint import configuration_fingerprint
from assay.groups import evaluate_groups
from assay.messages import Sample
from assay.score import STATUSES as STATUSES
from assay.score import Score as Score
from assay.score import Status as Status

#: Keyword names that TRL fills itself; a dataset column of such a name breaks or is overwritten.
RESERVED_COLUMNS = frozenset(
    {
        "prompts",
        "completions",
        "completion_ids",
        "trainer_state",
        "log_extra",
        "log_metric",
        "environments",
    }
)


class Reward(ABC):
    """Scores completions. Subclass it with a frozen dataclass at module level and write `score`.

    A reward is picklable, comparable, not hashable; its repr is its configuration. Whatever it
    opens (workers, models, connections) opens lazily in the process that uses it. It is never an
    `nn.Module`: trainers would take it for a reward model and call it with token ids.

    Attributes:
        name: Metric name; unique among the rewards of one trainer.
        columns: Dataset columns it needs.
        scope: `group` if it must see all rollouts of a prompt together, else `sample`.
        range: Smallest and largest value that `score` can give; infinite for an unbounded model.
        max_error_rate: A call in which a leaf failed on more than this share of the rows it was
            asked to score raises RewardError.
        eos_token_ids: Ids that end a finished completion; with them set, a completion whose last
            id is another one counts as truncated (where no column `truncated` says it).

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Brevity(Reward):
        ...     limit: int = 100
        ...     name: str = "brevity"
        ...     range = (0.0, 1.0)
        ...
        ...     def score(self, samples):
        ...         return [Score.of(float(len(s.answer) <= self.limit)) for s in samples]
        >>> Brevity(limit=5)(completions=["short", "far too long"])
        [1.0, 0.0]
    """

    name: str
    columns: frozenset[str] = frozenset()
    scope: Literal["sample", "group"] = "sample"
    range: tuple[float, float] = (-math.inf, math.inf)
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__hash__ = None
        if not hasattr(cls, "name") and "name" not in inspect.get_annotations(cls):
            cls.name = re.sub(
                r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__qualname__.rsplit(".", 1)[-1]
            ).lower()

    @property
    def __name__(self) -> str:
        """TRL names metrics after this."""
        return self.name

    @abstractmethod
    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score `samples`: one Score each, in the same order.

        Raise SandboxError, JudgeError or RewardError when the whole batch could not be scored; for
        one row, return `Score.fail(note)`. Raise DataError(..., index) for a row that cannot be
        used.
        """

    def children(self) -> Mapping[str, Reward]:
        """Components by name; empty for a leaf."""
        return {}

    def weights(self) -> Mapping[str, float]:
        """Factor of each component in the value, where the value is a weighted sum of them."""
        return {}

    def figures(self, samples: Sequence[Sample], scores: Sequence[Score]) -> Mapping[str, float]:
        """What a leaf adds to the trainer's log beside mean, counts and seconds, by name.

        Args:
            samples: Of one call, on this process.
            scores: What the leaf made of them; gated and skipped ones included.

        A name may be left out where there is nothing to tell: a NaN would poison the average over
        steps and ranks.
        """
        return {}

    def leaves(self) -> dict[str, Reward]:
        """All leaves by path, e.g. `{"code/tests": PassRate(...)}`; a leaf alone has path ""."""
        found: dict[str, Reward] = {}
        for name, child in self.children().items():
            for path, leaf in child.leaves().items():
                found[f"{name}/{path}" if path else name] = leaf
        return found or {"": self}

    def fingerprint(self) -> str:
        """A hash of everything that changes a score."""
        return configuration_fingerprint(self)

    def check(self, dataset: object) -> None:
        """Check a dataset before training.

        Args:
            dataset: A `datasets.Dataset`, a mapping of columns, or a list of rows.

        Raises:
            DataError: A needed column is missing, or a column has a name that TRL uses itself.
        """
        self._check_names(column_names(dataset))
        for child in self.children().values():
            child.check(dataset)

    def _check_names(self, names: set[str] | None) -> None:
        if names is None:
            return
        if taken := sorted(names & RESERVED_COLUMNS):
            raise DataError(
                f"dataset columns {taken} have names that the trainer fills itself; rename them"
            )
        needed = set(self.columns) | ({"uid"} if self.scope == "group" else set())
        if missing := sorted(needed - names):
            raise DataError(
                f"reward {self.name!r} needs dataset columns {missing}; the dataset has "
                f"{sorted(names)}"
                + ("; give every row a `uid`, one per prompt" if "uid" in missing else "")
            )

    def evaluate(self, samples: Sequence[Sample]) -> list[Score]:
        """`score` with its contract checked; what composition, files and servers call.

        A SandboxError, JudgeError, RewardError or OSError becomes `failed` scores of the whole
        batch, so that one dead service costs no other component its scores.

        Raises:
            DataError: A needed column is missing, or the reward rejects a row.
            ContractError: Not one Score per sample, or a value outside `range`.
        """
        if not samples:
            return []
        self._check_columns(samples)
        try:
            scores = self.score(samples)
        except ContractError:
            raise
        except (SandboxError, JudgeError, RewardError, OSError) as error:
            note = f"{type(error).__name__}: {error}"
            return [Score.fail(note) for _ in samples]
        except Exception as error:
            error.add_note(f"while reward {self.name!r} scored {len(samples)} samples")
            raise
        return self._checked(scores, len(samples))

    def part(self, name: str, child: Reward, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate a component under its name, so that its time is booked on its path."""
        with timed(name):
            return child.evaluate(samples)

    def __call__(
        self, /, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **kwargs: Any
    ) -> list[float | None]:
        """TRL's reward-function contract, sync GRPOTrainer and AsyncGRPO alike.

        Args:
            completions: One text or message list per rollout of this process.
            prompts: As many prompts; empty prompts if None.
            **kwargs: Dataset columns as lists, `completion_ids`, and what TRL adds
                (`trainer_state`, `log_extra`, `log_metric`, `environments`), all optional.

        Returns:
            One float per completion; None where the score is missing.

        Raises:
            DataError: Lengths differ, a column is missing, or a group-scoped reward has no `uid`.
            RewardError: A leaf failed on more than `max_error_rate` of its rows.
        """
        log_metric: Callable[[str, float], None] | None = kwargs.pop("log_metric", None)
        log_extra: Callable[[str, list[Any]], None] | None = kwargs.pop("log_extra", None)
        kwargs.pop("trainer_state", None)
        kwargs.pop("environments", None)
        unreadable: DataError | None = None
        try:
            samples = self._samples(completions, prompts, kwargs)
        except DataError as error:
            if self.scope != "group":
                raise
            samples, unreadable = [], error  # the other ranks wait for this one to gather
        with Recorder() as recorder:
            if self.scope == "group":
                scores, everywhere = evaluate_groups(self, samples, unreadable)
            else:
                scores = everywhere = self.evaluate(samples)
        emit(self, samples, scores, recorder, log_metric, log_extra)
        enforce_error_rate(self, everywhere)
        tell(self, samples, scores)
        return [score.value for score in scores]

    def _samples(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, given: dict[str, Any]
    ) -> list[Sample]:
        completions = _as_list("completions", completions)
        count = len(completions)
        prompts = [()] * count if prompts is None else _as_list("prompts", prompts)
        ids = given.pop("completion_ids", None)
        ids = None if ids is None else _as_list("completion_ids", ids)
        columns = {name: _as_list(f"column {name!r}", values) for name, values in given.items()}
        lengths = {"prompts": len(prompts)} | ({} if ids is None else {"completion_ids": len(ids)})
        lengths |= {name: len(values) for name, values in columns.items()}
        if wrong := {name: size for name, size in lengths.items() if size != count}:
            raise DataError(f"{count} completions, but {wrong}; all must have the same length")
        return [
            Sample.of(
                prompts[i],
                completions[i],
                {name: values[i] for name, values in columns.items()},
                completion_ids=None if ids is None else ids[i],
                eos_token_ids=self.eos_token_ids,
            )
            for i in range(count)
        ]

    def _check_columns(self, samples: Sequence[Sample]) -> None:
        for index, sample in enumerate(samples):
            if missing := sorted(self.columns - sample.columns.keys()):
                raise DataError(
                    f"reward {self.name!r} needs columns {missing}; the row has "
                    f"{sorted(sample.columns)}",
                    index,
                )

    def _checked(self, scores: Any, count: int) -> list[Score]:
        if not isinstance(scores, list | tuple):
            raise ContractError(
                f"reward {self.name!r} must return a list with one Score per sample, got "
                f"{type(scores).__name__}"
            )
        if len(scores) != count:
            raise ContractError(
                f"reward {self.name!r} returned {len(scores)} scores for {count} samples"
            )
        low, high = self.range
        slack = 1e-9 * max([1.0, *(abs(v) for v in (low, high) if math.isfinite(v))])
        for index, score in enumerate(scores):
            if not isinstance(score, Score):
                raise ContractError(
                    f"reward {self.name!r} must return Score objects, got "
                    f"{type(score).__name__} for sample {index}; wrap a number as Score.of(value)"
                )
            if score.value is not None and not low - slack <= score.value <= high + slack:
                raise ContractError(
                    f"reward {self.name!r} gave {score.value} for sample {index}, outside its "
                    f"declared range {self.range}; mend the range or the value"
                )
        return list(scores)


def _as_list(what: str, values: Any) -> list[Any]:
    """A column by position: pandas would index it by label, a set has no order."""
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise DataError(
            f"{what} must be a list with one value per completion, got {type(values).__name__}"
        )
    try:
        return list(values)
    except TypeError as error:  # an array or tensor without dimensions
        raise DataError(f"{what} must be a list with one value per completion: {error}") from None


def column_names(dataset: object) -> set[str] | None:
    """Columns of a `datasets.Dataset`, a mapping of columns, or rows; None where unknown.

    Of rows only the columns that all of them have, and any reserved name.
    """
    names = getattr(dataset, "column_names", None)
    if isinstance(names, Mapping):  # a DatasetDict: what every split has, and any reserved name
        splits = [set(columns) for columns in names.values()]
        union = set().union(*splits)
        return set.intersection(union, *splits) | (union & RESERVED_COLUMNS)
    if names is None and isinstance(dataset, Mapping):
        names = dataset.keys()
    if names is None and isinstance(dataset, Sequence):
        rows = [row.keys() for row in dataset if isinstance(row, Mapping)]
        if not rows:
            return None
        shared = set(rows[0])
        for keys in rows:
            shared &= set(keys)
        return shared | (set().union(*rows) & RESERVED_COLUMNS)
    return None if names is None else set(names)
