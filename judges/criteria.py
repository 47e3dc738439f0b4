"""Criteria that need no model: code, rewards, language, length, format, refusal.

They read the answer after the reasoning (`Sample.answer`). Programs run only inside the reward that
is handed in, hence only in its sandbox.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.fenced_code import extract_code
from assay.judge import Item
from assay.judges.checklist import Criterion, Finding
from assay.judges.language import LANGUAGES, language_of
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.syntax import parses, require_language

#: Openings of answers that refuse, matched at the start of one of the first two sentences.
_CANNOT = (
    r"(?:can't|cannot|can not|won't|will not|(?:am|are|'m|'re) (?:unable|not able)|must decline)"
)
_REFUSAL = re.compile(
    r"(?:(?:i'?m|i am|we'?re|we are) (?:very |really |so )?(?:sorry|afraid)\b.{0,60}?\b"
    rf"(?:{_CANNOT}|unable|not able)"
    r"|(?:unfortunately|sorry|i apologi[sz]e)?,? ?(?:but )?"
    rf"(?:i|we) ?(?:{_CANNOT}|(?:have|need) to decline|refuse)"
    r"(?! (?:stress|emphasi[sz]e|overstate|recommend|wait|imagine|thank|say enough))"
    r"|as an? (?:ai|language model|ai language model|assistant)\b.{0,80}?\b"
    rf"(?:{_CANNOT}|unable|not able))\b",
    re.IGNORECASE | re.DOTALL,
)
_EVIDENCE = 160


def answer_of(item: Item) -> str:
    """The item's final answer: what follows the reasoning in the last assistant turn."""
    return _sample(item).answer


@dataclass(frozen=True)
class Compiles(Criterion):
    """The answer holds code of `language` that parses without errors; no code is a no.

    Args:
        language: A key of `assay.syntax.GRAMMARS`.
        bare: Take an answer without any code block as code.
    """

    language: str
    bare: bool = False

    def __post_init__(self) -> None:
        require_language(self.language)

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Extract and parse; nothing is run."""
        return [self._one(answer_of(item)) for item in items]

    def _one(self, answer: str) -> Finding:
        found = extract_code(answer, self.language, bare=self.bare)
        if found.code is None:
            return Finding("no", found.note)
        good, reason = parses(found.code, self.language)
        return Finding("yes", f"parses as {self.language}") if good else Finding("no", reason)


@dataclass(frozen=True)
class RewardPasses(Criterion):
    """A Reward gives the answer full marks: `RewardPasses(PassRate(sandbox))` runs the tests.

    Yes or no is the score's `passed`, or its value against `at_least`. A skipped or abstained
    score is unknown; a failed one is unknown and counted as failed.

    Args:
        reward: Any sample-scoped Reward; columns are those of the item.
        at_least: Smallest value that is a yes; None reads `passed`.
    """

    reward: Reward
    at_least: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ConfigError(f"RewardPasses needs a Reward, got {type(self.reward).__name__}")
        if self.reward.scope == "group":
            raise ConfigError(
                f"reward {self.reward.name!r} compares the rollouts of a group; a criterion looks "
                "at one answer, so give it a reward with scope 'sample'"
            )

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Score the answers in one batch."""
        return [self._one(s) for s in self.reward.evaluate([_sample(item) for item in items])]

    def _one(self, score: Score) -> Finding:
        if score.status == "failed":
            return Finding("unknown", score.note, failed=True)
        if score.value is None:
            return Finding("unknown", f"{score.status}: {score.note}".rstrip(": "))
        good = score.passed if self.at_least is None else score.value >= self.at_least
        note = f"{self.reward.name} {score.value:g}" + (f": {score.note}" if score.note else "")
        if good is None:
            return Finding("unknown", f"{note}; the reward does not say passed, set at_least")
        return Finding("yes" if good else "no", note)


