"""Models beside the one that is trained: each rank has whole ones, on its own accelerator."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Says to transformers that FSDP will fill the models of all ranks but the first.
_FILLED_LATER = "FSDP_CPU_RAM_EFFICIENT_LOADING"
#: A thread that loads must not find the launch's settings back in place because another is done.
_loading = threading.RLock()


def rank_device() -> str:
    """This rank's GPU, the first outside of a launch (`LOCAL_RANK`); the CPU where there is none.

    Ranks that outnumber the GPUs share them in turn.
    """
    import torch

    if torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
    return "cpu"


@contextmanager
def whole_models() -> Iterator[None]:
    """Within it `from_pretrained` loads whole models, however the trained one is shared out.

    Under DeepSpeed's ZeRO 3 transformers shares out whatever is loaded while the run's
    configuration is alive, and under FSDP ranks other than the first may leave parameters for the
    first to fill. Nobody gathers or fills a reward model or a judge. DeepSpeed is not imported.
    """
    with _loading:
        deepspeed = sys.modules.get("transformers.integrations.deepspeed")
        # transformers keeps a weak reference; its own query gives only the dictionary inside
        reference = getattr(deepspeed, "_hf_deepspeed_config_weak_ref", None)
        config = None if reference is None else reference()
        filled_later = os.environ.get(_FILLED_LATER)
        if deepspeed is not None and config is not None:
            deepspeed.unset_hf_deepspeed_config()
        if filled_later is not None:
            os.environ[_FILLED_LATER] = "False"
        try:
            yield
        finally:
            if deepspeed is not None and config is not None:
                deepspeed.set_hf_deepspeed_config(config)
            if filled_later is not None:
                os.environ[_FILLED_LATER] = filled_later
