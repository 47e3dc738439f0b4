"""Contamination: training rows that hold evaluation items, by 13-grams and by MinHash.

`near_duplicates.leaks` compares; this module reads rows of any form, keeps or drops them, and
writes a report with the text that was found twice. Duplicates inside the training rows are dropped
in the same pass.

Source: 13-gram overlap as in Brown et al., Language Models are Few-Shot Learners,
arXiv:2005.14165, appendix C. Departure: an evaluation item counts as held only where a share of its
13-grams stands in one row, so that boilerplate shared by many prompts is no leak.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import as_messages
from assay.policy.data.preference_duplicates import Leak, leaks, near_duplicates
from assay.policy.data.row_files import read_rows, write_rows
from assay.settings import one_of, real, whole

#: What of a row is compared.
PARTS = ("prompt", "all")


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
            if not 0 < value <= 1:
                raise ConfigError(f"Contamination.{name} must lie in (0, 1], got {value}")

    def __call__(
        self, rows: Sequence[Mapping[str, Any]], evaluation: Sequence[Mapping[str, Any]]
    ) -> Checked:
        """Check training rows against evaluation rows.

        Raises:
            DataError: A row without any text.
        """
        texts = [row_text(row, self.compare, place) for place, row in enumerate(rows)]
        items = [row_text(row, "prompt", place) for place, row in enumerate(evaluation)]
        found = leaks(
            texts, items, threshold=self.threshold, ngram=self.ngram, contained=self.contained
        )
        if self.compare == "all":
            known = {leak.train for leak in found}
            # A prompt alone can be near an item that its row with the answer no longer is near.
            asked = [row_text(row, "prompt", place) for place, row in enumerate(rows)]
            more = leaks(
                asked, items, threshold=self.threshold, ngram=self.ngram, contained=self.contained
            )
            found += [leak for leak in more if leak.train not in known]
        leaked = {leak.train for leak in found}
        kept = [place for place in range(len(rows)) if place not in leaked]
        repeats: list[tuple[int, int]] = []
        if self.duplicates <= 1:
            first = near_duplicates([texts[place] for place in kept], self.duplicates)
            repeats = [(kept[i], kept[j]) for i, j in enumerate(first) if i != j]
            dropped = {place for place, _ in repeats}
            kept = [place for place in kept if place not in dropped]
        return Checked(kept, sorted(found, key=lambda leak: leak.train), repeats)


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
            if compare == "all" and row.get("completion"):
                answer = as_messages(row["completion"], role="assistant")
                said += [m.content for m in answer if m.role in roles]
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
        report: One row a leak: both texts, kind and overlap.
    """
    rows = [row for file in inputs for row in read_rows(file)]
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
                    "row": leak.train,
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
