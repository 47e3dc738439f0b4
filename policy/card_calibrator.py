"""A calibrator that travels with a model: a file beside the weights and a part of the card."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from assay.calibration.calibrator import Calibrator
from assay.errors import ConfigError
from assay.policy.model_card import read_front_matter

#: Beside the weights.
CALIBRATOR_FILE = "calibrator.json"

_SECTION = re.compile(r"## Calibration\n\n.*?(?=\n\n## |\Z)", re.DOTALL)


def carry_calibrator(folder: str | Path, calibrator: Calibrator, *, about: str = "") -> Path:
    """Put a fitted calibrator, such as an audit's, into a model's folder and card.

    Writes `calibrator.json`, and in the card's metadata and its section on calibration says which
    one it is. A card of another origin is left alone but for a section at its end.

    Args:
        folder: Of the model.
        calibrator: Fitted.
        about: What it was fitted on, one sentence; for people.

    Returns:
        The file, for `Calibrated(judge, file)` and `Mapped(reward, Calibrator.load(file))`.

    Raises:
        ConfigError: Not fitted, or there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; give that of a saved model")
    if not calibrator.n:
        raise ConfigError(
            f"this {type(calibrator).__name__} is not fitted; carry what fit() returned"
        )
    file = folder / CALIBRATOR_FILE
    calibrator.save(file)
    card = folder / "README.md"
    if card.is_file():
        draft = card.with_name(f".{card.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(_changed(card, calibrator, about), encoding="utf-8")
            os.replace(draft, card)
        finally:
            draft.unlink(missing_ok=True)
    return file


def carried_calibrator(folder: str | Path) -> Calibrator | None:
    """The calibrator of a model's folder: its file, else the one in its card; None without.

    Raises:
        ConfigError: A file that holds none.
    """
    folder = Path(folder)
    if (folder / CALIBRATOR_FILE).is_file():
        return Calibrator.load(folder / CALIBRATOR_FILE)
    card = folder / "README.md"
    if not card.is_file() or not _ours(card):
        return None
    found = read_front_matter(card).get("calibration") or {}
    return Calibrator.from_dict(found["calibrator"]) if "calibrator" in found else None


def _changed(card: Path, calibrator: Calibrator, about: str) -> str:
    text = card.read_text(encoding="utf-8")
    reads = "score differences" if calibrator.scale == "logit" else "P(A preferred)"
    section = (
        f"## Calibration\n\n`{CALIBRATOR_FILE}` maps {reads} to calibrated probabilities: "
        f"{calibrator.kind}, fitted on {calibrator.n:,} rows."
    ) + (f" {about.strip()}" if about.strip() else "")
    if _SECTION.search(text):
        text = _SECTION.sub(lambda _: section, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    if not _ours(card):
        return text
    found = {"method": calibrator.kind, "pairs": calibrator.n, "calibrator": calibrator.to_dict()}
    line = f"calibration: {json.dumps(found)}"
    head, rest = text.split("\n---\n", 1)
    lines = [one for one in head.split("\n") if not one.startswith("calibration: ")]
    return "\n".join([*lines, line]) + "\n---\n" + rest


def _ours(card: Path) -> bool:
    try:
        return "assay" in (read_front_matter(card).get("tags") or ())
    except ValueError:
        return False
