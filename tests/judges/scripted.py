"""Clients that answer as a test says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.judges import Client, Reply, Request


@dataclass
class ScriptedClient(Client):
    """Answers each request with `say(prompt, request)`; keeps what it was asked."""

    say: Callable[[str, Request], Reply | str]
    asked: list[Request] = field(default_factory=list)

    def answer(self, requests):
        self.asked.extend(requests)
        replies = [self.say(request.messages[-1].content, request) for request in requests]
        return [Reply(r, cost=0.5, model="m") if isinstance(r, str) else r for r in replies]

    def fingerprint(self):
        return "scripted"


def nonce_in(prompt: str) -> str:
    """The nonce that a prompt asks to repeat."""
    return re.findall(r'\{"nonce": "([0-9a-f]{8})"', prompt)[-1]


def verdict(prompt: str, **fields) -> str:
    """A well-formed reply to a prompt."""
    return "I have thought. " + json.dumps({"nonce": nonce_in(prompt), **fields})


def between(prompt: str, title: str) -> str:
    """What stands between the markers of a title."""
    nonce = nonce_in(prompt)
    start = prompt.index(f"<<{nonce} {title}>>\n") + len(f"<<{nonce} {title}>>\n")
    return prompt[start : prompt.index(f"\n<<{nonce} end of {title}>>")]
