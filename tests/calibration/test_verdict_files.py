"""Verdict files that are odd, broken or unclear: refused by name, or read as they were meant."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assay.calibration.audit_text import advice, sentences
from assay.calibration.verdict_audit import audit_verdicts
from assay.calibration.verdict_files import read_verdicts
from assay.errors import DataError

ROW = {"item": 1, "order": "AB", "choice": "first"}
JUDGEBENCH = {"pair_id": 1, "label": "A>B", "decisions": ["A>B", "B>A"]}
ALPACA = {"instruction": "x", "output_1": "a", "output_2": "b"}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"item": 1, "verdict_ab": "A", "verdict_ba": "B"}], "says nothing of who won"),
        ([{"item": 1, "p_a": 5, "order_gap": 0.1}], r"p_a must be a number in \[0, 1\]"),
        ([{"item": 1, "p_a": 0.5, "order_gap": 7}], r"order_gap must be a number in \[-1, 1\]"),
        ([{"item": 1, "p_a": True}], "p_a must be a number"),
        (['{"item": 1, "p_a": ' + "9" * 400 + "}"], "p_a must be a number"),
        (['{"item": 1, "choice": "A", "quality_gap": 1e999}'], "quality_gap must be a number"),
        ([{**ROW, "length_a": -5}], "length_a must be a number >= 0"),
        (["[" * 100_000], "starts like a JSON list and is none"),
        (['{"item": ' + "[" * 100_000], ":1 is not JSON"),
        (["", "", ROW, "{"], ":4 is not JSON"),
        ([{**JUDGEBENCH, "decisions": "A>B"}], "decisions must be a list"),
        ([{"question_id": 1, "games": "A>B"}], "games must be a list"),
        ([{**ALPACA, "preference": 5}], r"preference must lie in \[1, 2\]"),
        ([{"id": 1, "scores_chosen": [1], "scores_rejected": [0, 2]}], "rejected answer, got 2"),
    ],
)  # fmt: skip
def test_bad_rows_are_named(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_verdicts(lines(tmp_path / "v.jsonl", *rows))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.jsonl.gz", b"not gzip", "no whole gzip file"),
        ("v.jsonl.gz", gzip.compress(json.dumps(ROW).encode() * 900)[:40], "no whole gzip file"),
        ("v.csv", b"item,order,choice\n1,AB,first,more\n", ":2 has 4 fields and the header 3"),
        ("v.csv", b"item,item,choice\n1,2,first\n", "two columns of the name 'item'"),
        ("v.csv", b'item,choice,text\n1,first,"' + b"x" * 200_000 + b'"\n', "is not CSV"),
        ("v.csv", b"item;choice\n1;first\n", "has no `item`"),
    ],
)
def test_broken_files_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_verdicts(tmp_path / name)


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("item,order,choice\n1,AB,first\n", encoding="utf-8-sig")
    (tmp_path / "v.jsonl").write_text(json.dumps(ROW) + "\n", encoding="utf-8-sig")
    assert len(read_verdicts(tmp_path / "v.csv")) == len(read_verdicts(tmp_path / "v.jsonl")) == 1


def test_a_score_that_is_missing_is_no_tie(tmp_path: Path) -> None:
    rows = ['{"id": 1, "scores_chosen": NaN, "scores_rejected": 1}']
    rows += ['{"id": 2, "scores_chosen": 2, "scores_rejected": 1}']
    (audit,) = audit_verdicts(read_verdicts(lines(tmp_path / "v.jsonl", *rows)))
    assert audit.figures["accuracy"].estimate == 1.0


def test_a_label_may_stand_in_either_order(tmp_path: Path) -> None:
    swapped = {"item": 1, "order": "BA", "choice": "second", "label": "A", "quality_gap": 2}
    (pairs,) = read_verdicts(lines(tmp_path / "v.jsonl", ROW, swapped)).by_judge()
    assert (pairs.label.tolist(), pairs.gap.tolist()) == ([0], [2.0])
    both = lines(tmp_path / "v.jsonl", {**ROW, "label": "B"}, swapped)
    with pytest.raises(DataError, match="orders of item '1' have two labels"):
        read_verdicts(both).by_judge()


def test_an_item_under_two_prompts_is_not_paired_up(tmp_path: Path) -> None:
    rows = [{**ROW, "prompt_id": p, "order": o} for p, o in (("p", "AB"), ("q", "AB"), ("q", "BA"))]
    with pytest.raises(DataError, match="item 1 stands under two prompts, 'p' and 'q'"):
        read_verdicts(lines(tmp_path / "v.jsonl", *rows)).by_judge()


def test_verdicts_that_cannot_be_read_are_no_missing_order(tmp_path: Path) -> None:
    rows = [{"item": 1, "order": order, "choice": ""} for order in ("AB", "BA")]
    (audit,) = audit_verdicts(read_verdicts(lines(tmp_path / "v.jsonl", *rows)))
    assert sentences(audit) == ["No verdict could be read: nothing can be said of this judge."]
    assert "replies" in advice(audit)[0]


def test_half_a_character_in_a_name_can_be_written(tmp_path: Path) -> None:
    rows = [f'{{"item": "\\ud800{i}", "order": "{o}", "choice": "first"}}' for i in range(3)
            for o in ("AB", "BA")]  # fmt: skip
    (audit,) = audit_verdicts(read_verdicts(lines(tmp_path / "v.jsonl", *rows)))
    assert audit.flipped == ["?0", "?1", "?2"]


def test_a_file_without_orders_says_so(tmp_path: Path) -> None:
    rows = [{"item": 1, "choice": "A"}, {"item": 1, "choice": "B"}]
    table = read_verdicts(lines(tmp_path / "v.jsonl", *rows))
    assert "no row has an `order`" in table.note
    assert "other order" in advice(audit_verdicts(table)[0])[0]


def test_thirty_pairs_that_all_agree_leave_doubt(tmp_path: Path) -> None:
    rows = [{"item": i, "order": o, "choice": c, "label": "A"}
            for i in range(30) for o, c in (("AB", "first"), ("BA", "second"))]  # fmt: skip
    (audit,) = audit_verdicts(read_verdicts(lines(tmp_path / "v.jsonl", *rows)))
    flips = audit.figures["flip_rate"]
    # 1 - .025^(1/30) = .1157
    assert (flips.low, round(flips.high, 4)) == (0.0, 0.1157)
    assert round(audit.figures["accuracy"].low, 4) == 0.8843
    assert round(audit.figures["first_pick_rate"].high, 4) == 0.6157
    assert not audit.figures["position_term"].defined
    assert audit.figures["position_term"].as_json()["low"] is None


def test_a_judge_that_always_picks_the_first_is_told_what_to_do(tmp_path: Path) -> None:
    rows = [{"item": i, "order": o, "choice": "first"} for i in range(30) for o in ("AB", "BA")]
    (audit,) = audit_verdicts(read_verdicts(lines(tmp_path / "v.jsonl", *rows)))
    assert "BothOrders" in advice(audit)[0]
