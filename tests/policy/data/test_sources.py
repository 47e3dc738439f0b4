from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.sources import Source, as_sources, by_share, read_sources


def test_forms() -> None:
    assert as_sources("a/b.jsonl") == (Source("b", "a/b.jsonl"),)
    assert as_sources(["x.jsonl", "y.jsonl"])[1] == Source("y", "y.jsonl")
    table = {"sources": [{"name": "code", "path": "c.jsonl", "weight": 27}]}
    assert as_sources(table) == (Source("code", "c.jsonl", 27),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"source": []}, "did you mean 'sources'"),
        ({"sources": [{"name": "a", "path": "p", "wieght": 1}]}, "did you mean 'weight'"),
        (
            [{"name": "a", "path": "p", "weight": 1}, "b.jsonl"],
            "source 'b' has no weight, others have",
        ),
        (["a.jsonl", "b/a.jsonl"], "several sources are named 'a'"),
        ([{"name": "a", "path": "p", "weight": 0}], "weight must be > 0, got 0"),
        (3, "must be a file"),
    ],
)
def test_what_is_refused(data: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        as_sources(data)


def test_reading(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps({"i": i}) + "\n" for i in range(5)))
    assert read_sources(as_sources(str(file)), limit=2) == {"a": [{"i": 0}, {"i": 1}]}
    file.write_text("")
    with pytest.raises(DataError, match="holds no rows"):
        read_sources(as_sources(str(file)))


def test_shares_hold_in_every_stretch_and_the_seed_decides_the_order() -> None:
    rows = {"a": [{"i": i} for i in range(50)], "b": [{"i": -1}, {"i": -2}]}
    picked = by_share(rows, {"a": 0.8, "b": 0.2}, 100, seed=3)
    assert Counter(name for name, _ in picked) == {"a": 80, "b": 20}
    for start in range(0, 100, 10):
        assert Counter(name for name, _ in picked[start : start + 10])["b"] == 2
    firsts = [row["i"] for name, row in picked if name == "a"]
    assert sorted(firsts[:50]) == list(range(50))  # each once before any comes again
    assert picked == by_share(rows, {"a": 4, "b": 1}, 100, seed=3)
    assert picked != by_share(rows, {"a": 4, "b": 1}, 100, seed=4)


def test_the_published_mix_in_tokens() -> None:
    # 27/26/23/13/10 adds up to 99; rows of very different lengths
    weights = {"code": 27.0, "search": 26.0, "stem": 23.0, "tools": 13.0, "general": 10.0}
    lengths = {"code": 700, "search": 4000, "stem": 900, "tools": 1500, "general": 200}
    rows = {
        name: [{"n": length + 7 * (i % 9)} for i in range(40)] for name, length in lengths.items()
    }
    picked = by_share(rows, weights, 3_000_000, seed=0, size=lambda row: row["n"])
    tokens: Counter[str] = Counter()
    for name, row in picked:
        tokens[name] += row["n"]
    for name, weight in weights.items():
        assert tokens[name] / tokens.total() == pytest.approx(weight / 99, abs=0.005)
