"""Environments for TRL: a class whose methods are the tools, as `environment_factory` wants it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.errors import ConfigError
from assay.messages import as_messages
from assay.policy.environments.episode import Episode
from assay.policy.environments.spec import EnvironmentSpec, Tool

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


class ToolCallRefused(Exception):
    """What TRL counts as a failed tool call; its text is what the agent reads."""


def environment_factory(
    make: Callable[..., EnvironmentSpec],
    example: EnvironmentSpec,
    *,
    show_task: bool = True,
    owns_reward: bool = True,
    name: str = "Environment",
) -> Callable[[], Any]:
    """A factory for `GRPOTrainer(environment_factory=...)`.

    `make(**row)` gives the environment of a dataset row. All rows of one factory have the tools of
    `example`, since TRL shows an environment's tools once for all; for several families give TRL a
    dict of factories and the dataset a column `environment`.

    Instances have the tools as methods, `reset(**row)` and, with `owns_reward`, `get_reward()`: the
    verifier's value of the final state, None where the environment failed. TRL tells an environment
    nothing of the last message: where the verifier reads the answer, set `owns_reward=False` and
    give the trainer `VerifiedOutcome()`, which does.

    Args:
        make: Builds the environment of a row.
        example: One of them, for its tools.
        show_task: Append the task to the row's prompt.
        owns_reward: Define `get_reward`, which TRL adds to the rewards with weight 1.
        name: Name of the class, and so of TRL's reward column.

    Example:
        >>> from assay.policy.environments import environment
        >>> factory = environment_factory(
        ...     lambda seed, **row: environment("orders", seed), environment("orders", 0))
        >>> instance = factory()
        >>> instance.reset(seed=7)[:9]
        'Customer '
        >>> instance.get_reward()
        0.0
    """
    if not isinstance(example, EnvironmentSpec):
        raise ConfigError(f"example must be an EnvironmentSpec, got {type(example).__name__}")
    members: dict[str, Any] = {tool.name: _method(tool) for tool in example.tools}
    tools = _signature_of(example)

    def reset(self: Any, **row: Any) -> str | None:
        """Start the environment of a dataset row."""
        spec = make(**row)
        if _signature_of(spec) != tools:
            raise ConfigError(
                f"environment {spec.id!r} has other tools than {example.id!r}, which this factory "
                "was made for; make one factory per family and a dataset column `environment`"
            )
        self._episode = Episode(spec)
        return spec.task if show_task else None

    def get_reward(self: Any) -> float | None:
        """The verifier's value of the state as it is now."""
        return self._episode.outcome(None).value  # type: ignore[no-any-return]

    members |= {"reset": reset, "__module__": __name__}
    if owns_reward:
        members["get_reward"] = get_reward
    return type(name, (), members)


class VerifiedOutcome:
    """A reward function for TRL: each environment's verifier, told the agent's last words.

    Args:
        name: Metric name.
    """

    def __init__(self, name: str = "verified") -> None:
        self.__name__ = name

    def __call__(
        self, completions: Sequence[Any], environments: Sequence[Any], **_: Any
    ) -> list[float | None]:
        """Value of each rollout; None where its environment failed."""
        values = []
        for completion, instance in zip(completions, environments, strict=True):
            last = as_messages(completion, role="assistant")[-1:]
            said = [m.split()[1] for m in last if m.role == "assistant" and not m.tool_calls]
            values.append(instance._episode.outcome(said[0] if said else None).value)
        return values


def _signature_of(spec: EnvironmentSpec) -> str:
    return json.dumps(spec.schemas(), sort_keys=True)


def _method(tool: Tool) -> Callable[..., str]:
    """A method with the signature and the docstring that chat templates read schemas from."""

    def call(self: Any, **arguments: Any) -> str:
        result: str = self._episode.call(tool.name, arguments)
        if self._episode.calls[-1].error:
            raise ToolCallRefused(json.loads(result)["error"])
        return result

    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    required: Sequence[str] = tool.parameters.get("required", ())
    order = sorted(properties, key=lambda name: name not in required)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    annotations: dict[str, Any] = {"return": str}
    lines = []
    for name in order:
        schema = properties[name]
        kind = _TYPES.get(str(schema.get("type", "string")), str)
        annotations[name] = kind
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=kind,
                default=inspect.Parameter.empty if name in required else None,
            )
        )
        about = schema.get("description") or name.replace("_", " ")
        choices = f" (choices: {json.dumps(schema['enum'])})" if "enum" in schema else ""
        lines.append(f"    {name}: {about}{choices}")
        if name not in required:
            annotations[name] = kind | None
    arguments = "\n\nArgs:\n" + "\n".join(lines) if lines else ""
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = f"{tool.description}{arguments}\n\nReturns:\n    What came of it."
    call.__annotations__ = annotations
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return call
