"""Loading what a handle names: the right head, once, and errors that say what is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from assay.errors import ConfigError, RewardError  # noqa: E402
from assay.judge import Pair  # noqa: E402
from assay.messages import Sample  # noqa: E402
from assay.rewards.model_handle import close_models  # noqa: E402
from assay.rewards.model_loading import longest_input  # noqa: E402
from assay.rewards.pairwise import PairwiseModel, PairwiseReward  # noqa: E402
from assay.rewards.placement import memory_of  # noqa: E402
from assay.rewards.pointwise import PointwiseModel  # noqa: E402
from tests.rewards.small_models import (  # noqa: E402
    config,
    language_model,
    reward_model,
    tokenizer,
)

ONE = [Sample.of("hello there", "hi")]
PAIR = Pair(ONE[0].prompt, ONE[0].completion, Sample.of("", "no").completion)


def saved(folder: Path, model: Any, *, words: bool = True) -> str:
    model.save_pretrained(folder)
    if words:
        tokenizer().save_pretrained(folder)
    return str(folder)


def test_a_head_is_never_random(tmp_path: Path) -> None:
    causal = saved(tmp_path / "lm", language_model())
    scorer = saved(tmp_path / "rm", reward_model())
    with pytest.raises(ConfigError, match=r"no weights for \['score.weight'\].*random.*verdict"):
        PointwiseModel(causal).values(ONE)
    with pytest.raises(ConfigError, match=r"no weights for \['lm_head.weight'\].*head='slot'"):
        PairwiseModel(scorer).compare([PAIR])
    assert PairwiseModel(scorer, head="slot").compare([PAIR])[0].p_a is not None
    tied = transformers.LlamaForCausalLM(config(tie_word_embeddings=True))
    assert PairwiseModel(saved(tmp_path / "tied", tied)).compare([PAIR])[0].p_a is not None


def test_handles_that_agree_on_the_weights_share_them(tmp_path: Path) -> None:
    close_models()
    folder = saved(tmp_path, language_model())
    judge = PairwiseModel(folder)
    PairwiseReward(judge)(completions=["a"], prompts=["q"], reference=["b"])
    judge.compare([PAIR])
    cooler = PairwiseModel(folder, temperature=2.0, max_length=64)
    models = [one.engine().replicas[0] for one in (judge, cooler)]
    assert models[0] is models[1]
    assert PairwiseModel(folder, dtype="bfloat16").engine().replicas[0] is not models[0]


def test_an_adapter_finds_its_base(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    base = saved(tmp_path / "rm", reward_model())
    lora = peft.LoraConfig(task_type="SEQ_CLS", target_modules="all-linear", r=2)
    loaded = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    adapter = saved(tmp_path / "adapter", peft.get_peft_model(loaded, lora), words=False)
    assert PointwiseModel(adapter).values(ONE)[0].value == pytest.approx(
        PointwiseModel(base).values(ONE)[0].value, abs=1e-5
    )  # a new adapter changes nothing, and the tokenizer is the base model's
    assert (
        memory_of(PointwiseModel(adapter)).parameters == memory_of(PointwiseModel(base)).parameters
    )

    settings = json.loads((tmp_path / "adapter/adapter_config.json").read_text())
    for named, message in ((None, "names no base model"), ("/gone", "'/gone', the base model of")):
        folder = tmp_path / f"adapter-of-{'none' if named is None else 'gone'}"
        shutil.copytree(adapter, folder)
        text = json.dumps(settings | {"base_model_name_or_path": named})
        (folder / "adapter_config.json").write_text(text)
        with pytest.raises((ConfigError, RewardError), match=f"{message}.*as model="):
            PointwiseModel(str(folder)).values(ONE)


def test_what_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    folder = saved(tmp_path / "rm", reward_model())
    weights = next(Path(folder).glob("*.safetensors"))
    for device in ("cuda:99", "gpu7"):
        with pytest.raises(RewardError, match=f"cannot put .* on '{device}'.*set device="):
            PointwiseModel(folder, device=device).values(ONE)
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(RewardError, match="cannot load .* for classification.*files"):
        PointwiseModel(folder).values(ONE)
    bare = saved(tmp_path / "bare", reward_model(seed=1), words=False)
    with pytest.raises(RewardError, match="(?s)cannot load a tokenizer from .*set tokenizer="):
        PointwiseModel(bare).values(ONE)


def test_positions_that_no_token_has_are_no_room() -> None:
    """RoBERTa's table of 40 positions starts behind the padding id: 38 are for tokens."""
    import torch

    made = transformers.RobertaConfig(
        vocab_size=320,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=40,
        pad_token_id=1,
        type_vocab_size=1,
        num_labels=1,
    )
    model = transformers.RobertaForSequenceClassification(made).eval()
    handle = PointwiseModel.of(model, tokenizer())
    limit = longest_input(handle, model, tokenizer())
    assert limit == 38
    model(input_ids=torch.full((1, limit), 5))
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, limit + 1), 5))
    long = Sample.of("a long question " * 20, "a long answer " * 20)
    assert len(handle.values([long])[0].rendered.ids) == 38  # type: ignore[union-attr]
