"""Bytes of one GPU in a stage: weights, optimiser, activations, caches, reward models."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from assay.policy.launch.files import launch_file
from assay.policy.model_shape import ModelShape

#: Bytes of optimiser state per trained parameter; what is not listed is AdamW in 32 bits.
OPTIMISER_BYTES = {
    "sgd": 0.0,
    "adafactor": 0.1,
    "adamw_8bit": 2.0,
    "adamw_bnb_8bit": 2.0,
    "paged_adamw_8bit": 2.0,
}
#: Memory of CUDA, NCCL and the libraries themselves.
FIXED_BYTES = 2.5e9
#: Rows of logits that TRL's fused head builds at a time, and bytes of each: bf16, its 32-bit form
#: and the gradient.
HEAD_CHUNK, HEAD_BYTES = 4096, 10


@dataclass(frozen=True)
class Memory:
    """Bytes per GPU at the fullest moment, by what holds them.

    Generation and training take turns: a KV cache of this process is counted beside what stays
    through both, and the larger of cache and activations decides (`total`).

    Attributes:
        weights: Parameters of the policy, and the largest block gathered whole where it is sharded.
        gradients: Of trained parameters.
        optimiser: Its state.
        activations: Kept for the backward pass, logits among them.
        kv_cache: Of the rollouts that this GPU generates at the same time.
        reference: The reference model, with a KL term.
        reward_models: Those that lie on this GPU.
        engine: vLLM's own weights, where it shares the GPU.
        fixed: CUDA and libraries.
    """

    weights: float = 0.0
    gradients: float = 0.0
    optimiser: float = 0.0
    activations: float = 0.0
    kv_cache: float = 0.0
    reference: float = 0.0
    reward_models: float = 0.0
    engine: float = 0.0
    fixed: float = FIXED_BYTES

    @property
    def total(self) -> float:
        """The fullest moment."""
        staying = sum(self.parts().values()) - self.activations - self.kv_cache
        if self.engine:  # vLLM keeps its cache beside the training
            return staying + self.activations + self.kv_cache
        return staying + max(self.activations, self.kv_cache)

    def parts(self) -> dict[str, float]:
        """All of it by name."""
        return {f.name: float(getattr(self, f.name)) for f in fields(self)}

    def advice(self, *, rl: bool) -> str:
        """What takes most, and what makes it less."""
        parts = self.parts()
        largest = max(parts, key=lambda name: parts[name])
        ways = {
            "weights": "shard it (launch = 'fsdp'), or train with lora",
            "gradients": "shard them (launch = 'fsdp'), or train with lora",
            "optimiser": "shard it (launch = 'fsdp'), use optim = 'adamw_8bit', or lora",
            "activations": "lower per_device_train_batch_size or max_completion_length; trim the "
            "context of long agentic rollouts"
            if rl
            else "lower per_device_train_batch_size, or share sequences "
            "(launch = 'deepspeed-sequence')",
            "kv_cache": "generate fewer rollouts at once (steps_per_generation), or on a vLLM "
            "server (vllm = 'server')",
            "reference": "shard it, or set beta = 0",
            "reward_models": "put the reward model behind a server",
            "engine": "use vllm = 'server'",
            "fixed": "use a larger GPU",
        }
        return f"does not fit: {largest} takes {parts[largest] / 1e9:.0f} GB; {ways[largest]}"


def sft_memory(
    shape: ModelShape, config: Any, length: int, rows: int, launch: str, gpus: int, split: int
) -> Memory:
    """Fine-tuning: `rows` sequences of `length` tokens on each group of `split` GPUs."""
    tokens = rows * length // split
    checkpointing = bool(config.trl.get("gradient_checkpointing", True))
    activations = shape.activation_bytes(tokens, checkpointing=checkpointing)
    head = min(tokens, HEAD_CHUNK) * shape.vocabulary * HEAD_BYTES
    weights, gradients, optimiser = _states(shape, config, launch, gpus)
    return Memory(weights, gradients, optimiser, activations + head)


def rl_memory(
    shape: ModelShape,
    config: Any,
    prompt: int,
    *,
    rows: int,
    held: int,
    launch: str,
    gpus: int,
    reward_bytes: float,
    gpu_bytes: float,
) -> Memory:
    """GRPO: `rows` whole rollouts in one backward pass, `held` generated at the same time."""
    length = prompt + config.max_completion_length
    checkpointing = bool(config.trl.get("gradient_checkpointing", True))
    activations: float = shape.activation_bytes(rows * length, checkpointing=checkpointing)
    activations += min(rows * length, HEAD_CHUNK) * shape.vocabulary * HEAD_BYTES
    weights, gradients, optimiser = _states(shape, config, launch, gpus)
    cache: float = shape.kv_cache_bytes(length, held)
    engine = 0.0
    if config.vllm == "server":
        cache = 0.0
    elif config.vllm == "colocate":
        engine = 2.0 * shape.parameters
        share = float(config.trl.get("vllm_gpu_memory_utilization", 0.3))
        cache = min(cache, max(0.0, share * gpu_bytes - engine))
        if config.trl.get("vllm_enable_sleep_mode"):  # it leaves the GPU while this trains
            cache, engine = cache + engine, 0.0
    elif _sharded(launch):
        weights += 2.0 * shape.parameters  # gathered whole while this process generates
    reference = 2.0 * shape.parameters / (gpus if _sharded(launch) else 1) if config.beta else 0.0
    if config.lora is not None:
        reference = 0.0  # the adapter is switched off
    return Memory(
        weights, gradients, optimiser, activations, cache, reference, reward_bytes, engine
    )


def _states(shape: ModelShape, config: Any, launch: str, gpus: int) -> tuple[float, float, float]:
    """Weights, gradients and optimiser: bf16 weights beside 32-bit ones of what is trained.

    Frozen weights under LoRA are in bf16. Sharded: everything over all GPUs, and two blocks
    gathered whole in bf16, with the embedding and the head.
    """
    trained = float(shape.parameters)
    per_state = OPTIMISER_BYTES.get(str(config.trl.get("optim", "adamw_torch_fused")), 8.0)
    if config.lora is not None:
        trained = float(shape.lora_parameters(int(config.lora.get("r", 8))))
        weights = 2.0 * shape.parameters + 4.0 * trained
    elif _sharded(launch):
        weights = 4.0 * trained
    else:
        weights = 6.0 * trained
    gradients, optimiser = 4.0 * trained, per_state * trained
    if _sharded(launch):
        ends = shape.embedding_parameters
        gathered = 2.0 * (2 * shape.largest_layer + 2 * ends)
        return weights / gpus + gathered, gradients / gpus, optimiser / gpus
    return weights, gradients, optimiser


def _sharded(launch: str) -> bool:
    """Whether the launch configuration shares out the parameters: FSDP, or DeepSpeed's ZeRO 3."""
    if not launch:
        return False
    lines = launch_file(launch).read_text(encoding="utf-8").splitlines()
    found = dict(line.strip().partition(":")[::2] for line in lines if ":" in line)
    kind = found.get("distributed_type", "").strip().upper()
    return kind == "FSDP" or (kind == "DEEPSPEED" and found.get("zero_stage", "").strip() == "3")
