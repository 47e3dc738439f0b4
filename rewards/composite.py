"""What every composed reward does alike: names, derived attributes, components on some rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.errors import ConfigError, ContractError, places_in
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.settings import common


def named(mapping: Any, what: str, kinds: tuple[type, ...]) -> dict[str, Any]:
    """A copy of `mapping` with its names and kinds checked.

    Raises:
        ConfigError: Empty, a name that is no text or holds "/", or a value of another kind.
    """
    if not isinstance(mapping, Mapping) or not mapping:
        raise ConfigError(f"{what} must be a non-empty mapping by name, got {mapping!r:.200}")
    for name, value in mapping.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise ConfigError(f"{what}: a name must be text without '/', got {name!r}")
        if not isinstance(value, kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise ConfigError(f"{what}[{name!r}] must be a {allowed}, got {type(value).__name__}")
    return dict(mapping)


def derive(reward: Reward, span: tuple[float, float], children: Iterable[Reward]) -> None:
    """Set what follows from the components: range, columns, scope."""
    children = list(children)
    object.__setattr__(reward, "range", span)
    object.__setattr__(reward, "columns", frozenset().union(*(c.columns for c in children)))
    scope = "group" if any(child.scope == "group" for child in children) else "sample"
    object.__setattr__(reward, "scope", scope)
    for one in (*children, reward):
        common(one)


def evaluate_rows(
    parent: Reward, name: str, child: Reward, samples: Sequence[Sample], rows: Sequence[int]
) -> list[Score]:
    """Evaluate a component on some rows; a DataError keeps pointing at the row of the batch."""
    with places_in(rows):
        return parent.part(name, child, [samples[row] for row in rows])


def check_turns(parts: Mapping[str, Score]) -> None:
    """Refuse components that count assistant turns differently."""
    lengths = {name: len(s.turns) for name, s in parts.items() if s.turns is not None}
    if len(set(lengths.values())) > 1:
        raise ContractError(f"components disagree on the number of assistant turns: {lengths}")
