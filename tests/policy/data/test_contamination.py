import random
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.contamination import Contamination, check_files, row_text
from assay.policy.data.preference_duplicates import jaccard, near_duplicates, shingles
from assay.policy.data.row_files import read_rows, write_rows

WORDS = [f"word{i}" for i in range(400)]


def _text(coin: random.Random, count: int = 60) -> str:
    return " ".join(coin.choice(WORDS) for _ in range(count))


def test_planted_leaks_are_found_and_nothing_else() -> None:
    coin = random.Random(0)
    items = [{"prompt": _text(coin)} for _ in range(40)]
    clean = [{"prompt": _text(coin), "completion": _text(coin)} for _ in range(200)]
    words = items[0]["prompt"].split()
    typo = " ".join([*words[:30], "changed", *words[31:]])
    planted = [
        {"prompt": items[3]["prompt"].upper() + "!!"},  # the same words
        {"prompt": typo},  # one word of sixty changed
        {"prompt": "Solve: " + items[5]["prompt"] + " Thanks. " + _text(coin, 300)},  # inside
        {"prompt": "Hello", "completion": "It says: " + items[6]["prompt"] + _text(coin, 200)},
    ]
    found = Contamination()([*clean, *planted], items)
    assert [leak.train for leak in found.leaks] == [200, 201, 202, 203]
    assert [leak.evaluation for leak in found.leaks] == [3, 0, 5, 6]
    assert found.leaks[0].kind == "same" and found.leaks[2].kind == "contained"
    assert found.kept == list(range(200))
    prompts = Contamination(compare="prompt")([*clean, *planted], items)
    assert [leak.train for leak in prompts.leaks] == [200, 201, 202]


def test_a_single_shared_13_gram_is_a_leak_where_that_is_asked_for() -> None:
    coin = random.Random(1)
    item = _text(coin, 80)
    borrowed = " ".join(item.split()[20:33])  # 13 words of 80
    row = {"prompt": _text(coin) + " " + borrowed + " " + _text(coin)}
    assert not Contamination()([row], [{"prompt": item}]).leaks
    assert Contamination(contained=1e-9)([row], [{"prompt": item}]).leaks
    shorter = " ".join(borrowed.split()[:12])
    row = {"prompt": _text(coin) + " " + shorter + " " + _text(coin)}
    assert not Contamination(contained=1e-9)([row], [{"prompt": item}]).leaks


def test_near_duplicates_inside_the_training_rows() -> None:
    coin = random.Random(2)
    rows = [{"prompt": _text(coin, 100)} for _ in range(30)]
    words = rows[4]["prompt"].split()
    rows.append({"prompt": " ".join([*words[:50], "new", *words[51:]])})
    found = Contamination()(rows, [{"prompt": _text(coin)}])
    assert found.repeats == [(30, 4)] and found.kept == list(range(30))
    assert Contamination(duplicates=1.1)(rows, [{"prompt": "x"}]).repeats == []


def test_candidates_agree_with_datasketch() -> None:
    datasketch = pytest.importorskip("datasketch", reason="an independent MinHash to compare with")
    coin = random.Random(3)
    texts = [_text(coin, 80) for _ in range(60)]
    for source in range(20):  # near duplicates with a growing number of changed words
        words = texts[source].split()
        for place in coin.sample(range(80), source // 3):
            words[place] = "changed"
        texts.append(" ".join(words))
    lsh = datasketch.MinHashLSH(params=(32, 4), num_perm=128)
    theirs = []
    for place, text in enumerate(texts):
        sketch = datasketch.MinHash(num_perm=128)
        for gram in shingles(text):
            sketch.update(gram.to_bytes(8, "big"))
        near = [int(key) for key in lsh.query(sketch)]
        same = [i for i in near if jaccard(shingles(text), shingles(texts[i])) >= 0.8]
        theirs.append(min(same, default=place))
        if theirs[-1] == place:
            lsh.insert(str(place), sketch)
    assert near_duplicates(texts) == theirs


def test_rows_of_all_forms() -> None:
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Ask"},
        {"role": "assistant", "content": "Say"},
    ]
    assert row_text({"messages": chat}) == "Ask"
    assert row_text({"conversations": chat}, "all") == "Ask\nSay"
    assert row_text({"question": "Why?"}) == "Why?"
    with pytest.raises(DataError, match="no text to compare"):
        row_text({"id": 3})
    with pytest.raises(ConfigError, match=r"contained must lie in \(0, 1\]"):
        Contamination(contained=0)


