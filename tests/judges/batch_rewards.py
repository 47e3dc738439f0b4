"""Rewards that ask a model which no test can reach, except through a batch's folder."""

from __future__ import annotations

from assay.judges import Endpoint, LLMPairwise, LLMReference, Prices
from assay.rewards import Judged, Term, WeightedSum
from assay.rewards.pointwise import PointwiseReward
from assay.rewards.remote import RemotePointwiseModel

client = Endpoint("http://127.0.0.1:9/v1", "m", prices=Prices(1.0, 1.0))
judge = LLMPairwise(client)
right = Judged(LLMReference(client), passing=1.0, name="right")
strict = Judged(LLMReference(client, column="gold"), name="strict")
gated = WeightedSum({"right": Term(right), "strict": Term(strict, gate="right")})
served = PointwiseReward(RemotePointwiseModel("http://127.0.0.1:9", "score", "rm"))
