from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judges.rows import LONGEST_LINE, BadRow, Row, RowSource, parse_rename

GOOD = {"prompt": "p", "completion": "c"}


def read(path: Path, **settings: Any) -> list[Row | BadRow]:
    return list(RowSource(path, path.name, **settings))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def line(**row: Any) -> bytes:
    return json.dumps(GOOD | row).encode() + b"\n"


def reasons(rows: list[Row | BadRow]) -> dict[int, str]:
    return {row.line: row.reason for row in rows if isinstance(row, BadRow)}


def test_a_row_is_prompt_completion_and_the_rest_as_columns(tmp_path: Path) -> None:
    row = line(tests=["assert f(1)"], uid=7, truncated=True, completion_ids=[5, 6], id="a")
    (found,) = read(write(tmp_path / "a.jsonl", row))
    assert isinstance(found, Row)
    assert (found.line, found.id, found.own_id) == (1, "a", True)
    sample = found.sample
    assert (sample.prompt[0].role, sample.prompt[0].content) == ("user", "p")
    assert sample.answer == "c"
    assert sample.columns == {"tests": ["assert f(1)"], "uid": 7, "truncated": True, "id": "a"}
    assert (sample.group, sample.truncated, sample.completion_ids) == ("7", True, (5, 6))


def test_messages_and_a_missing_prompt(tmp_path: Path) -> None:
    row = {"completion": [{"role": "assistant", "content": "hi"}]}
    (found,) = read(write(tmp_path / "a.jsonl", json.dumps(row).encode()))
    assert isinstance(found, Row)
    assert found.sample.prompt == ()
    assert found.sample.answer == "hi"


def test_eos_ids_tell_truncation(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line(completion_ids=[5, 2]) + line(completion_ids=[5, 6]))
    rows = read(path, eos_token_ids=(2,))
    assert [row.sample.truncated for row in rows if isinstance(row, Row)] == [False, True]


