"""Models beside the trained one: whole on each rank, and on its own GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.judges.local_model import LocalModel
from assay.judges.ranks import rank_device, whole_models

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from assay.rewards.model_handle import close_models  # noqa: E402
from assay.rewards.model_loading import load_models  # noqa: E402
from assay.rewards.pairwise import PairwiseModel  # noqa: E402
from tests.rewards.small_models import language_model, tokenizer  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> str:
    language_model().save_pretrained(tmp_path)
    tokenizer("{% for m in messages %}{{ m['content'] }}{% endfor %}").save_pretrained(tmp_path)
    return str(tmp_path)


@pytest.fixture
def zero3() -> Iterator[Any]:
    """A run whose models transformers hands to DeepSpeed, which is not installed."""
    from transformers.integrations import deepspeed

    class Zero3:
        config: dict[str, Any] = {"zero_optimization": {"stage": 3}}  # noqa: RUF012

        def is_zero3(self) -> bool:
            return True

    config = Zero3()
    deepspeed.set_hf_deepspeed_config(config)
    yield config
    deepspeed.unset_hf_deepspeed_config()


def test_side_models_are_not_shared_out(folder: str, zero3: Any) -> None:
    from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

    with pytest.raises(ModuleNotFoundError, match="deepspeed"):  # what the loaders must avoid
        transformers.AutoModelForCausalLM.from_pretrained(folder)
    close_models()
    (judge,) = load_models(PairwiseModel(folder), "causal")
    generator = LocalModel(folder)._handle.get(LocalModel(folder)._open).model
    assert judge.lm_head.weight.equal(generator.lm_head.weight)
    assert is_deepspeed_zero3_enabled()  # for the trained model's trainer


def test_the_launchs_settings_come_back(zero3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.integrations.deepspeed import deepspeed_config, is_deepspeed_zero3_enabled

    name = "FSDP_CPU_RAM_EFFICIENT_LOADING"
    monkeypatch.setenv(name, "true")
    with pytest.raises(RuntimeError, match="no such file"), whole_models():
        with whole_models():
            assert not is_deepspeed_zero3_enabled()
        assert not is_deepspeed_zero3_enabled()
        assert os.environ[name] == "False"
        raise RuntimeError("no such file")
    assert deepspeed_config() is zero3.config
    assert os.environ[name] == "true"
    monkeypatch.delenv(name)
    with whole_models():
        assert name not in os.environ


def test_each_rank_has_its_gpu(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rank_device() == ("cuda:0" if torch.cuda.is_available() else "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert rank_device() == "cuda:0"
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert rank_device() == "cuda:1"
    places: list[Any] = []
    monkeypatch.setattr(torch.nn.Module, "to", lambda model, place: places.append(place))
    LocalModel(folder)._open()
    LocalModel(folder, device="cuda:0")._open()
    assert places == ["cuda:1", "cuda:0"]
