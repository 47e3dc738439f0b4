"""Finds configurations of `accelerate launch`."""

from __future__ import annotations

from pathlib import Path

from assay.errors import ConfigError


def launch_file(name: str) -> Path:
    """A configuration of `accelerate launch`: a file, or one of ours by name.

    Raises:
        ConfigError: There is none.
    """
    if Path(name).is_file():
        return Path(name)
    folder = Path(__file__).parent
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise ConfigError(f"launch = {name!r} is neither a file nor one of {known}")
    return path
