"""Verdict files of every layout, what is said of them, and the command."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from assay.calibration.audit_limits import Limit, broken_limits
from assay.calibration.audit_text import advice, sentences
from assay.calibration.position_term import two_order_term
from assay.calibration.verdict_audit import audit_verdicts
from assay.calibration.verdict_files import read_verdicts
from assay.cli import app
from assay.errors import ConfigError, DataError


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


#: One pair, A better, judged right in both orders, then one where the first place wins both times.
LAYOUTS: dict[str, list[dict[str, Any]]] = {
    "llmbar": [
        {"item": 1, "judge": "j", "label": 1, "winner_order_AB": "1", "winner_order_BA": "1"},
        {"item": 2, "judge": "j", "label": 1, "winner_order_AB": "1", "winner_order_BA": "2"},
    ],
    "judgebench": [
        {"pair_id": 1, "judge_model": "j", "label": "A>B", "decisions": ["A>B", "B>A"]},
        {"pair_id": 2, "judge_model": "j", "label": "A>B", "decisions": ["A>B", "A>B"]},
    ],
    "mtbench": [
        {
            "question_id": q,
            "model_1": "x",
            "model_2": "y",
            "g1_winner": "model_1",
            "g2_winner": second,
            "judge": ["j", "pair-v2"],
        }
        for q, second in ((1, "model_1"), (2, "model_2"))
    ],
    "arenahard": [
        {
            "question_id": 1,
            "model": "m",
            "judge": "j",
            "games": [{"score": "A>B"}, {"score": "B>>A"}],
        },
        {
            "question_id": 2,
            "model": "m",
            "judge": "j",
            "games": [{"score": "A>B"}, {"score": "A>B"}],
        },
    ],
    "plain": [
        {"item": 1, "judge": "j", "order": "AB", "choice": "first", "label": "A"},
        {"item": 1, "judge": "j", "order": "BA", "choice": "second", "label": "A"},
        {"item": 2, "judge": "j", "order": "BA", "choice": "first", "label": "A"},
        {"item": 2, "judge": "j", "order": "AB", "choice": "first", "label": "A"},
    ],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_reads_the_same(layout: str, tmp_path: Path) -> None:
    table = read_verdicts(write(tmp_path / "v.jsonl", LAYOUTS[layout]))
    assert table.layout == layout
    (pairs,) = table.by_judge()
    assert (pairs.judge, pairs.ab.tolist(), pairs.ba.tolist()) == ("j", [0, 0], [1, 0])
    (audit,) = audit_verdicts(table, resamples=100)
    assert audit.counts is not None
    assert (audit.counts.consistent, audit.counts.primacy) == (1, 1)
    if "accuracy" in audit.figures:
        assert audit.figures["accuracy"].estimate == 0.75
        assert audit.figures["both_orders_accuracy"].estimate == 0.5


def test_a_list_and_gzip_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(LAYOUTS["judgebench"], indent=1))
    with gzip.open(tmp_path / "v.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in LAYOUTS["judgebench"])
    for name in ("v.json", "v.jsonl.gz"):
        (pairs,) = read_verdicts(tmp_path / name).by_judge()
        assert (pairs.ab.tolist(), pairs.ba.tolist()) == ([0, 0], [1, 0])


def test_llmbar_own_results(tmp_path: Path) -> None:
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 1}
    row["results"] = [{"swap = False": {"winner": "1"}, "swap = True": {"winner": None}}]  # type: ignore[assignment]
    (pairs,) = read_verdicts(write(tmp_path / "v.jsonl", [row])).by_judge()
    assert (pairs.ab.tolist(), pairs.ba.tolist(), pairs.label.tolist()) == ([0], [-1], [0])


def test_layouts_without_places_say_nothing_of_them(tmp_path: Path) -> None:
    alpaca = [
        {"instruction": f"q{i}", "output_1": "aa", "output_2": "b", "preference": 1.0 + i % 2}
        for i in range(4)
    ]
    table = read_verdicts(write(tmp_path / "a.jsonl", alpaca))
    (audit,) = audit_verdicts(table, resamples=100)
    assert table.layout == "alpacaeval"
    assert "does not record" in table.note
    assert audit.counts is None
    assert audit.figures["longer_win_rate"].estimate == 0.5
    bench = [{"id": i, "scores_chosen": [1.0], "scores_rejected": [i * 1.0]} for i in range(4)]
    (audit,) = audit_verdicts(read_verdicts(write(tmp_path / "r.jsonl", bench)), resamples=100)
    assert audit.figures["accuracy"].estimate == (1 + 0.5) / 4


AMBIGUOUS = [{"item": i, "order": order, "choice": "A"} for i in range(3) for order in ("AB", "BA")]


def test_an_unclear_numbering_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "v.jsonl", AMBIGUOUS)
    with pytest.raises(ConfigError, match="position would read 0% .* original would read 100%"):
        read_verdicts(path)
    for numbering, consistent in (("position", 0), ("original", 3)):
        table = read_verdicts(path, numbering=numbering)  # type: ignore[arg-type]
        (audit,) = audit_verdicts(table, resamples=100)
        assert audit.counts is not None and audit.counts.consistent == consistent


def test_a_joined_verdict_is_taken_apart(tmp_path: Path) -> None:
    """p_a .7 and gap .2: p_AB = .8, p_BA = .4."""
    (pairs,) = read_verdicts(
        write(tmp_path / "v.jsonl", [{"id": 1, "p_a": 0.7, "order_gap": 0.2}])
    ).by_judge()
    assert (pairs.p_ab[0], pairs.p_ba[0]) == pytest.approx((0.8, 0.4))
    assert pairs.p_a[0] == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"order": "AB"}], ":1 has no `item`"),
        ([{"item": 1, "order": "left"}], "order must be 'AB' or 'BA'"),
        ([{"item": 1, "choice": "maybe"}], "a choice must be one of"),
        ([{"item": 1, "choice": "A", "p_first": "high"}], "p_first must be a number"),
        ([{"item": 1, "p_first": 1.5}], "p_first must be a number in \\[0, 1\\]"),
        ([{"item": 1, "choice": "A", "label": "best"}], "a label must be one of"),
        ([LAYOUTS["judgebench"][0], {"pair_id": 2}], ":2: a row of layout judgebench needs"),
        ([], "holds no rows"),
    ],
)
def test_bad_rows_are_named(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_verdicts(write(tmp_path / "v.jsonl", rows))


def test_bad_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"item": 1, "choice": "A"}\n{"item":\n')
    with pytest.raises(DataError, match=":2 is not JSON"):
        read_verdicts(tmp_path / "v.jsonl")


def biased(path: Path, seed: int = 0, pairs: int = 300) -> Path:
    """A judge that likes the first place by a logit and is three times too sure."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(pairs):
        quality = float(generator.normal() * 1.5)
        a_better = bool(generator.random() < 1 / (1 + np.exp(-quality)))
        for order, sign in (("AB", 1.0), ("BA", -1.0)):
            p = 1 / (1 + np.exp(-(3 * sign * quality + 1.0)))
            choice = (
                "first"
                if generator.random() < 1 / (1 + np.exp(-(sign * quality + 1)))
                else "second"
            )
            row = {"item": f"secret {i}", "prompt_id": i // 2, "order": order, "choice": choice}
            row |= {"p_first": float(p), "label": "A" if a_better else "B"}
            rows.append(row | {"quality_gap": quality})
    return write(path, rows)


def test_words_and_advice(tmp_path: Path) -> None:
    (audit,) = audit_verdicts(read_verdicts(biased(tmp_path / "v.jsonl")), resamples=200)
    text = " ".join(sentences(audit))
    assert "Picks the first answer" in text and "favours the first place" in text
    assert "strongest where answers are close" in text
    assert "more than chance explains" in text
    told = " ".join(advice(audit))
    assert "BothOrders" in told and "Temperature" in told
    assert audit.prompts == 150
    assert len(audit.by_gap) == 4


def test_limits(tmp_path: Path) -> None:
    audits = audit_verdicts(read_verdicts(biased(tmp_path / "v.jsonl")), resamples=100)
    assert Limit.parse("ece<=1e-3").bound == 0.001 and Limit.parse("ece<=1.").bound == 1
    held = [Limit.parse("consistency>=0.1"), Limit.parse("abs_fairness <= 1")]
    assert broken_limits(audits, held) == []
    (broken,) = broken_limits(audits, [Limit.parse("flip_rate<=0.01")])
    assert "flip_rate<=0.01 is broken" in broken
    (missing,) = broken_limits(audits, [Limit.parse("colour<=1")])
    assert "no figure colour" in missing
    with pytest.raises(ConfigError, match="NAME>=NUMBER"):
        Limit.parse("consistency")


def test_the_command(tmp_path: Path) -> None:
    path, out = biased(tmp_path / "v.jsonl"), tmp_path / "out"
    run = CliRunner().invoke
    done = run(app, ["audit", "verdicts", str(path), "--output", str(out), "--resamples", "100"])
    assert done.exit_code == 0, done.output
    assert "600 verdicts of 1 judges, layout plain" in done.output
    data = json.loads((out / "audit.json").read_text())
    assert data["judges"][0]["figures"]["ece"]["estimate"] > 0.05
    page = (out / "audit.html").read_text()
    assert page.count("<svg") == 3 and "http-equiv" not in page and "secret" in page
    again = ["audit", "verdicts", str(path), "--output", str(out), "--resamples", "100"]
    done = run(app, [*again, "--redact", "--require", "consistency>=0.99"])
    assert done.exit_code == 1
    assert "secret" not in (out / "audit.html").read_text()
    assert "secret" not in (out / "audit.json").read_text()
    assert sorted(p.name for p in out.iterdir()) == ["audit.html", "audit.json"]


@pytest.mark.parametrize("extra", [["--layout", "x"], ["--numbering", "x"], ["--require", "x"]])
def test_wrong_usage(extra: list[str], tmp_path: Path) -> None:
    path = biased(tmp_path / "v.jsonl", pairs=2)
    assert CliRunner().invoke(app, ["audit", "verdicts", str(path), *extra]).exit_code == 2


needs_data = pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="ASSAY_DATA is not set")


