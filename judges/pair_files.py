"""Pairs to judge from a file: plain rows, chosen and rejected, LLMBar's and JudgeBench's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.calibration.verdict_files import verdict_rows
from assay.errors import ConfigError, DataError
from assay.judge import Pair
from assay.messages import Message, as_messages

#: Columns that hold prompt and answers, by layout; the first whose columns are there is taken.
LAYOUTS: dict[str, tuple[str, str, str]] = {
    "plain": ("prompt", "a", "b"),
    "chosen": ("prompt", "chosen", "rejected"),
    "llmbar": ("input", "output_1", "output_2"),
    "judgebench": ("question", "response_A", "response_B"),
}
_LABELS = {"a": "A", "b": "B", "tie": "tie", "1": "A", "2": "B", "a>b": "A", "b>a": "B"}
_LABELS |= {"a=b": "tie"}
_IDS = ("id", "pair_id")


def read_pairs(path: str | Path, *, limit: int | None = None) -> list[Pair]:
    """The pairs of a file; what else a row holds becomes columns.

    Columns get one name whatever the layout: `label` (A, B or tie), `prompt_id`, `author_a`,
    `author_b`, `subset`. Of `chosen` and `rejected` the chosen one is A and the label is A: a judge
    that is asked in both orders does not notice.

    Args:
        path: `.jsonl`, `.json`, `.csv`, also gzip, or `.parquet`.
        limit: At most so many.

    Raises:
        DataError: A row of no known layout, without an answer, with a label that is none, or with
            another row's id: verdicts on two pairs would pass for repeats of one.
        ConfigError: The file cannot be read.
    """
    path = Path(path)
    found: list[Pair] = []
    seen: set[str] = set()
    for line, row in rows_of(path):
        if limit is not None and len(found) >= limit:
            break
        pair = pair_of(row, f"{path.name}:{line}", len(found))
        if pair.id in seen:
            raise DataError(
                f"{path.name}:{line}: id {pair.id!r} stands in two rows; give every pair its "
                "own id, and pairs of one prompt the same prompt_id",
                len(found),
            )
        seen.add(pair.id)
        found.append(pair)
    if not found:
        raise DataError(f"{path} holds no pairs; give a file with prompt, a and b in each row")
    return found


def rows_of(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line and content of every row.

    Raises:
        ConfigError: There is no such file, or parquet without pyarrow.
    """
    if not path.is_file():
        raise ConfigError(f"there is no file {path}; give a file of rows")
    if path.suffix != ".parquet":
        yield from verdict_rows(path)
        return
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(
            f"{path} is a parquet file, which needs pyarrow: pip install 'assay[parquet]'"
        ) from None
    number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=256):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def pair_of(row: Mapping[str, Any], where: str, index: int) -> Pair:
    """The pair of one row.

    >>> row = {"input": "2 + 2?", "output_1": "4", "output_2": "5", "label": 1}
    >>> pair = pair_of(row, "row", 0)
    >>> pair.a[0].content, pair.columns["label"], pair.id
    ('4', 'A', '0')
    """
    name = next((n for n, needed in LAYOUTS.items() if set(needed) <= set(row)), None)
    if name is None:
        wanted = "; or ".join(", ".join(columns) for columns in LAYOUTS.values())
        raise DataError(
            f"{where} is no pair: it takes the columns {wanted}; got {sorted(row)[:12]}", index
        )
    prompt, a, b = LAYOUTS[name]
    columns = {k: v for k, v in row.items() if k not in LAYOUTS[name]}
    first, second = (answer_of(row[side], f"{where}, {side}", index) for side in (a, b))
    label = "A" if name == "chosen" else _label(row.get("label"), where, index)
    columns.pop("label", None)
    if label:
        columns["label"] = label
    for side, model in (("a", "chosen_model"), ("b", "rejected_model")):
        if name == "chosen" and row.get(model) and not columns.get(f"author_{side}"):
            columns[f"author_{side}"] = row[model]
    ids = [str(row[key]) for key in _IDS if row.get(key) not in (None, "")]
    columns.setdefault("subset", row.get("subset") or row.get("source") or "")
    asked = prompt_of(row[prompt], where, index)
    return Pair(asked, first, second, columns, ids[0] if ids else str(index))


def prompt_of(value: Any, where: str, index: int) -> tuple[Message, ...]:
    """The conversation before the answers."""
    try:
        return as_messages(value, role="user")
    except DataError as error:
        raise DataError(f"{where}: prompt: {error}", index) from None


def answer_of(value: Any, where: str, index: int) -> tuple[Message, ...]:
    """An answer: text or messages."""
    try:
        found = as_messages(value, role="assistant")
    except DataError as error:
        raise DataError(f"{where}: {error}", index) from None
    if not found:
        raise DataError(f"{where} holds no message; leave the row out", index)
    return found


def _label(value: Any, where: str, index: int) -> str:
    if value in (None, ""):
        return ""
    label = _LABELS.get(str(value).strip().lower())
    if label is None:
        raise DataError(f"{where}: label must be A, B or tie (or 1, 2), got {value!r:.40}", index)
    return label
