"""Checklists: verifiable criteria on answers, each yes, no or unknown, with its evidence.

A criterion is a `Criterion` (`assay.judges.criteria` and `assay.judges.question` ship some) or any
plain callable that takes an Item and returns a bool, None for unknown, or a Finding. A checklist is
picklable if its criteria are: use functions and classes at module level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from assay.errors import (
    ConfigError,
    ContractError,
    DataError,
    JudgeError,
    RewardError,
    SandboxError,
)
from assay.fingerprint import configuration_fingerprint
from assay.judge import Item, Pair

Answer = Literal["yes", "no", "unknown"]
Rule = Literal["separates", "consistent"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one criterion says of one answer.

    Attributes:
        answer: `yes`, `no`, or `unknown` where it cannot be told.
        evidence: What was seen: an error with its line, a count, the judge's words.
        failed: Our side broke (judge down, sandbox broken), so the answer is `unknown`.
    """

    answer: Answer
    evidence: str = ""
    failed: bool = False

    def __post_init__(self) -> None:
        if self.answer not in get_args(Answer):
            raise ContractError(
                f"Finding.answer must be one of {get_args(Answer)}, got {self.answer!r:.80}"
            )
        if self.failed and self.answer != "unknown":
            raise ContractError(f"a failed Finding is 'unknown', got {self.answer!r}")

    @classmethod
    def of(cls, value: object) -> Finding:
        """A Finding from a bool, None (unknown) or a Finding.

        >>> Finding.of(True).answer, Finding.of(None).answer
        ('yes', 'unknown')
        """
        if isinstance(value, Finding):
            return value
        if value is None:
            return cls("unknown")
        if isinstance(value, bool):
            return cls("yes" if value else "no")
        raise ContractError(
            f"a criterion must return True, False, None or a Finding, got {value!r:.80}"
        )


class Criterion(ABC):
    """A criterion that checks a batch at once: one Finding per item, in the same order."""

    @abstractmethod
    def check(self, items: Sequence[Item]) -> Sequence[Finding]:
        """Check `items`. A SandboxError, JudgeError, RewardError or OSError makes them unknown."""

    def fingerprint(self) -> str:
        """A hash of everything that changes a finding."""
        return configuration_fingerprint(self)


