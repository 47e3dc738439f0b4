"""Handles of models: what to load, how and where, as comparable and picklable data.

A handle opens lazily in the process that uses it, once for all equal handles there. It is never an
`nn.Module`: a trainer would take it for a reward model of its own kind.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from assay.errors import ConfigError
from assay.fingerprint import configuration_fingerprint
from assay.rewards.engine import Batching

T = TypeVar("T")

_DTYPES = ("auto", "float32", "bfloat16", "float16")
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model")
_opened: dict[str, Any] = {}
_hashes: dict[tuple[str, int, int], str] = {}
_lock = threading.RLock()


class InMemory:
    """A model that is already loaded, with its tokenizer.

    Equal to another one with the same weights and tokenizer; pickling it pickles the weights.

    Args:
        model: A transformers or PEFT model.
        tokenizer: Its tokenizer.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if not hasattr(model, "forward") or not hasattr(model, "config"):
            raise ConfigError(
                f"InMemory needs a transformers or PEFT model, got {type(model).__name__}"
            )
        if not callable(tokenizer):
            raise ConfigError(f"InMemory needs a tokenizer, got {type(tokenizer).__name__}")
        self.model = model
        self.tokenizer = tokenizer
        self.opened: dict[str, Any] = {}

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.model.parameters())
        return f"InMemory({type(self.model).__name__}, {size:,} parameters)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InMemory):
            return NotImplemented
        return self is other or self.fingerprint() == other.fingerprint()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "tokenizer": self.tokenizer, "opened": {}}

    def fingerprint(self) -> str:
        """Hash of the weights as they are now, and of the tokenizer."""
        import torch

        digest = hashlib.sha256(type(self.model).__name__.encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
            plain = tensor.detach().cpu().contiguous().reshape(-1)
            digest.update(memoryview(plain.view(torch.uint8).numpy()) if plain.numel() else b"")
        digest.update(str(getattr(self.tokenizer, "chat_template", None)).encode())
        digest.update(repr(sorted(self.tokenizer.get_vocab().items())).encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class ModelHandle:
    """What every model handle says; see `PointwiseModel` and `PairwiseModel`.

    Attributes:
        model: Folder or hub id, or an `InMemory` model (`of` makes one).
        revision: Commit, tag or branch on the hub.
        tokenizer: Folder or hub id of the tokenizer; None: the model's.
        adapter: Folder or hub id of a PEFT adapter to put on the model. An adapter's own folder
            may also be given as `model`.
        dtype: `auto` (as saved), `float32`, `bfloat16` or `float16`.
        device: `cuda:0`, `cpu`, ...; None: this rank's accelerator where there is one, else the
            CPU.
        device_map: Spread one copy over devices, `auto` for example.
        replicas: Devices of several copies that share the work.
        offload: Keep the model in main memory between calls, so that the policy has the device.
        max_length: Tokens of an input; None: as many as model and tokenizer take.
        attn_implementation: `sdpa`, `flash_attention_2`, `eager`, ...
        trust_remote_code: Run code from the model's repository (ArmoRM needs it).
        template_arguments: Further arguments of the chat template.
        batching: Token budgets of the engine.
    """

    model: str | InMemory
    revision: str | None = None
    tokenizer: str | None = None
    adapter: str | None = None
    dtype: str = "auto"
    device: str | None = field(default=None, metadata={"fingerprint": False})
    device_map: str | None = field(default=None, metadata={"fingerprint": False})
    replicas: tuple[str, ...] = field(default=(), metadata={"fingerprint": False})
    offload: bool = field(default=False, metadata={"fingerprint": False})
    max_length: int | None = None
    attn_implementation: str | None = None
    trust_remote_code: bool = False
    template_arguments: Mapping[str, Any] = field(default_factory=dict)
    batching: Batching = field(default_factory=Batching, metadata={"fingerprint": False})

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if isinstance(self.model, Path):
            object.__setattr__(self, "model", str(self.model))
        if not isinstance(self.model, str | InMemory):
            raise ConfigError(
                f"{kind}.model must be a folder or hub id, got {type(self.model).__name__}; for a "
                f"model in memory use {kind}.of(model, tokenizer)"
            )
        if self.dtype not in _DTYPES:
            raise ConfigError(f"{kind}.dtype must be one of {set(_DTYPES)}, got {self.dtype!r}")
        object.__setattr__(self, "replicas", tuple(self.replicas))
        ways = [name for name in ("device", "device_map", "replicas") if getattr(self, name)]
        if len(ways) > 1:
            raise ConfigError(f"{kind}: {ways} exclude each other; give one of them")
        if self.max_length is not None and self.max_length < 8:
            raise ConfigError(f"{kind}.max_length must be >= 8, got {self.max_length}")

    @classmethod
    def of(cls, model: Any, tokenizer: Any, **settings: Any) -> Self:
        """A handle of a model that is already loaded; it stays where it is."""
        return cls(InMemory(model, tokenizer), **settings)

    def fingerprint(self) -> str:
        """Hash of the settings that change a score and of the weights.

        Files of a local folder are hashed; a hub id counts with its revision, so give a commit.
        """
        sources = [
            _files_hash(source)
            for source in (self.model, self.tokenizer, self.adapter)
            if isinstance(source, str)
        ]
        digest = hashlib.sha256(configuration_fingerprint(self).encode())
        digest.update("".join(sources).encode())
        return digest.hexdigest()

    def opened(self, key: str, make: Callable[[], T], settings: Sequence[str] | None = None) -> T:
        """What `make` made for this handle in this process: engines, models, tokenizers.

        Args:
            key: Which of them.
            make: Makes it.
            settings: Those that it depends on, handles that agree on them sharing it; None: all.
        """
        table = self.model.opened if isinstance(self.model, InMemory) else _opened
        name = f"{key}:{self._settings(settings)}"
        with _lock:
            if name not in table:
                table[name] = make()
            found: T = table[name]
            return found

    def _settings(self, names: Sequence[str] | None) -> str:
        inside = isinstance(self.model, InMemory)
        known = [n for n in self.__dataclass_fields__ if names is None or n in names]
        return repr([(n, getattr(self, n)) for n in known if n != "model" or not inside])


def close_models() -> None:
    """Forget every model that handles have opened in this process and free its memory."""
    with _lock:
        _opened.clear()


def _files_hash(source: str) -> str:
    folder = Path(source)
    if not folder.is_dir():
        return source
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)}):
        state = path.stat()
        key = (str(path.resolve()), state.st_size, state.st_mtime_ns)
        if key not in _hashes:
            with path.open("rb") as file:
                _hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(path.name.encode() + _hashes[key].encode())
    return digest.hexdigest()
