"""What a file of scores was made from: written beside it, and compared before it is continued."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from assay._version import __version__
from assay.errors import ConfigError

State = Literal["running", "stopped", "waiting", "failed", "done"]
#: Settings that must be the same for two runs to write one file, and how a message calls them.
_FIXED = {
    "reward": "the reward's fingerprint",
    "source": "the reward's source file",
    "input": "the input's content",
    "rename": "--map",
    "shard": "--shard",
}


@dataclass(frozen=True)
class Manifest:
    """Provenance of one file of scores.

    Attributes:
        reward: Fingerprint of the reward, empty where it has none.
        source: SHA-256 of the file that defines it, empty where it came from no file.
        input: SHA-256 of the input's bytes.
        rename: Renamed columns, new by old.
        shard: Which part of the rows, e.g. `0/4`.
        about: For people: names, paths, the reward's configuration.
        counts: What was done so far.
        state: `running` while a job writes (or after it was killed), else how it ended;
            `waiting` for the results of a batch service.
    """

    reward: str
    source: str
    input: str
    rename: Mapping[str, str]
    shard: str
    about: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    state: State = "running"

    __hash__ = None  # type: ignore[assignment]

    def write(self, path: Path) -> None:
        """Replace the manifest at `path` in one step."""
        record = asdict(self) | {
            "versions": {"assay": __version__, "python": platform.python_version()},
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        fresh = path.with_name(path.name + ".tmp")
        with fresh.open("w") as file:
            file.write(json.dumps(record, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)


def manifest_path(output: Path) -> Path:
    """Where the manifest of `output` lies.

    >>> manifest_path(Path("scores.jsonl")).name
    'scores.jsonl.manifest.json'
    """
    return output.with_name(output.name + ".manifest.json")


def refuse_other(output: Path, planned: Manifest) -> None:
    """Check that a file of scores was made from what `planned` says.

    Raises:
        ConfigError: The manifest is missing or unreadable, or what changes scores differs.
    """
    path = manifest_path(output)
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict):
            raise ValueError(f"it holds no object but {found!r:.40}")
    except FileNotFoundError:
        raise ConfigError(
            f"{output} has no {path.name}, so what made it is unknown; give another --output, or "
            "continue it all the same with --force"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read {path}: {error}; give another --output, or continue with --force"
        ) from error
    now = asdict(planned)
    changed = [name for key, name in _FIXED.items() if found.get(key) != now[key]]
    if changed:
        raise ConfigError(
            f"{output} was made differently: {', '.join(changed)} changed since; give another "
            "--output, or mix old and new scores with --force"
        )
