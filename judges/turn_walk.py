"""One run as the rules see it: turn after turn, with what came before; linear in the run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.judges.consent import Consent
from assay.judges.evidence import Seen, argument_identifiers, identifiers, large_numbers
from assay.judges.retrieval_gain import EvidenceGain, Novelty, documents_of
from assay.judges.tool_outcomes import Outcome, answers_error, outcome_of
from assay.judges.tool_schemas import Toolbox
from assay.messages import Message, ToolCall, Trajectory, Turn

#: (finding, reason) of one turn.
Finding = tuple[str, str]

_SPACE = re.compile(r"\s+")
_QUESTION = re.compile(
    r"\?\s*[\"')*_]*\s*$|\b(?:please (?:provide|confirm|let me know|share|tell))", re.I
)
_CLAIM = re.compile(
    r"\b(?:has|have|was|were|is|are)\s+(?:now\s+)?(?:been\s+)?(?:successfully\s+)"
    r"([a-z]{3,}?)(?:ed|led|en|t)\b|\bI(?:'ve| have)\s+successfully\s+([a-z]{3,}?)(?:ed|led)\b",
    re.IGNORECASE,
)
_LOOP = 3
_LONG_TEXT = 40


@dataclass
class TurnFacts:
    """What was found in one turn.

    Attributes:
        findings: Names and reasons, in the order in which they were found.
        checked: Every call names a tool on offer and fits its schema; None where none is known.
        novelty: Share of what came back that is new; None where nothing did.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: bool | None = None
    novelty: float | None = None

    def add(self, name: str, reason: str) -> None:
        """Note a finding."""
        self.findings.append((name, reason))


