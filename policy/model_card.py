"""Model cards: a README with YAML front matter that says what a reward model was made from."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assay._version import __version__
from assay.calibration.temperature import Temperature
from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of

NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True)
class DataFacts:
    """One source of preferences.

    Attributes:
        name: Of the data set or its file.
        split: `train` or `held-out`.
        rows: Preferences used.
        fingerprint: Hash of the file's content; empty for data that came from memory.
        licence: As its owner states it.
    """

    name: str
    split: str
    rows: int
    fingerprint: str = ""
    licence: str = NOT_STATED

    @classmethod
    def of_file(cls, path: str | Path, split: str, rows: int, licence: str = "") -> DataFacts:
        """Facts on a file; its name without folders, so that cards hold no machine's paths."""
        path = Path(path)
        return cls(path.name, split, rows, fingerprint_of(path)[:16], licence or NOT_STATED)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the model's scores become probabilities: P(A preferred) = sigmoid(score / T).

    Attributes:
        temperature: T.
        pairs: Held-out pairs it was fitted on.
        cross_entropy_before: On the same pairs, with T = 1.
        cross_entropy_after: On the same pairs, with T.
        problem: Why no temperature could be fitted, T then being 1; else empty.
    """

    temperature: float
    pairs: int
    cross_entropy_before: float
    cross_entropy_after: float
    problem: str = ""

    def calibrator(self) -> Temperature:
        """As an object that maps score differences, and that `Calibrator.from_dict` reads back."""
        return Temperature(scale="logit", temperature=self.temperature, n=self.pairs)


@dataclass(frozen=True)
class ModelCard:
    """What stands in the README beside a reward model's weights.

    Args:
        name: Of the model.
        kind: `point-wise` or `pair-wise`.
        base_model: What training started from.
        licence: Of the weights, an identifier such as `apache-2.0`; `not stated` if empty.
        data: Where the preferences come from.
        dropped: Preferences left out, by reason.
        metrics: On held-out pairs; empty if there were none.
        calibration: None if there were no held-out pairs.
        settings: Configuration of the training.
        usage: Python that loads it.

    Raises:
        ConfigError: Unknown kind.
    """

    name: str
    kind: str
    base_model: str
    licence: str = ""
    data: Sequence[DataFacts] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    calibration: Calibration | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    usage: str = ""

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.kind not in ("point-wise", "pair-wise"):
            raise ConfigError(
                f"ModelCard.kind must be one of {{'point-wise', 'pair-wise'}}, got {self.kind!r}"
            )

    def front_matter(self) -> dict[str, Any]:
        """The metadata, as the Hugging Face Hub reads it."""
        matter: dict[str, Any] = {
            "license": self.licence or "unknown",
            "library_name": "transformers",
            "pipeline_tag": "text-classification",
            "base_model": self.base_model,
            "tags": ["reward-model", self.kind, "assay"],
            "datasets": sorted({facts.name for facts in self.data}),
        }
        if self.metrics:
            matter["model-index"] = [
                {
                    "name": self.name,
                    "results": [
                        {
                            "task": {"type": "reward-modelling"},
                            "dataset": {"name": self._held_out(), "type": "preferences"},
                            "metrics": [
                                {"type": name, "value": round(value, 6)}
                                for name, value in self.metrics.items()
                            ],
                        }
                    ],
                }
            ]
        if self.calibration is not None and not self.calibration.problem:
            matter["calibration"] = {
                "method": "temperature",
                "temperature": round(self.calibration.temperature, 6),
                "pairs": self.calibration.pairs,
                "calibrator": self.calibration.calibrator().to_dict(),
            }
        return matter

    def to_markdown(self) -> str:
        """The whole card. Its YAML is JSON a line, which YAML reads as it is."""
        matter = "\n".join(f"{key}: {json.dumps(v)}" for key, v in self.front_matter().items())
        parts = [
            f"---\n{matter}\n---\n\n# {self.name}",
            f"A {self.kind} reward model, trained from `{self.base_model}` with "
            f"assay {__version__}.",
            _section("Use", f"```python\n{self.usage.strip()}\n```" if self.usage else ""),
            _section("Data", self._data()),
            _section("Metrics on held-out pairs", self._metrics()),
            _section("Calibration", self._calibration()),
            _section("Licence", self._licence()),
            _section("Training", self._training()),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def write(self, folder: str | Path) -> Path:
        """Write `README.md` into `folder`, replacing what is there."""
        path = Path(folder) / "README.md"
        path.write_text(self.to_markdown(), encoding="utf-8")
        return path

    def _held_out(self) -> str:
        return ", ".join(f.name for f in self.data if f.split == "held-out") or "held-out pairs"

    def _data(self) -> str:
        rows = [
            (f.name, f.split, f"{f.rows:,}", f.licence, f.fingerprint or "from memory")
            for f in self.data
        ]
        text = _table(("source", "split", "preferences", "licence", "content hash"), rows)
        if self.dropped:
            left_out = "; ".join(f"{reason}: {n:,}" for reason, n in sorted(self.dropped.items()))
            text += f"\n\nLeft out: {left_out}."
        return text

    def _metrics(self) -> str:
        if not self.metrics:
            return "None: no pairs were held out."
        rows = [(name, f"{value:.4f}") for name, value in self.metrics.items()]
        return _table(("metric", "value"), rows)

    def _calibration(self) -> str:
        found = self.calibration
        if found is None:
            return "None: no pairs were held out. Do not read scores as probabilities."
        score = "r(A) - r(B)" if self.kind == "point-wise" else "(d_AB - d_BA) / 2"
        if found.problem:
            return f"None: {found.problem}. Do not read scores as probabilities."
        return (
            f"P(A preferred) = sigmoid({score} / T) with T = {found.temperature:.4f}, fitted on "
            f"the {found.pairs:,} held-out pairs that the metrics are of; cross-entropy there "
            f"{found.cross_entropy_before:.4f} with T = 1, {found.cross_entropy_after:.4f} with T."
        )

    def _licence(self) -> str:
        own = self.licence or NOT_STATED
        data = "; ".join(f"{f.name}: {f.licence}" for f in self.data if f.split == "train")
        return f"Weights: {own}. Base model: see `{self.base_model}`. Data: {data or NOT_STATED}."

    def _training(self) -> str:
        rows = [(f"`{k}`", f"`{json.dumps(v, default=str)}`") for k, v in self.settings.items()]
        versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
        settings = _table(("setting", "value"), rows) + "\n\n" if rows else ""
        return f"{settings}Versions: {versions}."


def read_front_matter(path: str | Path) -> dict[str, Any]:
    """The metadata of a card that `ModelCard.write` wrote.

    Raises:
        DataError: No front matter, or one that this library did not write.
    """
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise DataError(f"{path} has no front matter between two lines of '---'")
    found = {}
    for line in lines[1 : lines.index("---", 1)]:
        key, colon, value = line.partition(": ")
        try:
            found[key] = json.loads(value)
        except ValueError as error:
            raise DataError(f"{path}: cannot read {line[:80]!r}: not written by assay") from error
        if not colon:
            raise DataError(f"{path}: cannot read {line[:80]!r}")
    return found


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in r) + " |" for r in lines)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("torch", "transformers", "trl", "peft", "datasets"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
