"""OpenRLHF's remote reward protocol: `POST /get_reward` with query, prompts and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import DataError
from assay.judges.serving.config import OpenRlhf
from assay.judges.serving.context import Context, Endpoint, values_of
from assay.judges.serving.services import RawInput
from assay.messages import Sample
from assay.reward import Score


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
            samples.append(sample_of(query, prompt, label, settings.label_column))
        scores = await service.score(samples)
        if settings.on_missing == "refuse":
            rewards = [*values_of(scores, service.name)]
        else:
            rewards = [score.value for score in scores]
        return {"rewards": rewards, "scores": rewards, "extra_logs": _logs(scores)}

    return [
        Endpoint(
            "/get_reward", GetRewardRequest, get_reward, "OpenRLHF's remote reward", "OpenRLHF"
        )
    ]


def sample_of(query: str, prompt: str, label: Any, column: str) -> Sample:
    """A sample from one query.

    >>> sample_of("2+2? 4", "2+2?", "4", "answer").completion[0].content
    ' 4'
    """
    completion = query.removeprefix(prompt) if prompt else query
    columns: dict[str, Any] = {} if label is None else {column: label}
    values = label
    if isinstance(label, str) and label.lstrip().startswith("{"):
        try:
            values = json.loads(label)
        except ValueError:
            values = None
    if isinstance(values, Mapping):
        columns |= {str(key): value for key, value in values.items()}
    return Sample.of(prompt or (), completion, columns)


def _logs(scores: list[Score]) -> dict[str, list[float | None]]:
    """Values of the components and full marks, one number a row, under names all rows have."""
    logs: dict[str, list[float | None]] = {}
    shared = set.intersection(*(set(score.parts) for score in scores)) if scores else set()
    for name in sorted(shared):
        values = [score.parts[name].value for score in scores]
        if None not in values:
            logs[name] = values
    if scores and all(score.passed is not None for score in scores):
        logs["passed"] = [float(bool(score.passed)) for score in scores]
    return logs
