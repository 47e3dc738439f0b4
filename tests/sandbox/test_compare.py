from __future__ import annotations

import math

import pytest

from assay.errors import ConfigError
from assay.sandbox.compare import outputs_equal
from assay.sandbox.inner_value import dump
from assay.sandbox.values import Items, Opaque, decode_value, values_equal


@pytest.mark.parametrize(
    ("mode", "got", "want", "equal"),
    [
        ("exact", b"3\n", "3\n", True),
        ("exact", b"3", "3\n", False),
        ("tokens", b" 3 \r\n4", "3\n4\n", True),
        ("tokens", b"3 4 5", "3 4", False),
        ("tokens", b"3", "3 4", False),
        ("tokens", b"", "", True),
        ("tokens", b"3.0", "3", False),
        ("tokens", "\uff13".encode(), "3", False),
        ("tokens", b"\xff\xfe", "3", False),
        ("floats", b"0.30000000001", "0.3", True),  # |difference| = 1e-11 <= 1e-9
        ("floats", b"0.3001", "0.3", False),
        ("floats", b"1e3 yes", "1000 yes", True),
        ("floats", b"1000000000.5", "1000000000", True),  # 0.5 <= 1e-9 * 1e9
        ("floats", b"nan", "1", False),
        ("floats", b"nan", "nan", True),
        ("floats", b"inf", "1e400", False),
        ("floats", b"1_0", "10", False),  # Python reads it, the format does not allow it
        ("floats", b"0x10", "16", False),
        ("unordered", b"b\na\n", "a\nb", True),
        ("unordered", b"a\na\n", "a\n", False),
        ("json", b'{"a": [1, 2.0]}', '{"a": [1.0, 2]}', True),
        ("json", b"[1, true]", "[1, 1]", False),
        ("json", b"[" * 100000, "[]", False),
    ],
)
def test_outputs(mode, got, want, equal):
    assert outputs_equal(got, want, mode, 1e-9, 1e-9) is equal


def test_unknown_mode():
    with pytest.raises(ConfigError, match="comparison must be one of exact, tokens"):
        outputs_equal(b"", "", "fuzzy", 0, 0)  # type: ignore[arg-type]


class Liar(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Echo(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def carried(value, exact=False):
    """A value through the channel, as it comes out of a program's process."""
    return decode_value(dump(value, 1 << 20), exact)


@pytest.mark.parametrize(
    ("value", "want", "equal"),
    [
        ([1, (2, 3)], [1, [2, 3]], True),
        (3.0, 3, True),
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (True, True, True),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        (float("inf"), float("inf"), True),
        (float("-inf"), float("inf"), False),
        (None, None, True),
        (None, 0, False),
        ("3", 3, False),
        (b"ab", b"ab", True),
        (Liar(-99), 3, False),
        (Liar(3), 3, True),
        (Echo("nope"), "yes", False),
        ({1: "a"}, {"1": "a"}, True),
        ({None: 1, True: 2}, {"null": 1, "true": 2}, True),
        ({1: "a"}, {2: "a"}, False),
        ({1: "a", "1": "b"}, {"1": "a"}, False),
        ({1: "a"}, {1: "a"}, True),
        ({(1, 2): 3}, {(1, 2): 3}, True),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, [1, 2], False),
        ([1, 2], {1, 2}, False),
        ([1, 2], "12", False),
        (10**5000, 10**5000, True),
        (10**5000, 10**5000 + 1, False),
        (2**53 + 1, 2**53, False),  # integers are compared exactly, whatever the tolerance
        (1 + 2j, 1 + 2j, True),
        (object(), None, False),
        (iter([1]), [1], False),
        ("\ud800", "\ud800", True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values(value, want, equal):
    assert values_equal(carried(value), want, 1e-9, 1e-9) is equal


def test_tolerance_is_for_floats_inside_containers():
    assert values_equal(carried([0.1 + 0.2]), [0.3], abs_tol=1e-9)
    assert not values_equal(carried([0.1 + 0.2]), [0.3])


def test_exact_form_keeps_types():
    assert carried({(1, 2): {3}, "x": [1, (2,)]}, exact=True) == {(1, 2): {3}, "x": [1, (2,)]}
    assert isinstance(carried(object(), exact=True), Opaque)
    assert list(carried(iter(range(3)), exact=True)) == [0, 1, 2]
    assert isinstance(carried(range(3), exact=True), Items)
    assert math.isnan(carried(float("nan"), exact=True))


def test_hostile_texts_are_refused():
    for text in (
        b"{}",
        b'["x", 1]',
        b'["d", 1]',
        b"[]",
        b"[1]",
        b"[" * 5000,
        b'["i", "zz"]',
        b"\xff",
    ):
        with pytest.raises(ValueError):
            decode_value(text)


def test_colliding_hashes_are_refused():
    numbers = ",".join(str(i * (2**61 - 1)) for i in range(1, 2000))
    with pytest.raises(ValueError, match="large numbers"):
        decode_value(f'["s",{numbers}]'.encode(), exact=True)


def test_dump_is_bounded():
    deep: list = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        dump(deep, 1 << 20)
    with pytest.raises(ValueError, match="large"):
        dump(["x" * 100] * 100, 1000)
