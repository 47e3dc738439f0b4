"""Reward models behind a server: vLLM's /classify, /pooling and /score, over HTTP."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeAlias

from assay.errors import ConfigError, RewardError
from assay.judges.batch_folder import BatchFolder, current_folder
from assay.judges.retry import Retry, may_retry, retry_after_s
from assay.messages import Sample
from assay.rewards.chat_text import Rendered, chat_message, render_sample, tools_of
from assay.rewards.pointwise import PointwiseScorer, PointwiseValue

Route: TypeAlias = Literal["classify", "pooling", "score"]
_ROUTES: tuple[Route, ...] = ("classify", "pooling", "score")
#: A server may ask for a longer pause; no request waits longer.
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class RemotePointwiseModel(PointwiseScorer):
    """A point-wise model that a server runs: the same scores, none of this machine's memory.

    With `tokenizer` the text is rendered and cut here, exactly as `PointwiseModel` does, and token
    ids are sent in batches. Without it the server's own chat template renders the messages, one
    request a sample, and cuts nothing.

    | route | for | value |
    |---|---|---|
    | `classify` | a classification model | the raw logit (`use_activation: false`) |
    | `pooling` | a reward model | its number, the last token's where it gives one a token |
    | `score` | a cross-encoder | its score of (prompt text, completion text) |

    Args:
        url: Base URL, `http://host:8000`.
        route: One of the above.
        model: Name that the server knows the model by; None: its only one.
        tokenizer: Folder or hub id, or a tokenizer object.
        max_length: Tokens of an input; needs `tokenizer`.
        label_weights: Weights of several labels.
        batch_size: Samples of one request.
        concurrency: Requests at a time.
        timeout_s: Limit of one request.
        retries: Further tries after a network error or a busy server, with a growing pause.
        headers: Further HTTP headers, such as an authorisation; not part of the fingerprint.
        template_arguments: Further arguments of the chat template.

    Raises:
        RewardError: The server could not be reached, or answered something else than scores, at
            every request; where some succeed, only the rows of the others have no score.

    Source: vLLM's OpenAI-compatible server, pooling entry points.
    """

    url: str
    route: Route = "classify"
    model: str | None = None
    tokenizer: Any = None
    max_length: int | None = None
    label_weights: tuple[float, ...] | None = None
    batch_size: int = 32
    concurrency: int = 8
    timeout_s: float = 120.0
    retries: int = 3
    headers: Mapping[str, str] = field(
        default_factory=dict, repr=False, metadata={"fingerprint": False}
    )
    template_arguments: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.route not in _ROUTES:
            raise ConfigError(
                f"RemotePointwiseModel.route must be one of {set(_ROUTES)}, got {self.route!r}"
            )
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(
                f"RemotePointwiseModel.url must start with http:// or https://, got {self.url!r}"
            )
        if self.max_length is not None and self.tokenizer is None:
            raise ConfigError(
                "RemotePointwiseModel.max_length needs tokenizer=: only tokens can be counted"
            )
        if self.route == "score" and self.tokenizer is not None:
            raise ConfigError("route 'score' sends two texts; leave tokenizer= out")
        for name in ("batch_size", "concurrency"):
            if getattr(self, name) < 1:
                raise ConfigError(f"RemotePointwiseModel.{name} must be >= 1")

    def fingerprint(self) -> str:
        """Hash of the settings; the server's weights are known by `model` alone."""
        from assay.fingerprint import fingerprint_of

        words = self.tokenizer
        if words is not None and not isinstance(words, str):
            words = (str(getattr(words, "name_or_path", "")), str(words.chat_template))
        return fingerprint_of(
            (
                "remote", self.url, self.route, self.model, words, self.max_length,
                self.label_weights, self.template_arguments,
            )
        )  # fmt: skip

    def values(self, samples: Sequence[Sample]) -> list[PointwiseValue]:
        """One value per sample, in order."""
        if not samples:
            return []
        rendered: list[Rendered] | None = None
        if self.tokenizer is not None:
            words = self._tokenizer()
            limit = self.max_length or 1 << 20
            rendered = [render_sample(words, s, limit, self.template_arguments) for s in samples]
            jobs = [
                ([list(one.ids) for one in rendered[i : i + self.batch_size]])
                for i in range(0, len(samples), self.batch_size)
            ]
            bodies: list[dict[str, Any]] = [
                {"input": ids, "add_special_tokens": False, "use_activation": False} for ids in jobs
            ]
        else:
            bodies = [self._body(sample) for sample in samples]
        folder = current_folder()
        replies = self._sent(bodies) if folder is None else self._from_folder(folder, bodies)
        rows: list[list[float] | str] = []
        for reply, body in zip(replies, bodies, strict=True):
            count = len(body["input"]) if "input" in body else 1
            rows += [reply] * count if isinstance(reply, str) else reply
        if len(rows) != len(samples):
            raise RewardError(f"{self._where} gave {len(rows)} scores for {len(samples)} samples")
        shown: Sequence[Rendered | None] = rendered or [None] * len(rows)
        return [
            PointwiseValue(math.nan, (), one, problem=row)
            if isinstance(row, str)
            else PointwiseValue(self._reduce(row), tuple(row), one)
            for row, one in zip(rows, shown, strict=True)
        ]

    def _sent(self, bodies: Sequence[dict[str, Any]]) -> list[list[list[float]] | str]:
        """Scores of every request, or why it has none; a server that answers none is an error."""
        import httpx2

        def ask(body: dict[str, Any]) -> list[list[float]] | RewardError:
            try:
                return self._ask(client, body)
            except RewardError as error:
                return error

        with (
            httpx2.Client(timeout=self.timeout_s, headers=dict(self.headers)) as client,
            ThreadPoolExecutor(min(self.concurrency, len(bodies))) as pool,
        ):
            found = list(pool.map(ask, bodies))
        errors = [one for one in found if isinstance(one, RewardError)]
        if len(errors) == len(found):
            raise errors[0]
        return [str(one) if isinstance(one, RewardError) else one for one in found]

    def _from_folder(
        self, folder: BatchFolder, bodies: Sequence[dict[str, Any]]
    ) -> list[list[list[float]] | str]:
        """What lies in a batch's folder, all of it or nothing."""
        if self.route != "score":
            raise ConfigError(
                f"a batch file has no entry point for route {self.route!r}; use route='score', or "
                "score over HTTP"
            )
        named = {} if self.model is None else {"model": self.model}
        found = [folder.ask("/v1/score", body | named) for body in bodies]
        if any(one is None or one.status != 200 for one in found):
            raise RewardError(f"some scores are not in {folder.path} yet")
        return [_rows(one.body, "the batch", 1) for one in found if one is not None]

    @property
    def _where(self) -> str:
        return f"{self.url.rstrip('/')}/{self.route}"

    def _tokenizer(self) -> Any:
        if not isinstance(self.tokenizer, str):
            return self.tokenizer
        from assay.rewards.model_handle import ModelHandle
        from assay.rewards.model_loading import load_tokenizer

        return load_tokenizer(ModelHandle(self.tokenizer))

    def _body(self, sample: Sample) -> dict[str, Any]:
        if self.route == "score":
            texts = [
                "\n".join(message.content for message in messages)
                for messages in (sample.prompt, sample.completion)
            ]
            return {"text_1": texts[0], "text_2": texts[1], "use_activation": False}
        body: dict[str, Any] = {
            "messages": [chat_message(m) for m in (*sample.prompt, *sample.completion)],
            "add_generation_prompt": False,
            "use_activation": False,
        }
        if sample.truncated and sample.completion:
            body["continue_final_message"] = True
        arguments = dict(self.template_arguments)
        if tools := tools_of(sample.columns):
            arguments["tools"] = [dict(tool) for tool in tools]
        if arguments:
            body["chat_template_kwargs"] = arguments
        return body

    def _ask(self, client: Any, body: dict[str, Any]) -> list[list[float]]:
        import httpx2

        if self.model is not None:
            body = body | {"model": self.model}
        count = len(body["input"]) if "input" in body else 1
        retry, rng, problem = Retry(self.retries + 1, base_s=0.4, cap_s=10.0), Random(), ""
        for tried in range(1, retry.attempts + 1):
            wait_s = None
            try:
                reply = client.post(self._where, json=body)
                if reply.status_code == 200:
                    return _rows(reply.content, self._where, count)
                problem = f"HTTP {reply.status_code}: {reply.text[:200]}"
                if not may_retry(reply.status_code):
                    break
                wait_s = retry_after_s(reply.headers.get("retry-after"))
            except httpx2.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
            except RewardError as error:  # an unreadable body may be readable next time
                problem = str(error)
            if tried < retry.attempts:
                time.sleep(min(retry.wait_s(tried, rng, wait_s), _LONGEST_WAIT_S))
        raise RewardError(
            f"no scores from {self._where} after {tried} tries ({problem}); check that the server "
            "runs and serves this route and model"
        )

    def _reduce(self, row: list[float]) -> float:
        if self.label_weights is None:
            if len(row) != 1:
                raise RewardError(
                    f"{self._where} gives {len(row)} numbers a sample, a reward is one; set "
                    "label_weights="
                )
            return row[0]
        if len(self.label_weights) != len(row):
            raise RewardError(f"{len(self.label_weights)} label_weights for {len(row)} labels")
        return math.fsum(w * x for w, x in zip(self.label_weights, row, strict=True))


def _rows(body: bytes, where: str, count: int) -> list[list[float]]:
    """Numbers of every item of a reply, in the order of the request."""
    try:
        data = json.loads(body)["data"]
        rows = [_numbers(item) for item in sorted(data, key=lambda item: item.get("index", 0))]
        places = [item["index"] for item in data if "index" in item]
        if len(rows) != count or sorted(places) not in ([], list(range(count))):
            raise ValueError(f"{len(rows)} items for {count} samples, with indices {places[:9]}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise RewardError(
            f"{where} did not answer with scores ({type(error).__name__}: {error}): "
            f"{body[:200].decode('utf-8', 'replace')}"
        ) from None
    return rows


def _numbers(item: Mapping[str, Any]) -> list[float]:
    found = item[next((key for key in ("probs", "score", "data") if key in item), "data")]
    values = list(found) if isinstance(found, Iterable) else [found]
    if isinstance(values[0], Iterable):  # one number a token: the last one is the score
        values = list(values[-1])
    numbers = [float(value) for value in values]
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"no finite number in {numbers}")
    return numbers
