"""Recipes: a whole training run as one TOML file of stages.

    name = "mine"
    output_dir = "runs/mine"

    [model]
    path = "my/base"

    [[stages]]
    name = "sft"
    stage = "sft"
    data = "chats.jsonl"
    trl = { num_train_epochs = 2 }

Every stage starts from the policy that the one before it saved, unless it names a `model`. A value
`"@NAME"` is the output folder of stage NAME, `"@run/x"` the file x in the run's folder.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.policy.config_keys import from_table, require_known, require_table
from assay.policy.recipe_keys import set_key
from assay.policy.rollouts import Decoding
from assay.policy.stages.registry import StageKind, stage_kind
from assay.sandbox import Limits
from assay.settings import whole

#: Keys of a stage in a recipe that are the recipe's, not the stage's.
_OF_RECIPE = ("name", "stage", "launch", "processes", "plan")


@dataclass(frozen=True)
class ModelSpec:
    """What training starts from.

    Attributes:
        path: Folder or hub id.
        architecture: Fields of `transformers.LlamaConfig`, for `assay plan`.
    """

    path: str
    architecture: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class StageSpec:
    """One stage of a recipe.

    Attributes:
        name: Unique in the recipe; its folder in the run.
        kind: What it does.
        settings: Of its configuration, references not yet resolved.
        launch: A configuration of `accelerate launch`, ours by name or a file; empty: this process.
        processes: For `accelerate launch`; None: what its configuration says.
        plan: What `assay plan` assumes beyond the settings (`assay.policy.plan.Load`).
    """

    name: str
    kind: StageKind
    settings: Mapping[str, Any]
    launch: str = ""
    processes: int | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class EvaluationSpec:
    """Prompts on which the policy is measured after every stage that trains it.

    Attributes:
        name: Column of the evaluation matrix.
        data: Prompts, as a stage's `data`; never trained on.
        reward: `FILE.py:attr` or `package.module:attr`.
        reward_model: A folder of a reward model, or the stage that trains it, as `@NAME`.
        code: `correctness` or `complexity`: the code stages' own reward.
        decoding: How to sample.
        limit: Most prompts of each source.
        limits: Of each test of `code`, where not the sandbox's own (`assay.sandbox.Limits`).
        vllm: Sample with vLLM, in a process of its own.
    """

    name: str
    data: Any
    reward: str | None = None
    reward_model: str | None = None
    code: str | None = None
    decoding: Decoding = field(default_factory=Decoding)
    limit: int | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    vllm: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        from_table(Limits, self.limits, f"evaluation {self.name!r}, [limits]")
        given = [v for v in (self.reward, self.reward_model, self.code) if v is not None]
        if len(given) != 1:
            raise ConfigError(
                f"evaluation {self.name!r} needs one of reward, reward_model and code, got "
                f"{len(given)} of them"
            )
        if self.code not in (None, "correctness", "complexity"):
            raise ConfigError(
                f"evaluation {self.name!r}: code must be 'correctness' or 'complexity', got "
                f"{self.code!r}"
            )
        if isinstance(self.decoding, Mapping):
            what = f"evaluation {self.name!r}, [decoding]"
            object.__setattr__(self, "decoding", from_table(Decoding, self.decoding, what))


@dataclass(frozen=True)
class Recipe:
    """A training run.

    Attributes:
        name: Of the recipe.
        output_dir: The run's folder.
        model: What the first stage starts from.
        stages: In the order in which they run.
        evaluations: Columns of the evaluation matrix.
        prepare: `FILE.py:function` or `package.module:function`, called once with the folder
            `prepared` of the run and the seed before the first stage, to make models and data.
        description: For people.
        seed: Of every stage that sets none.
        source: The file that it was read from.
        table: The recipe as it was read, overrides applied.
    """

    name: str
    output_dir: str
    model: ModelSpec
    stages: tuple[StageSpec, ...]
    evaluations: tuple[EvaluationSpec, ...] = ()
    prepare: str = ""
    description: str = ""
    seed: int = 0
    source: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def stage(self, name: str) -> StageSpec:
        """The stage of that name.

        Raises:
            ConfigError: There is none.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise ConfigError(
            f"the recipe has no stage {name!r}; it has {[s.name for s in self.stages]}"
        )

    def folder(self, stage: StageSpec) -> Path:
        """Where a stage writes: its place and its name."""
        place = self.stages.index(stage) + 1
        return Path(self.output_dir) / "stages" / f"{place:02d}-{stage.name}"

    def config(self, stage: StageSpec) -> Any:
        """The stage's configuration, references resolved, model and output folder filled in."""
        settings = self._resolved(dict(stage.settings), stage)
        known = {f.name for f in fields(stage.kind.config_class())}
        settings.setdefault("model", self._start(stage))
        settings["output_dir"] = str(self.folder(stage))
        if "seed" in known:
            settings.setdefault("seed", self.seed)
        what = f"stage {stage.name!r} ({stage.kind.name})"
        return from_table(stage.kind.config_class(), settings, what)

    def resolve(self, value: Any) -> Any:
        """`@NAME` and `@run/...` in a value, or in what it holds, as paths."""
        return self._resolved(value, None)

    def _start(self, stage: StageSpec) -> str:
        start = self.resolve(self.model.path)
        for earlier in self.stages[: self.stages.index(stage)]:
            if earlier.kind.policy:
                start = str(self.folder(earlier))
        return str(start)

    def _resolved(self, value: Any, stage: StageSpec | None) -> Any:
        if isinstance(value, str) and value.startswith("@"):
            return self._reference(value[1:], stage)
        if isinstance(value, Mapping):
            return {key: self._resolved(item, stage) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._resolved(item, stage) for item in value]
        return value

    def _reference(self, name: str, stage: StageSpec | None) -> str:
        if name.startswith("run/"):
            return str(Path(self.output_dir) / name.removeprefix("run/"))
        if name == "model":
            return str(self.resolve(self.model.path))
        target = self.stage(name)
        if stage is not None and self.stages.index(target) >= self.stages.index(stage):
            raise ConfigError(
                f"stage {stage.name!r} uses @{name}, which runs after it; put {name!r} before it"
            )
        return str(self.folder(target))


