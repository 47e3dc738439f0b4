"""The families of generated environments: a seed gives a task, its database, tools and verifier."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from assay.errors import ConfigError
from assay.policy.environments import families_booking as booking
from assay.policy.environments import families_learning as learning
from assay.policy.environments import families_office as office
from assay.policy.environments import families_trade as trade
from assay.policy.environments.spec import EnvironmentSpec
from assay.policy.environments.table_task import TableTask

#: Writes the task of a family from a seeded generator.
Family = Callable[[random.Random], TableTask]

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "orders": trade.orders,
        "stock": trade.stock,
        "invoices": trade.invoices,
        "deliveries": trade.deliveries,
        "flights": booking.flights,
        "appointments": booking.appointments,
        "hotel": booking.hotel,
        "meetings": booking.meetings,
        "library": learning.library,
        "tickets": office.tickets,
        "files": office.files,
        "leave": office.leave,
        "courses": learning.courses,
        "access": office.access,
    }
)


def table_task(family: str, seed: int) -> TableTask:
    """The task of a family and a seed, as data.

    Raises:
        ConfigError: No such family.
    """
    if family not in FAMILIES:
        raise ConfigError(f"family must be one of {sorted(FAMILIES)}, got {family!r:.80}")
    return replace(FAMILIES[family](random.Random(f"{family}/{seed}")), family=family)


def environment(family: str, seed: int) -> EnvironmentSpec:
    """The environment of a family and a seed.

    >>> spec = environment("files", seed=0)
    >>> spec.id, [tool.name for tool in spec.tools]
    ('files/0', ['list_files', 'move_file', 'delete_file'])
    """
    return table_task(family, seed).environment(f"{family}/{seed}")


def generate(count: int, seed: int = 0) -> Iterator[EnvironmentSpec]:
    """`count` different environments, the families in turn.

    Args:
        count: How many.
        seed: Where each family's seeds begin; ranges of different seeds do not meet before a
            million environments a family.

    >>> [spec.family for spec in generate(3)]
    ['orders', 'stock', 'invoices']
    """
    seen: set[str] = set()
    numbers = dict.fromkeys(FAMILIES, seed * 1_000_000)
    while True:
        for family in FAMILIES:
            if len(seen) >= count:
                return
            while True:
                number = numbers[family]
                numbers[family] += 1
                task = table_task(family, number)
                if (mark := task.fingerprint()) not in seen:
                    break
            seen.add(mark)
            yield task.environment(f"{family}/{number}")
