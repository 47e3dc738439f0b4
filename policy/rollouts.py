"""Rollouts of a checkpoint: completions with their token ids, scored by any Reward, kept on disk.

The difficulty filter, the evaluation matrix and the examples of a run's report all sample here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.fingerprint import fingerprint_of
from assay.messages import Sample
from assay.policy.checkpoints import write_json_file
from assay.policy.data.row_files import read_rows, write_rows
from assay.reward import Reward, Score
from assay.settings import real, whole


@dataclass(frozen=True)
class Decoding:
    """How completions are sampled; kept with every result.

    Args:
        n: Completions per prompt.
        max_new_tokens: Longest completion.
        temperature: 0 decodes greedily.
        top_p: Nucleus.
        batch_size: Completions generated together.
        seed: Of the sampling.

    Source: the model card's temperature .6 and top_p .95.
    """

    n: int = 8
    max_new_tokens: int = 4096
    temperature: float = 0.6
    top_p: float = 0.95
    batch_size: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n", "max_new_tokens", "batch_size"):
            whole(f"Decoding.{name}", getattr(self, name), 1)
        real("Decoding.temperature", self.temperature, 0)
        real("Decoding.top_p", self.top_p, 0, 1)


def generate(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], decoding: Decoding
) -> list[dict[str, Any]]:
    """`decoding.n` rows per row of `rows`, with `completion`, `completion_ids` and `truncated`.

    Args:
        model: A causal language model, on its device.
        tokenizer: Its tokenizer; a copy of its padding settings is put back.
        rows: With `prompt` as messages; other columns are copied, `tools` go to the template.
        decoding: How to sample.
    """
    import torch

    ends = end_ids(model.generation_config, tokenizer)
    side, tokenizer.padding_side = tokenizer.padding_side, "left"
    training = model.training
    model.eval()
    jobs = [row for row in rows for _ in range(decoding.n)]
    found: list[dict[str, Any]] = []
    sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None}
    if decoding.temperature > 0:
        sampling = {
            "do_sample": True,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "top_k": 0,
        }
    devices = [] if model.device.type == "cpu" else [model.device]
    try:
        with torch.random.fork_rng(devices), torch.inference_mode():
            torch.manual_seed(decoding.seed)
            for start in range(0, len(jobs), decoding.batch_size):
                batch = jobs[start : start + decoding.batch_size]
                texts = [rendered(row, tokenizer) for row in batch]
                inputs = tokenizer(
                    texts, return_tensors="pt", padding=True, add_special_tokens=False
                ).to(model.device)
                inputs.pop("token_type_ids", None)
                output = model.generate(
                    **inputs,
                    max_new_tokens=decoding.max_new_tokens,
                    eos_token_id=sorted(ends),
                    pad_token_id=tokenizer.pad_token_id,
                    **sampling,
                )
                width = inputs["input_ids"].shape[1]
                for row, ids in zip(batch, output[:, width:].tolist(), strict=True):
                    found.append(rollout_row(row, ids, ends, tokenizer))
    finally:
        tokenizer.padding_side = side
        model.train(training)
    return found


def rendered(row: Mapping[str, Any], tokenizer: Any) -> str:
    """The prompt of a row as the model reads it."""
    text: str = tokenizer.apply_chat_template(
        row["prompt"], tools=row.get("tools") or None, tokenize=False, add_generation_prompt=True
    )
    return text


def end_ids(generation_config: Any, tokenizer: Any) -> set[int]:
    """Tokens that end a completion: the model's own, and the tokenizer's."""
    configured = getattr(generation_config, "eos_token_id", None)
    ids = configured if isinstance(configured, list) else [configured]
    return {int(i) for i in [*ids, tokenizer.eos_token_id] if i is not None}


def rollout_row(
    row: Mapping[str, Any], ids: Sequence[int], ends: set[int], tokenizer: Any
) -> dict[str, Any]:
    """A rollout of `row`: what was sampled up to its end; without an end it is truncated."""
    end = next((i for i, token in enumerate(ids) if token in ends), None)
    kept = list(ids) if end is None else list(ids[: end + 1])
    text = tokenizer.decode(kept if end is None else kept[:-1], skip_special_tokens=True)
    return dict(row) | {
        "completion": [{"role": "assistant", "content": text}],
        "completion_ids": kept,
        "truncated": end is None,
    }


def score_rollouts(
    reward: Reward, rollouts: Sequence[Mapping[str, Any]], *, batch_size: int = 64
) -> list[Score]:
    """One Score per rollout; the rollouts of a group are never scored apart."""
    scores: list[Score] = []
    batch: list[Mapping[str, Any]] = []
    for index, row in enumerate(rollouts):
        batch.append(row)
        last = index + 1 == len(rollouts)
        if last or (len(batch) >= batch_size and rollouts[index + 1].get("uid") != row.get("uid")):
            scores += reward.evaluate([_sample(r) for r in batch])
            batch = []
    return scores


def kept_samples(
    folder: str | Path,
    make: Callable[[], list[dict[str, Any]]],
    rows: Sequence[Mapping[str, Any]],
    decoding: Decoding,
    reward: Reward,
    *,
    checkpoint: str,
    again: bool = False,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rollouts of any origin and their score rows, from `folder` as far as they are there.

    Rollouts are kept by themselves, so that another reward scores them without new sampling.

    Args:
        folder: Holds `rollouts.jsonl`, `scores.jsonl` and `rollouts.json` with what made them.
        make: Samples; called only if there is something to sample.
        rows: Problems.
        decoding: How `make` samples.
        reward: Scores them.
        checkpoint: What the sampling policy is known by.
        again: Score groups with a failed score again: what broke may be mended. Not where a run
            that goes on must find the scores that it began with.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plain = [_plain(row) for row in rows]
    sampled_mark = fingerprint_of((checkpoint, decoding, plain))
    mark = fingerprint_of((sampled_mark, reward.fingerprint()))
    files = (folder / "rollouts.jsonl", folder / "scores.jsonl", folder / "rollouts.json")
    about = _about(files[2])
    sampled = about.get("sampled") == sampled_mark and files[0].is_file()
    earlier: list[dict[str, Any]] = []
    if sampled and about.get("mark") == mark and files[1].is_file():
        earlier = list(read_rows(files[1]))
        if not again or all(score["status"] != "failed" for score in earlier):
            return list(read_rows(files[0])), earlier
    start = time.monotonic()
    # What was told of the files until now is taken back before they change: a kill in between
    # must not leave rollouts of one policy, or scores of one reward, under another's mark.
    if sampled:
        rollouts = list(read_rows(files[0]))
        about.pop("mark", None)
        write_json_file(files[2], about)
    else:
        rollouts = [row | {"id": number} for number, row in enumerate(make(), start=1)]
        files[2].unlink(missing_ok=True)
        write_rows(files[0], rollouts)
        about = {
            "sampled": sampled_mark,
            "decoding": vars(decoding),
            "tokens": sum(token_count(row) or 0 for row in rollouts),
            "generation_s": round(time.monotonic() - start, 3),
        }
        write_json_file(files[2], about)
    made = time.monotonic()
    scores = _scored(reward, rollouts, earlier)
    write_rows(files[1], scores)
    write_json_file(
        files[2], about | {"mark": mark, "scoring_s": round(time.monotonic() - made, 3)}
    )
    return rollouts, scores


def weights_mark(model: str | Path) -> str:
    """What a checkpoint is known by: its name, and where it is a folder its weights' content."""
    files = sorted(path for form in _WEIGHTS for path in Path(model).glob(form))
    if not files:
        return fingerprint_of([str(model)])
    read = [Path(model) / name for name in _READ_WITH_WEIGHTS]
    return fingerprint_of(["", *files, *(path for path in read if path.is_file())])


