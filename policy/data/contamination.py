"""Contamination: training rows that hold evaluation items, by 13-grams and by MinHash.

`near_duplicates.leaks` compares; this module reads rows of any form, keeps or drops them, and
writes a report with the text that was found twice. Duplicates inside the training rows are dropped
in the same pass.

Source: 13-gram overlap as in Brown et al., Language Models are Few-Shot Learners,
arXiv:2005.14165, appendix C. Departure: an evaluation item counts as held only where a share of its
13-grams stands in one row, so that boilerplate shared by many prompts is no leak.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import as_messages
from assay.policy.data.preference_duplicates import (
    Leak,
    leaks,
    near_duplicates,
    shingles,
    words_of,
)
from assay.policy.data.row_files import read_rows, write_rows
from assay.settings import one_of, real, whole

#: What of a row is compared.
PARTS = ("prompt", "all")
#: Columns beside `completion` that hold an answer as text.
ANSWERS = ("answer", "solution", "response", "output")
#: Words of the shortest item that a row can hold whole; what is shorter stands in many texts.
#: Source: the smallest N of the same appendix.
SHORTEST = 8


@dataclass(frozen=True)
class Contamination:
    """Finds and drops rows that hold evaluation items, and near duplicates.

    Args:
        ngram: Words of the n-grams.
        contained: Share of an evaluation item's n-grams that must stand in a row. The smallest
            value above 0, such as 1e-9, calls a single shared n-gram a leak.
        threshold: Jaccard similarity of 5-word shingles from which two texts are the same.
        duplicates: The same among training rows; above 1 keeps them.
        compare: `prompt`: what users wrote; `all`: answers as well, where an evaluation's solution
            may have got in.
    """

    ngram: int = 13
    contained: float = 0.5
    threshold: float = 0.8
    duplicates: float = 0.8
    compare: str = "all"

    def __post_init__(self) -> None:
        whole("Contamination.ngram", self.ngram, 1)
        one_of("Contamination.compare", self.compare, PARTS)
        real("Contamination.duplicates", self.duplicates, 1e-9)
        for name in ("contained", "threshold"):
            value = getattr(self, name)
            real(f"Contamination.{name}", value)
            if not 0 < value <= 1:
                raise ConfigError(f"Contamination.{name} must lie in (0, 1], got {value}")

    def __call__(
        self, rows: Sequence[Mapping[str, Any]], evaluation: Sequence[Mapping[str, Any]]
    ) -> Checked:
        """Check training rows against evaluation rows.

        A training row in which nobody said anything stays, and is nothing's duplicate.

        Raises:
            DataError: A row without a column of text, or an evaluation row without words.
        """
        texts = [compared(row_text(row, self.compare, place)) for place, row in enumerate(rows)]
        items = [compared(row_text(row, "prompt", place)) for place, row in enumerate(evaluation)]
        for place, item in enumerate(items):
            if not item:
                raise DataError(
                    f"evaluation row {place} says nothing that could be compared; leave it out",
                    place,
                )
        found = self._leaks(texts, items)
        if self.compare == "all":
            known = {leak.train for leak in found}
            # A prompt alone can be near an item that its row with the answer no longer is near.
            asked = [compared(row_text(row, "prompt", place)) for place, row in enumerate(rows)]
            found += [leak for leak in self._leaks(asked, items) if leak.train not in known]
        leaked = {leak.train for leak in found}
        kept = [place for place in range(len(rows)) if place not in leaked]
        repeats: list[tuple[int, int]] = []
        if self.duplicates <= 1:
            said = [place for place in kept if texts[place]]
            first = near_duplicates([texts[place] for place in said], self.duplicates)
            repeats = [(said[i], said[j]) for i, j in enumerate(first) if i != j]
            dropped = {place for place, _ in repeats}
            kept = [place for place in kept if place not in dropped]
        return Checked(kept, sorted(found, key=lambda leak: leak.train), repeats)

    def _leaks(self, texts: Sequence[str], items: Sequence[str]) -> list[Leak]:
        """Leaks among the rows that say anything, those of items too short for n-grams too."""
        said = [place for place, text in enumerate(texts) if text]
        found = leaks(
            [texts[place] for place in said],
            items,
            threshold=self.threshold,
            ngram=self.ngram,
            contained=self.contained,
        )
        found = [replace(leak, train=said[leak.train]) for leak in found]
        known = {leak.train for leak in found}
        return found + _whole_items([p for p in said if p not in known], texts, items, self.ngram)


@dataclass(frozen=True)
class Checked:
    """What was found.

    Attributes:
        kept: Indices of rows that stay.
        leaks: Rows that hold an evaluation item.
        repeats: (row, earlier row) of near duplicates.
    """

    kept: list[int]
    leaks: list[Leak]
    repeats: list[tuple[int, int]] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Rows by what became of them."""
        kinds = {"same": 0, "near": 0, "contained": 0}
        for leak in self.leaks:
            kinds[leak.kind] += 1
        return {"kept": len(self.kept), **kinds, "duplicates": len(self.repeats)}


