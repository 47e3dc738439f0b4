"""What a recipe needs before anything is bought: memory per GPU, tokens, FLOPs and time by stage.

    >>> Cluster.of(8, "h100").memory_gb
    80.0

The model's shape is built on the meta device. What cannot be known before a run (how long answers
become, how many tokens the data hold) comes from the recipe's `plan` tables and is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import ConfigError
from assay.policy.config_keys import from_table
from assay.policy.launch.files import launch_file
from assay.policy.model_shape import ModelShape, shape_of
from assay.policy.plan_memory import Memory, rl_memory, sft_memory
from assay.policy.recipe import Recipe, StageSpec
from assay.settings import real, whole

#: bf16 peak in TFLOP/s, memory in GB, memory bandwidth in TB/s: the makers' dense figures.
GPUS: dict[str, tuple[float, float, float]] = {
    "a100": (312, 80, 2.0),
    "h100": (989, 80, 3.35),
    "h200": (989, 141, 4.8),
    "b200": (2250, 180, 8.0),
}
#: Share of a GPU's memory that a plan may fill; fragmentation and libraries take the rest.
USABLE = 0.92
#: Share of the memory bandwidth that decoding reaches.
DECODING_BANDWIDTH = 0.6


@dataclass(frozen=True)
class Cluster:
    """The machines.

    Attributes:
        gpus: How many.
        kind: Their name.
        tflops: bf16 peak of one, in TFLOP/s.
        memory_gb: Memory of one, in GB (10^9 bytes).
        bandwidth_tb_s: Its memory bandwidth.
        mfu: Share of the peak that training reaches.
    """

    gpus: int
    kind: str
    tflops: float
    memory_gb: float
    bandwidth_tb_s: float
    mfu: float = 0.35

    @classmethod
    def of(
        cls, gpus: int, kind: str = "h100", *, memory_gb: float | None = None, mfu: float = 0.35
    ) -> Cluster:
        """GPUs of a known kind.

        Raises:
            ConfigError: An unknown kind.
        """
        whole("gpus", gpus, 1)
        if memory_gb is not None:
            real("memory_gb", memory_gb, 1)
        real("mfu", mfu, 0.01, 1)
        if kind not in GPUS:
            raise ConfigError(f"gpu must be one of {sorted(GPUS)}, got {kind!r}")
        tflops, memory, bandwidth = GPUS[kind]
        return cls(gpus, kind, tflops, memory_gb or float(memory), bandwidth, mfu)


@dataclass(frozen=True)
class Load:
    """What `plan` in a stage's table says: what a run would show, assumed beforehand.

    Attributes:
        tokens: Tokens of a fine-tuning stage or of reward-model training.
        prompt_tokens: Mean length of prompts.
        completion_tokens: Mean length of completions; None: half of the longest.
        reward_model_parameters: Of the reward model that scores each rollout, in 10^9; 0: none.
        reward_seconds: Of one rollout in rewards that are no model (sandbox, tools), on one worker.
        reward_workers: How many of those run at the same time.
        replicas: 1 where the reward model lies on every training GPU, 0 where a server holds it.
    """

    tokens: float | None = None
    prompt_tokens: int = 1024
    completion_tokens: int | None = None
    reward_model_parameters: float = 0.0
    reward_seconds: float = 0.0
    reward_workers: int = 64
    replicas: int = 1


@dataclass(frozen=True)
class StagePlan:
    """One stage on the cluster.

    Attributes:
        name: Of the stage.
        kind: Of the stage.
        memory: Bytes per GPU, by what holds them.
        tokens: Trained or generated.
        train_flops: Of training, forward and backward, recomputation left out.
        other_flops: Of generation and of reward models.
        seconds: Expected, on the whole cluster.
        fits: Whether the memory is enough.
        context: Longest sequence, in tokens.
        notes: What limits it, for people.
    """

    name: str
    kind: str
    context: int
    memory: Memory
    tokens: float
    train_flops: float
    other_flops: float
    seconds: float
    fits: bool
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "kind": self.kind,
            "context": self.context,
            "memory_gb": {k: round(v / 1e9, 3) for k, v in self.memory.parts().items()},
            "total_gb": round(self.memory.total / 1e9, 3),
            "tokens": self.tokens,
            "train_flops": self.train_flops,
            "other_flops": self.other_flops,
            "hours": round(self.seconds / 3600, 3),
            "fits": self.fits,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Plan:
    """All stages of a recipe on a cluster."""

    recipe: str
    shape: ModelShape
    cluster: Cluster
    stages: tuple[StagePlan, ...] = field(default_factory=tuple)

    @property
    def fits(self) -> bool:
        """Whether every stage fits."""
        return all(stage.fits for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "recipe": self.recipe,
            "parameters": self.shape.parameters,
            "kv_bytes_per_token": self.shape.kv_bytes_per_token,
            "kv_cache_gb_at_full_context": round(
                self.shape.kv_cache_bytes(self.shape.context) / 1e9, 3
            ),
            "cluster": vars(self.cluster),
            "usable_gb": round(self.cluster.memory_gb * USABLE, 3),
            "stages": [stage.to_json() for stage in self.stages],
            "hours": round(sum(stage.seconds for stage in self.stages) / 3600, 3),
            "fits": self.fits,
        }


def plan_recipe(recipe: Recipe, cluster: Cluster) -> Plan:
    """Plan every stage.

    Raises:
        ConfigError: The model's shape is not known.
    """
    architecture = recipe.model.architecture
    shape = shape_of(architecture if architecture else recipe.resolve(recipe.model.path))
    stages = tuple(_stage(recipe, stage, shape, cluster) for stage in recipe.stages)
    return Plan(recipe.name, shape, cluster, stages)


def _stage(recipe: Recipe, stage: StageSpec, shape: ModelShape, cluster: Cluster) -> StagePlan:
    config = recipe.config(stage)
    load = from_table(Load, stage.plan, f"stage {stage.name!r}, plan")
    used = gpus_of(stage, cluster)
    make = _rl if stage.kind.family == "rl" else _sft
    planned = make(stage, config, load, shape, replace(cluster, gpus=min(used, cluster.gpus)))
    notes = list(planned.notes)
    fits = planned.fits
    if not stage.launch and cluster.gpus > 1:
        notes.append(f"uses 1 of {cluster.gpus} GPUs: it has no launch configuration")
    if used > cluster.gpus:
        fits = False
        notes.append(f"processes = {used} needs as many GPUs, there are {cluster.gpus}")
    if stage.kind.family == "rl" and config.max_completion_length >= shape.context:
        fits = False
        notes.append(
            f"completions of {config.max_completion_length:,} tokens leave no room for a prompt in "
            f"the model's context of {shape.context:,}"
        )
    if getattr(config, "filter", None) is not None:
        notes.append(
            f"the difficulty filter samples {config.filter.n} rollouts of every problem first, "
            "which is not in the hours"
        )
    return replace(planned, fits=fits, notes=tuple(notes))


def gpus_of(stage: StageSpec, cluster: Cluster) -> int:
    """GPUs that a stage runs on: one without a launch configuration, else what it asks for."""
    if not stage.launch:
        return 1
    return cluster.gpus if stage.processes is None else stage.processes


def _sft(
    stage: StageSpec, config: Any, load: Load, shape: ModelShape, cluster: Cluster
) -> StagePlan:
    """Fine-tuning and reward models: tokens through forward and backward."""
    trl = config.trl
    length = int(getattr(config, "max_length", 4096))
    rows = int(trl.get("per_device_train_batch_size", 8))
    if stage.kind.family == "rm":
        rows *= 2  # both answers, or both orders
    split = sequence_parallel(stage)
    memory = sft_memory(shape, config, length, rows, stage.launch, cluster.gpus, split)
    steps = int(trl.get("max_steps", 0))
    batch = rows * int(trl.get("gradient_accumulation_steps", 1)) * cluster.gpus // split
    tokens = load.tokens or float(steps * batch * length)
    flops = 3 * shape.forward_flops(tokens, length)
    seconds = flops / (cluster.gpus * cluster.tflops * 1e12 * cluster.mfu)
    notes = [] if tokens else ["tokens are not known: set max_steps, or plan = { tokens = ... }"]
    if split > 1:
        notes.append(f"one sequence over {split} GPUs (Ulysses); packing off")
    if split > cluster.gpus:
        notes.append(f"{stage.launch} needs {split} GPUs")
    fits = memory.total <= USABLE * cluster.memory_gb * 1e9 and split <= cluster.gpus
    if not fits:
        notes.append(memory.advice(rl=False))
    return StagePlan(
        stage.name, stage.kind.name, length, memory, tokens, flops, 0.0, seconds, fits, tuple(notes)
    )


def _rl(
    stage: StageSpec, config: Any, load: Load, shape: ModelShape, cluster: Cluster
) -> StagePlan:
    trl = config.trl
    longest = config.max_completion_length
    mean = load.completion_tokens or longest // 2
    rows = int(trl.get("per_device_train_batch_size", 8))
    accumulation = int(trl.get("gradient_accumulation_steps", 1))
    held = rows * int(trl.get("steps_per_generation", accumulation))  # rollouts of one GPU
    memory = rl_memory(
        shape,
        config,
        load.prompt_tokens,
        rows=rows,
        held=held,
        launch=stage.launch,
        gpus=cluster.gpus,
        reward_bytes=load.reward_model_parameters * 1e9 * 2 * load.replicas,
        gpu_bytes=cluster.memory_gb * 1e9,
    )
    steps = int(trl.get("max_steps", 0))
    rollouts = float(steps * rows * accumulation * cluster.gpus)
    sequence = load.prompt_tokens + mean
    tokens = rollouts * mean
    train = 3 * shape.forward_flops(rollouts * sequence, sequence)
    train += shape.forward_flops(rollouts * sequence, sequence) * (config.beta > 0)
    generation = shape.forward_flops(rollouts * sequence, sequence)
    scoring = 2 * load.reward_model_parameters * 1e9 * rollouts * sequence
    peak = cluster.gpus * cluster.tflops * 1e12 * cluster.mfu
    # Decoding reads the weights and the caches once a token of the batch, whatever it computes.
    read = 2 * shape.parameters + held * shape.kv_bytes_per_token * (load.prompt_tokens + mean / 2)
    decode = rollouts / cluster.gpus / held * longest * read
    decode /= cluster.bandwidth_tb_s * 1e12 * DECODING_BANDWIDTH
    waiting = rollouts * load.reward_seconds / load.reward_workers
    seconds = (train + scoring) / peak + decode + waiting
    notes = [] if steps else ["steps are not known: set max_steps in [trl]"]
    notes.append("GRPO has no sequence parallelism: one GPU holds whole rollouts")
    fits = memory.total <= USABLE * cluster.memory_gb * 1e9
    if not fits:
        notes.append(memory.advice(rl=True))
    return StagePlan(
        stage.name,
        stage.kind.name,
        load.prompt_tokens + longest,
        memory,
        tokens,
        train,
        generation + scoring,
        seconds,
        fits,
        tuple(notes),
    )


def sequence_parallel(stage: StageSpec) -> int:
    """GPUs that share one sequence, as the stage's launch configuration says."""
    if not stage.launch:
        return 1
    for line in launch_file(stage.launch).read_text(encoding="utf-8").splitlines():
        key, _, value = line.strip().partition(":")
        if key == "parallelism_config_sp_size":
            return int(value)
    return 1
