"""Conditional random walks on an entity graph: chains of relations worth a question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.policy.data.search.graph import Edge, Entity, EntityGraph

#: Predicates whose value is shared by so many that knowing it narrows nothing down.
TRIVIAL = frozenset(
    {
        *("country", "nationality", "language", "languages", "type", "genre", "gender", "era"),
        *("occupation", "currency", "timezone", "time zone", "religion", "subdivision type"),
    }
)


@dataclass(frozen=True)
class WalkRules:
    """What a walk may do.

    Args:
        length: Hops.
        hub_limit: An entity that more edges point at is a hub, and no walk steps on it.
        trivial: Predicates that are never followed.
        distinct_predicates: No predicate twice in one walk.
        functional: Follow a predicate only where it leads to a single entity, so that the chain
            has one end.
        kinds: Allowed kinds (infobox names) of the entity after each hop, one set a hop; an empty
            set allows any. None allows any everywhere.
        tries: Steps that are tried from one head before it is given up.
    """

    length: int = 3
    hub_limit: int = 500
    trivial: frozenset[str] = TRIVIAL
    distinct_predicates: bool = True
    functional: bool = True
    kinds: tuple[frozenset[str], ...] | None = None
    tries: int = 200

    def __post_init__(self) -> None:
        if self.length < 1 or self.hub_limit < 1 or self.tries < 1:
            raise ConfigError(
                "WalkRules needs length, hub_limit and tries >= 1, got "
                f"{self.length}, {self.hub_limit}, {self.tries}"
            )
        if self.kinds is not None and len(self.kinds) != self.length:
            raise ConfigError(
                f"WalkRules.kinds needs one set for each of {self.length} hops, got "
                f"{len(self.kinds)}"
            )


def walk(graph: EntityGraph, head: Entity, rules: WalkRules, seed: int) -> tuple[Edge, ...] | None:
    """A random chain of `rules.length` edges from `head`, or None where the tries find none.

    Depth first with the edges of each entity in random order, so that a dead end costs a step back
    and not the whole walk. No entity is visited twice. The same head, rules and seed give the same
    walk.
    """
    rng = random.Random(f"{seed}:{head.title}")
    budget = [rules.tries]
    chain: list[Edge] = []
    if _extend(graph, head, rules, rng, chain, {head.id}, budget):
        return tuple(chain)
    return None


def _extend(
    graph: EntityGraph,
    here: Entity,
    rules: WalkRules,
    rng: random.Random,
    chain: list[Edge],
    visited: set[int],
    budget: list[int],
) -> bool:
    if len(chain) == rules.length:
        return True
    edges = _allowed(graph.out(here), rules, chain, visited)
    rng.shuffle(edges)
    for edge in edges:
        if not budget[0]:
            return False
        budget[0] -= 1
        if graph.in_degree(edge.object.id, rules.hub_limit) > rules.hub_limit:
            continue
        chain.append(edge)
        visited.add(edge.object.id)
        if _extend(graph, edge.object, rules, rng, chain, visited, budget):
            return True
        chain.pop()
        visited.discard(edge.object.id)
    return False


def _allowed(
    edges: Sequence[Edge], rules: WalkRules, chain: Sequence[Edge], visited: set[int]
) -> list[Edge]:
    used = {edge.predicate for edge in chain} if rules.distinct_predicates else set()
    kinds = rules.kinds[len(chain)] if rules.kinds else frozenset()
    counts: dict[str, int] = {}
    for edge in edges:
        counts[edge.predicate] = counts.get(edge.predicate, 0) + 1
    return [
        edge
        for edge in edges
        if edge.predicate not in rules.trivial
        and edge.predicate not in used
        and edge.object.id not in visited
        and (not kinds or edge.object.kind in kinds)
        and (not rules.functional or counts[edge.predicate] == 1)
    ]
