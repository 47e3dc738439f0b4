"""`assay compare`, `explain` and `cache` as a user runs them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.judge import Pair
from assay.judges import Cached
from assay.messages import as_messages
from tests.judges.toy_judges import Longer

JUDGE = "tests.judges.toy_judges:longer"
ROWS = [
    {"id": "x", "prompt": "2 + 2?", "a": "It is four.", "b": "four"},
    {"id": "y", "prompt": "2 + 2?", "a": "4", "b": [{"role": "assistant", "content": "It is 4."}]},
    {"id": "z", "prompt": "2 + 2?", "a": "", "b": ""},
]


@pytest.fixture
def run(tmp_path):
    def call(*args, rows=ROWS, code=0):
        source = tmp_path / "rows.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = ["compare", "--judge", JUDGE, "--input", str(source)]
        words += ["--output", str(tmp_path / "out.jsonl"), *args]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == code, done.output
        path = tmp_path / "out.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    return call


def test_both_orders_by_default(run):
    x, y, z = run("--quiet")
    # p_AB = 11/15 + .1, p_BA = 4/15 + .1: p_a = (11/15 + .1 + 1 - 4/15 - .1) / 2, gap .2
    assert x["value"] == pytest.approx(11 / 15) and x["info"]["order_gap"] == pytest.approx(0.2)
    assert x["info"]["choice"] == "A" and x["info"]["cost"] == 0.5
    assert y["info"]["choice"] == "B"
    assert z["status"] == "abstained" and z["value"] is None and "nothing" in z["note"]


def test_single_order_and_other_columns(run):
    rows = [{"question": "?", "chosen": "long answer", "rejected": "no"}]
    renamed = ["--map", "prompt=question", "--map", "a=chosen", "--map", "b=rejected"]
    (row,) = run("--quiet", "--order", "single", *renamed, rows=rows)
    assert row["value"] == pytest.approx(11 / 13 + 0.1) and "order_gap" not in row["info"]


def test_failures_are_retried(run, tmp_path):
    rows = [*ROWS[:2], {"id": "w", "prompt": "?", "a": "down", "b": "b"}]
    assert run("--quiet", rows=rows)[2]["status"] == "failed"
    again = run("--quiet", "--retry-failed", rows=rows, code=1)
    assert [row["id"] for row in again] == ["x", "y", "w"]


def test_cost_bound(run):
    rows = [{"prompt": "?", "a": "aa", "b": "b"}] * 10
    found = run("--max-cost", "1.2", "--batch-size", "1", rows=rows, code=1)
    assert len(found) == 3  # .5 a row, and 1.5 is past 1.2
    assert len(run("--max-cost", "2", "--batch-size", "1", "--resume", rows=rows, code=1)) == 4
    assert len(run("--resume", rows=rows)) == 10
    run("--max-cost", "0", code=2)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--order", "three"), 2, "both or single"),
        (("--judge", "tests.judges.toy_judges"), 2, "--judge must be"),
        (("--map", "a"), 2, "NEW=OLD"),
        (("--judge", "tests.judges.toy_judges:not_a_judge"), 1, "must be a Judge"),
        (("--map", "b=other"), 1, "other"),
    ],
)
def test_wrong_usage(tmp_path, args, code, message):
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(ROWS[0]) + "\n")
    words = ["compare", "--judge", JUDGE, "--input", str(source)]
    done = CliRunner().invoke(app, [*words, "--output", str(tmp_path / "o.jsonl"), *args])
    assert done.exit_code == code and message in f"{done.output}{done.exception}"


def test_explain(run, tmp_path):
    run("--quiet")
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(app, ["explain", str(out), "x", "--json", str(tmp_path / "x.json")])
    assert done.exit_code == 0
    for words in ("row x", "(scored", "order_gap: 0.2\n", "A first:", "reward's fingerprint"):
        assert words in done.output, words
    whole = json.loads((tmp_path / "x.json").read_text())
    assert whole["row"]["id"] == "x" and whole["manifest"]["about"]["spec"] == JUDGE
    (tmp_path / "out.jsonl.manifest.json").unlink()
    assert "no manifest" in CliRunner().invoke(app, ["explain", str(out), "x"]).output
    missing = CliRunner().invoke(app, ["explain", str(out), "q"])
    assert missing.exit_code == 1 and "['x', 'y', 'z']" in str(missing.exception)


def test_cache_verbs(run, tmp_path):
    cache = tmp_path / "scores.sqlite"
    first = run("--quiet", "--cache", str(cache))
    (tmp_path / "out.jsonl").unlink()
    again = run("--quiet", "--cache", str(cache))
    assert first[0]["info"].pop("cost") == 0.5 and again[0]["info"].pop("cost") == 0.0
    assert again[0] == first[0]

    def call(*args, code=0):
        done = CliRunner().invoke(app, ["cache", *args])
        assert done.exit_code == code, done.output
        return f"{done.output}{done.exception or ''}"

    assert "2 scores" in call("info", str(cache))
    assert "0 damaged" in call("info", str(cache), "--check")
    assert "0 scores removed" in call("prune", str(cache), "--unused-days", "1")
    assert "2 scores removed" in call("prune", str(cache), "--unused-days", "0")
    assert "0 scores" in call("info", str(cache))
    assert "there is no file" in call("info", str(tmp_path / "none"), code=1)
    (tmp_path / "text").write_text("not a database, but long enough to look at" * 50)
    assert "cannot be used as a score cache" in call("clear", str(tmp_path / "text"), code=1)


def test_damaged_entries_are_found(tmp_path):
    import sqlite3

    path = tmp_path / "scores.sqlite"
    pairs = [
        Pair(as_messages("?", role="user"), *(as_messages(t, role="assistant") for t in (a, "b")))
        for a in ("aa", "aaa", "aaaa")
    ]
    judge = Cached(Longer(), path)
    judge.compare(pairs)
    judge.cache.close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE scores SET value = x'00112233445566778899' "
            "WHERE key = (SELECT min(key) FROM scores)"
        )
    connection.close()
    done = CliRunner().invoke(app, ["cache", "info", str(path), "--check"])
    assert done.exit_code == 1 and "1 damaged" in done.output
    assert "1 scores removed" in CliRunner().invoke(app, ["cache", "prune", str(path)]).output
    assert "2 scores removed" in CliRunner().invoke(app, ["cache", "clear", str(path)]).output
