"""What every judge that asks an instruct model has."""

from __future__ import annotations

import inspect

import pytest

from assay.errors import ConfigError
from assay.judges import LLMPairwise, LLMPointwise, LLMReference
from assay.judges.llm_judge import LLMJudge

from .scripted import ScriptedClient

CLIENT = ScriptedClient(lambda prompt, _: "")
SHARED = ["repeats", "seed", "prompt", "longest", "keep_raw", "keep_prompt"]


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (LLMPairwise, ["criteria", "allow_tie", "reference"]),
        (LLMPointwise, ["rubric", "reference"]),
        (LLMReference, ["column"]),
    ],
)
def test_settings(kind: type[LLMJudge], own: list[str]) -> None:
    assert list(inspect.signature(kind).parameters) == ["client", *own, *SHARED]
    for wrong, words in (
        (
            {"client": "http://127.0.0.1/v1"},
            "client must be an assay.judges.client.Client, got str",
        ),
        ({"repeats": 0}, "repeats must be an integer >= 1, got 0"),
        ({"repeats": 2}, "repeats is 2: set `seed`"),
        ({"longest": 99}, "longest must be a whole number >= [23]00, got 99"),
        ({"longest": "all"}, "longest must be a whole number"),
        ({"prompt": "{nonce}"}, "must hold the places"),
    ):
        with pytest.raises(ConfigError, match=words):
            kind(**{"client": CLIENT, **wrong})
