"""Exports and explanations of results with ids and texts that not every format can hold."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError
from assay.judges.explain import find_row, lines
from assay.judges.exported_results import export
from assay.judges.rows import BadRow, RowSource
from assay.judges.strict_json import encode_line
from assay.reward import Score


def written(path, *ids, note=""):
    rows = [{"id": one, **Score.of(i / 10, note=note).to_json()} for i, one in enumerate(ids)]
    path.write_bytes(b"".join(encode_line(row) for row in rows))
    return path


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "x"])
def test_a_lone_surrogate_is_escaped(tmp_path, name):
    out = written(tmp_path / "out.jsonl", "\ud83d", note="cut \ud83d")
    assert export(out, ["\ud83d"], tmp_path / name) == 1
    if name == "x.jsonl":
        (line,) = (tmp_path / name).read_text().splitlines()
        assert json.loads(line)["id"] == "\ud83d"
    else:
        import datasets

        read = datasets.load_from_disk if name == "x" else datasets.Dataset.from_parquet
        assert read(str(tmp_path / name))[0]["note"] == "cut \\ud83d"
    text = "\n".join(lines(find_row(out, "\ud83d"), {}))
    assert "cut \\ud83d" in text and text.encode()


def test_no_rows_are_a_dataset_too(tmp_path):
    import datasets

    out = written(tmp_path / "out.jsonl", "bad")
    assert export(out, [], tmp_path / "x") == 0
    assert len(datasets.load_from_disk(str(tmp_path / "x"))) == 0


def test_a_number_and_its_text_are_two_rows(tmp_path):
    out = written(tmp_path / "out.jsonl", "1", 1)
    assert export(out, [1, "1"], tmp_path / "x.jsonl") == 2
    assert [json.loads(line)["id"] for line in (tmp_path / "x.jsonl").open()] == [1, "1"]
    with pytest.raises(DataError, match=r"1 and '1' would be the same"):
        export(out, [1, "1"], tmp_path / "x.parquet")
    assert [find_row(out, text)["value"] for text in ("1", '"1"')] == [0.1, 0.0]
    assert find_row(written(tmp_path / "one.jsonl", "1"), "1")["value"] == 0.0
    with pytest.raises(ConfigError, match="no row"):
        find_row(out, "01")


def test_an_id_that_could_not_be_written_back_is_refused(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": 10**1500, "completion": "x"}) + "\n")
    (row,) = RowSource(tmp_path / "in.jsonl", "in")
    assert isinstance(row, BadRow) and "give it as text" in row.reason


def test_an_export_never_replaces_its_sources(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"prompt": "?", "a": "x", "b": "y"}\n')
    words = ["compare", "--judge", "tests.judges.toy_judges:longer", "--input", str(source)]
    words += ["--output", str(tmp_path / "out.jsonl"), "--json", str(tmp_path / "s.json")]
    for name in ("in.jsonl", "out.jsonl"):
        done = CliRunner().invoke(app, [*words, "--export", str(tmp_path / name)])
        assert done.exit_code == 2 and "give it another name" in done.output
    assert source.read_text().startswith('{"prompt"')
