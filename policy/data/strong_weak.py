"""Pairs of a strong and a weak answer, kept only where a checklist supports the label.

Source: the Nanbeige4.1-3B report (arXiv:2602.13367): its pair-wise reward model learns from answers
of a strong against those of a weak model on the same prompt, labels kept when a checklist of
verifiable criteria agrees. The procedure is not published; this one is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from assay.errors import ConfigError, DataError, RewardError
from assay.judge import Pair
from assay.judges.checklist import Checklist, Rule, Support
from assay.judges.client import Client
from assay.messages import Message, as_messages
from assay.policy.data.preferences import Preference, shuffled_slots

#: Writes one answer per prompt, in order; None where it could not: `WrittenBy(client)`, a
#: local model, or a table of stored answers.
Generate = Callable[[Sequence[tuple[Message, ...]]], Sequence[str | None]]


@dataclass(frozen=True)
class WrittenBy:
    """A `Generate` that asks a language model; a failed reply is None."""

    client: Client

    def __call__(self, prompts: Sequence[tuple[Message, ...]]) -> list[str | None]:
        """One answer per prompt."""
        replies = self.client.ask(prompts)
        return [reply.text if reply.status == "ok" else None for reply in replies]


@dataclass(frozen=True)
class StrongWeak:
    """Builds preferences from prompts.

    A row has `prompt` and whatever columns the criteria read (tests, reference, ...); columns
    `strong` and `weak`, where present, are answers that exist already and are not generated again.

    Args:
        checklist: What both answers are checked on.
        strong: Writes the strong answers that rows lack.
        weak: Writes the weak answers that rows lack.
        rule: `separates` keeps a pair if a criterion tells the answers apart in favour of the
            strong one and none against it; `consistent` only drops contradicted pairs
            (`Checklist.supports`).
        batch_size: Rows generated and checked together.
        max_error_rate: A run in which our side failed on more than this share of the checked pairs
            (judge down, sandbox broken) raises instead of quietly dropping them.
        seed: Which slot the strong answer takes is a fair coin on this seed and the pair.
        names: Names of the two models, for the evidence.

    Example:
        >>> from assay.judges.criteria import Compiles
        >>> build = StrongWeak(Checklist({"compiles": Compiles("python", bare=True)}))
        >>> row = {"prompt": "Print 1.", "strong": "print(1)", "weak": "print(1"}
        >>> built = build([row])
        >>> built.preferences[0].chosen[0].content
        'print(1)'
    """

    checklist: Checklist
    strong: Generate | None = None
    weak: Generate | None = None
    rule: Rule = "separates"
    batch_size: int = 64
    max_error_rate: float = 0.5
    seed: int = 0
    names: tuple[str, str] = ("strong", "weak")

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ConfigError(f"StrongWeak.batch_size must be >= 1, got {self.batch_size}")
        if not 0 <= self.max_error_rate <= 1:
            raise ConfigError(
                f"StrongWeak.max_error_rate is a share in [0, 1], got {self.max_error_rate}"
            )

    def __call__(self, rows: Iterable[Mapping[str, Any]]) -> Built:
        """Build preferences from `rows`.

        Raises:
            DataError: A row without prompt, or without an answer and nothing that writes it.
            RewardError: Our side failed on more than `max_error_rate` of the checked pairs.
        """
        built = Built()
        failed = 0
        source = iter(rows)
        start = 0
        while batch := list(islice(source, self.batch_size)):
            failed += self._add(batch, start, built)
            start += len(batch)
        if built.checked and failed > self.max_error_rate * built.checked:
            raise RewardError(
                f"{failed} of {built.checked} pairs could not be checked because our side failed: "
                f"{built.failure}; mend that service, or raise max_error_rate"
            )
        return built

    def _add(self, batch: Sequence[Mapping[str, Any]], start: int, built: Built) -> int:
        prompts = [self._prompt(row, start + place) for place, row in enumerate(batch)]
        strong = self._answers("strong", self.strong, batch, prompts, start)
        weak = self._answers("weak", self.weak, batch, prompts, start)
        pairs: list[tuple[Preference, Mapping[str, Any]]] = []
        for row, prompt, a, b in zip(batch, prompts, strong, weak, strict=True):
            built.rows += 1
            if a is None or b is None:
                built.drop("no answer from the " + (self.names[0] if a is None else self.names[1]))
            elif a == b:
                built.drop("both answers are the same")
            else:
                given = str(row["id"]) if row.get("id") is not None else ""
                pairs.append((Preference(prompt, a, b, 1.0, id=given), row))
        if not pairs:
            return 0
        judged = [_with_columns(preference, row) for preference, row in pairs]
        supports = self.checklist.supports(judged, [1.0] * len(judged), self.rule)
        built.checked += len(supports)
        failed = 0
        for (preference, _), support in zip(pairs, supports, strict=True):
            if support.supported:
                built.preferences.extend(
                    shuffled_slots([self._kept(preference, support)], self.seed)
                )
                continue
            if support.failed:
                failed += 1
                built.failure = next(
                    f"{name}: {f.evidence}"
                    for side in (support.a, support.b)
                    for name, f in side.findings.items()
                    if f.failed
                )
            built.drop("our side failed" if support.failed else support.reason)
        return failed

    def _kept(self, preference: Preference, support: Support) -> Preference:
        evidence = {
            "checklist": support.reason,
            "a": {"model": self.names[0], "findings": support.a.to_json()},
            "b": {"model": self.names[1], "findings": support.b.to_json()},
        }
        return replace(preference, source="strong_weak", evidence=evidence)

    def _prompt(self, row: Mapping[str, Any], index: int) -> tuple[Message, ...]:
        if row.get("prompt") is None:
            raise DataError(f"row {index} has no 'prompt'; it has {sorted(row)}", index)
        return as_messages(row["prompt"], role="user")

    def _answers(
        self,
        column: str,
        generate: Generate | None,
        batch: Sequence[Mapping[str, Any]],
        prompts: Sequence[tuple[Message, ...]],
        start: int,
    ) -> list[tuple[Message, ...] | None]:
        missing = [place for place, row in enumerate(batch) if row.get(column) is None]
        texts: dict[int, str | None] = {}
        if missing:
            if generate is None:
                index = start + missing[0]
                raise DataError(
                    f"row {index} has no column {column!r} and StrongWeak.{column} is None; give "
                    "one or the other",
                    index,
                )
            written = generate([prompts[place] for place in missing])
            if len(written) != len(missing):
                raise DataError(
                    f"StrongWeak.{column} returned {len(written)} answers for {len(missing)} "
                    "prompts; return one per prompt, None where there is none"
                )
            texts = dict(zip(missing, written, strict=True))
        return [
            _answer(texts[place] if place in texts else row[column])
            for place, row in enumerate(batch)
        ]


@dataclass
class Built:
    """What `StrongWeak` built.

    Attributes:
        preferences: Kept pairs, the strong answer in a random slot, findings in `evidence`.
        rows: Rows read.
        checked: Pairs that were put to the checklist.
        dropped: How many were dropped, by reason.
        failure: The last failure of our side, or empty.
    """

    preferences: list[Preference] = field(default_factory=list)
    rows: int = 0
    checked: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    failure: str = ""

    def drop(self, reason: str) -> None:
        """Count one more dropped row."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def __iter__(self) -> Iterator[Preference]:
        return iter(self.preferences)


def _answer(value: object) -> tuple[Message, ...] | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return as_messages(value, role="assistant")


def _with_columns(preference: Preference, row: Mapping[str, Any]) -> Pair:
    columns = {key: value for key, value in row.items() if key not in ("prompt", "strong", "weak")}
    return Pair(preference.prompt, preference.a, preference.b, columns, preference.id)
