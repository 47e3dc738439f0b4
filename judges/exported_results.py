"""Results as people want them: in the input's order, as JSON lines, parquet or a saved dataset."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.results import indexed_rows, row_at
from assay.judges.strict_json import encode_line, writable

_BATCH = 4096


def export(output: Path, order: Iterable[Any], target: Path) -> int:
    """Write the results of a job in a given order.

    The kind is told by the target's suffix: `.jsonl`, `.parquet`, or none for a folder that
    `datasets.load_from_disk` opens. In the last two, `turns`, `parts` and `info` are JSON text,
    since their shape differs from row to row. The target appears whole or not at all.

    Args:
        output: File of results.
        order: Ids, each once; those without a result (bad rows) are left out.
        target: What to write; an existing file or dataset is replaced.

    Returns:
        How many rows were written.

    Raises:
        ConfigError: Another suffix, or the target's folder does not exist.
        DataError: `output` holds something else than results; or a number and a text among the ids
            would be one text in the last two kinds.
        ImportError: The extra `parquet` (or `train`, for a folder) is missing.
    """
    check_target(target)
    places = indexed_rows(output)
    if target.suffix != ".jsonl":
        _refuse_alike(places, target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with output.open("rb") as file:
            rows = (row_at(file, places[one]) for one in order if one in places)
            if target.suffix == ".jsonl":
                count = _write_lines(rows, fresh)
            else:
                count = _write_parquet(rows, fresh)
        if target.suffix == "":
            _save_dataset(fresh, target, count)
        else:
            os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
    return count


def check_target(target: Path) -> None:
    """Refuse a target before any work is done for it.

    Raises:
        ConfigError: A suffix that nothing is written as, or no such folder.
        ImportError: The extra that it needs is missing.
    """
    if target.suffix not in (".jsonl", ".parquet", ""):
        raise ConfigError(
            f"--export must end in .jsonl or .parquet, or be a folder for a saved dataset; got "
            f"{target}"
        )
    if not target.parent.is_dir():
        raise ConfigError(f"--export: there is no folder {target.parent}")
    if target.suffix == "" and target.exists() and not (target / "state.json").is_file():
        raise ConfigError(f"--export: {target} exists and is no saved dataset; give another name")
    try:
        if target.suffix == ".parquet":
            import pyarrow  # noqa: F401
        elif target.suffix == "":
            import datasets  # noqa: F401
    except ImportError as error:
        extra = "parquet" if target.suffix else "train"
        raise ImportError(
            f"--export {target} needs {error.name}: pip install 'assay[{extra}]'"
        ) from None


def _write_lines(rows: Iterator[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(encode_line(row))
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _write_parquet(rows: Iterator[dict[str, Any]], path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.string()
    schema = pa.schema(
        [
            ("id", text),
            ("value", pa.float64()),
            ("status", text),
            ("passed", pa.bool_()),
            ("note", text),
            ("turns", text),
            ("parts", text),
            ("info", text),
        ]
    )
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(_flat(row))
            count += 1
            if len(batch) >= _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    return count


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": writable(str(row["id"])),
        "value": row["value"],
        "status": row["status"],
        "passed": row["passed"],
        "note": writable(row["note"]),
        "turns": None if row["turns"] is None else json.dumps(row["turns"]),
        "parts": writable(json.dumps(row["parts"], ensure_ascii=False)),
        "info": writable(json.dumps(row["info"], ensure_ascii=False)),
    }


def _refuse_alike(ids: Iterable[Any], target: Path) -> None:
    """In these kinds ids are text: 1 and "1" would become one."""
    numbers = {str(one): one for one in ids if isinstance(one, int)}
    alike = next((one for one in ids if isinstance(one, str) and one in numbers), None)
    if alike is not None:
        raise DataError(
            f"the ids {numbers[alike]!r} and {alike!r} would be the same in {target}, where ids "
            "are text; export to .jsonl"
        )


def _save_dataset(parquet: Path, target: Path, count: int) -> None:
    import datasets

    fresh = target.with_name(f".{target.name}.{os.getpid()}.folder")
    cache = target.with_name(f".{target.name}.{os.getpid()}.cache")
    try:
        if count:
            made = datasets.Dataset.from_parquet(str(parquet), cache_dir=str(cache))
        else:  # which from_parquet cannot read
            import pyarrow.parquet as pq

            made = datasets.Dataset(pq.read_table(parquet))
        if not isinstance(made, datasets.Dataset):
            raise DataError(f"{parquet} could not be read back as a dataset")
        made.save_to_disk(str(fresh), num_shards=None if count else 1)
        if target.exists():
            shutil.rmtree(target)
        os.replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(cache, ignore_errors=True)
