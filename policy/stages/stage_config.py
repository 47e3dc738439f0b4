"""What every stage's configuration has: model, data, output, seed, LoRA and TRL's own settings."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.policy.checkpoints import write_json_file
from assay.policy.config_keys import from_table
from assay.policy.data.sources import Source, as_sources
from assay.settings import whole

#: What a finished stage leaves in its output folder.
RESULT_FILE = "stage.json"


@dataclass(frozen=True)
class StageConfig:
    """Settings that all stages share.

    Args:
        model: Folder or hub id that the stage starts from.
        data: A file, a list of files, or a table of weighted `sources`
            (`assay.policy.data.sources`).
        output_dir: Checkpoints, and in the end the model and `stage.json`.
        limit: Most rows of each source.
        chat_template: A file with a chat template, or `nanbeige`, in place of the tokenizer's own.
        system_prompt: Put before every conversation that has no system message; empty: none.
        lora: Settings of peft's LoraConfig; None trains all weights.
        merge_lora: Save the adapter merged into the model, so that the next stage loads the folder.
        seed: Of everything random.
        resume: Continue from the last checkpoint in `output_dir`, if there is one.
        trl: Passed to TRL's configuration class unchanged.

    Raises:
        ConfigError: A value that cannot be.
    """

    #: Settings that change no weight; they may change between a run and its continuation.
    FREE: ClassVar[frozenset[str]] = frozenset({"output_dir", "resume", "merge_lora"})
    #: Keys of `[trl]` that a setting of ours sets.
    OWN: ClassVar[Mapping[str, str]] = {"output_dir": "output_dir", "seed": "seed"}

    model: str
    data: tuple[Source, ...]
    output_dir: str
    limit: int | None = None
    chat_template: str | None = None
    system_prompt: str = ""
    lora: Mapping[str, Any] | None = None
    merge_lora: bool = True
    seed: int = 0
    resume: bool = True
    trl: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(self.model))
        object.__setattr__(self, "output_dir", str(self.output_dir))
        object.__setattr__(self, "data", as_sources(self.data))
        if not self.data:
            raise ConfigError(f"{type(self).__name__} needs data; give a file, or sources")
        whole("seed", self.seed, 0)
        if self.limit is not None:
            whole("limit", self.limit, 1)
        for key, own in self.OWN.items():
            if key in self.trl:
                raise ConfigError(f"[trl] must not set {key!r}; set {own!r} beside the table")

    @classmethod
    def of(cls, **settings: Any) -> Self:
        """A configuration from keywords; an unknown one is refused with the nearest valid one."""
        return from_table(cls, settings)

    @classmethod
    def from_toml(cls, path: str | Path, **overrides: Any) -> Self:
        """A configuration from a TOML file, keys of `overrides` taking the place of its own.

        Raises:
            ConfigError: No such file, not TOML, or an unknown key.
        """
        try:
            settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
        return cls.of(**(settings | overrides))

    def to_json(self) -> dict[str, Any]:
        """All settings as JSON values."""
        return json.loads(json.dumps({f.name: _plain(getattr(self, f.name)) for f in fields(self)}))  # type: ignore[no-any-return]

    def mark(self) -> str:
        """A hash of everything that changes the weights, the rows' content among it."""
        settings = {k: v for k, v in self.to_json().items() if k not in self.FREE}
        files = [Path(source.path) for source in self.data]
        return fingerprint_of((type(self).__name__, json.dumps(settings, sort_keys=True), files))


@dataclass(frozen=True)
class StageResult:
    """What a stage left behind.

    Attributes:
        folder: The model it trained; loads with `from_pretrained`.
        stage: Its kind, such as `sft`.
        metrics: Last or total values of what it logged.
        steps: Optimiser steps, those of earlier tries included.
        seconds: Wall time of this try.
        resumed_from: The checkpoint that training continued from, or empty.
    """

    folder: Path
    stage: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    resumed_from: str = ""

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """For `--json` and for `stage.json`."""
        return {
            "folder": str(self.folder),
            "stage": self.stage,
            "metrics": dict(self.metrics),
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "resumed_from": self.resumed_from,
        }

    def save(self) -> None:
        """Write `stage.json`; a folder that has it is finished."""
        write_json_file(self.folder / RESULT_FILE, self.to_json())


def _plain(value: Any) -> Any:
    """Dataclasses, tuples and mappings as what JSON knows."""
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
