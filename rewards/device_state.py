"""A model's mode and a device's memory around a scoring call."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_table = threading.Lock()


def lock_of(model: Any) -> threading.RLock:
    """One lock a model: its mode, its device and its memory are shared by all that use it."""
    with _table:
        return _locks.setdefault(model, threading.RLock())


@dataclass
class Evaluating:
    """Switches models to evaluation and back: a trainer's own model goes on training."""

    models: list[Any]
    training: list[bool] = field(default_factory=list)

    def __enter__(self) -> None:
        self.training = [model.training for model in self.models]
        for model in self.models:
            model.eval()

    def __exit__(self, *_: object) -> None:
        for model, training in zip(self.models, self.training, strict=True):
            model.train(training)


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error says that memory ran out, on an accelerator or on the CPU."""
    import torch

    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in text


def release(device: Any) -> None:
    """Give memory that nothing holds any more back to a device."""
    import gc

    import torch

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