ItemCheck = Callable[[Item], "bool | Finding | None"]


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """Findings on one answer, by criterion."""

    findings: Mapping[str, Finding]

    __hash__ = None  # type: ignore[assignment]

    @property
    def passed(self) -> bool | None:
        """False if a criterion says no; None if none does and one is unknown; else True."""
        answers = {finding.answer for finding in self.findings.values()}
        if "no" in answers:
            return False
        return None if "unknown" in answers else True

    @property
    def share(self) -> float | None:
        """Criteria met among those that could be told, in [0, 1]; None where none could."""
        told = [f.answer == "yes" for f in self.findings.values() if f.answer != "unknown"]
        return sum(told) / len(told) if told else None

    def to_json(self) -> dict[str, Any]:
        """Findings as plain JSON values."""
        return {
            name: {"answer": f.answer, "evidence": f.evidence}
            | ({"failed": True} if f.failed else {})
            for name, f in self.findings.items()
        }


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a checklist supports the label of a pair.

    Attributes:
        supported: By the rule of `Checklist.supports`.
        reason: Which criteria decided.
        a: Findings on answer A.
        b: Findings on answer B.
        failed: A criterion that our side could not run left the answer open.
    """

    supported: bool
    reason: str
    a: CheckedItem
    b: CheckedItem
    failed: bool = False

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """This support as plain JSON values, the evidence of both answers included."""
        return {
            "supported": self.supported,
            "reason": self.reason,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
        }


@dataclass(frozen=True)
class Checklist:
    r"""Named criteria, checked together.

    Args:
        criteria: Criterion, or callable on one Item, by name.
        required: Names that the preferred answer must meet with a clear yes before a label is
            supported (both answers, for a tie).

    Raises:
        ConfigError: No criteria, something that is none, or an unknown required name.

    Example:
        >>> from assay.judges.criteria import Compiles, LengthWithin
        >>> from assay.messages import Message
        >>> checklist = Checklist({"compiles": Compiles("python"), "short": LengthWithin(0, 50)})
        >>> item = Item((), (Message("assistant", "```python\nx = (1\n```"),))
        >>> checklist.check([item])[0].findings["compiles"]
        Finding(answer='no', evidence="line 1, column 5: '(' was never closed", failed=False)
    """

    criteria: Mapping[str, Criterion | ItemCheck]
    required: frozenset[str] = field(default_factory=frozenset)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not self.criteria:
            raise ConfigError("a Checklist needs at least one criterion; got none")
        for name, criterion in self.criteria.items():
            if isinstance(criterion, type) or not (
                isinstance(criterion, Criterion) or callable(criterion)
            ):
                raise ConfigError(
                    f"criterion {name!r} must be a Criterion or a callable on an Item, got "
                    f"{criterion!r:.80}"
                )
        object.__setattr__(self, "required", frozenset(self.required))
        if unknown := sorted(self.required - self.criteria.keys()):
            raise ConfigError(
                f"required criteria {unknown} are not in the checklist; it has "
                f"{sorted(self.criteria)}"
            )

    def fingerprint(self) -> str:
        """A hash of everything that changes a finding."""
        return configuration_fingerprint(self)

    def check(self, items: Sequence[Item]) -> list[CheckedItem]:
        """Check every item on every criterion; one result per item, in the same order.

        Raises:
            ContractError: A criterion returned something else, or not one Finding per item.
        """
        if not items:
            return []
        columns = {name: _run(name, criterion, items) for name, criterion in self.criteria.items()}
        return [
            CheckedItem({name: found[i] for name, found in columns.items()})
            for i in range(len(items))
        ]

    def supports(
        self, pairs: Sequence[Pair], labels: Sequence[float], rule: Rule = "separates"
    ) -> list[Support]:
        """Whether the criteria support each label; unknown neither supports nor contradicts.

        A criterion *separates* a pair if it says yes of one answer and no of the other.

        - label > 0.5 (A preferred), mirrored for < 0.5: no criterion separates the pair in favour
          of the other answer, every `required` criterion says yes of the preferred one, and, with
          `rule="separates"`, at least one criterion separates it in favour of the preferred one.
          `rule="consistent"` does without the last: the checklist then only vetoes.
        - label 0.5 (a tie): no criterion separates the pair, every `required` criterion says yes
          of both, and, with `rule="separates"`, at least one criterion gives both the same clear
          answer.

        Args:
            pairs: Two answers each; their `columns` reach the criteria.
            labels: P(A preferred), in [0, 1], one per pair.
            rule: See above.

        Raises:
            ConfigError: Unknown rule.
            DataError: Not one label per pair, or a label outside [0, 1].

        Source: the Nanbeige4.1-3B report (arXiv:2602.13367) keeps labels that a checklist of
        verifiable criteria agrees with; its procedure is not published, this rule is ours.
        """
        if rule not in get_args(Rule):
            raise ConfigError(f"rule must be one of {get_args(Rule)}, got {rule!r:.80}")
        if len(labels) != len(pairs):
            raise DataError(f"{len(pairs)} pairs but {len(labels)} labels; give one per pair")
        for index, label in enumerate(labels):
            if not 0.0 <= label <= 1.0:
                raise DataError(f"a label must lie in [0, 1], got {label}", index)
        items = [Item(p.prompt, answer, p.columns, p.id) for p in pairs for answer in (p.a, p.b)]
        checked = self.check(items)
        return [
            self._support(checked[2 * i], checked[2 * i + 1], label, rule)
            for i, label in enumerate(labels)
        ]

    def _support(self, a: CheckedItem, b: CheckedItem, label: float, rule: Rule) -> Support:
        answers = {n: (a.findings[n].answer, b.findings[n].answer) for n in self.criteria}
        failed = any(a.findings[n].failed or b.findings[n].failed for n in self.criteria)
        for_a = [name for name, both in answers.items() if both == ("yes", "no")]
        for_b = [name for name, both in answers.items() if both == ("no", "yes")]
        if label == 0.5:
            against, missing = [*for_a, *for_b], [n for n in self.required if _unmet(answers[n])]
            found = [n for n, (x, y) in answers.items() if x == y != "unknown"]
        else:
            found, against = (for_a, for_b) if label > 0.5 else (for_b, for_a)
            slot = 0 if label > 0.5 else 1
            missing = [n for n in self.required if answers[n][slot] != "yes"]
        if against:
            return Support(False, f"contradicted by {', '.join(against)}", a, b, False)
        if missing:
            return Support(
                False, f"required but not met: {', '.join(sorted(missing))}", a, b, failed
            )
        if rule == "separates" and not found:
            return Support(False, "no criterion tells", a, b, failed)
        said = f"supported by {', '.join(found)}" if found else "not contradicted"
        return Support(True, said, a, b, False)


def _unmet(both: tuple[Answer, Answer]) -> bool:
    return both != ("yes", "yes")


def _run(name: str, criterion: Criterion | ItemCheck, items: Sequence[Item]) -> list[Finding]:
    try:
        if isinstance(criterion, Criterion):
            found = [Finding.of(value) for value in criterion.check(items)]
        else:
            found = [Finding.of(criterion(item)) for item in items]
    except ContractError as error:
        raise ContractError(f"criterion {name!r}: {error}") from error
    except (SandboxError, JudgeError, RewardError, OSError) as error:
        note = f"{type(error).__name__}: {error}"
        return [Finding("unknown", note, failed=True) for _ in items]
    if len(found) != len(items):
        raise ContractError(
            f"criterion {name!r} returned {len(found)} findings for {len(items)} items"
        )
    return found
