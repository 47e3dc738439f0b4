r"""Reads the forms in which preference data sets come, each into `Preference`.

| format | columns |
|---|---|
| `canonical` | what `Preference.to_json` writes |
| `chosen_rejected` | `chosen`, `rejected`, with or without `prompt`; texts or messages |
| `hh` | `chosen`, `rejected` as "\n\nHuman: ...\n\nAssistant: ..." transcripts |
| `votes` | `instruction`, `input`, `response1`, `response2`, `annotator1`... in 0 tie, 1, 2 |
| `arena` | `conversation_a`, `conversation_b`, or `prompt`, `response_a`, `response_b`; `winner` |
| `judgebench` | `question`, `response_A`, `response_B`, `label` in `A>B`, `B>A`, `A=B` |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import Message, as_messages
from assay.policy.data.preferences import Preference, text_of
from assay.policy.data.row_files import read_rows
from assay.policy.data.transcripts import TURN, read_transcript, shared_beginning

_WINNERS = {
    "model_a": 1.0,
    "model_b": 0.0,
    "tie": 0.5,
    "tie (bothbad)": 0.5,
    "both_bad": 0.5,
    "bothbad": 0.5,
}
_ORDERS = {"A>B": 1.0, "B>A": 0.0, "A=B": 0.5, "A>>B": 1.0, "B>>A": 0.0}
_ANNOTATOR = re.compile(r"annotator_?\d+")


def chosen_rejected(row: Mapping[str, Any]) -> Preference:
    """Chosen and rejected answers; without `prompt`, what both conversations begin with is it.

    Columns `margin`, `score_chosen` and `score_rejected` are kept as evidence, `tools` as a column.
    """
    _need(row, "chosen", "rejected")
    if row.get("prompt") is not None:
        prompt = as_messages(row["prompt"], role="user")
        # Some sets (UltraFeedback) repeat the prompt's messages inside both answers.
        a, b = (
            _without_prefix(as_messages(row[key], role="assistant"), prompt)
            for key in ("chosen", "rejected")
        )
    else:
        if isinstance(row["chosen"], str):
            raise DataError(
                "chosen and rejected are texts and there is no 'prompt'; add that column, or read "
                "Human/Assistant transcripts with format 'hh'"
            )
        prompt, a, b = shared_beginning(
            *(as_messages(row[key], role="assistant") for key in ("chosen", "rejected"))
        )
    evidence = {
        key: row[key]
        for key in ("margin", "score_chosen", "score_rejected")
        if _given(row.get(key))
    }
    columns = {"tools": row["tools"]} if row.get("tools") else {}
    return Preference(prompt, a, b, 1.0, id=_id(row), evidence=evidence, columns=columns)


def hh_transcripts(row: Mapping[str, Any]) -> Preference:
    r"""Anthropic's HH transcripts; the shared beginning is the prompt.

    >>> asked = "\n\nHuman: 2+2?\n\nAssistant: "
    >>> hh_transcripts({"chosen": asked + "4", "rejected": asked + "5"}).b[0].content
    '5'
    """
    _need(row, "chosen", "rejected")
    prompt, a, b = shared_beginning(
        read_transcript(row["chosen"]), read_transcript(row["rejected"])
    )
    return Preference(prompt, a, b, 1.0, id=_id(row))


def annotator_votes(row: Mapping[str, Any]) -> Preference:
    """PandaLM's form; the label is the mean vote, so that disagreement stays in it."""
    _need(row, "instruction", "response1", "response2")
    names = sorted(key for key in row if _ANNOTATOR.fullmatch(key) and _given(row[key]))
    if not names:
        raise DataError(
            f"a vote row needs columns annotator1, annotator2, ...; the row has {sorted(row)}"
        )
    meaning = {0: 0.5, 1: 1.0, 2: 0.0}
    votes = []
    for name in names:
        vote = row[name]
        if isinstance(vote, bool) or not isinstance(vote, int | float) or vote not in meaning:
            raise DataError(f"{name} must be one of {{0 (tie), 1, 2}}, got {vote!r:.80}")
        votes.append(meaning[int(vote)])
    context = row.get("input") or ""
    prompt = f"{row['instruction']}\n\n{context}" if context else row["instruction"]
    return Preference.of(
        prompt,
        _plain(row["response1"]),
        _plain(row["response2"]),
        sum(votes) / len(votes),
        votes=tuple(votes),
        id=_id(row, "id", "idx"),
        evidence={"models": row["cmp_key"]} if row.get("cmp_key") else {},
    )


def arena_battle(row: Mapping[str, Any]) -> Preference:
    """A battle of two models: `winner` model_a, model_b, tie or tie (bothbad).

    Both forms are read: whole conversations (the pair then begins where they differ, later user
    turns included), and lists of user and model turns as JSON. "Both bad" is a tie that the
    evidence marks, so that it can be dropped.
    """
    winner = _winner(row)
    if winner not in _WINNERS:
        raise DataError(f"winner must be one of {sorted(_WINNERS)}, got {winner!r:.80}")
    if "conversation_a" in row:
        _need(row, "conversation_a", "conversation_b")
        conversations = [
            as_messages(row[key], role="user") for key in ("conversation_a", "conversation_b")
        ]
    else:
        _need(row, "prompt", "response_a", "response_b")
        asked = _texts(row["prompt"])
        conversations = [
            _interleaved(asked, _texts(row[key])) for key in ("response_a", "response_b")
        ]
    prompt, a, b = shared_beginning(*conversations)
    evidence = {key: row[key] for key in ("model_a", "model_b", "language") if row.get(key)}
    evidence["winner"] = winner
    if "bad" in winner:
        evidence["both_bad"] = True
    return Preference(
        prompt, a, b, _WINNERS[winner], id=_id(row, "id", "question_id"), evidence=evidence
    )