class Walk:
    """Walks over one trajectory; call `turn` for each of its turns, in order."""

    def __init__(self, trajectory: Trajectory, toolbox: Toolbox | None) -> None:
        self._toolbox = toolbox
        self._turns = trajectory.turns
        self._budget = trajectory.budget
        self._agents = len({turn.message.name for turn in self._turns} - {None})
        self._seen = Seen()
        self._novelty = Novelty()
        evidence = _evidence(trajectory.info)
        self._evidence = EvidenceGain(evidence) if evidence else None
        self._last: dict[str, tuple[str, Outcome | None]] = {}  # call -> result, outcome
        self._times: dict[str, int] = {}
        self._said: dict[str, int] = {}
        self._pending: tuple[str, str] | None = None  # tool and text of an unanswered error
        self._calls = 0
        self._worked: list[str] = []  # names of tools whose calls worked
        self._recent: list[str] = []  # the last calls, to see cycles
        self._asked = ""
        self._consent = Consent(trajectory.tools)
        for message in trajectory.messages:
            if message.role == "assistant":
                break
            self._listen(message)

    def turn(self, turn: Turn) -> TurnFacts:
        """What there is to say of the next turn."""
        facts = TurnFacts()
        message = turn.message
        text = message.content
        if not text.strip() and not message.tool_calls and not (message.reasoning or "").strip():
            facts.add("empty_turn", "neither words nor a call")
        if turn.index == 0 and not self._asked:
            self._seen.add(text)  # nobody has asked: this turn is the one that states the task
        self._check_error_answered(message, facts)
        self._check_calls(turn, facts)
        self._check_words(turn, facts)
        self._check_gain(turn, facts)
        if message.content:
            self._consent.say(message.content)
        for result in turn.results:
            self._listen(result)
        return facts

    def _listen(self, message: Message) -> None:
        """Take in a message that is not the policy's."""
        self._seen.add(message.content)
        if message.role == "user":
            self._asked = message.content
            self._consent.hear(message.content)

    def _check_error_answered(self, message: Message, facts: TurnFacts) -> None:
        """An error stays open until it is retried, another tool works, or it is spoken of."""
        if self._pending is None:
            return
        tool, error = self._pending
        own = [message.content, message.reasoning or ""]
        own += [json.dumps(dict(c.arguments or {})) for c in message.tool_calls]
        text = "\n".join(own)
        if answers_error(text, error) or any(c.name == tool for c in message.tool_calls):
            self._pending = None
        elif message.content.strip() and not message.tool_calls:
            facts.add(
                "ignored_error", f"goes on as if {tool or 'the tool'} had not said {error!r:.120}"
            )
            self._pending = None

    def _check_calls(self, turn: Turn, facts: TurnFacts) -> None:
        calls = turn.message.tool_calls
        results = [m for m in turn.results if m.role == "tool"]
        paired = _paired(calls, results)
        for call, result in zip(calls, paired, strict=True):
            self._calls += 1
            outcome = None if result is None else outcome_of(result)
            if call.error:
                facts.add("malformed_call", f"{call.name or 'a call'}: {call.error}")
            else:
                self._check_schema(call, facts)
                self._check_origin(call, facts)
                self._seen.name(call.arguments or {})
                self._check_repeat(call, result, outcome, facts)
                self._check_consent(call, outcome, facts)
            self._note_outcome(call, result, outcome, facts)
        if self._budget is not None and self._calls > self._budget and calls:
            facts.add("over_budget", f"call {self._calls} of at most {self._budget}")
        known = self._toolbox is not None and calls
        names = {name for name, _ in facts.findings}
        if known:
            facts.checked = not names & {"malformed_call", "unknown_tool", "bad_arguments"}

    def _check_schema(self, call: ToolCall, facts: TurnFacts) -> None:
        box = self._toolbox
        if box is None:
            return
        if box.unknown(call):
            known = ", ".join(sorted(box.names)[:12])
            facts.add("unknown_tool", f"there is no tool {call.name!r} among {known}")
        elif fault := box.fault(call):
            facts.add("bad_arguments", f"{call.name}: {fault}")

    def _check_origin(self, call: ToolCall, facts: TurnFacts) -> None:
        for code in argument_identifiers(call.arguments or {}):
            if not self._seen.has(code):
                facts.add("unfounded_argument", f"{call.name}: nothing seen so far has {code!r}")
                return

    def _check_repeat(
        self, call: ToolCall, result: Message | None, outcome: Outcome | None, facts: TurnFacts
    ) -> None:
        key = f"{call.server}\0{call.name}\0{_canonical(call.arguments)}"
        body = "" if result is None else result.content
        before = self._last.get(key)
        self._last[key] = (body, outcome)
        if before is not None:
            told, how = before
            retry = how == "environment"
            if not retry and (result is None or told == body):
                facts.add("repeated_call", f"{call.name} was called with the same arguments before")
                self._times[key] = self._times.get(key, 1) + 1
                if self._times[key] >= _LOOP:
                    facts.add("loop", f"{call.name}: the same call {self._times[key]} times")
        self._recent = [*self._recent[-5:], key]
        if len(self._recent) == 6 and before is not None and before[0] == body:
            a, b = self._recent[:3], self._recent[3:]
            if a == b and len(set(a)) > 1:
                facts.add("loop", "the last three calls repeat the three before")

    def _check_consent(self, call: ToolCall, outcome: Outcome | None, facts: TurnFacts) -> None:
        if not self._consent.people or not self._consent.acts(call):
            return
        if outcome in ("unclear", "refused"):
            facts.add("failed_action", f"{call.name} was tried in vain")
        if found := self._consent.fault(call):
            facts.add(*found)

    def _note_outcome(
        self, call: ToolCall, result: Message | None, outcome: Outcome | None, facts: TurnFacts
    ) -> None:
        if result is None or outcome is None:
            return
        if outcome == "ok":
            self._worked.append(call.name.lower())
            if self._pending is not None:
                self._pending = None
            return
        names = {
            "environment": "environment_error",
            "refused": "refused_call",
            "unclear": "tool_error",
        }
        facts.add(names[outcome], f"{call.name}: {_short(result.content)}")
        self._pending = (call.name, result.content[:600])

    def _check_words(self, turn: Turn, facts: TurnFacts) -> None:
        text = turn.message.content
        if turn.message.tool_calls or not text.strip():
            self._said.setdefault(_flat(text), turn.index)
            return
        flat = _flat(text)
        if len(flat) >= _LONG_TEXT and flat in self._said:
            facts.add("repeated_words", f"says what turn {self._said[flat]} said")
        self._said[flat] = turn.index
        if not (self._toolbox or self._calls):
            return  # nothing could have been looked up
        last = turn.index == len(self._turns) - 1
        codes = list(dict.fromkeys(identifiers(text)))
        lost = [code for code in codes if not self._seen.has(code)]
        sums = list(dict.fromkeys(large_numbers(text)))
        made_up = [number for number in sums if not self._seen.explains(number)]
        for base in made_up[:1]:
            made_up += [n for n in sums if n not in made_up and self._seen.rests_on(n, base)]
        total = len(codes) + len(sums)
        wrong = len(lost) + len(made_up)
        most = wrong > total / 2 and (wrong >= 2 or total <= 2)
        most = most or (bool(lost and made_up) and wrong >= total / 2)
        if len(lost) >= max(2, len(codes) / 2) or most:  # numbers may be sums, names may not
            named = [*lost, *(f"{number:g}" for number in made_up)][:4]
            facts.add("unsupported_answer", f"nothing seen so far has {', '.join(named)}")
        elif last and not self._worked and self._consent.people < 2:
            self._check_unread(text, facts)
        if claim := self._unbacked_claim(text):
            facts.add("unsupported_answer", claim)

    def _check_unread(self, text: str, facts: TurnFacts) -> None:
        """A last turn that answers although no call has worked."""
        asked = {word.lower() for word in re.findall(r"\w+", self._asked)}
        new = [
            w for w in re.findall(r"\b[A-Z][\w-]+|\b\d[\d,.]*\b", text) if w.lower() not in asked
        ]
        if new and not _QUESTION.search(text) and not answers_error(text, ""):
            facts.add("unsupported_answer", "answers although no call has brought anything")

    def _unbacked_claim(self, text: str) -> str:
        match = _CLAIM.search(text)
        if match is None or not self._toolbox:
            return ""
        stem = (match[1] or match[2]).lower()[:5]
        tools = [name for name in self._toolbox.names if stem[:4] in name.lower()]
        if tools and not any(stem[:4] in name for name in self._worked):
            return f"claims {match[0]!r}, but no call of {tools[0]} has worked"
        return ""

    def _check_gain(self, turn: Turn, facts: TurnFacts) -> None:
        results = [m for m in turn.results if m.role == "tool" and outcome_of(m) == "ok"]
        if not results:
            return
        shares = [share for m in results if (share := self._novelty.step(m.content)) is not None]
        if shares:
            facts.novelty = max(shares)
            size = max(len(m.content) for m in results)
            repeated = any(name == "repeated_call" for name, _ in facts.findings)
            if facts.novelty == 0.0 and size >= _LONG_TEXT and not repeated:
                facts.add("nothing_new", "everything that came back was known")
        if self._evidence is not None:
            documents = [d for m in results for d in documents_of(m.content)]
            step = self._evidence.step(documents)
            if step.value < 0 or (step.gain == 0 and step.redundancy > 0):
                facts.add(
                    "nothing_new",
                    f"gain {step.gain:.2f} with {step.redundancy:.0%} of the documents known",
                )
            facts.novelty = max(step.gain, 0.0) if step.gain > 0 else facts.novelty


def _paired(calls: Sequence[ToolCall], results: Sequence[Message]) -> list[Message | None]:
    """The result of each call: by id where both have one, else by order."""
    by_id = {m.tool_call_id: m for m in results if m.tool_call_id}
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids) and by_id:
        return [by_id.get(one) for one in ids]
    return [results[i] if i < len(results) else None for i in range(len(calls))]


def _evidence(info: Mapping[str, Any]) -> list[str]:
    value = info.get("evidence")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return []
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _canonical(arguments: Mapping[str, Any] | None) -> str:
    return json.dumps(dict(arguments or {}), sort_keys=True, ensure_ascii=False)


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text).strip().lower()


def _short(text: str) -> str:
    return _flat(text)[:120]
