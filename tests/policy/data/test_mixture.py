import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.mixture import (
    PUBLISHED_MIX,
    Mixture,
    column_tokens,
    shares_of,
    trained_tokens,
)
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.data.sources import Source

TOKENS = column_tokens("tokens")


def _rows(name: str, count: int, coin: random.Random, longest: int = 2000) -> list[dict[str, Any]]:
    return [{"id": f"{name}{i}", "tokens": coin.randint(10, longest)} for i in range(count)]


def _published(coin: random.Random) -> dict[str, list[dict[str, Any]]]:
    return {name: _rows(name, 400, coin, 500 * (i + 1)) for i, name in enumerate(PUBLISHED_MIX)}


def test_the_published_mix_sums_to_99_and_is_normalised() -> None:
    assert sum(PUBLISHED_MIX.values()) == 99
    shares = shares_of(PUBLISHED_MIX)
    assert shares["code"] == pytest.approx(27 / 99)
    assert sum(shares.values()) == pytest.approx(1)


def test_realised_shares_of_tokens_are_within_half_a_point() -> None:
    rows = _published(random.Random(0))
    mixed = Mixture(PUBLISHED_MIX, tokens=600_000)(rows, TOKENS)
    total = sum(row["tokens"] for row in mixed.rows)
    assert mixed.tokens == total and 600_000 <= total < 600_000 + 2500
    by_source = Counter[str]()
    for row in mixed.rows:
        by_source[row["source"]] += row["tokens"]
    for name, share in shares_of(PUBLISHED_MIX).items():
        assert by_source[name] == mixed.accounts[name].tokens
        assert abs(by_source[name] / total - share) < 0.005
    # Every tenth of the mixture has the mix as well, not only its end.
    part = mixed.rows[: len(mixed.rows) // 10]
    some = sum(row["tokens"] for row in part if row["source"] == "code")
    assert abs(some / sum(row["tokens"] for row in part) - 27 / 99) < 0.05


def test_the_same_seed_draws_the_same_rows() -> None:
    rows = _published(random.Random(0))
    first, again = (Mixture(PUBLISHED_MIX, 300_000, seed=3)(rows, TOKENS) for _ in range(2))
    other = Mixture(PUBLISHED_MIX, 300_000, seed=4)(rows, TOKENS)
    assert first.rows == again.rows and first.mark == again.mark
    assert other.mark != first.mark
    changed = {**rows, "code": [*rows["code"][:-1], {"id": "new", "tokens": 5}]}
    assert Mixture(PUBLISHED_MIX, 300_000, seed=3)(changed, TOKENS).mark != first.mark


def test_a_source_is_used_up_before_it_repeats() -> None:
    rows = {"a": [{"id": i, "tokens": 10} for i in range(10)], "b": [{"id": 0, "tokens": 10}] * 99}
    mixed = Mixture({"a": 1, "b": 1}, tokens=400, epochs=2)(rows, TOKENS)
    account = mixed.accounts["a"]
    assert (account.rows, account.distinct, account.epochs) == (20, 10, 2.0)
    first = [row["id"] for row in mixed.rows if row["source"] == "a"][:10]
    assert sorted(first) == list(range(10))


def test_limits_are_refused_with_what_to_do() -> None:
    rows = {"a": [{"tokens": 10}] * 10, "b": [{"tokens": 10}] * 100}
    with pytest.raises(DataError, match=r"through source 'a' 5.00 times.*at most 800"):
        Mixture({"a": 1, "b": 1}, tokens=1000)(rows, TOKENS)
    drawn = Mixture({"a": 1, "b": 1}, epochs=1)(rows, TOKENS)
    assert drawn.tokens == 200 and drawn.accounts["a"].distinct == 10
    few = {"a": [{"tokens": 90}] * 3, "b": [{"tokens": 10}] * 30}
    with pytest.raises(DataError, match="draw more tokens"):
        Mixture({"a": 1, "b": 1}, tokens=100)(few, TOKENS)
    with pytest.raises(DataError, match="weights for"):
        Mixture({"a": 1, "c": 1})(rows, TOKENS)
    with pytest.raises(DataError, match="none can be trained on"):
        Mixture({"a": 1, "b": 1})({**rows, "a": [{"tokens": 0}]}, TOKENS)
    with pytest.raises(DataError, match="number of tokens, got None"):
        Mixture({"a": 1, "b": 1})({**rows, "a": [{}]}, TOKENS)
    with pytest.raises(ConfigError, match="must be > 0"):
        Mixture({"a": 0.0})


def test_tokens_are_counted_as_the_stage_counts_them() -> None:
    from assay.policy.stages.sft_rows import SftRenderer
    from examples.miniature import build_tokenizer

    tokenizer = build_tokenizer(["What is 2+2?", "It is four."] * 4, 320)
    row = {"prompt": "What is 2+2?", "completion": "It is four."}
    (made,) = SftRenderer(tokenizer, 512)(row)
    assert trained_tokens(tokenizer, 512)(row) == len(made["input_ids"])
    assert trained_tokens(tokenizer, len(made["input_ids"]) - 1)(row) == 0


def test_the_command_mixes_a_curriculum(tmp_path: Path) -> None:
    import json

    from typer.testing import CliRunner

    from assay.cli import app

    coin = random.Random(1)
    arguments = ["data", "mix", "--token-column", "tokens", "--output", str(tmp_path / "mix.jsonl")]
    for name, weight in (("code", 2), ("chat", 1)):
        file = tmp_path / f"{name}.jsonl"
        write_rows(file, [*_rows(name, 300, coin, 90), *_rows(name, 300, coin, 300)])
        arguments += ["--source", f"{name}={file},{weight}"]
    arguments += ["--context", "100", "--context", "250", "--json", str(tmp_path / "r.json")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "r.json").read_text())
    short = list(read_rows(tmp_path / "mix-100.jsonl"))
    long = list(read_rows(tmp_path / "mix-250.jsonl"))
    assert max(row["tokens"] for row in short) <= 100 < min(row["tokens"] for row in long)
    assert report["refused: too long, or nothing to train on"]["code"] > 10
    part = report[str(tmp_path / "mix-100.jsonl")]
    assert part["largest error of a share"] < 0.005
    assert report["curriculum"]["contexts"][0]["fill"] > 0.9
    broken = CliRunner().invoke(app, [*arguments, "--published"])
    assert broken.exit_code == 1 and "--published gives the weights" in str(broken.exception)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), "27", 0, -1, True])
