"""How a language binds names: which nodes open a scope and which of their parts are names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: Bound in the nearest scope, in the one around it, in the nearest function, or as a member.
Where = Literal["here", "outside", "function", "member"]
#: Fields of a node that hold names; none means all its named children.
Fields = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """How names are bound in one language.

    Attributes:
        scopes: Nodes that open a scope.
        classes: Scopes whose names are members.
        functions: Scopes that are functions.
        binders: Node type to the fields that hold new names and where those are bound.
        containers: Parts of a pattern or declarator, and the fields in them that hold names.
        members: Node types that always name a member.
        member_fields: (parent type, field) pairs that name a member.
        labels: Parents (or node types) of labels.
        implicit: Members can be named without an object.
        kept: Functions and methods that something outside the program calls by name.
        skipped: Imports and the like: no name in them is the program's own.
    """

    scopes: frozenset[str]
    functions: frozenset[str]
    binders: Mapping[str, tuple[tuple[Fields, Where], ...]]
    containers: Mapping[str, Fields]
    classes: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    member_fields: frozenset[tuple[str, str]] = frozenset()
    labels: frozenset[str] = frozenset()
    implicit: bool = False
    kept: frozenset[str] = frozenset()
    skipped: frozenset[str] = field(default_factory=frozenset)


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


def binders(text: str) -> dict[str, tuple[tuple[Fields, Where], ...]]:
    """Read lines `node_type where field field ...`."""
    found: dict[str, tuple[tuple[Fields, Where], ...]] = {}
    for line in text.strip().splitlines():
        kind, where, *fields = line.split()
        found[kind] = (*found.get(kind, ()), (tuple(fields), where))  # type: ignore[arg-type]
    return found


def containers(text: str) -> dict[str, Fields]:
    """Read lines `node_type field field ...`."""
    return {kind: tuple(fields) for kind, *fields in map(str.split, text.strip().splitlines())}
