from __future__ import annotations

import os

import pytest

from assay.sandbox.cache import CompileCache, unpack_files


def entry(cache):
    return next(cache.folder.glob("*/*.bin"))


def test_round_trip_and_permissions(tmp_path):
    cache = CompileCache(tmp_path)
    assert cache.get("ab12") is None
    cache.put("ab12", b"program")
    assert cache.get("ab12") == b"program"
    assert os.stat(cache.folder / "ab").st_mode & 0o077 == 0


def test_a_changed_entry_is_dropped(tmp_path):
    cache = CompileCache(tmp_path)
    cache.put("ab12", b"program")
    path = entry(cache)
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert cache.get("ab12") is None
    assert not path.exists()


def test_an_entry_moved_to_another_key_is_dropped(tmp_path):
    cache = CompileCache(tmp_path)
    cache.put("ab12", b"program")
    entry(cache).rename(cache.folder / "ab" / "ab34.bin")
    assert cache.get("ab34") is None


def test_the_oldest_go_first(tmp_path):
    cache = CompileCache(tmp_path, limit_mb=1)
    for number in range(4):
        cache.put(f"0{number}", bytes(400 << 10))
        os.utime(cache._path(f"0{number}"), (number, number))
    cache.sweep()
    assert [cache.get(f"0{number}") is not None for number in range(4)] == [
        False,
        False,
        True,
        True,
    ]


def test_a_folder_that_cannot_be_written_is_no_error():
    cache = CompileCache(__import__("pathlib").Path("/proc/nowhere"))
    cache.put("ab", b"x")
    assert cache.get("ab") is None


def packed(name, content):
    return len(name).to_bytes(2, "little") + len(content).to_bytes(4, "little") + name + content


def test_collected_files():
    data = packed(b"main", b"123") + packed(b"a/B.class", b"")
    assert unpack_files(data) == [("main", b"123", 0o755), ("a/B.class", b"", 0o755)]


@pytest.mark.parametrize("name", [b"", b"../x", b"/etc/x", b"a/../b", b"a//b", b"."])
def test_names_that_leave_the_folder_are_refused(name):
    with pytest.raises(ValueError, match="unusable"):
        unpack_files(packed(name, b"x"))


def test_cut_off_records_are_refused():
    with pytest.raises(ValueError):
        unpack_files(packed(b"main", b"123")[:-1])
    with pytest.raises(ValueError):
        unpack_files(b"\x01")
