"""Asks a model for verdicts, once or several times an item, and keeps where each came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError
from assay.judge import Outcome, total_cost
from assay.judges.client import Client, Reply, Request, TokenLogprob
from assay.judges.structured import VerdictFormat
from assay.messages import Message


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sent about one item: the prompt, and the nonce that its verdict must repeat."""

    prompt: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one reply said.

    Attributes:
        value: The verdict's fields, or None.
        status: `ok`, `abstained` (no well-formed verdict), `failed` (no reply).
        note: Why there is no verdict.
        raw: The reply's words.
        cost: By the client's prices, or None.
        span: Characters of `raw` in which the verdict stands.
        logprobs: Of the reply's tokens, or None.
        info: Where it came from: model, seed, tokens, seconds, hash of the prompt.
    """

    value: dict[str, Any] | None
    status: Outcome
    note: str
    raw: str
    cost: float | None
    span: tuple[int, int]
    logprobs: tuple[TokenLogprob, ...] | None
    info: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Questioner:
    """How verdicts of one form are asked for.

    Args:
        client: The model.
        form: What a verdict looks like.
        schema_name: What the server is told the schema is called.
        repeats: Opinions per item, each with a nonce and a seed of its own.
        seed: Of the first repeat, the next ones count up; None leaves it to the client, which is
            only allowed with one repeat.
        keep_prompt: Keep the whole prompt in the evidence; its hash is always there.
    """

    client: Client
    form: VerdictFormat
    schema_name: str
    repeats: int = 1
    seed: int | None = None
    keep_prompt: bool = False

    __hash__ = None  # type: ignore[assignment]

    def ask(self, count: int, build: Callable[[int, str], Asked]) -> list[list[Opinion]]:
        """All opinions on `count` items, in one call of the client.

        Args:
            count: Number of items.
            build: Makes what is sent from an item's index and a salt for its nonce.
        """
        asked: list[Asked] = []
        requests: list[Request] = []
        for index in range(count):
            for repeat in range(self.repeats):
                one = build(index, str(repeat) if repeat else "")
                asked.append(one)
                requests.append(
                    Request(
                        (Message("user", one.prompt),),
                        schema=self.form.sent_schema,
                        schema_name=self.schema_name,
                        seed=None if self.seed is None else self.seed + repeat,
                    )
                )
        replies = self.client.ask(requests)
        found = [
            self._read(one, request, reply)
            for one, request, reply in zip(asked, requests, replies, strict=True)
        ]
        return [found[i : i + self.repeats] for i in range(0, len(found), self.repeats)]

    def _read(self, asked: Asked, request: Request, reply: Reply) -> Opinion:
        found = self.form.read(reply, asked.nonce)
        status: Outcome = "ok" if found.value is not None else "abstained"
        if reply.status == "failed":
            status = "failed"
        info: dict[str, Any] = {
            "model": reply.model,
            "revision": reply.revision,
            "seed": request.seed,
            "seconds": round(reply.seconds, 4),
            "attempts": reply.attempts,
            "prompt_sha256": hashlib.sha256(asked.prompt.encode("utf-8", "replace")).hexdigest(),
        }
        if reply.usage is not None:
            info["prompt_tokens"] = reply.usage.prompt_tokens
            info["completion_tokens"] = reply.usage.completion_tokens
        if self.keep_prompt:
            info["prompt"] = asked.prompt
        return Opinion(
            found.value,
            status,
            found.note,
            reply.text,
            reply.cost,
            (found.start, found.end),
            reply.logprobs,
            info,
        )


def check_repeats(judge: object, repeats: int, seed: int | None) -> None:
    """Refuse settings under which repeats would all be the same.

    Raises:
        ConfigError: Fewer than one repeat, or several without a seed to count up.
    """
    name = type(judge).__name__
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ConfigError(f"{name}.repeats must be an integer >= 1, got {repeats!r}")
    if repeats > 1 and seed is None:
        raise ConfigError(f"{name}.repeats is {repeats}: set `seed`, from which they count up")


def joined(opinions: Sequence[Opinion], *, keep_raw: bool) -> dict[str, Any]:
    """What a verdict or grade keeps of its opinions: reason, raw, cost and info."""
    spoken = [one for one in opinions if one.value is not None]
    reasons = [str(one.value.get("reason", "")) for one in spoken if one.value is not None]
    if not spoken:
        reasons = [one.note for one in opinions]
    info = (
        dict(opinions[0].info) if len(opinions) == 1 else {"repeats": [_brief(o) for o in opinions]}
    )
    return {
        "reason": next((reason for reason in reasons if reason), ""),
        "raw": "\n\n".join(one.raw for one in opinions) if keep_raw else "",
        "cost": total_cost(*(one.cost for one in opinions)),
        "info": info,
    }


def missing_status(opinions: Sequence[Opinion]) -> Outcome:
    """The status where no opinion has a verdict: `failed` if any of them failed."""
    return "failed" if any(one.status == "failed" for one in opinions) else "abstained"


def _brief(opinion: Opinion) -> dict[str, Any]:
    kept = {k: v for k, v in (opinion.value or {}).items() if k != "reason"}
    return {**opinion.info, "status": opinion.status, "verdict": kept or None}