def test_bom_crlf_blank_lines_and_no_last_newline_are_read(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + line().replace(b"\n", b"\r\n") + b"\r\n  \n" + line().rstrip()
    rows = read(write(tmp_path / "a.jsonl", text))
    assert [(row.line, row.id) for row in rows if isinstance(row, Row)] == [(1, 1), (4, 4)]
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nonsense\n", "not JSON"),
        (b'{"completion": "c"', "not JSON"),
        (b"[1, 2]\n", "must be a JSON object, got list"),
        (b"null\n", "must be a JSON object, got NoneType"),
        (b'{"completion": "\xff\xfe"}\n', "not UTF-8 at byte 17"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b'{"prompt": "p"}\n', "no column 'completion'; the row has ['prompt']"),
        (b'{"completion": 5}\n', "expected text or a list of messages"),
        (b'{"completion": null}\n', "the completion: expected text or a list of messages"),
        (b'{"completion": [{"content": "x"}]}\n', "message role must be one of"),
        (line(id=1.5), "`id` must be text or a whole number, got float 1.5"),
        (line(id=True), "`id` must be text or a whole number, got bool"),
        (line(uid=[1]), "`uid` must be text or a whole number"),
        (line(truncated="no"), "`truncated` must be true or false, got str 'no'"),
        (line(completion_ids=["a"]), "`completion_ids` must be a list of whole numbers"),
        (line(completion_ids=7), "`completion_ids` must be a list of whole numbers"),
        (b'{"completion": "c", "n": ' + b"9" * 5000 + b"}\n", "not JSON"),
    ],
)
def test_a_bad_line_is_reported_and_the_others_are_read(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    data = data if data.endswith(b"\n") else data + b"\n"
    rows = read(write(tmp_path / "a.jsonl", line() + data + line()))
    assert reason in reasons(rows)[2]
    assert [row.line for row in rows if isinstance(row, Row)] == [1, 3]


def test_needed_columns_and_groups(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line(tests=[], uid=1) + line(uid=1) + line(tests=[]))
    found = reasons(read(path, needed=frozenset({"tests"}), grouped=True))
    assert "needs columns ['tests']" in found[2] and "--map tests=NAME" in found[2]
    assert "no `uid`" in found[3] and "--map uid=NAME" in found[3]


def test_ids_are_given_to_all_rows_or_to_none(tmp_path: Path) -> None:
    with_first = read(write(tmp_path / "a.jsonl", line(id=1) + line()))
    assert "has no `id`, unlike the first row" in reasons(with_first)[2]
    without = read(write(tmp_path / "b.jsonl", line() + line(id="x")))
    assert "has an `id`, unlike the first row" in reasons(without)[2]


def test_rename_moves_columns(tmp_path: Path) -> None:
    row = b'{"question": "q", "output": "o", "completion": "other", "task": 3}\n'
    rename = parse_rename(["prompt=question", "completion=output", "id=task", "uid=task"])
    rows = read(write(tmp_path / "a.jsonl", row + b'{"question": "q"}\n'), rename=rename)
    assert isinstance(rows[0], Row)
    assert rows[0].sample.prompt[0].content == "q"
    assert rows[0].sample.answer == "o"
    assert rows[0].sample.columns == {"id": 3, "uid": 3}
    assert "--map names columns ['output', 'task']" in reasons(rows)[2]


@pytest.mark.parametrize("option", ["completion", "=output", "completion=", ""])
def test_rename_must_be_new_equals_old(option: str) -> None:
    with pytest.raises(ConfigError, match="must be NEW=OLD"):
        parse_rename([option])


def test_rename_fills_a_column_once() -> None:
    with pytest.raises(ConfigError, match="fills 'completion' twice, from 'a' and 'b'"):
        parse_rename(["completion=a", "completion=b"])


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    path = write(tmp_path / "named_anything", gzip.compress(line() + line()))
    assert [row.line for row in read(path)] == [1, 2]


def test_a_gzip_file_that_ends_midway_is_damaged(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(line(n=i, noise=f"{i * 7919 % 9973:x}") for i in range(3000)))
    path = write(tmp_path / "a.jsonl.gz", data[: len(data) // 2])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz is damaged after line \d+.*zcat"):
        read(path)


def test_a_gzip_file_with_flipped_bytes_is_damaged(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(line() * 100))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(DataError, match="is damaged after line"):
        read(write(tmp_path / "a.jsonl.gz", bytes(data)))


def test_zstd_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"zstd -dc a\.zst \| assay score --input -"):
        read(write(tmp_path / "a.zst", b"\x28\xb5\x2f\xfd rest"))


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read nothing\.jsonl: No such file"):
        read(tmp_path / "nothing.jsonl")


def test_fifty_megabytes_in_one_line_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line() + line(completion="x" * 50_000_000) + line())
    rows = [row for row in read(path) if isinstance(row, Row)]
    assert [len(row.sample.answer) for row in rows] == [1, 50_000_000, 1]


def test_a_line_past_the_limit_is_bad_and_never_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(line())
        for _ in range(3 * (LONGEST_LINE >> 20) + 1):
            file.write(b"x" * 2**20)
        file.write(b"\n" + line())
    tracemalloc.start()
    rows = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reasons(rows) == {2: "the line is longer than 64 MiB"}
    assert [row.line for row in rows] == [1, 2, 3]
    assert peak < 3 * LONGEST_LINE  # the file is larger; reading by pieces holds at most two


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", b"")) == []
    assert read(write(tmp_path / "b.jsonl", b"\n\n")) == []


def test_parquet_is_read_by_batches(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow (extra parquet)")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [GOOD | {"n": i, "tests": ["a", "b"], "row": {"deep": [i]}} for i in range(1000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=300)
    found = [row for row in read(tmp_path / "a.parquet") if isinstance(row, Row)]
    assert [row.line for row in found] == list(range(1, 1001))
    assert found[999].sample.columns == {"n": 999, "tests": ["a", "b"], "row": {"deep": [999]}}


def test_a_truncated_parquet_file_is_damaged(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow (extra parquet)")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([GOOD] * 50), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    with pytest.raises(DataError, match="is damaged after row 0"):
        read(write(tmp_path / "a.parquet", data[:-20]))
