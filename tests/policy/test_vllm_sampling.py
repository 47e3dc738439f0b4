"""vLLM needs a GPU: what it is asked, and what its answers become, is tested with a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, ConfigError
from assay.policy.rollouts import Decoding

pytest.importorskip("transformers")

STAND_IN = """
import json, os
from types import SimpleNamespace as Told

class SamplingParams:
    def __init__(self, **settings):
        if settings["temperature"] == 0 and settings["n"] > 1:
            raise ValueError("n must be 1 when using greedy sampling")
        self.settings = settings

class LLM:
    def __init__(self, **settings):
        if settings["model"].endswith("broken"):
            raise RuntimeError("no such weights")
        self.settings = settings

    def generate(self, prompts, sampling):
        names = ("LOCAL_RANK", "WORLD_SIZE", "ACCELERATE_USE_FSDP", "CUDA_VISIBLE_DEVICES")
        seen = {name: os.environ.get(name) for name in names}
        with open(os.environ["STAND_IN_LOG"], "w") as file:
            json.dump([self.settings, sampling.settings, seen, len(prompts)], file)
        n, (end, *_) = sampling.settings["n"], sampling.settings["stop_token_ids"]
        return [
            Told(outputs=[
                Told(token_ids=[p["prompt_token_ids"][-1]] * (k + 1) + [end] * (k % 2 == 0))
                for k in range(n)
            ])
            for p in prompts
        ]
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `vllm` for this process and its children; returns what it was asked, as a file."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "vllm.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "asked.json"))
    return tmp_path / "asked.json"


def _tokenizer() -> Any:
    from examples.tiny_models import tiny_tokenizer

    return tiny_tokenizer()


def _model(folder: Path, name: str = "model") -> str:
    from transformers import GenerationConfig

    GenerationConfig(eos_token_id=[2, 9]).save_pretrained(folder / name)
    return str(folder / name)


def _rows(*texts: str) -> list[dict[str, Any]]:
    return [{"prompt": [{"role": "user", "content": t}], "uid": t, "tests": "[]"} for t in texts]


def test_what_vllm_is_asked_and_what_comes_of_it(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.policy.stages.models import sampled

    policy = _model(stand_in.parent)

    for name, value in {
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "ACCELERATE_USE_FSDP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    words = _tokenizer()
    decoding = Decoding(n=3, max_new_tokens=7, temperature=0.9, top_p=0.8, seed=5)
    found = sampled(policy, words, _rows("Add 2.", "Say it again."), decoding, vllm=True)
    assert [row["uid"] for row in found] == ["Add 2."] * 3 + ["Say it again."] * 3
    assert [row["truncated"] for row in found[:3]] == [False, True, False]
    assert found[0]["completion_ids"][-1] in (2, 9)
    assert found[1]["completion"][0]["role"] == "assistant" and found[1]["tests"] == "[]"
    model, sampling, seen, prompts = json.loads(stand_in.read_text())
    assert model["model"] == policy and prompts == 2
    longest = len(
        words(
            words.apply_chat_template(
                _rows("Say it again.")[0]["prompt"], tokenize=False, add_generation_prompt=True
            ),
            add_special_tokens=False,
        )["input_ids"]
    )
    assert model["max_model_len"] == longest + 7
    assert (sampling["n"], sampling["temperature"], sampling["top_p"]) == (3, 0.9, 0.8)
    assert (sampling["max_tokens"], sampling["seed"]) == (7, 5)
    assert set(sampling["stop_token_ids"]) == {2, 9, words.eos_token_id}
    # A rank's process is no rank, and sees that rank's GPU alone.
    assert seen == {
        "LOCAL_RANK": None,
        "WORLD_SIZE": None,
        "ACCELERATE_USE_FSDP": None,
        "CUDA_VISIBLE_DEVICES": "6",
    }


def test_greedy_answers_are_equal(stand_in: Path) -> None:
    from assay.policy.vllm_sampling import sample_apart

    policy = _model(stand_in.parent)
    found = sample_apart(policy, _tokenizer(), _rows("x"), Decoding(n=2, temperature=0))
    assert len(found) == 2 and found[0]["completion_ids"] == found[1]["completion_ids"]
    assert sample_apart(policy, _tokenizer(), [], Decoding()) == []


def test_a_process_that_fails_says_why(stand_in: Path) -> None:
    from assay.policy.vllm_sampling import sample_apart

    with pytest.raises(AssayError, match="ended with code 1: .*no such weights"):
        sample_apart(_model(stand_in.parent, "broken"), _tokenizer(), _rows("x"), Decoding(n=2))


def test_without_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.policy import vllm_sampling

    monkeypatch.setattr(vllm_sampling, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="vLLM is not installed; pip install vllm"):
        vllm_sampling.sample_apart("m", _tokenizer(), _rows("x"), Decoding())


def test_a_model_to_sample_from_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under FSDP ranks other than the first would load empty weights, which nobody fills."""
    import os

    from assay.policy.stages import models

    class Loaded:
        def to(self, device: str) -> str:
            return f"{os.environ['FSDP_CPU_RAM_EFFICIENT_LOADING']} on {device}"

    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "true")
    monkeypatch.setattr(models, "load_policy", lambda model: Loaded())
    monkeypatch.setattr(models, "rank_device", lambda: "cpu")
    assert models.ready_policy("m") == "False on cpu"
    assert os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] == "true"
    assert "vllm" not in sys.modules
