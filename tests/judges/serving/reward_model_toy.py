"""A real, tiny reward model that a server can load by name."""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.rewards.pointwise import PointwiseModel, PointwiseReward
from tests.rewards.small_models import reward_model, tokenizer


def words() -> Any:
    """Its tokenizer."""
    return tokenizer()


@cache
def model() -> PointwiseModel:
    """The model."""
    return PointwiseModel.of(reward_model(), tokenizer())


rm = PointwiseReward(model())
