"""Reads a verdict out of a reply: strictly, the last one, and never one that a candidate planted.

Two things keep a candidate's text from being taken for the judge's verdict. Every verdict must
carry a nonce that occurs nowhere in what the judge was shown (`nonce_for` sees to that), so text
quoted from a candidate cannot have it. And of several well-formed verdicts the last one counts, so
that a judge may weigh drafts before it decides. A reply that was cut off has no verdict: what it
would have said last is unknown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.json_object import MalformedJson, parse_object
from assay.judges.client import Reply
from assay.judges.json_schema import check_schema, problem
from assay.messages import Message

#: Of a reply with more openings of objects only the last ones are tried: reading stays linear.
MOST_OBJECTS = 200
_OPENING = re.compile(r'\{(?=\s{0,100}")')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class VerdictFormat:
    """The JSON object that a judge must end its reply with.

    Args:
        schema: JSON schema of an object (see `assay.judges.json_schema`). The field `nonce` is
            added to it.
        fenced: Ask for the nonce. Without it nothing tells the judge's own verdict from one that it
            quotes: only for judges whose input cannot hold a verdict, such as code without strings.

    >>> form = VerdictFormat({"type": "object", "properties": {"choice": {"enum": ["A", "B"]}},
    ...                       "required": ["choice"], "additionalProperties": False})
    >>> reply = Reply('The answer says {"choice": "A"}. {"nonce": "5f", "choice": "B"}')
    >>> form.read(reply, "5f").value
    {'choice': 'B'}
    """

    schema: Mapping[str, Any]
    fenced: bool = True

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_schema(self.schema)
        if self.schema.get("type") != "object" or "nonce" in self.schema.get("properties", {}):
            raise ConfigError(
                "a verdict's schema must be of type 'object' and without a property 'nonce', got "
                f"type {self.schema.get('type')!r} and {sorted(self.schema.get('properties', {}))}"
            )

    @property
    def sent_schema(self) -> dict[str, Any]:
        """The schema for the server, the nonce first; the same for all items, so compiled once."""
        if not self.fenced:
            return dict(self.schema)
        own = dict(self.schema)
        own["properties"] = {"nonce": {"type": "string"}, **self.schema.get("properties", {})}
        own["required"] = ["nonce", *self.schema.get("required", ())]
        return own

    def read(self, reply: Reply, nonce: str = "") -> Found:
        """The verdict of a reply, or why there is none.

        Args:
            reply: From a client.
            nonce: What this request asked the judge to repeat; ignored unless `fenced`.
        """
        if reply.status != "ok":
            return Found(None, f"no reply: {reply.error}")
        if self.fenced and not nonce:
            raise ConfigError("a fenced verdict is read with the nonce of its request, got ''")
        if reply.finish_reason == "length":
            return Found(None, "the reply was cut at its length limit")
        if reply.finish_reason == "content_filter":
            return Found(None, "the server withheld the reply (content_filter)")
        reasoning, answer = Message("assistant", reply.text).split()
        if reasoning is not None and not answer.strip():
            return Found(None, "the reply ends inside its reasoning")
        return self._last(reply.text, len(reply.text) - len(answer), nonce)

    def _last(self, text: str, start: int, nonce: str) -> Found:
        expected = nonce if self.fenced else None
        schema = self.sent_schema
        note = "no JSON object in the reply"
        found: Found | None = None
        openings = [match.start() for match in _OPENING.finditer(text, start)]
        inside = 0
        for position in openings[-MOST_OBJECTS:]:
            end = None if position < inside else _object_end(text, position)
            if end is None:
                continue
            fault, value = _check(text[position:end], schema, expected)
            if value is None:
                note = fault  # one may lie inside
            else:
                found = Found(value, "", position, end)
                inside = end
        return found or Found(None, note)


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict and where it stands in the reply, or None and why there is none."""

    value: dict[str, Any] | None
    note: str = ""
    start: int = -1
    end: int = -1

    __hash__ = None  # type: ignore[assignment]


def nonce_for(shown: Iterable[str], salt: str = "") -> str:
    """Eight hexadecimal digits that occur in none of the texts that the judge is shown.

    The same texts give the same nonce, so that seeds and caches stay reproducible; no text can
    contain its own.

    Args:
        shown: Everything in the prompt that is not ours.
        salt: Sets repeats apart.

    >>> nonce = nonce_for(["question", "answer one", "answer two"])
    >>> len(nonce), nonce == nonce_for(["question", "answer one", "answer two"])
    (8, True)
    """
    texts = list(shown)
    digest = hashlib.sha256(salt.encode("utf-8", "replace"))
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode() + data)
    seed = digest.digest()
    lowered = [text.lower() for text in texts]
    for counter in range(1 << 16):
        nonce = hashlib.sha256(seed + counter.to_bytes(4, "big")).hexdigest()[:8]
        if not nonce.isdigit() and not any(nonce in text for text in lowered):
            return nonce
    raise ConfigError("every nonce tried occurs in the texts shown; shorten them")


def _object_end(text: str, start: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _check(
    text: str, schema: Mapping[str, Any], nonce: str | None
) -> tuple[str, dict[str, Any] | None]:
    try:
        value = parse_object(text)
    except MalformedJson as error:
        return f"a malformed object: {error}", None
    if nonce is not None and value.get("nonce") != nonce:
        return f"an object without this request's nonce: {text!r:.80}", None
    fault = problem(value, schema)
    if fault:
        return fault, None
    return "", {key: item for key, item in value.items() if nonce is None or key != "nonce"}
