from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judges.rows import BadRow, RowSource
from assay.judges.selection import Selection, Shard


def source(tmp_path: Path, rows: Sequence[dict[str, Any] | str], **settings: Any) -> RowSource:
    path = tmp_path / "in.jsonl"
    lines = [r if isinstance(r, str) else json.dumps({"completion": "c"} | r) for r in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return RowSource(path, "in.jsonl", **settings)


def survey(selection: Selection, known: Sequence[Any] = ()) -> list[BadRow]:
    bad: list[BadRow] = []
    selection.survey(set(known), bad.append)
    return bad


def lines(selection: Selection) -> list[int]:
    return [row.line for row in selection.rows()]


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    rows = [{"id": "a"}, {"id": 1}, {"id": "1"}, {"id": "a"}]
    with pytest.raises(DataError, match=r"in\.jsonl:4: id 'a' stands at line 1 already"):
        survey(Selection(source(tmp_path, rows)))


def test_one_and_the_text_one_are_two_ids(tmp_path: Path) -> None:
    selection = Selection(source(tmp_path, [{"id": 1}, {"id": "1"}]))
    assert survey(selection) == []
    assert [row.id for row in selection.rows()] == [1, "1"]


def test_shards_part_the_rows(tmp_path: Path) -> None:
    rows = source(tmp_path, [{}] * 10)
    shards = [Selection(rows, Shard(i, 3)) for i in range(3)]
    for shard in shards:
        survey(shard)
    assert [lines(shard) for shard in shards] == [[1, 4, 7, 10], [2, 5, 8], [3, 6, 9]]


def test_every_bad_row_is_one_shards_business(tmp_path: Path) -> None:
    rows = source(tmp_path, [{}, "x", {}, "y", {}, "z"])
    found = [[b.line for b in survey(Selection(rows, Shard(i, 3)))] for i in range(3)]
    assert sorted(line for shard in found for line in shard) == [2, 4, 6]


def test_shards_keep_groups_whole(tmp_path: Path) -> None:
    rows = source(tmp_path, [{"uid": i % 7} for i in range(70)], grouped=True)
    seen: dict[str, set[int]] = {}
    for i in range(4):
        selection = Selection(rows, Shard(i, 4))
        survey(selection)
        for row in selection.rows():
            seen.setdefault(str(row.sample.group), set()).add(i)
        assert all(size == 10 for size in selection.groups.values())
    assert len(seen) == 7 and all(len(shards) == 1 for shards in seen.values())


def test_limit_counts_good_rows_of_the_shard(tmp_path: Path) -> None:
    selection = Selection(source(tmp_path, [{}, "bad", {}, {}, {}]), limit=2)
    assert [b.line for b in survey(selection)] == [2]
    assert lines(selection) == [1, 3]
    second = Selection(source(tmp_path, [{}] * 9), Shard(1, 2), limit=2)
    survey(second)
    assert lines(second) == [2, 4]


@pytest.mark.parametrize(("limit", "expected"), [(1, 4), (4, 4), (7, 4), (8, 8), (100, 12)])
def test_limit_takes_whole_groups_and_at_least_one(
    tmp_path: Path, limit: int, expected: int
) -> None:
    # The rows of three groups of four alternate: a b c a b c ...
    rows = source(tmp_path, [{"uid": "abc"[i % 3]} for i in range(12)], grouped=True)
    selection = Selection(rows, limit=limit)
    survey(selection)
    assert selection.count == len(lines(selection)) == expected


def test_known_rows_are_found_by_group(tmp_path: Path) -> None:
    rows = source(tmp_path, [{"uid": i // 2, "id": i} for i in range(6)], grouped=True)
    selection = Selection(rows)
    survey(selection, known=[0, 3, 2, 77])
    assert selection.found == {"0": [0], "1": [2, 3]}


def test_no_usable_row_says_why(tmp_path: Path) -> None:
    rows = source(tmp_path, ['{"output": "x"}', "y"])
    with pytest.raises(
        DataError, match=r"none of the 2 rows can be scored; in\.jsonl:1: no column 'completion'"
    ):
        survey(Selection(rows))


def test_an_empty_input_selects_nothing(tmp_path: Path) -> None:
    selection = Selection(source(tmp_path, []))
    assert survey(selection) == []
    assert (selection.count, lines(selection)) == (0, [])


def test_an_input_that_changes_between_the_passes_is_noticed(tmp_path: Path) -> None:
    rows = source(tmp_path, [{"id": i} for i in range(4)])
    selection = Selection(rows)
    survey(selection)
    source(tmp_path, [{"id": i} for i in (0, 1, 9, 3)])
    with pytest.raises(DataError, match="was changed while it was read"):
        lines(selection)
    source(tmp_path, [{"id": i} for i in range(3)])
    with pytest.raises(DataError, match="was changed while it was read"):
        lines(selection)


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "a/b", "1/0", "1/2/3"])
def test_a_shard_is_i_of_n(text: str) -> None:
    with pytest.raises(ConfigError, match="--shard must be i/n with i from 0 to n-1"):
        Shard.parse(text)
