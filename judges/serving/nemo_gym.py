"""NeMo-Gym's resources server: `POST /verify` scores one rollout of its Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from assay.judges.serving.config import NemoGym
from assay.judges.serving.context import Context, Endpoint, values_of
from assay.judges.serving.response_sample import sample_of, verify_reply


class VerifyRequest(BaseModel):
    """A rollout and its row: whatever the data set holds stands beside these two."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, Any]
    response: dict[str, Any]


class SeedSessionRequest(BaseModel):
    """Sent before a rollout; there is no session here, so nothing is done."""

    model_config = ConfigDict(extra="allow")


def endpoints(context: Context, settings: NemoGym) -> list[Endpoint]:
    """`/verify` and `/seed_session`."""
    service = context.rewards[settings.reward]

    async def verify(_: Mapping[str, str], body: VerifyRequest) -> Any:
        sample = sample_of(
            body.responses_create_params, body.response, dict(body.model_extra or {})
        )
        scores = await service.score([sample])
        (value,) = values_of(scores, service.name)
        return {**body.model_dump(), **verify_reply(value, scores[0])}

    async def seed_session(_: Mapping[str, str], body: SeedSessionRequest) -> Any:
        return {}

    tag = "NeMo-Gym"
    return [
        Endpoint("/verify", VerifyRequest, verify, "NeMo-Gym's verification of a rollout", tag),
        Endpoint("/seed_session", SeedSessionRequest, seed_session, "Begin a rollout", tag),
    ]
