from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.policy.model_shape import shape_of
from assay.policy.plan import Cluster, plan_recipe
from assay.policy.recipe import load_recipe

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def shape() -> object:
    return shape_of(load_recipe("nanbeige-3b").model.architecture)


def test_the_3b_model_on_the_meta_device(shape) -> None:  # type: ignore[no-untyped-def]
    # By hand: embedding and head 2 x 166144 x 2560; a block 2 x 2560^2 (query, output)
    # + 2 x 2560 x 512 (keys, values) + 3 x 2560 x 10496 (MLP) + 2 x 2560 (norms); a last norm.
    block = 2 * 2560**2 + 2 * 2560 * 512 + 3 * 2560 * 10496 + 2 * 2560
    assert shape.parameters == 2 * 166144 * 2560 + 32 * block + 2560
    assert shape.parameters == pytest.approx(3.93e9, rel=2e-3)
    assert shape.largest_layer == block


def test_the_published_kv_cache(shape) -> None:  # type: ignore[no-untyped-def]
    # 2 x 32 layers x 4 KV heads x 128 x 2 bytes = 65,536 bytes a token
    assert shape.kv_bytes_per_token == 65_536
    assert shape.kv_cache_bytes(262_144) / 1e9 == pytest.approx(17.2, abs=0.05)
    assert shape.kv_cache_bytes(100, 3) == 300 * 65_536


def test_lora_and_flops(shape) -> None:  # type: ignore[no-untyped-def]
    # rank 1 on one block: query, output 2 x 5120; keys, values 2 x 3072; MLP 3 x 13056
    assert shape.lora_parameters(1) == 32 * (2 * 5120 + 2 * 3072 + 3 * 13056)
    dense = 2 * (shape.parameters - 166144 * 2560)
    assert shape.forward_flops(1, 0) == dense
    # attention at 1000 tokens: 2 x 32 x 20 x 128 x 1000
    assert shape.forward_flops(1, 1000) - dense == 2 * 32 * 20 * 128 * 1000


def test_activations_grow_as_they_should(shape) -> None:  # type: ignore[no-untyped-def]
    small = shape.activation_bytes(1000, checkpointing=True)
    assert shape.activation_bytes(2000, checkpointing=True) == 2 * small
    assert shape.activation_bytes(1000, checkpointing=False) > 5 * small
    assert small > 32 * 1000 * 2560 * 2  # the inputs of all blocks in bf16


def test_the_3b_recipe_on_eight_gpus() -> None:
    plan = plan_recipe(load_recipe("nanbeige-3b"), Cluster.of(8, "h100"))
    stages = {stage.name: stage for stage in plan.stages}
    assert plan.fits
    sft = stages["sft-32k"]
    states = sft.memory.gradients + sft.memory.optimiser  # 4 + 8 bytes a parameter over 8 GPUs
    assert states == pytest.approx(12 * plan.shape.parameters / 8)
    # 6 FLOPs a parameter and token (the embedding costs none), and attention on top
    least = 6 * (plan.shape.parameters - 166144 * 2560) * 2e10
    assert least < sft.train_flops < 2 * least
    assert sft.seconds == pytest.approx(sft.train_flops / (8 * 989e12 * 0.35))
    assert "Ulysses" in stages["sft-256k"].notes[0]
    rl = stages["pointwise-rl"]
    assert rl.memory.reward_models == pytest.approx(3.93e9 * 2)
    assert rl.memory.reference == 0  # no KL term
    assert any("no sequence parallelism" in note for note in rl.notes)
    text = plan.to_json()
    assert text["kv_cache_gb_at_full_context"] == pytest.approx(17.18, abs=0.01)
    assert text["fits"] is True


def test_what_does_not_fit_says_what_to_do() -> None:
    recipe = load_recipe("nanbeige-3b", ["defaults.rl.beta=0.04", "stages.pointwise-rl.launch="])
    plan = plan_recipe(recipe, Cluster.of(1, "a100"))
    stages = {stage.name: stage for stage in plan.stages}
    assert not plan.fits
    rl = stages["pointwise-rl"]
    assert rl.memory.reference == pytest.approx(2 * plan.shape.parameters)
    assert not rl.fits
    assert any("does not fit: optimiser takes 31 GB" in note for note in rl.notes)
    assert not stages["sft-256k"].fits  # its four sequence-parallel GPUs are not there


def test_one_gpu_with_lora() -> None:
    plan = plan_recipe(load_recipe("nanbeige-3b-lora"), Cluster.of(1, "h100"))
    assert plan.fits, [stage.to_json() for stage in plan.stages if not stage.fits]


def test_gpus_that_a_stage_does_not_use_save_no_time() -> None:
    alone = ["stages.sft-32k.launch="]
    one = plan_recipe(load_recipe("nanbeige-3b", alone), Cluster.of(1)).stages[0]
    eight = plan_recipe(load_recipe("nanbeige-3b", alone), Cluster.of(8)).stages[0]
    assert eight.seconds == one.seconds
    assert "uses 1 of 8 GPUs: it has no launch configuration" in eight.notes
    half = load_recipe("nanbeige-3b", ["stages.sft-32k.processes=4"])
    whole = plan_recipe(load_recipe("nanbeige-3b"), Cluster.of(8)).stages[0]
    assert plan_recipe(half, Cluster.of(8)).stages[0].seconds == pytest.approx(2 * whole.seconds)
    few = plan_recipe(half, Cluster.of(2)).stages[0]
    assert not few.fits and "processes = 4 needs as many GPUs, there are 2" in few.notes


def test_a_launch_file_of_ones_own_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("distributed_type: FSDP\n")
    (tmp_path / "fsdp-not.yaml").write_text("distributed_type: MULTI_GPU\n")
    held = []
    for name in ("mine", "fsdp-not"):
        recipe = load_recipe("nanbeige-3b", [f"stages.sft-32k.launch={tmp_path / name}.yaml"])
        held.append(plan_recipe(recipe, Cluster.of(8)).stages[0].memory.optimiser)
    assert held[1] == 8 * held[0]


def test_completions_longer_than_the_context() -> None:
    recipe = load_recipe("nanbeige-3b", ["stages.agent.max_completion_length=262144"])
    agent = plan_recipe(recipe, Cluster.of(8, "b200")).stages[-1]
    assert not agent.fits
    assert any("leave no room for a prompt" in note for note in agent.notes)


def test_clusters() -> None:
    assert Cluster.of(2, "h200", memory_gb=100).memory_gb == 100
    with pytest.raises(ConfigError, match="gpu must be one of"):
        Cluster.of(1, "tpu")
    with pytest.raises(ConfigError, match="gpus"):
        Cluster.of(0)
    with pytest.raises(ConfigError, match="memory_gb"):
        Cluster.of(1, memory_gb=-80)


def test_an_unknown_shape() -> None:
    with pytest.raises(ConfigError, match=r"give \[model.architecture\]"):
        shape_of("no/such-folder")
