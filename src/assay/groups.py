"""Groups across ranks: a reward that compares rollouts sees every rollout of a prompt once.

TRL may put the rollouts of one prompt on several ranks. Every rank gathers at every call, whatever
the gates say; the rank that holds a group's first row scores the group; a second gather brings
scores and failures home, so that either every rank returns or every rank raises.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import DataError, RewardError
from assay.messages import Sample

if TYPE_CHECKING:
    from assay.reward import Reward, Score


def world() -> tuple[int, int]:
    """This process's rank and the number of ranks; (0, 1) without torch.distributed."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def evaluate_groups(
    reward: Reward, samples: Sequence[Sample], unreadable: DataError | None = None
) -> tuple[list[Score], list[Score]]:
    """Score every group once over all ranks.

    Args:
        reward: A group-scoped reward.
        samples: This rank's rows.
        unreadable: Why this rank's rows could not be read; then every rank raises.

    Returns:
        The scores of this rank's `samples`, and those of all ranks: what is decided on the latter
        is decided alike everywhere.

    Raises:
        DataError: A row has no `uid`, or the rows of some rank could not be read.
        RewardError: Scoring raised on some rank; the message names it.
    """
    rank, ranks = world()
    problem = unreadable or _missing_uid(reward, samples)
    if ranks == 1:
        if problem:
            raise problem
        scores = reward.evaluate(samples)
        return scores, scores
    local: list[tuple[int, int, Any, str]] = [(rank, i, s, "") for i, s in enumerate(samples)]
    rows = _gather([(rank, -1, None, str(problem))] if problem else local)
    if complaints := [text for *_, text in rows if text]:
        raise problem or DataError(complaints[0])
    owner: dict[str, int] = {}
    for source, _, sample, _ in rows:
        owner.setdefault(str(sample.group), source)
    mine = [row for row in rows if owner[str(row[2].group)] == rank]
    outcome: list[tuple[int, int, Any]] = []
    error: Exception | None = None
    try:
        scored = reward.evaluate([sample for _, _, sample, _ in mine])
        outcome = [(row[0], row[1], score) for row, score in zip(mine, scored, strict=True)]
    except Exception as raised:
        error = raised
        outcome = [(-1, rank, f"{type(raised).__name__}: {raised}")]
    gathered = _gather(outcome)
    if error is not None:
        raise error
    if failures := [(index, text) for source, index, text in gathered if source == -1]:
        raise RewardError(
            f"reward {reward.name!r} raised on rank {failures[0][0]}: {failures[0][1]}"
        )
    home = {index: score for source, index, score in gathered if source == rank}
    return [home[i] for i in range(len(samples))], [score for *_, score in gathered]


def _gather(items: list[Any]) -> list[Any]:
    from accelerate.utils import gather_object

    return list(gather_object(items))


def _missing_uid(reward: Reward, samples: Sequence[Sample]) -> DataError | None:
    for index, sample in enumerate(samples):
        if sample.group is None:
            return DataError(
                f"reward {reward.name!r} compares the rollouts of a prompt and needs to know which "
                "belong together; add a dataset column `uid` with one value per prompt",
                index,
            )
    return None
