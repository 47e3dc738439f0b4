"""The turn critic that asks a model: several turns a call, the run within a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay._version import __version__
from assay.errors import ConfigError, JudgeError
from assay.fingerprint import fingerprint_of
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.client import Client, Reply, Request
from assay.judges.prompt_template import PromptTemplate, shipped_prompt
from assay.judges.structured import VerdictFormat, nonce_for
from assay.judges.turn_context import ContextWindow, describe_tools
from assay.messages import Message, Trajectory
from assay.settings import whole

CRITERIA = ("logical_soundness", "tool_call_accuracy", "informational_gain")
_PLACES = ("fence", "tools", "history", "turns", "nonce")
_WORDS = {"yes": True, "no": False, "unsure": None}
_SAID = {value: word for word, value in _WORDS.items()}

VERDICTS = VerdictFormat(
    {
        "type": "object",
        "properties": {
            "turns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "turn": {"type": "integer", "minimum": 0},
                        **{name: {"enum": list(_WORDS)} for name in CRITERIA},
                        "reason": {"type": "string", "maxLength": 2000},
                    },
                    "required": ["turn", *CRITERIA],
                },
            }
        },
        "required": ["turns"],
    }
)


@dataclass(frozen=True)
class ModelCritic(TurnCritic):
    """Asks an instruct model, or a critic trained by `assay train turn-critic`, about each turn.

    A turn that the reply does not mention, mentions twice in different words, or whose reply cannot
    be read, is an abstention: a critic that cannot be understood never fails a turn.

    Args:
        client: An `Endpoint`, a `LocalModel`, or another `Client`.
        turns_per_call: Turns reviewed by one request; 1 for a trained critic.
        max_tokens: Of the record of the run in one request.
        recent: Turns before the reviewed ones that are shortened last.
        batch: Requests handed to the client at once.
        prompt: The text of the request; None: the one that comes with the library. It must hold
            {fence}, {tools}, {history}, {turns} and {nonce}.

    Raises:
        ConfigError: A setting that cannot be, or a prompt without its places.

    Source: the criteria of the Nanbeige4.1-3B report (arXiv:2602.13367); its prompt is not
    disclosed.
    """

    client: Client
    turns_per_call: int = 8
    max_tokens: int = 12_000
    recent: int = 3
    batch: int = 256
    prompt: str | None = field(default=None, repr=False)
    _template: PromptTemplate = field(init=False, repr=False, compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.client, Client):
            raise ConfigError(
                f"ModelCritic.client must be an assay.judges.client.Client, got "
                f"{type(self.client).__name__}"
            )
        whole("ModelCritic.turns_per_call", self.turns_per_call, 1)
        whole("ModelCritic.max_tokens", self.max_tokens, 64)
        whole("ModelCritic.recent", self.recent, 0)
        whole("ModelCritic.batch", self.batch, 1)
        text = shipped_prompt("turn_critic") if self.prompt is None else self.prompt
        object.__setattr__(self, "_template", PromptTemplate(text, _PLACES))

    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        """One verdict per assistant turn.

        Raises:
            JudgeError: The client answered none of the requests.
        """
        return self.review_some([(one, range(len(one.turns))) for one in trajectories])

    def review_some(
        self, asked: Sequence[tuple[Trajectory, Iterable[int]]]
    ) -> list[list[TurnVerdict]]:
        """Verdicts on the named turns of each trajectory; an empty abstention for every other."""
        found = [[TurnVerdict(None, None, None) for _ in one.turns] for one, _ in asked]
        pending: list[tuple[int, list[int], Trajectory]] = []
        for number, (trajectory, indices) in enumerate(asked):
            wanted = sorted(indices)
            for start in range(0, len(wanted), self.turns_per_call):
                pending.append((number, wanted[start : start + self.turns_per_call], trajectory))
        answered = 0
        failure = ""
        for start in range(0, len(pending), self.batch):
            part = pending[start : start + self.batch]
            made = [self.request(trajectory, turns) for _, turns, trajectory in part]
            replies = self.client.ask([request for request, _ in made])
            for (number, turns, _), (_, nonce), reply in zip(part, made, replies, strict=True):
                answered += reply.status == "ok"
                failure = failure or reply.error
                for index, verdict in read_verdicts(reply, nonce, turns).items():
                    found[number][index] = verdict
        if pending and not answered:
            raise JudgeError(f"the model answered none of {len(pending)} requests: {failure}")
        return found

    def request(self, trajectory: Trajectory, turns: Sequence[int]) -> tuple[Request, str]:
        """What the model is asked about some turns, and the nonce that its verdict must carry."""
        return turn_request(
            trajectory,
            turns,
            max_tokens=self.max_tokens,
            recent=self.recent,
            template=self._template,
        )

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and the settings."""
        settings = (self.turns_per_call, self.max_tokens, self.recent)
        return fingerprint_of(
            ("ModelCritic", __version__, self.client.fingerprint(), self._template.text, settings)
        )