@needs_data
def test_published_accuracies_of_judgebench() -> None:
    path = Path(os.environ["ASSAY_DATA"]) / "judgebench" / "judgments.jsonl.gz"
    found = {
        audit.judge: round(100 * audit.figures["both_orders_accuracy"].estimate, 2)
        for audit in audit_verdicts(read_verdicts(path), resamples=100)
    }
    assert found == {
        "o1-mini-2024-09-12": 65.71,
        "Skywork_Skywork-Reward-Gemma-2-27B": 64.29,
        "Skywork_Skywork-Reward-Llama-3.1-8B": 62.29,
        "internlm_internlm2-20b-reward": 63.43,
        "internlm_internlm2-7b-reward": 59.43,
        "Ray2333_GRM-Gemma-2B-rewardmodel-ft": 59.43,
    }


@needs_data
def test_position_terms_of_llmbar() -> None:
    path = Path(os.environ["ASSAY_DATA"]) / "llmbar" / "judgments_both_orders.csv.gz"
    wanted = {"GPT-4/Vanilla": 0.03, "GPT-4/CoT": 0.10, "ChatGPT/CoT": 0.77}
    wanted |= {"PaLM2/CoT": 1.11, "LLaMA2/Swap_CoT": -0.38, "Falcon/CoT": 2.60}
    found = {}
    for pairs in read_verdicts(path).by_judge():
        if pairs.judge in wanted:
            valid = (pairs.ab >= 0) & (pairs.ba >= 0)
            n = int(valid.sum())
            wins = [int((side[valid] == 0).sum()) for side in (pairs.ab, pairs.ba)]
            found[pairs.judge] = round(two_order_term(wins[0], n, wins[1], n).b, 2)
    assert found == wanted