def compared(text: str) -> str:
    r"""A text without what nobody sees: zero-width characters, soft hyphens; `_` parts words.

    >>> compared("zero\u200bwidth snake_case")
    'zerowidth snake case'
    """
    seen = "".join(c for c in text if c.isascii() or unicodedata.category(c) != "Cf")
    return seen.replace("_", " ").strip()


def _whole_items(
    places: Sequence[int], texts: Sequence[str], items: Sequence[str], ngram: int
) -> list[Leak]:
    """Rows that hold a whole item of fewer than `ngram` words, but of `SHORTEST` at least."""
    by_start: dict[int, list[tuple[int, str]]] = {}
    for place, item in enumerate(items):
        words = words_of(item)
        if SHORTEST <= len(words) < ngram:
            (start,) = shingles(" ".join(words[:SHORTEST]), SHORTEST)
            by_start.setdefault(start, []).append((place, f" {' '.join(words)} "))
    found = []
    for place in places if by_start else ():
        starts = by_start.keys() & shingles(texts[place], SHORTEST)
        if starts:
            row = f" {' '.join(words_of(texts[place]))} "
            held = [one for start in starts for one, item in by_start[start] if item in row]
            found += [Leak(place, min(held), "contained", 1.0)] if held else []
    return found


def row_text(row: Mapping[str, Any], compare: str = "prompt", place: int = 0) -> str:
    r"""The text of a row: what users wrote, or everything said but system prompts and tool results.

    >>> row_text({"prompt": "Add 2 and 2.", "completion": "4"}, "all")
    'Add 2 and 2.\n4'

    Raises:
        DataError: Neither `prompt`, `messages`, `conversations`, `question` nor `text`.
    """
    roles = {"user"} if compare == "prompt" else {"user", "assistant"}
    for column in ("messages", "conversations"):
        if row.get(column):
            messages = as_messages(row[column], role="user")
            return "\n".join(m.content for m in messages if m.role in roles and m.content)
    for column in ("prompt", "question", "problem", "text"):
        if row.get(column):
            messages = as_messages(row[column], role="user")
            said = [m.content for m in messages if m.role in roles]
            if compare == "all":
                if row.get("completion"):
                    answer = as_messages(row["completion"], role="assistant")
                    said += [m.content for m in answer if m.role in roles]
                said += [row[name] for name in ANSWERS if isinstance(row.get(name), str)]
            return "\n".join(part for part in said if part)
    raise DataError(
        f"row {place} has no text to compare; it has {sorted(row)}; give `prompt`, `messages`, "
        "`question` or `text`",
        place,
    )


def check_files(
    inputs: Sequence[str | Path],
    evaluation: Sequence[str | Path],
    output: str | Path,
    rule: Contamination | None = None,
    *,
    report: str | Path | None = None,
) -> dict[str, Any]:
    """Write the rows that stay; returns counts, in all and by evaluation file.

    Args:
        inputs: Training files.
        evaluation: Evaluation files.
        output: Rows that stay, in order.
        rule: What counts.
        report: One row a leak: its file and row from 0, both texts, kind and overlap.
    """
    rows, places = [], []
    for file in inputs:
        for number, row in enumerate(read_rows(file)):
            rows.append(row)
            places.append((str(file), number))
    items = [(str(file), row) for file in evaluation for row in read_rows(file)]
    if not rows or not items:
        raise DataError(
            f"the training files hold {len(rows)} rows and the evaluation files {len(items)}; give "
            "files that hold some"
        )
    used = rule or Contamination()
    found = used(rows, [row for _, row in items])
    write_rows(output, (rows[place] for place in found.kept))
    by_file: dict[str, int] = {str(file): 0 for file in evaluation}
    for leak in found.leaks:
        by_file[items[leak.evaluation][0]] += 1
    if report is not None:
        write_rows(
            report,
            (
                {
                    "file": places[leak.train][0],
                    "row": places[leak.train][1],
                    "evaluation_file": items[leak.evaluation][0],
                    "kind": leak.kind,
                    "overlap": round(leak.overlap, 4),
                    "text": row_text(rows[leak.train], used.compare)[:2000],
                    "evaluation_text": row_text(items[leak.evaluation][1])[:2000],
                }
                for leak in found.leaks
            ),
        )
    return {"rows": len(rows), **found.counts(), "leaks by file": by_file}
