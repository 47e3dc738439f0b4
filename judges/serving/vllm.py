"""vLLM's pooling endpoints: `/classify`, `/pooling`, `/score` and `/rerank`."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import DataError
from assay.judges.serving.config import Vllm
from assay.judges.serving.context import Context, Endpoint, values_of
from assay.judges.serving.errors import ApiError, unknown
from assay.judges.serving.services import RawInput, RewardService, cost_of
from assay.messages import Sample

Text = str | list[str]


class _Request(BaseModel):
    model_config = ConfigDict(extra="allow")

    model: str | None = None
    use_activation: bool | None = Field(
        default=None, description="Sigmoid or softmax of raw numbers; off where left out."
    )
    activation: bool | None = Field(default=None, description="An older name of it.")


class PoolingRequest(_Request):
    """Texts or token ids in `input`, or a conversation in `messages`."""

    input: str | list[str] | list[int] | list[list[int]] | None = None
    messages: list[dict[str, Any]] | None = None
    add_special_tokens: bool = True
    add_generation_prompt: bool = False
    continue_final_message: bool = False
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)


class ScoreTextsRequest(_Request):
    """A text and its answers, or as many texts as answers."""

    text_1: Text | None = None
    text_2: Text | None = None
    queries: Text | None = Field(default=None, description="Another name of text_1.")
    documents: Text | None = Field(default=None, description="Another name of text_2.")


class RerankRequest(_Request):
    """A query and documents to put in order."""

    query: str
    documents: list[str]
    top_n: int = 0


def endpoints(context: Context, settings: Vllm) -> list[Endpoint]:
    """The four, and those of them that have a version in their path."""

    def service_of(model: str | None) -> RewardService:
        name = settings.rewards[0] if model is None else model
        if name not in settings.rewards:
            raise unknown("model", name, settings.rewards)
        return context.rewards[name]

    async def rows_of(body: PoolingRequest) -> tuple[RewardService, list[list[float]], int]:
        service = service_of(body.model)
        if (body.input is None) == (body.messages is None):
            raise DataError("give either `input` or `messages`")
        if body.messages is not None:
            sample = _conversation(body, body.messages)
            (value,) = values_of(await service.score([sample]), service.name)
            rows, tokens = [[value]], cost_of(sample.prompt, sample.completion)
        else:
            assert body.input is not None
            inputs = _inputs(body.input)
            context.counted("inputs", inputs)
            rows, tokens = await _raw(service, inputs, body.add_special_tokens)
        if _active(body):
            rows = [_activated(row) for row in rows]
        return service, rows, tokens

    async def classify(_: Mapping[str, str], body: PoolingRequest) -> Any:
        service, rows, tokens = await rows_of(body)
        data = [
            {
                "index": index,
                "label": f"LABEL_{max(range(len(row)), key=row.__getitem__)}",
                "probs": row,
                "num_classes": len(row),
            }
            for index, row in enumerate(rows)
        ]
        return _list("classify", service, data, tokens)

    async def pooling(_: Mapping[str, str], body: PoolingRequest) -> Any:
        service, rows, tokens = await rows_of(body)
        data = [
            {"index": index, "object": "pooling", "data": row} for index, row in enumerate(rows)
        ]
        return _list("pool", service, data, tokens)

    async def pairs(
        body: _Request, first: Sequence[str], second: Sequence[str]
    ) -> tuple[RewardService, list[float], int]:
        service = service_of(body.model)
        context.counted("texts", second)
        # Answers to one text are a group, which a reward that compares rollouts needs to know.
        grouped = service.reward.scope == "group"
        samples = [
            Sample.of(a, b, {"uid": a} if grouped else {})
            for a, b in zip(first, second, strict=True)
        ]
        values = values_of(await service.score(samples), service.name)
        if _active(body):
            values = [_activated([value])[0] for value in values]
        return service, values, sum(cost_of(s.prompt, s.completion) for s in samples)

    async def score(_: Mapping[str, str], body: ScoreTextsRequest) -> Any:
        first = _texts(body.text_1 if body.text_1 is not None else body.queries, "text_1")
        second = _texts(body.text_2 if body.text_2 is not None else body.documents, "text_2")
        if len(first) == 1:
            first = first * len(second)
        if len(first) != len(second):
            raise DataError(f"{len(first)} texts in text_1 and {len(second)} in text_2")
        service, values, tokens = await pairs(body, first, second)
        data = [
            {"index": index, "object": "score", "score": value}
            for index, value in enumerate(values)
        ]
        return _list("score", service, data, tokens)

    async def rerank(_: Mapping[str, str], body: RerankRequest) -> Any:
        documents = body.documents
        service, values, tokens = await pairs(body, [body.query] * len(documents), documents)
        order = sorted(range(len(values)), key=lambda index: -values[index])
        order = order[: body.top_n] if body.top_n > 0 else order
        return {
            "id": f"rerank-{uuid.uuid4().hex}",
            "model": service.name,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "results": [
                {"index": i, "document": {"text": documents[i]}, "relevance_score": values[i]}
                for i in order
            ],
        }

    tag = "vLLM"
    made: list[tuple[str, type[BaseModel], Callable[..., Awaitable[Any]], str]] = [
        ("/classify", PoolingRequest, classify, "Numbers of texts, token ids or a conversation"),
        ("/pooling", PoolingRequest, pooling, "The same in the form of a reward model"),
        ("/score", ScoreTextsRequest, score, "Score answers to texts"),
        ("/rerank", RerankRequest, rerank, "Put documents in order"),
    ]
    aliases = {"/score": ("/v1/score",), "/rerank": ("/v1/rerank", "/v2/rerank")}
    return [
        Endpoint(where, body, handle, summary, tag)
        for path, body, handle, summary in made
        for where in (path, *aliases.get(path, ()))
    ]


async def _raw(
    service: RewardService, inputs: list[str | tuple[int, ...]], special: bool
) -> tuple[list[list[float]], int]:
    """Numbers of inputs that no template is put on, and their tokens."""
    if service.raw:
        found = await service.score_inputs([RawInput(one, special) for one in inputs])
        return [list(row) for row, _ in found], sum(count for _, count in found)
    if any(not isinstance(one, str) for one in inputs):
        raise ApiError(
            422,
            "not_offered",
            f"reward {service.name!r} has no model that reads token ids; send text or messages",
        )
    samples = [Sample.of((), one) for one in inputs]
    values = values_of(await service.score(samples), service.name)
    return [[value] for value in values], sum(cost_of(s.completion) for s in samples)


def _inputs(given: Any) -> list[str | tuple[int, ...]]:
    if isinstance(given, str):
        return [given]
    if given and isinstance(given[0], int):
        return [tuple(given)]
    return [one if isinstance(one, str) else tuple(one) for one in given]


def _texts(given: Text | None, name: str) -> list[str]:
    if given is None:
        raise DataError(f"{name} is missing")
    return [given] if isinstance(given, str) else given


def _conversation(body: PoolingRequest, messages: list[dict[str, Any]]) -> Sample:
    """What comes after the last message that is not the assistant's or a tool's is the answer."""
    if body.add_generation_prompt:
        raise DataError(
            "add_generation_prompt is for generation; a conversation is scored as it is"
        )
    start = len(messages)
    while start and messages[start - 1].get("role") in ("assistant", "tool"):
        start -= 1
    if start == len(messages):
        raise DataError("the conversation must end with the assistant's answer, which is scored")
    tools = body.chat_template_kwargs.get("tools")
    columns = {"tools": tools} if tools else {}
    return Sample.of(
        messages[:start], messages[start:], columns, truncated=body.continue_final_message or None
    )


def _active(body: _Request) -> bool:
    return bool(body.use_activation if body.use_activation is not None else body.activation)


def _activated(row: list[float]) -> list[float]:
    """The sigmoid of one number, the softmax of several."""
    if len(row) == 1:
        x = row[0]
        return [1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))]
    top = max(row)
    powers = [math.exp(x - top) for x in row]
    return [power / sum(powers) for power in powers]


def _list(
    kind: str, service: RewardService, data: list[dict[str, Any]], tokens: int
) -> dict[str, Any]:
    return {
        "id": f"{kind}-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": service.name,
        "data": data,
        "usage": {
            "prompt_tokens": tokens,
            "total_tokens": tokens,
            "completion_tokens": 0,
            "prompt_tokens_details": None,
        },
    }
