"""What answers prompts in an evaluation: a model in this process, or one behind an endpoint."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, JudgeError
from assay.fingerprint import fingerprint_of
from assay.judges.client import Client, Request
from assay.judges.handle import Handle
from assay.messages import Message, Trajectory, as_messages
from assay.policy.data.trajectory_rows import text_messages
from assay.policy.rollouts import Decoding, generate, weights_mark
from assay.rewards.chat_text import chat_message


class Sampler(ABC):
    """Samples completions of a policy."""

    @abstractmethod
    def sample(self, rows: Sequence[Mapping[str, Any]], decoding: Decoding) -> list[dict[str, Any]]:
        """`decoding.n` rows per row, with `completion`, `truncated` and a count of tokens."""

    @abstractmethod
    def mark(self) -> str:
        """What the policy is known by, in caches and results."""

    def next_message(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], decoding: Decoding
    ) -> Message:
        """One more message of a conversation, as an agent in an environment writes it."""
        row = {"prompt": [chat_message(m) for m in messages], "tools": [dict(t) for t in tools]}
        (rollout,) = self.sample([row], replace(decoding, n=1))
        return as_messages(rollout["completion"], role="assistant")[0]


@dataclass(frozen=True)
class LocalPolicy(Sampler):
    """A model and tokenizer that transformers loads on first use.

    Args:
        model: Folder or hub id.
        chat_template: In place of the tokenizer's own: a file, or one of ours by name.
    """

    model: str
    chat_template: str | None = None
    _loaded: Handle[Any] = field(default_factory=Handle, init=False, repr=False, compare=False)

    def sample(self, rows: Sequence[Mapping[str, Any]], decoding: Decoding) -> list[dict[str, Any]]:
        """Generate in this process."""
        model, tokenizer = self._loaded.get(self._open)
        return generate(model, tokenizer, rows, decoding)

    def mark(self) -> str:
        """The weights' content where they lie in a folder."""
        return fingerprint_of((weights_mark(self.model), self.chat_template or ""))

    def _open(self) -> tuple[Any, Any]:
        from assay.policy.stages.models import load_tokenizer, ready_policy

        tokenizer = load_tokenizer(self.model, self.chat_template)
        return ready_policy(self.model), tokenizer


@dataclass(frozen=True)
class ServedPolicy(Sampler):
    """A model behind a `Client`; of an `Endpoint` the decoding replaces its own settings.

    Each sample has its own seed, from the decoding's on; servers may ignore it.

    Args:
        client: `assay.judges.endpoint.Endpoint`, or any other client.
    """

    client: Client

    def sample(self, rows: Sequence[Mapping[str, Any]], decoding: Decoding) -> list[dict[str, Any]]:
        """Ask for all samples at once.

        Raises:
            JudgeError: A request failed for good: an answer that never came is not a wrong one.
        """
        client = self._decoding(decoding)
        requests, owners = [], []
        for row in rows:
            messages = as_messages(row["prompt"], role="user")
            for number in range(decoding.n):
                seed = decoding.seed * 100_003 + number
                requests.append(Request(messages, seed=seed, max_tokens=decoding.max_new_tokens))
                owners.append(row)
        replies = client.ask(requests)
        if failed := [reply for reply in replies if reply.status != "ok"]:
            raise JudgeError(
                f"{len(failed)} of {len(replies)} samples did not come: {failed[0].error}; mend "
                "the endpoint and run the same command again, finished parts are kept"
            )
        return [
            dict(row)
            | {
                "completion": [{"role": "assistant", "content": reply.text}],
                "truncated": reply.finish_reason == "length",
                "tokens": None if reply.usage is None else reply.usage.completion_tokens,
            }
            for row, reply in zip(owners, replies, strict=True)
        ]

    def next_message(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], decoding: Decoding
    ) -> Message:
        """The next message; calls and their results are text, as the Hermes format has them."""
        told = Trajectory(tuple(messages), tuple(tools))
        prompt = [dict(message) for message in text_messages(told, "hermes")]
        if prompt and prompt[0]["role"] == "system":
            prompt[0]["content"] += "\n\n" + tool_text(tools)
        else:
            prompt.insert(0, {"role": "system", "content": tool_text(tools)})
        (rollout,) = self.sample([{"prompt": prompt}], replace(decoding, n=1))
        return as_messages(rollout["completion"], role="assistant")[0]

    def mark(self) -> str:
        """The client's fingerprint."""
        return self.client.fingerprint()

    def _decoding(self, decoding: Decoding) -> Client:
        from assay.judges.endpoint import Endpoint

        if not isinstance(self.client, Endpoint):
            return self.client
        return replace(
            self.client,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            max_tokens=decoding.max_new_tokens,
            structured="off",
        )


def tool_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """How the tools on offer are described in text, in the Hermes format."""
    listed = "\n".join(json.dumps(dict(tool)) for tool in tools)
    return (
        "You may call functions. Their signatures stand within <tools></tools>:\n"
        f"<tools>\n{listed}\n</tools>\n\n"
        "For each call write a JSON object with name and arguments within tool_call tags:\n"
        '<tool_call>\n{"name": NAME, "arguments": OBJECT}\n</tool_call>\n'
        "A message without a call is your final answer."
    )


def client_of(spec: str, api_key_env: str | None = None, **settings: Any) -> Client:
    """The client that `BASE_URL,MODEL` or the folder of a local model names.

    Raises:
        ConfigError: Neither.
    """
    if "://" in spec:
        from assay.judges.endpoint import Endpoint

        base_url, _, name = spec.rpartition(",")
        if not base_url or not name:
            raise ConfigError(f"a served model is given as BASE_URL,MODEL; got {spec!r}")
        return Endpoint(base_url, name, api_key_env=api_key_env, **settings)
    if not Path(spec).is_dir():
        raise ConfigError(f"a model is BASE_URL,MODEL or a folder; there is no folder {spec!r}")
    from assay.judges.local_model import LocalModel

    known = {k: v for k, v in settings.items() if k in ("temperature", "max_tokens", "seed")}
    return LocalModel(spec, **known)


def sampler_of(
    spec: str, *, chat_template: str | None = None, api_key_env: str | None = None
) -> Sampler:
    """The policy that `BASE_URL,MODEL`, a folder or a hub id names.

    Raises:
        ConfigError: A path where there is no folder: it cannot be a hub id, which is OWNER/NAME.
    """
    if "://" in spec:
        return ServedPolicy(client_of(spec, api_key_env))
    path = spec.startswith((".", "/", "~")) or spec.endswith("/") or spec.count("/") > 1
    if Path(spec).is_file() or (path and not Path(spec).is_dir()):
        raise ConfigError(
            f"a policy is a model's folder, a hub id or BASE_URL,MODEL; there is no folder {spec!r}"
        )
    return LocalPolicy(spec, chat_template)
