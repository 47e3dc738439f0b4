"""A LoRA merged from gathered weights is, to the bit, the one merged in place."""

from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ConfigError

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

from assay.policy.trained_weights import merged_copy  # noqa: E402


def with_lora(*, tied: bool = False, **settings: Any) -> Any:
    """A small model in bf16 whose LoRA has learned something."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=tied,
    )
    base = LlamaForCausalLM(config).to(torch.bfloat16)
    base.generation_config.max_length = 77
    lora = {"r": 4, "target_modules": "all-linear", "task_type": "CAUSAL_LM"} | settings
    model = peft.get_peft_model(base, peft.LoraConfig(**lora))
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter)
    return model


def gathered(model: Any) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tied": True},
        {"tied": True, "modules_to_save": ["lm_head"]},
        {"use_dora": True, "use_rslora": True},
    ],
)
def test_a_copy_merges_as_the_model_does(settings: dict[str, Any]) -> None:
    model = with_lora(**settings)
    copied = merged_copy(model, gathered(model))
    merged = model.merge_and_unload()
    assert type(copied) is type(merged)
    assert copied.generation_config.max_length == 77
    output, of_copy = (one.lm_head.weight for one in (merged, copied))
    same = [one.lm_head.weight is one.model.embed_tokens.weight for one in (merged, copied)]
    assert same[0] == same[1] == (settings == {"tied": True})
    assert of_copy.equal(output)
    want, got = merged.state_dict(), copied.state_dict()
    assert want.keys() == got.keys()
    assert all(got[n].equal(t) and got[n].dtype == t.dtype for n, t in want.items())


def test_of_two_tied_names_one_is_enough() -> None:
    model = with_lora(tied=True)
    weights = gathered(model)
    del weights["base_model.model.lm_head.weight"]
    copied = merged_copy(model, weights)
    assert copied.lm_head.weight is copied.model.embed_tokens.weight


def test_missing_weights_are_named() -> None:
    model = with_lora()
    weights = gathered(model)
    del weights["base_model.model.model.norm.weight"]
    with pytest.raises(ConfigError, match=r"1 weights .*model\.norm\.weight.*adapter is saved"):
        merged_copy(model, weights)
