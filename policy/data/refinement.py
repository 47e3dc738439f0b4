"""Solution refinement: critique an answer, revise it, until a checklist holds or nothing is gained.

Source: the Nanbeige4.1-3B report (arXiv:2602.13367) refines solutions by iterated critique and
revision against a checklist before chains of thought are reconstructed for them. Its prompts, the
number of iterations and the rule for stopping are not published; those here are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import configuration_fingerprint
from assay.judge import Item
from assay.judges.checklist import CheckedItem, Checklist
from assay.judges.client import Client, Request
from assay.messages import Message, as_messages
from assay.policy.data.model_replies import CUT, problem_of, was_cut, words
from assay.rewards.chat_text import chat_message
from assay.settings import whole

_CRITIQUE = """\
Below is a task and an answer to it. List what is wrong with the answer or missing from it, as
short points, the most important first. Do not write a new answer. If nothing is wrong, write only:
NOTHING TO IMPROVE

Task:
{task}

Answer:
{answer}
{findings}"""
_REVISE = """\
Below is a task, an answer to it, and a critique. Write the whole answer anew so that every
justified point of the critique is mended and what was right stays. Write the answer only, nothing
about the critique.

Task:
{task}

Answer:
{answer}

Critique:
{critique}
{findings}"""
_CONTENT = "NOTHING TO IMPROVE"


@dataclass(frozen=True)
class Refiner:
    """Refines answers by critique and revision.

    A row holds `prompt`, an answer in `completion` (or none: the author writes the first one), and
    whatever columns the checklist reads. Each round the critic lists faults, told which criteria
    the answer does not meet, and the author revises. The best answer so far is what is kept: a
    revision counts as a gain only if, of the criteria that could be told of both answers, it meets
    more, or if it meets all where the answer before was not known to. A revision that was cut at
    the token limit is no gain.

    Stops: `holds` where the checklist is met and no round is left that must be made; `no gain`
    after `patience` rounds without one; `content` where the critic finds nothing; `rounds`; or
    `failed` where a model did not answer, with the best answer so far.

    Args:
        author: Writes answers and revisions.
        critic: Writes critiques; None: the author.
        checklist: What answers are checked on.
        rounds: Most critiques and revisions of a row.
        patience: Rounds without a gain after which to stop.
        at_least: Rounds made even where the checklist holds: its criteria may be few.

    Example:
        >>> from assay.judges.criteria import Compiles
        >>> from assay.judges.client import Client, Reply
        >>> class Model(Client):
        ...     def answer(self, requests):
        ...         texts = [r.messages[-1].content for r in requests]
        ...         return [Reply("print(1)" if "Critique" in t else "No brackets.") for t in texts]
        ...
        ...     def fingerprint(self):
        ...         return "model"
        >>> refine = Refiner(Model(), Checklist({"compiles": Compiles("python", bare=True)}))
        >>> row = refine([{"prompt": "Print 1.", "completion": "print(1"}])[0]
        >>> row["completion"][0]["content"], row["refinement"]["stopped"]
        ('print(1)', 'holds')
    """

    author: Client
    checklist: Checklist
    critic: Client | None = None
    rounds: int = 3
    patience: int = 1
    at_least: int = 0

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        whole("Refiner.rounds", self.rounds, 1)
        whole("Refiner.patience", self.patience, 1)
        whole("Refiner.at_least", self.at_least, 0)
        if self.at_least > self.rounds:
            raise ConfigError(
                f"Refiner.at_least must be <= rounds, got {self.at_least} and {self.rounds}"
            )
        for name in ("author", "critic"):
            value = getattr(self, name)
            if not isinstance(value, Client) and not (name == "critic" and value is None):
                raise ConfigError(
                    f"Refiner.{name} must be an assay.judges.client.Client, got "
                    f"{type(value).__name__}"
                )

    def fingerprint(self) -> str:
        """A hash of models, checklist and settings."""
        return configuration_fingerprint(self)

    def check(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Look at all rows before a model is asked about the first.

        Raises:
            DataError: A row without a prompt, or with messages that are none; says which.
        """
        for place, row in enumerate(rows):
            _prompt(row, place)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """One row per row, with the best answer as `completion` and what was done in `refinement`.

        Raises:
            DataError: A row without a prompt.
        """
        drafts = [_Draft(row, _prompt(row, place)) for place, row in enumerate(rows)]
        self._first_answers(drafts)
        self._check([draft for draft in drafts if not draft.stopped])
        for number in range(self.rounds):
            for draft in drafts:
                draft.settle(number, self)
            self._round([draft for draft in drafts if not draft.stopped])
        for draft in drafts:
            draft.settle(self.rounds, self)
        return [draft.to_row() for draft in drafts]

    def _first_answers(self, drafts: Sequence[_Draft]) -> None:
        bare = [draft for draft in drafts if not draft.answer]
        replies = self.author.ask([Request(draft.prompt) for draft in bare])
        for draft, reply in zip(bare, replies, strict=True):
            problem = problem_of(reply) or (CUT if was_cut(reply) else "")
            if problem:
                draft.fail(problem)
            else:
                draft.answer = words(reply)

    def _round(self, drafts: Sequence[_Draft]) -> None:
        critic = self.critic or self.author
        critiques = critic.ask([draft.ask(_CRITIQUE) for draft in drafts])
        going: list[_Draft] = []
        for draft, reply in zip(drafts, critiques, strict=True):
            if problem := problem_of(reply):
                draft.fail(problem)
            elif words(reply).strip().rstrip(".").upper() == _CONTENT and not draft.unmet():
                draft.stopped = "content"
            else:
                draft.critique = words(reply).strip()
                going.append(draft)
        revisions = self.author.ask([draft.ask(_REVISE) for draft in going])
        revised = []
        for draft, reply in zip(going, revisions, strict=True):
            if was_cut(reply):
                draft.refuse(CUT)
            elif problem := problem_of(reply):
                draft.fail(problem)
            else:
                draft.revision = words(reply)
                revised.append(draft)
        self._check(revised)

    def _check(self, drafts: Sequence[_Draft]) -> None:
        items = [draft.item() for draft in drafts]
        for draft, checked in zip(drafts, self.checklist.check(items), strict=True):
            draft.take(checked)


