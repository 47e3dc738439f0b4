from __future__ import annotations

import enum
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.fingerprint import configuration_fingerprint, fingerprint_of
from assay.rewards import Clip, Mapped, Term, WeightedSum
from tests.samples import FromColumn


@dataclass(frozen=True)
class Settings:
    a: int = 1
    seen: int = field(default=0, metadata={"fingerprint": False})


def test_different_values_differ() -> None:
    values = [None, 0, 0.0, False, "", "0", b"", b"0", (), {}, set(), [0], [[0]], {"a": 0}]
    values += [{"a": [0]}, {0}, {"ab": "c"}, {"a": "bc"}, ["ab", "c"], ["a", "bc"]]
    values += [date(2026, 1, 2), datetime(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)]
    values += [Decimal("1.5"), Decimal("1.50"), timedelta(1)]
    prints = [fingerprint_of(v) for v in values]
    assert len(set(prints)) == len(prints)


def test_order_of_a_mapping_or_set_does_not_matter() -> None:
    assert fingerprint_of({"a": 1, 2: 3}) == fingerprint_of({2: 3, "a": 1})
    assert fingerprint_of({"a", "b"}) == fingerprint_of({"b", "a"})


def test_fields_marked_so_do_not_count() -> None:
    assert configuration_fingerprint(Settings()) == configuration_fingerprint(Settings(seen=5))
    assert configuration_fingerprint(Settings()) != configuration_fingerprint(Settings(a=2))


def test_files_count_by_content(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("weights")
    other.write_text("weights")
    assert fingerprint_of(one) == fingerprint_of(other)
    other.write_text("Weights")
    assert fingerprint_of(one) != fingerprint_of(other)


def test_what_changes_a_score_changes_the_fingerprint_of_the_whole() -> None:
    base = WeightedSum({"a": Term(Mapped(FromColumn(), Clip(-1, 1)))})
    variants = [
        replace(base, terms={"a": Term(Mapped(FromColumn(), Clip(-1, 2)))}),
        replace(base, terms={"a": Term(Mapped(FromColumn("y"), Clip(-1, 1)))}),
        replace(base, terms={"a": Term(Mapped(FromColumn(), Clip(-1, 1)), weight=2)}),
        replace(base, terms={"b": Term(Mapped(FromColumn(), Clip(-1, 1)))}),
    ]
    assert len({r.fingerprint() for r in [base, *variants]}) == 5


def test_unknown_objects_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"cannot fingerprint a builtins\.object"):
        fingerprint_of({"x": object()})


def test_stable_over_processes() -> None:
    code = (
        "from assay.rewards import *; from tests.samples import FromColumn;"
        "print(WeightedSum({'a': Term(FromColumn(), weight=2)}).fingerprint())"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2])},
        ).stdout
        for seed in (1, 2)
    }
    prints.add(WeightedSum({"a": Term(FromColumn(), weight=2)}).fingerprint() + "\n")
    assert len(prints) == 1


def test_arrays_count_by_type_shape_and_values() -> None:
    arrays = [np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32), np.ones(4)]
    assert len({fingerprint_of(array) for array in arrays}) == 4
    assert fingerprint_of(np.arange(6)[::2]) == fingerprint_of(np.array([0, 2, 4]))


def above(limit: int) -> Callable[[int], bool]:
    def passes(value: int, slack: int = limit) -> bool:
        return value > limit + slack

    return passes


def test_functions_count_by_what_they_close_over() -> None:
    assert fingerprint_of(above(1)) == fingerprint_of(above(1))
    assert fingerprint_of(above(1)) != fingerprint_of(above(2))


def test_lambdas_on_one_line_differ() -> None:
    several = [lambda x: x > 1, lambda x: x < 1, lambda x: x > 2, lambda x: x in ((1, 2), (3,))]
    assert len({fingerprint_of(one) for one in several}) == 4


def test_a_function_that_calls_itself() -> None:
    def count(n: int) -> int:
        return n and count(n - 1)

    assert fingerprint_of(count) == fingerprint_of(count)


def test_functions_without_source_have_one_print_in_every_process() -> None:
    script = (
        "from assay.fingerprint import fingerprint_of\n"
        "def f(x):\n    return [y for y in {1, 2, 'a'} if (lambda z: z)(y)] + list(x or (1, ...))\n"
        "print(fingerprint_of(f))"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(prints) == 1


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Threshold:
    at: float

    def passes(self, value: float) -> bool:
        return value > self.at


def test_enums_methods_partials_and_builtins() -> None:
    values: list[object] = [Colour.RED, Colour.BLUE, 1, len, max]
    values += [Threshold(1).passes, Threshold(2).passes, partial(pow, 2), partial(pow, exp=2)]
    values += [np.float64(1), np.float32(1), np.int64(1), 1.0]
    assert len({fingerprint_of(value) for value in values}) == len(values)


def test_arrays_of_objects_count_by_value_not_by_address() -> None:
    one, other = (np.array([{"a": 1}, "b" * i], dtype=object) for i in (3, 3))
    assert fingerprint_of(one) == fingerprint_of(other)