def test_weights_that_are_none(weight: Any) -> None:
    with pytest.raises(ConfigError, match="weight"):
        Mixture({"a": weight, "b": 1})
    with pytest.raises(ConfigError, match="weight"):
        Source("a", "a.jsonl", weight)


def test_a_row_longer_than_all_that_is_drawn_is_refused() -> None:
    with pytest.raises(DataError, match="10 tokens are fewer than a single row has, 90"):
        Mixture({"a": 1}, tokens=10)({"a": [{"tokens": 90}]}, TOKENS)


def test_the_command_refuses_a_mix_that_lacks_a_source(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    short, long = tmp_path / "short.jsonl", tmp_path / "long.jsonl"
    write_rows(short, [{"tokens": 5}] * 20)
    write_rows(long, [{"tokens": 500}] * 20)
    output = tmp_path / "mix.jsonl"
    arguments = ["data", "mix", "--output", str(output), "--token-column", "tokens"]
    for more, what in (
        (["--published", "--source", f"code={short}"], "needs each of the sources"),
        (["--source", f"a={short},1", "--source", f"a={short},1"], "needs each of the sources"),
        (
            ["--source", f"a={short},1", "--source", f"b={long},1", "--context", "100"],
            "source 'b': none of its 20 rows fits the context",
        ),
        # The second context cannot be drawn, so that the first is not written either.
        (
            ["--source", f"a={short},1", "--source", f"b={long},1", "--tokens", "100"]
            + [f"--context={size}" for size in (100, 1000)],
            "fewer than a single row has",
        ),
    ):
        done = CliRunner().invoke(app, [*arguments, *more])
        assert done.exit_code == 1 and what in str(done.exception), done.exception
    assert not list(tmp_path.glob("mix*"))