def test_the_command(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    coin = random.Random(4)
    item = _text(coin)
    write_rows(tmp_path / "train.jsonl", [{"prompt": _text(coin)}, {"prompt": item}])
    write_rows(tmp_path / "eval.jsonl", [{"prompt": item}])
    arguments = ["data", "contamination", str(tmp_path / "train.jsonl")]
    arguments += ["--evaluation", str(tmp_path / "eval.jsonl")]
    arguments += ["--output", str(tmp_path / "clean.jsonl"), "--report", str(tmp_path / "r.jsonl")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert CliRunner().invoke(app, [*arguments, "--fail"]).exit_code == 1
    assert len(list(read_rows(tmp_path / "clean.jsonl"))) == 1
    (leak,) = read_rows(tmp_path / "r.jsonl")
    assert (leak["file"], leak["row"]) == (str(tmp_path / "train.jsonl"), 1)
    assert leak["evaluation_text"] == item
    with pytest.raises(DataError, match="evaluation files 0"):
        (tmp_path / "none.jsonl").write_text("")
        check_files([tmp_path / "train.jsonl"], [tmp_path / "none.jsonl"], tmp_path / "x.jsonl")


ITEM = "Janet sells sixteen duck eggs a day and eats three of them for breakfast on every morning"


@pytest.mark.parametrize(
    "text",
    [
        ITEM.upper(),
        ITEM.replace(" ", "\n\u00a0\t"),
        "\u200b".join(ITEM),  # zero-width spaces between all letters
        "\ufeff" + ITEM.replace("eggs", "eg\u00adgs").replace("breakfast", "break\u2060fast"),
        "".join(chr(ord(c) + 0xFEE0) if c != " " else c for c in ITEM),  # full-width letters
        ITEM.replace(" ", "_"),
    ],
)
def test_the_same_words_in_other_clothes(text: str) -> None:
    found = Contamination()([{"prompt": text}], [{"prompt": ITEM}])
    assert [leak.kind for leak in found.leaks] == ["same"]


def test_items_too_short_for_13_grams() -> None:
    coin = random.Random(7)
    ten, six = (
        "Which river flows through the old town of Prague today?",
        "Who wrote it, and when?",
    )
    rows = [{"prompt": f"{_text(coin)} {text} {_text(coin)}"} for text in (ten, six, ten[6:])]
    found = Contamination()(rows, [{"prompt": ten}, {"prompt": six}])
    assert [(leak.train, leak.evaluation, leak.kind) for leak in found.leaks] == [
        (0, 0, "contained")
    ]


def test_rows_that_say_nothing_are_nobodys_copies() -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": " "},
        {"prompt": "\u200b"},
        {"messages": [{"role": "system", "content": "x"}]},
    ]
    found = Contamination()(rows, [{"prompt": "a"}])
    assert found.kept == [0, 1, 2] and not found.leaks
    with pytest.raises(DataError, match="evaluation row 0 says nothing"):
        Contamination()([{"prompt": "a"}], [{"prompt": "\n"}])


def test_answers_in_columns_of_other_names() -> None:
    for column in ("completion", "answer", "solution", "response", "output"):
        row = {"question": "Hello", column: f"It reads: {ITEM}. And so on."}
        assert Contamination()([row], [{"prompt": ITEM}]).leaks
        assert not Contamination(compare="prompt")([row], [{"prompt": ITEM}]).leaks
