"""Scores batches as a Ray Data pipeline; needs the extra `ray`.

The driver reads the rows and makes batches, groups whole, so that no block ever splits a group;
Ray Data streams the batches through a pool of actors that hold the reward, on any node. An actor
or node that dies is replaced and its batches are scored again by Ray; where Ray gives a result up
that went with its node, a new pipeline takes the batches that are left. The driver alone writes,
each batch once. Where a job ends early, batches that actors are at just then are lost.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.errors import AssayError, ConfigError, RewardError
from assay.judges.engines import Scored
from assay.judges.rows import Row
from assay.judges.scoring import score_batch
from assay.reward import Reward

#: Pipelines in a row that may break without having brought a batch.
STALLS = 3


@dataclass(frozen=True)
class RayData:
    """An `Engine` on a Ray cluster.

    Args:
        actors: How many hold the reward; None for one per CPU of the cluster, or per GPU with
            `gpus_per_actor`.
        cpus_per_actor: CPUs that an actor reserves.
        gpus_per_actor: GPUs that an actor reserves; fractions share one.
        address: The cluster; None for the one that `ray.init()` finds or starts.
    """

    takes_all: ClassVar[bool] = True

    actors: int | None = None
    cpus_per_actor: float = 1.0
    gpus_per_actor: float = 0.0
    address: str | None = None

    def __post_init__(self) -> None:
        if self.actors is not None and self.actors < 1:
            raise ConfigError(f"the number of actors must be >= 1 or None, got {self.actors}")
        if not self.cpus_per_actor >= 0 or not self.gpus_per_actor >= 0:
            raise ConfigError(
                "cpus_per_actor and gpus_per_actor must be >= 0, got "
                f"{self.cpus_per_actor} and {self.gpus_per_actor}"
            )

    def scores(self, reward: Reward, batches: Iterator[list[Row]]) -> Scored:
        """See `Engine`.

        Raises:
            ConfigError: The cluster lacks what an actor needs.
            RewardError: Ray lost a batch for good.
        """
        ray, data = _ray(self.address)
        arrow: Any = importlib.import_module("pyarrow")
        left = {
            number: ray.put(arrow.table({"batch": [number], "rows": [pickle.dumps(batch)]}))
            for number, batch in enumerate(batches)
        }
        stalls = 0
        while left:
            before = len(left)
            try:
                for row in self._pipeline(ray, data, reward, list(left.values())):
                    if left.pop(row["batch"], None) is None:
                        continue
                    batch, found = pickle.loads(row["scores"])
                    if isinstance(found, BaseException):
                        raise found
                    yield batch, found
                lost = "it ended without them"
            except ray.exceptions.RayError as error:  # a node went with what it had just made
                cause = getattr(error, "cause", error)
                if not isinstance(cause, ray.exceptions.RayError):
                    raise  # by the code that ran there: it would fail again
                lost = f"{type(error).__name__}: {error}"
            stalls = 0 if len(left) < before else stalls + 1
            if left and stalls == STALLS:
                raise RewardError(
                    f"Ray gave back none of {len(left)} batches, {STALLS} times in a row ({lost}); "
                    "mend the cluster and continue with --resume"
                )

    def _pipeline(
        self, ray: Any, data: Any, reward: Reward, references: list[Any]
    ) -> Iterator[dict[str, Any]]:
        pool = min(self._actors(ray), len(references))
        scored = data.from_arrow_refs(references).map_batches(
            _Scorer,
            fn_constructor_args=(pickle.dumps(reward),),
            batch_size=1,
            concurrency=(1, pool) if pool > 1 else 1,
            num_cpus=self.cpus_per_actor,
            num_gpus=self.gpus_per_actor or None,
        )
        rows: Iterator[dict[str, Any]] = scored.iter_rows()
        return rows

    def _actors(self, ray: Any) -> int:
        have = ray.cluster_resources()
        kind, each = (
            ("GPU", self.gpus_per_actor)
            if self.gpus_per_actor
            else (
                "CPU",
                self.cpus_per_actor,
            )
        )
        most = int(have.get(kind, 0) / each) if each else int(have.get("CPU", 1))
        if most < 1:
            raise ConfigError(
                f"an actor needs {each:g} {kind} and the Ray cluster has {have.get(kind, 0):g}"
            )
        return most if self.actors is None else self.actors


class _Scorer:
    """What an actor is: the reward, and its scores for one batch after the other."""

    def __init__(self, packed: bytes) -> None:
        self.reward: Reward = pickle.loads(packed)

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        scores = [self._score(bytes(rows)) for rows in block["rows"]]
        return {"batch": block["batch"], "scores": scores}

    def _score(self, rows: bytes) -> bytes:
        batch: list[Row] = pickle.loads(rows)
        found: object
        try:
            found = score_batch(self.reward, batch)
        except (AssayError, ImportError) as error:
            found = RewardError(f"{type(error).__name__}: {error}")
        return pickle.dumps((batch, found))


def _ray(address: str | None) -> tuple[Any, Any]:
    try:
        ray: Any = importlib.import_module("ray")
        data: Any = importlib.import_module("ray.data")
    except ImportError as error:
        raise ImportError(
            f"--engine ray needs {error.name or 'ray'}: pip install 'assay[ray]'"
        ) from None
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    data.DataContext.get_current().enable_progress_bars = False
    return ray, data
