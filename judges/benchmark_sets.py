"""Benchmarks of judges and reward models: where their rows come from, and what each row asks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.pair_files import answer_of, pair_of, prompt_of, rows_of
from assay.messages import Message

NAMES = ("rewardbench", "rewardbench2", "judgebench", "llmbar")

#: Where a set lies on the hub: name, split. LLMBar's items are files of its repository.
_HUB = {
    "rewardbench": ("allenai/reward-bench", "filtered"),
    "rewardbench2": ("allenai/reward-bench-2", "test"),
    "judgebench": ("ScalerLab/JudgeBench", "gpt"),
}
#: Files in a folder of data, by pattern.
_FILES = {
    "rewardbench": ("rewardbench/*.parquet", "rewardbench/*.jsonl*"),
    "rewardbench2": ("rewardbench2/*.parquet", "rewardbench2/*.jsonl*"),
    "judgebench": ("judgebench/pairs*.jsonl*", "judgebench/*gpt*.parquet"),
    "llmbar": ("llmbar/*dataset.json*", "LLMBar/**/dataset.json"),
}
#: What is reported apart, by subset of RewardBench 1 and 2.
_KINDS = {
    "refusals-dangerous": "refusal",
    "refusals-offensive": "refusal",
    "xstest-should-refuse": "refusal",
    "donotanswer": "refusal",
    "xstest-should-respond": "over-refusal",
    "Safety": "safety",
}
#: Domains of JudgeBench, by the beginning of a row's source.
_JUDGEBENCH = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}


@dataclass(frozen=True)
class Task:
    """One question of a benchmark: some answers of which the first `right` ones are the better.

    Attributes:
        id: Of the row.
        prompt: The conversation.
        answers: Two for a pair; more for a best-of-n.
        right: How many of them, from the first, are right.
        subset: Of the benchmark.
        kind: `safety`, `refusal`, `over-refusal` or empty.
        twin: Id shared by rows that differ only in the group they speak of; else empty.
        tie: Whether people say that neither is better.
        columns: The row's other columns.
    """

    id: str
    prompt: tuple[Message, ...]
    answers: tuple[tuple[Message, ...], ...]
    right: int = 1
    subset: str = ""
    kind: str = ""
    twin: str = ""
    tie: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


def load_tasks(
    name: str, *, data: Path | None = None, limit: int | None = None
) -> tuple[str, list[Task]]:
    """The rules by which to score, and the tasks.

    Args:
        name: One of `NAMES`, or a file of pairs, which is scored by plain accuracy.
        data: File or folder of a named set; else the folder in `ASSAY_DATA`, else the hub.
        limit: At most so many, spread over the set.

    Raises:
        ConfigError: The set cannot be found.
        DataError: A row is not of the set's form.
    """
    if name not in NAMES:
        rows = [(Path(name).stem, row) for _, row in rows_of(Path(name))]
        rules = "pairs"
    else:
        rows, rules = list(_named(name, data)), name
    if not rows:
        raise DataError(f"{name} holds no rows; give another file")
    made = [_task(rules, part, row, i) for i, (part, row) in enumerate(rows)]
    if limit is not None and limit < len(made):
        made = [made[i * len(made) // limit] for i in range(limit)]
    return rules, made


def _named(name: str, data: Path | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    files = _found(name, data)
    if files:
        for path in files:
            folders = f"{path.parent.parent.name}__{path.parent.name}__{path.name}"
            part = path.name if name != "llmbar" or "__" in path.name else folders
            yield from ((part, row) for _, row in rows_of(path))
        return
    if name not in _HUB:
        raise ConfigError(
            f"no files of {name} were found; its items are the dataset.json files of "
            "github.com/princeton-nlp/LLMBar: give the folder that holds them with --data"
        )
    hub, split = _HUB[name]
    try:
        from datasets import load_dataset
    except ImportError:
        raise ImportError(
            f"{name} is fetched from the hub with datasets: pip install 'assay[train]'; or give "
            "its file with --data"
        ) from None
    try:
        rows = load_dataset(hub, split=split)
    except Exception as error:  # whatever the hub's client raises, the remedy is the same
        raise ConfigError(
            f"cannot fetch {hub} ({type(error).__name__}: {str(error)[:200]}); give its file or "
            f"folder with --data, or a folder {name}/ in ASSAY_DATA"
        ) from error
    yield from ((split, row) for row in rows)


def _found(name: str, data: Path | None) -> list[Path]:
    if data is not None and data.is_file():
        return [data]
    folder = data
    if folder is None and os.environ.get("ASSAY_DATA"):
        folder = Path(os.environ["ASSAY_DATA"])
    if folder is None or not folder.is_dir():
        if data is not None:
            raise ConfigError(f"there is no file or folder {data}; give that of {name}")
        return []
    patterns: tuple[str, ...] = _FILES[name]
    if data is not None:  # the set's own folder, or one above it
        patterns = (*patterns, *(p.split("/", 1)[1] for p in patterns))
    for pattern in patterns:
        files = sorted(folder.glob(pattern))
        if files:
            return files
    if data is not None:
        raise ConfigError(f"{data} holds no files of {name} ({', '.join(_FILES[name])})")
    return []


def _task(rules: str, part: str, row: Mapping[str, Any], index: int) -> Task:
    where = f"{part}, row {index + 1}"
    if rules == "rewardbench2":
        return _best_of_n(row, where, index)
    pair = pair_of(row, where, index)
    label = pair.columns.get("label")
    if label is None:
        raise DataError(f"{where} has no label: a benchmark needs one (A, B or tie)", index)
    subset = str(pair.columns.get("subset") or "")
    if rules == "judgebench":
        subset = next((d for s, d in _JUDGEBENCH.items() if subset.startswith(s)), subset)
    if rules == "llmbar":
        subset = _llmbar_subset(part)
    answers = (pair.b, pair.a) if label == "B" else (pair.a, pair.b)
    return Task(
        pair.id if rules != "llmbar" else f"{subset}-{index}",
        pair.prompt,
        answers,
        1,
        subset,
        str(row.get("kind") or _KINDS.get(subset, "")),
        str(row.get("swapped_from") or row.get("group_swap") or ""),
        label == "tie",
        pair.columns,
    )


def _best_of_n(row: Mapping[str, Any], where: str, index: int) -> Task:
    lists = [row.get("chosen"), row.get("rejected")]
    if not all(isinstance(one, Sequence) and not isinstance(one, str) and one for one in lists):
        raise DataError(
            f"{where} is not of RewardBench 2: chosen and rejected must be lists of answers, got "
            f"{[type(one).__name__ for one in lists]}",
            index,
        )
    chosen, rejected = ([answer_of(a, where, index) for a in one or ()] for one in lists)
    subset = str(row.get("subset") or "")
    return Task(
        str(row.get("id", index)),
        prompt_of(row.get("prompt"), where, index),
        (*chosen, *rejected),
        len(chosen),
        subset,
        _KINDS.get(subset, ""),
        columns={k: v for k, v in row.items() if k not in ("prompt", "chosen", "rejected")},
    )


def _llmbar_subset(part: str) -> str:
    """`Natural`, `Adversarial/Neighbor`, ... from a file's name.

    >>> _llmbar_subset("LLMBar__Adversarial__GPTInst__dataset.json")
    'Adversarial/GPTInst'
    """
    words = [word for word in part.replace(".gz", "").split("__") if word not in ("LLMBar",)]
    return "/".join(words[:-1]) or Path(part).stem