def judgebench_pair(row: Mapping[str, Any]) -> Preference:
    """JudgeBench: response pairs with an objective label."""
    _need(row, "question", "response_A", "response_B", "label")
    if not isinstance(row["label"], str) or row["label"] not in _ORDERS:
        raise DataError(f"label must be one of {sorted(_ORDERS)}, got {row['label']!r:.80}")
    return Preference.of(
        row["question"],
        row["response_A"],
        row["response_B"],
        _ORDERS[row["label"]],
        id=_id(row, "pair_id", "id"),
        evidence={"subject": row["source"]} if row.get("source") else {},
    )


READERS: dict[str, Callable[[Mapping[str, Any]], Preference]] = {
    "canonical": Preference.from_json,
    "chosen_rejected": chosen_rejected,
    "hh": hh_transcripts,
    "votes": annotator_votes,
    "arena": arena_battle,
    "judgebench": judgebench_pair,
}


def format_of(row: Mapping[str, Any]) -> str:
    """The format whose columns `row` has.

    Raises:
        DataError: None of them.
    """
    names = row.keys()
    if {"prompt", "a", "b", "label"} <= names:
        return "canonical"
    if {"chosen", "rejected"} <= names:
        chosen = row["chosen"]
        plain = isinstance(chosen, str) and row.get("prompt") is None
        return "hh" if plain and TURN.match(chosen) else "chosen_rejected"
    if {"response1", "response2"} <= names:
        return "votes"
    if {"response_A", "response_B", "label"} <= names:
        return "judgebench"
    if names & {"conversation_a", "response_a"}:
        return "arena"
    raise DataError(
        f"cannot tell the preference format of a row with columns {sorted(names)}; name one of "
        f"{sorted(READERS)}, or rename the columns to chosen, rejected and prompt"
    )


def load_preferences(
    path: str | Path,
    format: str = "auto",
    *,
    limit: int | None = None,
    source: str | None = None,
    dropped: dict[str, int] | None = None,
) -> Iterator[Preference]:
    """Preferences of a file (JSON lines, JSON list or parquet; plain or gzip).

    Pairs whose answers are the same say nothing and are left out.

    Args:
        path: The file.
        format: A key of `READERS`, or `auto`: told from the first row's columns.
        limit: Read at most so many rows.
        source: Name kept in each preference that has none; the file's name by default.
        dropped: Rows that cannot be read are counted here by reason and left out; None raises.

    Raises:
        ConfigError: Unknown format.
        DataError: A row that cannot be read; says which.
    """
    if format != "auto" and format not in READERS:
        raise ConfigError(f"format must be 'auto' or one of {sorted(READERS)}, got {format!r:.80}")
    name = Path(path).name.split(".")[0] if source is None else source
    reader = READERS.get(format)
    for number, row in enumerate(islice(read_rows(path), limit), 1):
        try:
            if reader is None:
                reader = READERS[format_of(row)]
            preference = reader(row)
        except DataError as error:
            if dropped is None:
                raise DataError(f"{path}, row {number}: {error}", number - 1) from error
            count_dropped(dropped, str(error))
            continue
        if preference.a == preference.b:
            if dropped is not None:
                count_dropped(dropped, "both answers are the same")
            continue
        yield preference if preference.source else replace(preference, source=name)


def count_dropped(dropped: dict[str, int], reason: str) -> None:
    """Count one more row that was left out for `reason`."""
    dropped[reason] = dropped.get(reason, 0) + 1


def _without_prefix(
    answer: tuple[Message, ...], prompt: tuple[Message, ...]
) -> tuple[Message, ...]:
    size = len(prompt)
    repeated = len(answer) > size and text_of(answer[:size]) == text_of(prompt)
    return answer[size:] if repeated else answer


def _given(value: Any) -> bool:
    """Whether a cell holds something; tables write NaN where a number is missing."""
    return value is not None and value == value


def _plain(value: Any) -> Any:
    """A reply that a JSON writer took for a number or a truth value, as the text it was."""
    return str(value) if isinstance(value, bool | int | float) else value


def _winner(row: Mapping[str, Any]) -> str:
    if row.get("winner") is not None:
        return str(row["winner"])
    flags = {key: row.get(f"winner_{key}") for key in ("model_a", "model_b", "tie")}
    won = [key for key, value in flags.items() if value]
    if len(won) != 1:
        raise DataError(
            "an arena row needs 'winner', or exactly one of winner_model_a, winner_model_b and "
            f"winner_tie set; got {flags}"
        )
    return won[0]


def _texts(value: Any) -> list[str]:
    """Turns of one side: a list of texts, such a list as JSON, or one text."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                value = json.loads(value)
            except ValueError:
                return [value]
        else:
            return [value]
    if not isinstance(value, list) or not value:
        raise DataError(f"turns must be text or a list of texts, got {value!r:.80}")
    return ["" if turn is None else str(turn) for turn in value]


def _interleaved(asked: list[str], replied: list[str]) -> tuple[Message, ...]:
    if len(asked) != len(replied):
        raise DataError(f"{len(asked)} user turns but {len(replied)} replies")
    turns = zip(asked, replied, strict=True)
    return tuple(m for q, r in turns for m in (Message("user", q), Message("assistant", r)))


def _need(row: Mapping[str, Any], *names: str) -> None:
    if missing := [name for name in names if row.get(name) is None]:
        raise DataError(f"columns {missing} are missing; the row has {sorted(row)}")


def _id(row: Mapping[str, Any], *names: str) -> str:
    for name in names or ("id",):
        if row.get(name) is not None:
            return str(row[name])
    return ""