def load_recipe(spec: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """A recipe of the library by name, or one from a TOML file.

    Args:
        spec: `nanbeige-3b`, `nanbeige-3b-lora`, `tiny`, or a file.
        overrides: `a.b=value` items; a list of tables is entered by `name`, as in
            `stages.sft.trl.max_steps=10`.

    Raises:
        ConfigError: No such recipe, not TOML, an unknown key, or a stage that cannot be configured.
    """
    text, source = _text(spec)
    try:
        table = tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"{source} is not TOML: {error}") from error
    for item in overrides:
        set_key(table, item)
    return recipe_of(table, source)


def recipe_of(table: Mapping[str, Any], source: str = "") -> Recipe:
    """A recipe from its table.

    Raises:
        ConfigError: As `load_recipe`.
    """
    what = source or "the recipe"
    known = [f.name for f in fields(Recipe) if f.name not in ("source", "table")]
    require_known(what, table, [*known, "defaults"])
    for key in ("name", "model", "stages"):
        if key not in table:
            raise ConfigError(f"{what} needs {key!r}")
    settings = {k: v for k, v in copy.deepcopy(dict(table)).items() if k != "defaults"}
    for key in ("stages", "evaluations"):
        _require_tables(f"{what}: {key}", settings.get(key, ()))
    if not settings["stages"]:
        raise ConfigError(f"{what}: stages is empty; give at least one [[stages]]")
    settings.setdefault("output_dir", f"runs/{table['name']}")
    model = settings["model"]
    settings["model"] = (
        ModelSpec(model) if isinstance(model, str) else from_table(ModelSpec, model, "[model]")
    )
    defaults = table.get("defaults", {})
    require_table(f"{what}, [defaults]", defaults)
    require_known(f"{what}, [defaults]", defaults, ("all", "sft", "rl", "rm", "judge"))
    for key, shared in defaults.items():
        require_table(f"{what}, [defaults.{key}]", shared)
    settings["stages"] = tuple(_stage(item, defaults, what) for item in settings["stages"])
    settings["evaluations"] = tuple(
        from_table(EvaluationSpec, item, f"{what}, [[evaluations]]")
        for item in settings.get("evaluations", ())
    )
    names = [stage.name for stage in settings["stages"]]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{what}: several stages are named {twice[0]!r}; give each its own name")
    recipe = Recipe(**settings, source=source, table=copy.deepcopy(dict(table)))
    for stage in recipe.stages:
        recipe.config(stage)  # refuses what cannot be before anything runs
    for evaluation in recipe.evaluations:
        recipe.resolve(evaluation.reward_model)
    return recipe


def _require_tables(what: str, given: object) -> None:
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{what} must be a list of tables, got {given!r:.80}")
    for item in given:
        require_table(f"each of {what}", item)


def recipe_names() -> list[str]:
    """Recipes that come with the library."""
    folder = files("assay.policy").joinpath("recipes")
    return sorted(p.name[:-5] for p in folder.iterdir() if p.name.endswith(".toml"))


def _text(spec: str | Path) -> tuple[str, str]:
    path = Path(spec)
    if path.suffix == ".toml":
        try:
            return path.read_text(encoding="utf-8"), str(spec)
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    name = str(spec)
    if name not in recipe_names():
        raise ConfigError(
            f"there is no recipe {name!r}; have {recipe_names()}, or give a .toml file"
        )
    shipped = files("assay.policy").joinpath("recipes", f"{name}.toml")
    return shipped.read_text(encoding="utf-8"), f"{name}.toml"


def _stage(item: Mapping[str, Any], defaults: Mapping[str, Any], what: str) -> StageSpec:
    for key in ("name", "stage"):
        if key not in item:
            raise ConfigError(f"{what}: a stage needs {key!r}; it has {sorted(item)}")
    name = str(item["name"])
    if not name.replace("-", "").replace("_", "").isalnum() or name in ("run", "model"):
        raise ConfigError(
            f"{what}: a stage's name has letters, digits, - and _, and is not run or model; got "
            f"{name!r}"
        )
    kind = stage_kind(str(item["stage"]))
    settings = _merged(
        [
            defaults.get("all", {}),
            defaults.get(kind.family, {}),
            {k: v for k, v in item.items() if k not in _OF_RECIPE},
        ]
    )
    known = {f.name for f in fields(kind.config_class())}
    for key in defaults.get("all", {}):
        if key not in known and key not in item:
            del settings[key]  # what all stages share, those that know it
    processes, plan = item.get("processes"), item.get("plan", {})
    if processes is not None:
        whole(f"{what}, stage {name!r}: processes", processes, 1)
    require_table(f"{what}, stage {name!r}: plan", plan)
    return StageSpec(name, kind, settings, str(item.get("launch", "")), processes, plan)


def _merged(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in tables:
        for key, value in copy.deepcopy(dict(table)).items():
            if isinstance(value, dict) and isinstance(found.get(key), dict):
                found[key] = _merged([found[key], value])
            else:
                found[key] = value
    return found
