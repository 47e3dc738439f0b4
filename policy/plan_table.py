"""A plan for people: the model, then one row a stage."""

from __future__ import annotations

from assay.policy.plan import USABLE, Plan


def print_plan(plan: Plan) -> None:
    """Print the plan."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)
    shape, cluster = plan.shape, plan.cluster
    cache = shape.kv_cache_bytes(shape.context) / 1e9
    console.print(
        f"{plan.recipe}: {shape.parameters / 1e9:.2f} B parameters, {shape.layers} layers, "
        f"{shape.heads} heads, {shape.kv_heads} KV heads; KV cache {shape.kv_bytes_per_token:,} "
        f"bytes a token, {cache:.1f} GB at {shape.context:,} tokens"
    )
    console.print(
        f"{cluster.gpus} x {cluster.kind}: {cluster.memory_gb:.0f} GB each, of which "
        f"{cluster.memory_gb * USABLE:.0f} are planned with; MFU {cluster.mfu:.0%}\n"
    )
    console.print("GB per GPU")
    memory = Table(box=None, pad_edge=False)
    parts = list(plan.stages[0].memory.parts())
    for name in ("stage", *parts, "total", "fits"):
        memory.add_column(name.replace("_", " "), justify="left" if name == "stage" else "right")
    for stage in plan.stages:
        cells = [f"{value / 1e9:.1f}" if value else "" for value in stage.memory.parts().values()]
        memory.add_row(
            stage.name, *cells, f"{stage.memory.total / 1e9:.1f}", "yes" if stage.fits else "NO"
        )
    console.print(memory)
    work = Table(box=None, pad_edge=False)
    heads = ("stage", "context", "KV of one (GB)", "tokens", "training FLOPs", "other FLOPs")
    for name in (*heads, "hours"):
        work.add_column(name, justify="left" if name == "stage" else "right")
    for stage in plan.stages:
        work.add_row(
            stage.name,
            f"{stage.context:,}",
            f"{shape.kv_cache_bytes(stage.context) / 1e9:.1f}",
            f"{stage.tokens:.2e}",
            f"{stage.train_flops:.2e}",
            f"{stage.other_flops:.2e}" if stage.other_flops else "",
            f"{stage.seconds / 3600:.1f}",
        )
    console.print()
    console.print(work)
    console.print(f"all stages: {sum(s.seconds for s in plan.stages) / 3600:.0f} hours\n")
    for stage in plan.stages:
        for note in stage.notes:
            console.print(f"{stage.name}: {note}")
