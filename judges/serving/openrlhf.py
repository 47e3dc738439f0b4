"""OpenRLHF's remote reward protocol: `POST /get_reward` with query, prompts and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import DataError
from assay.judges.serving.config import OpenRlhf
from assay.judges.serving.context import Context, Endpoint, values_of
from assay.judges.serving.query_sample import sample_of, score_logs
from assay.judges.serving.services import RawInput


class GetRewardRequest(BaseModel):
    """What OpenRLHF sends: decoded texts, prompt and response together in `query`."""

    model_config = ConfigDict(extra="allow")

    query: list[str]
    prompts: list[str] | None = None
    labels: list[Any] | None = Field(default=None, description="The data set's labels.")


def endpoints(context: Context, settings: OpenRlhf) -> list[Endpoint]:
    """`/get_reward`."""
    service = context.rewards[settings.reward]

    async def get_reward(_: Mapping[str, str], body: GetRewardRequest) -> Any:
        context.counted("queries", body.query)
        for name, given in (("prompts", body.prompts), ("labels", body.labels)):
            if given is not None and len(given) != len(body.query):
                raise DataError(f"{len(body.query)} queries, but {len(given)} {name}")
        if settings.raw:
            found = await service.score_inputs([RawInput(text, False) for text in body.query])
            numbers = [list(row) for row, _ in found]
            if any(len(row) != 1 for row in numbers):
                raise DataError(
                    f"the model of {service.name!r} gives several numbers, a reward is one; leave "
                    "raw out, so that the reward weighs them"
                )
            rewards: list[float | None] = [row[0] for row in numbers]
            return {"rewards": rewards, "scores": rewards, "extra_logs": {}}
        samples = []
        for index, query in enumerate(body.query):
            prompt = body.prompts[index] if body.prompts is not None else ""
            label = body.labels[index] if body.labels is not None else None
            try:
                samples.append(sample_of(query, prompt, label, settings.label_column))
            except DataError as error:
                raise DataError(str(error), index) from None
        scores = await service.score(samples)
        if settings.on_missing == "refuse":
            rewards = [*values_of(scores, service.name)]
        else:
            rewards = [score.value for score in scores]
        return {"rewards": rewards, "scores": rewards, "extra_logs": score_logs(scores)}

    return [
        Endpoint(
            "/get_reward", GetRewardRequest, get_reward, "OpenRLHF's remote reward", "OpenRLHF"
        )
    ]
