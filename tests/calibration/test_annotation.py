"""Sheets for people: blind to places and authors, read back whatever a spreadsheet did to them."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from typer.testing import CliRunner

from assay.calibration.annotation import read_sheets, write_sheet
from assay.cli import app
from assay.errors import DataError
from assay.judge import Pair
from assay.messages import as_messages


def pairs(count: int = 40) -> list[Pair]:
    return [
        Pair(
            as_messages(f"=SUM({i})", role="user"),
            as_messages(f"right {i}", role="assistant"),
            as_messages(f"wrong {i}", role="assistant"),
            {"author_a": "secret"},
            f"p{i}",
        )
        for i in range(count)
    ]


def fill(path, say) -> None:
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    for row in rows:
        row["better"] = say(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")  # as some spreadsheets save it
        writer.writeheader()
        writer.writerows(rows)


def honest(row) -> str:
    return "1" if row["answer_1"].startswith("right") else "2"


def test_labels_come_back_as_the_answers_of_the_file_whatever_their_places(tmp_path):
    for seed in (0, 1):
        write_sheet(pairs(), tmp_path / f"{seed}.csv", seed=seed)
    text = (tmp_path / "0.csv").read_text("utf-8-sig")
    assert "secret" not in text and "'=SUM(3)" in text
    first = text.count(",right ", 0)
    assert first == 40
    shown = [row["answer_1"][:5] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert 10 < shown.count("right") < 30
    for seed in (0, 1):
        fill(tmp_path / f"{seed}.csv", honest)
    found = read_sheets([tmp_path / "0.csv", tmp_path / "1.csv"])
    assert set(found.label.values()) == {"A"} and len(found.label) == 40
    assert found.agreement == 1.0 and found.unlabelled == 0


def test_majority_ties_and_gaps(tmp_path):
    votes = {"p0": "112", "p1": "12t", "p2": "1  ", "p3": "   "}
    words = {"1": "1", "2": "2", "t": "tie", " ": ""}
    for k in range(3):
        write_sheet(pairs(4), tmp_path / f"{k}.csv", seed=0)  # the same places in each
        fill(tmp_path / f"{k}.csv", lambda row, k=k: words[votes[row["id"]][k]])
    found = read_sheets([tmp_path / f"{k}.csv" for k in range(3)])
    straight = honest(next(csv.DictReader((tmp_path / "0.csv").open(), delimiter=";"))) == "1"
    assert found.label["p0"] == ("A" if straight else "B")
    assert found.label["p1"] == "tie" and "p3" not in found.label and found.unlabelled == 1
    assert found.agreement == pytest.approx(1 / 6)  # of 3 pairs of votes on p0 one, of 3 on p1 none
    assert found.alpha < 0.5


def test_what_is_wrong_is_said_with_its_row(tmp_path):
    path = tmp_path / "s.csv"
    write_sheet(pairs(3), path)
    fill(path, lambda row: "first")
    with pytest.raises(DataError, match="row 2: better must be 1, 2 or tie"):
        read_sheets([path])
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="is no sheet"):
        read_sheets([path])
    path.write_text("id,seed,better\nx,0,1\nx,0,2\n")
    with pytest.raises(DataError, match="stands twice"):
        read_sheets([path])
    path.write_text("id,seed,better\nx,,1\n")
    with pytest.raises(DataError, match="seed must be"):
        read_sheets([path])
    with pytest.raises(DataError, match="id of its own"):
        write_sheet([pairs(1)[0]] * 2, path)
    assert math.isnan(_one(path).agreement)


def _one(path):
    path.write_text("id,seed,better\nx,0,1\n")
    return read_sheets([path])


def test_the_command_goes_both_ways(tmp_path):
    items, sheet, out = (tmp_path / name for name in ("i.jsonl", "s.csv", "o.jsonl"))
    rows = [{"id": str(i), "prompt": "p", "a": f"right {i}", "b": "wrong"} for i in range(6)]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["audit", "annotate", str(items), "--output"]
    found = CliRunner().invoke(app, [*command, str(sheet), "--seed", "5"])
    assert found.exit_code == 0, found.output
    fill(sheet, lambda row: honest(row) if row["id"] != "3" else "")
    found = CliRunner().invoke(app, [*command, str(out), "--labels", str(sheet)])
    assert found.exit_code == 0 and "5 of 6 pairs have a label" in found.output
    read = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row.get("label") for row in read] == ["A", "A", "A", None, "A", "A"]
    assert read[0]["votes"] == {"A": 1, "B": 0, "tie": 0}
    items.write_text(json.dumps(rows[0]) + "\n")
    assert CliRunner().invoke(app, [*command, str(out), "--labels", str(sheet)]).exit_code == 2
