"""Trains a model to state time complexities: fine-tuning on (program, expression) rows.

What it learns to read and to write is what `LLMComplexity` sends and expects, so that the saved
folder serves as an estimator: `LLMComplexity(LocalModel(folder), rename=True)`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError, DataError
from assay.policy.data.sources import read_sources
from assay.policy.stages import sft
from assay.policy.stages.stage_config import StageResult

#: Longest verdict that the trained judge writes, in tokens.
VERDICT_TOKENS = 48


@dataclass(frozen=True)
class ComplexityJudgeConfig(sft.SftConfig):
    """Fine-tuning of a complexity judge.

    Rows hold `src` (the program), `complexity` (an expression such as `n log n`), and `language`
    (python where it is missing).

    Args:
        held_out: Share of programs held out, chosen by their text; accuracy is measured there.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367): an online judge of complexity. Its size and
    training are not disclosed.
    """

    max_length: int = 4096
    held_out: float = 0.1

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out is a share in [0, 1), got {self.held_out}")


def main(config: ComplexityJudgeConfig) -> StageResult:
    """Fine-tune, then measure the judge on the held-out programs.

    Raises:
        DataError: A row without a program, or with a label that is no complexity.
    """
    found = read_sources(config.data, limit=config.limit)
    rows = {
        name: [_row(row, name, i) for i, row in enumerate(part, 1)] for name, part in found.items()
    }
    training = {
        name: [_chat(row) for row in part if not _held_out(row, config.held_out)]
        for name, part in rows.items()
    }
    held = [row for part in rows.values() for row in part if _held_out(row, config.held_out)]
    return sft.main(
        config,
        rows={name: part for name, part in training.items() if part},
        stage="complexity_judge",
        finish=lambda folder: evaluate(str(folder), held) if held else {},
    )


def evaluate(folder: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Accuracy of a trained judge, an undecided verdict counting as wrong, and its speed."""
    from assay.judges.complexity.expression import parse
    from assay.judges.complexity.llm import LLMComplexity
    from assay.judges.complexity.program import Program
    from assay.judges.local_model import LocalModel

    client = LocalModel(folder, max_tokens=VERDICT_TOKENS, batch_size=16)
    judge = LLMComplexity(client, rename=True)
    programs = [Program(row["src"], row["language"]) for row in rows]
    start = time.monotonic()
    estimates = judge.estimate(programs)
    seconds = time.monotonic() - start
    told = [None if e.expression is None else str(parse(e.expression)) for e in estimates]
    right = sum(text == row["complexity"] for text, row in zip(told, rows, strict=True))
    return {
        "held_out": float(len(rows)),
        "accuracy": right / len(rows),
        "decided": sum(text is not None for text in told) / len(rows),
        "programs_per_s": len(rows) / seconds,
    }


def _row(row: Mapping[str, Any], source: str, number: int) -> dict[str, str]:
    from assay.judges.complexity.expression import parse

    try:
        expression = str(parse(str(row["complexity"])))
        program = str(row["src"])
    except (DataError, KeyError) as error:
        raise DataError(
            f"source {source!r}, row {number}: {error}; a row needs `src` and `complexity`",
            number - 1,
        ) from None
    language = str(row.get("language") or "python").lower()
    return {"src": program, "complexity": expression, "language": language}


def _chat(row: Mapping[str, str]) -> dict[str, Any]:
    from assay.judges.complexity.llm import LLMComplexity
    from assay.judges.complexity.program import Program
    from assay.judges.local_model import LocalModel

    judge = LLMComplexity(LocalModel("unused"), rename=True)
    request = judge.request(Program(row["src"], row["language"]))
    return {
        "prompt": [{"role": m.role, "content": m.content} for m in request.messages],
        "completion": json.dumps({"expression": row["complexity"]}),
    }


def _held_out(row: Mapping[str, str], share: float) -> bool:
    """By a hash of the program, so that a resumed run holds out the same ones."""
    number = int.from_bytes(hashlib.sha256(row["src"].encode()).digest()[:8], "big")
    return number < share * 2**64