@dataclass(frozen=True)
class LengthWithin(Criterion):
    """The answer has between `low` and `high` words (runs of non-space) or characters."""

    low: int = 1
    high: int | None = None
    unit: str = "words"

    def __post_init__(self) -> None:
        if self.unit not in ("words", "characters"):
            raise ConfigError(
                f"LengthWithin.unit must be one of {{'words', 'characters'}}, got {self.unit!r}"
            )
        if self.low < 0 or (self.high is not None and self.high < self.low):
            raise ConfigError(f"LengthWithin needs 0 <= low <= high, got {self.low}, {self.high}")

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Count."""
        found = []
        for item in items:
            answer = answer_of(item)
            size = len(answer.split()) if self.unit == "words" else len(answer)
            good = self.low <= size and (self.high is None or size <= self.high)
            found.append(Finding("yes" if good else "no", f"{size} {self.unit}"))
        return found


@dataclass(frozen=True)
class InLanguage(Criterion):
    """The answer is written in `language`; None means the language of the last user message.

    Code blocks are left out. Too little text, or no clear winner, is unknown.

    Args:
        language: A key of `assay.judges.language.LANGUAGES`, or None.
    """

    language: str | None = None

    def __post_init__(self) -> None:
        if self.language is not None and self.language not in LANGUAGES:
            raise ConfigError(
                f"InLanguage.language must be one of {sorted(LANGUAGES)} or None, got "
                f"{self.language!r:.80}"
            )

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Detect the language of the answer, and of the prompt where none is set."""
        return [self._one(item) for item in items]

    def _one(self, item: Item) -> Finding:
        wanted = self.language
        if wanted is None:
            users = [message.content for message in item.prompt if message.role == "user"]
            wanted = language_of(users[-1]) if users else None
            if wanted is None:
                return Finding("unknown", "the prompt's language is not clear")
        found = language_of(answer_of(item))
        if found is None:
            return Finding("unknown", "the answer's language is not clear")
        return Finding("yes" if found == wanted else "no", f"written in {found}, wanted {wanted}")


@dataclass(frozen=True)
class Matches(Criterion):
    """A regular expression is found in the answer (`whole`: matches all of it)."""

    pattern: str
    whole: bool = False
    negate: bool = False

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ConfigError(
                f"Matches.pattern is no regular expression: {error}, got {self.pattern!r:.80}"
            ) from None

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Search."""
        expression = re.compile(self.pattern, re.DOTALL)
        found = []
        for item in items:
            text = answer_of(item).strip()
            match = expression.fullmatch(text) if self.whole else expression.search(text)
            note = f"found {match[0][:_EVIDENCE]!r}" if match else "not found"
            found.append(Finding("yes" if bool(match) != self.negate else "no", note))
        return found


@dataclass(frozen=True)
class JsonObject(Criterion):
    """The answer is one JSON object, bare or as its only code block, with all of `keys`."""

    keys: tuple[str, ...] = ()

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Parse."""
        return [self._one(answer_of(item)) for item in items]

    def _one(self, answer: str) -> Finding:
        block = extract_code(answer, "json", bare=True).code
        try:
            value = json.loads(block or "")
        except (ValueError, RecursionError) as error:
            return Finding("no", f"not JSON: {error}")
        if not isinstance(value, dict):
            return Finding("no", f"not an object but {type(value).__name__}")
        if missing := [key for key in self.keys if key not in value]:
            return Finding("no", f"keys {missing} are missing; it has {sorted(value)[:20]}")
        return Finding("yes", f"an object with {len(value)} keys")


@dataclass(frozen=True)
class NotRefused(Criterion):
    """The answer does not open with a refusal; `expected=True` turns it round (it should refuse).

    A rule on the wording of the first two sentences, in English. Another language is unknown, and
    so is an empty answer.
    """

    expected: bool = False

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Match the opening."""
        return [self._one(answer_of(item).strip()) for item in items]

    def _one(self, answer: str) -> Finding:
        if not answer:
            return Finding("unknown", "the answer is empty")
        plain = answer.replace("\u2019", "'")
        sentences = re.split(r"(?<=[.!?])\s+", plain, maxsplit=2)[:2]
        match = next((m for s in sentences if (m := _REFUSAL.match(s.lstrip("*_ \"'")))), None)
        if match is None and language_of(answer) not in (None, "en"):
            return Finding("unknown", "refusals are recognised in English only")
        note = f"refuses: {match[0][:_EVIDENCE]!r}" if match else "no refusal at the start"
        return Finding("yes" if bool(match) == self.expected else "no", note)


def _sample(item: Item) -> Sample:
    return Sample.of(item.prompt, item.answer, item.columns)
