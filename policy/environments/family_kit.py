"""What the families of generated environments are written with: names, operands, tools."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST = _words(
    "Ada Ben Chloe Dimitri Elena Farid Grace Hugo Ines Jun Kofi Lena Mateo Nadia Omar Priya Quinn "
    "Rosa Sven Tara Umar Vera Wei Ximena Yara Zoe"
)
_LAST = _words(
    "Abebe Brandt Castillo Duarte Eriksen Fontaine Gupta Haddad Ivanova Jansen Kowalski Lindqvist "
    "Moreau Nakamura Okafor Petrov Quispe Rossi Santos Tanaka Uribe Vargas Weber Xu Yilmaz Zhang"
)
CITIES = _words(
    "Accra Bergen Cusco Delft Edmonton Fukuoka Ghent Hanoi Izmir Jaipur Kazan Lyon Malmo Nantes "
    "Oporto Quito Riga Split Tartu Utrecht Valencia Windhoek Xalapa Yerevan Zagreb"
)
ITEMS = _words(
    "kettle lamp desk chair router tent bicycle camera blender monitor backpack drill heater "
    "keyboard mattress notebook printer radio scooter telescope"
)


def people(rng: random.Random, count: int) -> list[str]:
    """Different full names."""
    first, last = rng.sample(_FIRST, count), rng.sample(_LAST, count)
    return [f"{one} {other}" for one, other in zip(first, last, strict=True)]


def codes(rng: random.Random, prefix: str, count: int) -> list[str]:
    """Different identifiers in rising order, such as `O-4821`."""
    return [f"{prefix}-{number}" for number in sorted(rng.sample(range(1000, 10000), count))]


def arg(name: str) -> dict[str, Any]:
    """Operand: an argument of the call."""
    return {"arg": name}


def cell(table: str, key: Any, field: str) -> dict[str, Any]:
    """Operand: a field of a row; a text key names the argument that holds the row's key."""
    return {"cell": [table, arg(key) if isinstance(key, str) else key, field]}


def lists(name: str, table: str, filters: Sequence[str], show: Sequence[str]) -> dict[str, Any]:
    """A tool that lists rows."""
    by = ", ".join(filters)
    return {
        "name": name,
        "description": f"List {table}" + (f", by {by} or all." if by else "."),
        "do": "list",
        "table": table,
        "filter": list(filters),
        "show": list(show),
    }


def gets(name: str, table: str, key: str) -> dict[str, Any]:
    """A tool that shows one row."""
    return {
        "name": name,
        "description": f"Show everything about one row of {table}.",
        "do": "get",
        "table": table,
        "key": key,
    }


def changes(
    name: str,
    description: str,
    arguments: Mapping[str, Any],
    effects: Sequence[Mapping[str, Any]],
    requires: Sequence[tuple[Any, str, Any, str]] = (),
) -> dict[str, Any]:
    """A tool that changes something; a requirement is (left, operator, right, message)."""
    return {
        "name": name,
        "description": description,
        "do": "change",
        "arguments": dict(arguments),
        "requires": [
            {"left": left, "op": op, "right": right, "else": message}
            for left, op, right, message in requires
        ],
        "effects": [dict(effect) for effect in effects],
    }


def sets(table: str, key: Any, field: str, to: Any) -> dict[str, Any]:
    """Effect: a field gets a value."""
    return {"set": [table, arg(key) if isinstance(key, str) else key, field], "to": to}


def adds(table: str, key: Any, field: str, by: Any) -> dict[str, Any]:
    """Effect: a number is added to a field."""
    return {"add": [table, arg(key) if isinstance(key, str) else key, field], "by": by}
