"""Trains a model to write chains of thought for finished answers, and replays what it writes.

What it learns to read is what `assay.policy.data.reconstruction` asks, so that the saved folder
serves there as the author: `Reconstructor(LocalModel(folder, max_tokens=...))`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import as_messages
from assay.policy.data.reconstruction import (
    Reconstructor,
    reconstruction_report,
    task_text,
    write_prompt,
)
from assay.policy.data.sources import read_sources
from assay.policy.stages import sft
from assay.policy.stages.stage_config import StageResult
from assay.settings import whole


@dataclass(frozen=True)
class CotReconstructionConfig(sft.SftConfig):
    """Fine-tuning of a model that writes traces.

    Rows are what `assay data reconstruct` wrote: `messages` whose last one holds the answer in
    `content` and a faithful trace in `reasoning_content`.

    Args:
        held_out: Share of rows held out, chosen by their text; faithfulness is measured there.
        replayer: Model that replays the traces: a folder, or `BASE_URL,MODEL`; None: the model that
            training started from.
        trace_tokens: Longest trace that is written for a held-out row.
        answer_tokens: Longest replayed answer.
        replays: Replays of a trace.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367): a model reconstructs chains of thought for
    refined answers. Its training is not disclosed.
    """

    held_out: float = 0.1
    replayer: str | None = None
    trace_tokens: int = 4096
    answer_tokens: int = 512
    replays: int = 1

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out is a share in [0, 1), got {self.held_out}")
        for name in ("trace_tokens", "answer_tokens", "replays"):
            whole(name, getattr(self, name), 1)


def main(config: CotReconstructionConfig) -> StageResult:
    """Fine-tune, then report how faithful traces of the held-out answers are.

    Metrics: `faithfulness`, the share of replays of the trained model's traces that give the
    answer; `without trace`, the same with no trace; `refused`, the share of traces that are not
    replayed because they repeat or mention the answer.

    Raises:
        DataError: A row without an answer, or no row with a trace.
    """
    found = read_sources(config.data, limit=config.limit)
    rows = {
        name: [_row(row, name, i) for i, row in enumerate(part, 1) if _trace(row)]
        for name, part in found.items()
    }
    rows = {name: part for name, part in rows.items() if part}
    if not rows:
        raise DataError(
            "no row has a trace in `reasoning_content`; run assay data reconstruct, and keep what "
            "it kept"
        )
    training = {
        name: [_chat(row) for row in part if not _held_out(row, config.held_out)]
        for name, part in rows.items()
    }
    held = [row for part in rows.values() for row in part if _held_out(row, config.held_out)]
    return sft.main(
        config,
        rows={name: part for name, part in training.items() if part},
        stage="cot_reconstruction",
        finish=lambda folder: faithfulness(config, str(folder), held) if held else {},
    )


def faithfulness(
    config: CotReconstructionConfig, folder: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """How often replays of the traces that the model in `folder` writes give the rows' answers."""
    from assay.judges.local_model import LocalModel
    from assay.policy.evaluation.samplers import client_of

    author = LocalModel(folder, max_tokens=config.trace_tokens)
    spec = config.replayer or config.model
    replayer = (
        client_of(spec, max_tokens=config.answer_tokens)
        if "://" in spec
        else LocalModel(spec, tokenizer=folder, max_tokens=config.answer_tokens)
    )
    rule = Reconstructor(author, replayer, tries=1, replays=config.replays)
    found = reconstruction_report(
        rule([{"prompt": row["prompt"], "completion": row["answer"]} for row in rows])
    )
    traces = max(1, found["traces"])
    return {
        "held_out": float(len(rows)),
        "faithfulness": float(found.get("faithfulness", 0.0)),
        "without trace": float(found.get("without trace", 0.0)),
        "kept": found["kept"] / len(rows),
        "refused": found["refused"] / traces,
    }


def _trace(row: Mapping[str, Any]) -> str:
    messages = row.get("messages")
    if not messages or not isinstance(messages[-1], Mapping):
        return ""
    return str(messages[-1].get("reasoning_content") or "")


def _row(row: Mapping[str, Any], source: str, number: int) -> dict[str, Any]:
    messages = as_messages(row["messages"], role="user")
    answer = messages[-1].content.strip()
    if messages[-1].role != "assistant" or not answer or len(messages) < 2:
        raise DataError(
            f"source {source!r}, row {number}: `messages` must end with an assistant message that "
            "holds the answer",
            number - 1,
        )
    return {"prompt": list(messages[:-1]), "answer": answer, "trace": _trace(row)}


def _chat(row: Mapping[str, Any]) -> dict[str, Any]:
    asked = write_prompt(task_text(row["prompt"]), row["answer"])
    return {"prompt": [{"role": "user", "content": asked}], "completion": row["trace"]}


def _held_out(row: Mapping[str, Any], share: float) -> bool:
    """By a hash of task and answer, so that a resumed run holds out the same ones."""
    text = f"{task_text(row['prompt'])}\0{row['answer']}"
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return number < share * 2**64
