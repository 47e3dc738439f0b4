"""Sheets for people to label pairs on, and labels read back from them."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.calibration.krippendorff import krippendorff_alpha
from assay.calibration.probe_requests import text_of
from assay.errors import DataError
from assay.judge import Choice, Pair

COLUMNS = ("id", "seed", "prompt", "answer_1", "answer_2", "better", "note")
_ANSWERS = {"1": 1, "2": 2, "tie": 0, "0": 0, "=": 0, "equal": 0, "answer_1": 1, "answer_2": 2}
_FORMULA = ("=", "+", "-", "@", "\t")  # what a spreadsheet would run


@dataclass(frozen=True)
class Labels:
    """What people said.

    Attributes:
        label: Majority by id; two leaders are a tie.
        votes: Every vote by id, in the order of the sheets.
        unlabelled: Rows left empty in every sheet.
        agreement: Share of pairs of votes on one item that agree; NaN with a single sheet.
        alpha: Krippendorff's alpha of all sheets; NaN likewise.
    """

    label: Mapping[str, Choice]
    votes: Mapping[str, list[Choice]] = field(repr=False)
    unlabelled: int
    agreement: float
    alpha: float

    __hash__ = None  # type: ignore[assignment]


def write_sheet(pairs: Sequence[Pair], path: str | Path, *, seed: int = 0) -> None:
    """A CSV file with an empty column `better` (1, 2 or tie), all or nothing.

    Which answer stands first is drawn by the pair's id and the seed, so that people's liking for a
    place does not end up in the labels. The names of authors and judges are not in it. Cells that a
    spreadsheet would take for a formula get an apostrophe.

    Args:
        pairs: With an id each.
        path: Of the file; UTF-8 with a mark, as spreadsheets read it.
        seed: Give each annotator another one and places are balanced over them as well.

    Raises:
        DataError: Two pairs of one id, or none.
    """
    ids = [pair.id for pair in pairs]
    if "" in ids or len(set(ids)) != len(ids):
        twice = next((i for i, n in Counter(ids).items() if n > 1 or not i), "")
        raise DataError(
            f"every pair needs an id of its own, got {twice!r} more than once or none; add `id`"
        )
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for pair in pairs:
        first, second = (pair.b, pair.a) if _swapped(pair.id, seed) else (pair.a, pair.b)
        said = "\n\n".join(
            m.content if len(pair.prompt) == 1 else f"{m.role}: {m.content}" for m in pair.prompt
        )
        cells = (pair.id, str(seed), said, text_of(first), text_of(second), "", "")
        writer.writerow([_safe(cell) for cell in cells])
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text.getvalue(), encoding="utf-8-sig", newline="")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def read_sheets(paths: Sequence[str | Path]) -> Labels:
    """Labels of one or several sheets that `write_sheet` wrote and people filled in.

    Raises:
        DataError: Not such a sheet, an id twice in one, or a word that is no answer; says where.
    """
    if not paths:
        raise DataError("there are no sheets to read; give at least one")
    sheets = [_read(Path(path)) for path in paths]
    names = list(dict.fromkeys(name for sheet in sheets for name in sheet))
    votes: dict[str, list[Choice]] = {}
    for name in names:
        all_of_them = [sheet.get(name) for sheet in sheets]
        votes[name] = [one for one in all_of_them if one is not None]
    label: dict[str, Choice] = {}
    for name, said in votes.items():
        if said:
            most = Counter(said).most_common()
            leaders = [choice for choice, count in most if count == most[0][1]]
            label[name] = leaders[0] if len(leaders) == 1 else "tie"
    agreement = alpha = math.nan
    shared = [said for said in votes.values() if len(said) > 1]
    if shared:
        same = [x == y for said in shared for i, x in enumerate(said) for y in said[:i]]
        agreement = sum(same) / len(same)
        table = [[sheet.get(name) for name in names] for sheet in sheets]
        alpha = krippendorff_alpha(table)
    return Labels(label, votes, sum(not said for said in votes.values()), agreement, alpha)


def _read(path: Path) -> dict[str, Choice | None]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}; save it as CSV in UTF-8") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    found: dict[str, Choice | None] = {}
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    if not {"id", "seed", "better"} <= set(reader.fieldnames or ()):
        raise DataError(
            f"{path} is no sheet of `assay audit annotate`: it needs the columns id, seed and "
            f"better, got {reader.fieldnames}"
        )
    for number, row in enumerate(reader, start=2):
        name = (row["id"] or "").removeprefix("'")
        if name in found:
            raise DataError(f"{path}, row {number}: id {name!r} stands twice; keep one")
        word = (row["better"] or "").strip().lower()
        if not word:
            found[name] = None
            continue
        if word not in _ANSWERS:
            raise DataError(
                f"{path}, row {number}: better must be 1, 2 or tie (or empty), got {word!r:.40}"
            )
        try:
            seed = int((row["seed"] or "").strip())
        except ValueError:
            raise DataError(
                f"{path}, row {number}: seed must be the number that the sheet was written with, "
                f"got {row['seed']!r:.40}"
            ) from None
        found[name] = _original(_ANSWERS[word], _swapped(name, seed))
    return found


def _original(answer: int, swapped: bool) -> Choice:
    if answer == 0:
        return "tie"
    return "A" if (answer == 1) != swapped else "B"


def _swapped(name: str, seed: int) -> bool:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()[0] % 2 == 1


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
