"""Shards parameters over processes on CPUs, which accelerate keeps for machines with GPUs.

Asked for FSDP on CPUs, accelerate 1.x gives every process a whole model (DDP) without a word.
torch's own sharding runs over gloo, so all it takes is another name for the kind of run.
"""

from __future__ import annotations

import os
from typing import Any


def shard_on_cpus() -> None:
    """Where FSDP was asked for and there is no GPU: let accelerate shard; else nothing happens."""
    if os.environ.get("ACCELERATE_USE_FSDP", "").lower() not in ("1", "true"):
        return
    import torch

    if torch.cuda.is_available():
        return
    from accelerate import PartialState
    from accelerate.utils import DistributedType

    begin = PartialState.__init__

    def begin_sharded(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        state = PartialState._shared_state
        if state.get("distributed_type") is DistributedType.MULTI_CPU:
            # The device stays the CPU and the backend gloo; this only chooses FSDP over DDP.
            state["distributed_type"] = DistributedType.MULTI_GPU

    PartialState.__init__ = begin_sharded