@dataclass
class _Draft:
    """A row under refinement."""

    row: Mapping[str, Any]
    prompt: tuple[Message, ...]
    answer: str = ""
    checked: CheckedItem | None = None
    critique: str = ""
    revision: str = ""
    stopped: str = ""
    problem: str = ""
    idle: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.row.get("completion")
        if given:
            messages = as_messages(given, role="assistant")
            self.answer = messages[-1].split()[1] if messages else ""

    def settle(self, made: int, rule: Refiner) -> None:
        """Whether to stop before the next round."""
        if self.stopped:
            return
        if self.checked is not None and self.checked.passed and made >= rule.at_least:
            self.stopped = "holds"
        elif self.idle >= rule.patience and made >= rule.at_least:
            self.stopped = "no gain"
        elif made == rule.rounds:
            self.stopped = "rounds"

    def item(self) -> Item:
        """What is checked: the revision, or the first answer."""
        text = self.revision or self.answer
        columns = {k: v for k, v in self.row.items() if k not in ("prompt", "completion")}
        return Item(self.prompt, (Message("assistant", text),), columns)

    def take(self, checked: CheckedItem) -> None:
        """Keep the revision if it meets more, and write down the round."""
        share = checked.share
        if not self.revision:
            self.checked = checked
            self.history.append({"share": share, "findings": checked.to_json()})
            return
        gain = _gains(self.checked, checked)
        self.history.append(
            {
                "critique": self.critique,
                "share": share,
                "findings": checked.to_json(),
                "kept": gain,
            }
        )
        self.idle = 0 if gain else self.idle + 1
        if gain:
            self.answer, self.checked = self.revision, checked
        self.revision = ""

    def refuse(self, problem: str) -> None:
        """A revision that is not even checked."""
        self.history.append({"critique": self.critique, "share": None, "problem": problem})
        self.history[-1]["kept"] = False
        self.idle += 1

    def unmet(self) -> list[str]:
        """Criteria that the answer does not meet, with what was seen."""
        if self.checked is None:
            return []
        return [
            f"- {name}: {finding.evidence or 'not met'}"
            for name, finding in self.checked.findings.items()
            if finding.answer == "no"
        ]

    def ask(self, template: str) -> Request:
        """A question about the answer as it stands."""
        unmet = self.unmet()
        findings = "\nChecks that it does not pass:\n" + "\n".join(unmet) + "\n" if unmet else ""
        task = "\n\n".join(f"[{m.role}]\n{m.content}" for m in self.prompt)
        text = template.format(
            task=task, answer=self.answer, critique=self.critique, findings=findings
        )
        return Request((Message("user", text),))

    def fail(self, problem: str) -> None:
        """A model did not answer: the best answer so far stays."""
        self.stopped = "failed"
        self.problem = problem

    def to_row(self) -> dict[str, Any]:
        """The row with its best answer."""
        first, last = (self.history[0], self.checked) if self.history else ({}, None)
        refinement = {
            "stopped": self.stopped,
            "rounds": max(0, len(self.history) - 1),
            "share_before": first.get("share"),
            "share_after": None if last is None else last.share,
            "holds": None if last is None else last.passed,
            "history": self.history,
        }
        if self.problem:
            refinement["problem"] = self.problem
        completion = [{"role": "assistant", "content": self.answer}] if self.answer else []
        return dict(self.row) | {
            "prompt": [chat_message(m) for m in self.prompt],
            "completion": completion,
            "refinement": refinement,
        }


def _gains(before: CheckedItem | None, after: CheckedItem) -> bool:
    """Whether a revision is better by what is known of both: unknown is not better, nor worse."""
    if before is None:
        return after.passed is True
    both = [
        (finding.answer, after.findings[name].answer) for name, finding in before.findings.items()
    ]
    told = [(old == "yes", new == "yes") for old, new in both if "unknown" not in (old, new)]
    more = sum(new for _, new in told) - sum(old for old, _ in told)
    return more > 0 or (more == 0 and after.passed is True and before.passed is not True)


def _prompt(row: Mapping[str, Any], place: int) -> tuple[Message, ...]:
    """The prompt of a row whose answer, if there is one, can be read too."""
    if not row.get("prompt"):
        raise DataError(f"row {place} has no 'prompt'; it has {sorted(row)}", place)
    try:
        if row.get("completion"):
            as_messages(row["completion"], role="assistant")
        return as_messages(row["prompt"], role="user")
    except DataError as error:
        raise DataError(f"row {place}: {error}", place) from error


def refinement_report(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by reason for stopping, and mean shares of criteria met before and after."""
    told = [row["refinement"] for row in rows]
    stopped: dict[str, int] = {}
    for one in told:
        stopped[one["stopped"]] = stopped.get(one["stopped"], 0) + 1
    both = [
        (one["share_before"], one["share_after"])
        for one in told
        if one["share_before"] is not None and one["share_after"] is not None
    ]
    report: dict[str, Any] = {"rows": len(rows), "stopped": stopped}
    report["rounds"] = sum(one["rounds"] for one in told)
    if both:
        report["share before"] = round(sum(a for a, _ in both) / len(both), 4)
        report["share after"] = round(sum(b for _, b in both) / len(both), 4)
    return report
