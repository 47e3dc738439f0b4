"""Which judge an audit asks: a spec, or a TOML file with a judge and wordings of its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.judge import Judge
from assay.judges.endpoint import Endpoint
from assay.judges.llm_pairwise import CRITERIA, LLMPairwise
from assay.judges.order import BothOrders
from assay.judges.prompt_template import shipped_prompt
from assay.judges.serving.tables import known_keys, read_table, read_toml, subtable
from assay.loading import load_object
from assay.reward import Reward

#: Paraphrases of `LLMPairwise`'s own prompt that are shipped.
PARAPHRASES = ("reworded", "terse")


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Attributes:
        judge: A judge; for benchmarks also a reward.
        name: For reports.
        templates: The judge with other wordings of its prompt, by name.
        note: What was done to it, for people; empty if nothing.
    """

    judge: Judge | Reward
    name: str
    templates: Mapping[str, Judge] = field(default_factory=dict)
    note: str = ""

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class AskedModel:
    """A judge that asks a model: `LLMPairwise` on an `Endpoint`; settings as there.

    Args:
        base_url: Up to and with `/v1`.
        model: Its name there.
        revision: Of the model.
        api_key_env: Environment variable with the key.
        criteria: What makes an answer better.
        prompt: File with a prompt.
        allow_tie: Whether it may say tie.
        temperature: Above 0, repeats are other draws.
        max_tokens: Of a reply.
        top_logprobs: For probabilities instead of bare choices.
        seed: Sent with requests.
        concurrency: Requests at a time.
    """

    base_url: str
    model: str
    revision: str = ""
    api_key_env: str | None = None
    criteria: str = CRITERIA
    prompt: str | None = None
    allow_tie: bool = True
    temperature: float = 0.0
    max_tokens: int = 1024
    top_logprobs: int = 0
    seed: int = 0
    concurrency: int = 16

    def judge(self, folder: Path) -> LLMPairwise:
        """The judge; `prompt` is sought beside the configuration."""
        own = {"criteria", "prompt", "allow_tie", "seed"}
        client = Endpoint(
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in own}
        )
        prompt = None if self.prompt is None else _text(folder / self.prompt)
        return LLMPairwise(
            client,
            criteria=self.criteria,
            allow_tie=self.allow_tie,
            prompt=prompt,
            seed=self.seed,
        )


def load_judge(spec: str) -> Subject:
    """The judge of an audit.

    Args:
        spec: `FILE.py:attr`, `package.module:attr`, or a TOML file: `[judge]` with `object` or with
            the settings of `AskedModel`, and `[templates]` with a wording each, a text file for a
            model that is asked, else a spec.

    Raises:
        ConfigError: It cannot be loaded or is no judge; unknown settings, by name.
    """
    found = load_subject(spec)
    judge = found.judge
    if not isinstance(judge, Judge):
        raise ConfigError(
            f"{spec} must be a Judge, got {type(judge).__name__}; a reward can be benchmarked "
            "(assay audit benchmark)"
        )
    note = ""
    if isinstance(judge, BothOrders):
        judge = judge.judge
        note = "The judge inside BothOrders is audited: one order at a time."
    templates = dict(found.templates) or _paraphrased(judge)
    return replace(found, judge=judge, templates=templates, note=note)


def load_subject(spec: str) -> Subject:
    """A judge or a reward; see `load_judge`."""
    if not spec.endswith(".toml"):
        return Subject(_loaded(spec, "the spec"), spec.rpartition(":")[2] or spec)
    path = Path(spec)
    tables = read_toml(path)
    known_keys(spec, tables, ("judge", "templates"))
    table = dict(subtable("judge", tables.get("judge", {})))
    name = str(table.pop("name", path.stem))
    wordings = subtable("templates", tables.get("templates", {}))
    if "object" in table:
        known_keys("[judge]", table, ("object", "name"))
        others = {
            key: _judge(_loaded(str(value), f"[templates] {key}"), key)
            for key, value in wordings.items()
        }
        return Subject(_loaded(str(table["object"]), "[judge] object"), name, others)
    judge = read_table(AskedModel, "[judge]", table).judge(path.parent)
    templates: dict[str, Judge] = {
        key: replace(judge, prompt=_text(path.parent / str(value)))
        for key, value in wordings.items()
    }
    return Subject(judge, name, templates)


def _paraphrased(judge: Judge) -> dict[str, Judge]:
    """The shipped wordings, for a judge that uses the shipped prompt."""
    if not isinstance(judge, LLMPairwise) or judge.prompt is not None:
        return {}
    return {name: replace(judge, prompt=shipped_prompt(f"pairwise_{name}")) for name in PARAPHRASES}


def _loaded(spec: str, option: str) -> Any:
    found, _ = load_object(spec, Judge, option)
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise ConfigError(
                f"{option} {spec!r} is a class that cannot be made without settings ({error}); "
                "name an instance of it"
            ) from None
    if not isinstance(found, Judge | Reward):
        raise ConfigError(
            f"{option} {spec!r} must be a judge or reward, got {type(found).__name__}"
        )
    return found


def _judge(found: Any, name: str) -> Judge:
    if not isinstance(found, Judge):
        raise ConfigError(f"[templates] {name} must be a Judge, got {type(found).__name__}")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot read the prompt {path.name}: {error.strerror or error}; paths are relative to "
            "the configuration"
        ) from error
