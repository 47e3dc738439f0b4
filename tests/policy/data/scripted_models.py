"""Language models that answer by a function, and count what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assay.judges.client import Client, Reply, Request


@dataclass
class ScriptedModel(Client):
    """`say(text, request)` gives the reply to the last message; None fails the request."""

    say: Callable[[str, Request], str | None]
    name: str = "scripted"
    asked: list[str] = field(default_factory=list)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        replies = []
        for request in requests:
            text = request.messages[-1].content
            self.asked.append(text)
            said = self.say(text, request)
            replies.append(Reply.failed("the model is down") if said is None else Reply(said))
        return replies

    def fingerprint(self) -> str:
        return self.name