def turn_request(
    trajectory: Trajectory,
    turns: Sequence[int],
    *,
    max_tokens: int,
    recent: int,
    template: PromptTemplate | None = None,
) -> tuple[Request, str]:
    """What a model is asked about some turns, and the nonce that its verdict must carry.

    Args:
        trajectory: The run.
        turns: Indices of the turns to be reviewed.
        max_tokens: Of the record of the run.
        recent: Turns before the reviewed ones that are shortened last.
        template: The prompt; None: the one that comes with the library.
    """
    history = ContextWindow(max_tokens, recent).render(trajectory, min(turns), max(turns))
    tools = describe_tools(trajectory.tools)
    nonce = nonce_for([tools, history], salt=",".join(map(str, turns)))
    prompt = template or PromptTemplate(shipped_prompt("turn_critic"), _PLACES)
    text = prompt.fill(
        fence=f"=={nonce[::-1]}==",
        tools=tools,
        history=history,
        turns=", ".join(map(str, turns)),
        nonce=nonce,
    )
    messages = (Message("user", text),)
    return Request(messages, schema=VERDICTS.sent_schema, schema_name="turn_verdicts"), nonce


def read_verdicts(reply: Reply, nonce: str, turns: Sequence[int]) -> dict[int, TurnVerdict]:
    """A verdict for each of `turns`; what the reply does not say clearly is an abstention."""
    found = VERDICTS.read(reply, nonce)
    if found.value is None:
        note = f"unreadable: {found.note}"
        return {i: TurnVerdict(None, None, None, note, reply.text[-2000:]) for i in turns}
    told: dict[int, Mapping[str, Any]] = {}
    unclear: set[int] = set()
    for item in found.value["turns"]:
        index = int(item["turn"])
        if index in told and any(told[index][name] != item[name] for name in CRITERIA):
            unclear.add(index)
        told[index] = item
    verdicts = {}
    for index in turns:
        if index in unclear:
            verdicts[index] = TurnVerdict(None, None, None, "two verdicts that differ", reply.text)
        elif index not in told:
            verdicts[index] = TurnVerdict(None, None, None, "no verdict on this turn", reply.text)
        else:
            item = told[index]
            sound, accurate, gained = (_WORDS[item[name]] for name in CRITERIA)
            reason = str(item.get("reason", ""))
            verdicts[index] = TurnVerdict(sound, accurate, gained, reason, reply.text)
    return verdicts


def verdict_text(verdicts: Mapping[int, TurnVerdict], nonce: str) -> str:
    """The reply that gives these verdicts: what a trained critic learns to write.

    >>> text = verdict_text({2: TurnVerdict(True, False, None, "No such tool.")}, "ab12cd34")
    >>> read_verdicts(Reply(text), "ab12cd34", [2])[2].passed
    False
    """
    turns = [
        {
            "turn": index,
            **{name: _SAID[getattr(verdict, name)] for name in CRITERIA},
            "reason": verdict.reason[:400],
        }
        for index, verdict in sorted(verdicts.items())
    ]
    return json.dumps({"nonce": nonce, "turns": turns}, ensure_ascii=False)