#: Files of weights, and others that change what a checkpoint of the same weights writes.
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
_READ_WITH_WEIGHTS = (
    "config.json",
    "generation_config.json",
    "adapter_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
)


def token_count(row: Mapping[str, Any]) -> int | None:
    """Tokens of a rollout's completion, None where nobody counted them.

    A served policy tells their number, not their ids.
    """
    ids = row.get("completion_ids")
    if ids is not None:
        return len(ids)
    told = row.get("tokens")
    return None if told is None else int(told)


def summarise(
    rollouts: Iterable[Mapping[str, Any]], scores: Iterable[Mapping[str, Any]]
) -> dict[str, float]:
    """Mean score, share with full marks, share cut at the limit, repetition, and counts."""
    from assay.rewards import Repetition

    rows, found = list(rollouts), list(scores)
    values = [score["value"] for score in found if score["value"] is not None]
    passed = [score["passed"] for score in found if score["passed"] is not None]
    repetition = [s.value or 0.0 for s in Repetition().score([_sample(row) for row in rows])]
    summary = {
        "rollouts": float(len(rows)),
        "scored": float(len(values)),
        "truncated": sum(bool(row["truncated"]) for row in rows) / max(1, len(rows)),
        "repetition": 0.0 - sum(repetition) / max(1, len(rows)),  # never -0.0
        "tokens": sum(token_count(row) or 0 for row in rows) / max(1, len(rows)),
    }
    if values:
        summary["reward"] = sum(values) / len(values)
    if passed:
        summary["passed"] = sum(map(bool, passed)) / len(passed)
    return summary


def _about(file: Path) -> dict[str, Any]:
    """What made the rollouts beside it; nothing where that is missing or damaged."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _scored(
    reward: Reward, rollouts: Sequence[Mapping[str, Any]], earlier: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Score rows; of earlier ones only the groups with a failed score are asked for again."""
    known = {score["id"]: score for score in earlier}
    again = {
        row.get("uid")
        for row in rollouts
        if known.get(row["id"], {"status": "failed"})["status"] == "failed"
    }
    asked = [row for row in rollouts if row.get("uid") in again]
    for row, score in zip(asked, score_rollouts(reward, asked), strict=True):
        known[row["id"]] = {"id": row["id"], **score.to_json()}
    return [known[row["id"]] for row in rollouts]


def _sample(row: Mapping[str, Any]) -> Sample:
    columns = {k: v for k, v in row.items() if k not in ("prompt", "completion", "completion_ids")}
    return Sample.of(
        row["prompt"], row["completion"], columns, completion_ids=row.get("completion_ids")
    )


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(row), sort_keys=True, default=str))  # type: ignore[no-any-return]
