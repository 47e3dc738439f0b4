"""Benchmarks: each one's rules on rows worked by hand, and published scores recomputed."""

from __future__ import annotations

import gzip
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError
from assay.judge import Grade, Judge, Verdict
from assay.judges.benchmark_run import run_benchmark
from assay.judges.benchmark_sets import load_tasks
from assay.reward import Reward, Score


@dataclass(frozen=True)
class ByNumber(Reward):
    """The number that an answer is; `none` has no score."""

    name: str = "by_number"

    def score(self, samples):
        texts = [s.completion[0].content for s in samples]
        return [Score.abstain("none") if t == "none" else Score.of(float(t)) for t in texts]


@dataclass(frozen=True)
class Compares(Judge):
    """Compares numbers; adds `lean` to the first."""

    lean: float = 0.0

    def compare(self, pairs):
        found = []
        for pair in pairs:
            d = float(pair.a[0].content) + self.lean - float(pair.b[0].content)
            found.append(Verdict("tie" if d == 0 else "A" if d > 0 else "B"))
        return found

    def fingerprint(self):
        return f"compares {self.lean}"


class Grades(Judge):
    def grade(self, items):
        return [Grade(float(item.answer[0].content)) for item in items]

    def fingerprint(self):
        return "grades"


by_number, compares = ByNumber(), Compares()


def write(path: Path, data: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    return path


def run(subject, name: str, path: Path | None = None):
    rules, tasks = load_tasks(name, data=path)
    return run_benchmark(subject, rules, tasks)


def scores(report) -> dict[str, float]:
    return {line.name: line.score for line in [*report.lines, *report.apart]}


def test_rewardbench_counts_ties_of_scores_as_misses_and_weights_sections(tmp_path):
    from assay.calibration.rewardbench import SECTIONS_V1

    rows = [
        {"prompt": "p", "chosen": "1", "rejected": "0", "subset": subset, "id": i}
        for i, subset in enumerate(s for counts in SECTIONS_V1.values() for s in counts)
    ]
    rows.append({"prompt": "p", "chosen": "1", "rejected": "1", "subset": "donotanswer", "id": 99})
    path = write(tmp_path / "rb.jsonl", rows)
    found = run(ByNumber(), "rewardbench", path)
    # One of two in a subset of 136 of Safety's 740: 1 - 136/740/2; mean of four sections.
    safety = 1 - 136 / 740 / 2
    assert scores(found)["section Safety"] == pytest.approx(safety)
    assert found.headline.score == pytest.approx((3 + safety) / 4)
    assert scores(found)["over-refusal"] == 1 and scores(found)["refusal"] == pytest.approx(4 / 5)
    half = run(Compares(), "rewardbench", path)
    assert scores(half)["donotanswer"] == 0.75


def test_rewardbench2_is_best_of_four_with_ties_by_their_formula(tmp_path):
    rows = [
        {"id": "1", "prompt": "p", "chosen": ["2"], "rejected": ["2", "1", "0"], "subset": "Math"},
        {
            "id": "2",
            "prompt": "p",
            "chosen": ["3"],
            "rejected": ["2", "1", "0"],
            "subset": "Safety",
        },
        {"id": "ref:1", "prompt": "p", "chosen": ["2"], "rejected": ["1", "0.5", "0"]},
        {"id": "tied:1", "prompt": "p", "chosen": ["2", "1.8"], "rejected": ["1", "0.2"]},
    ]
    rows[2]["subset"] = rows[3]["subset"] = "Ties"
    path = write(tmp_path / "rb2.jsonl", rows)
    for subject in (ByNumber(), Grades()):
        found = run(subject, "rewardbench2", path)
        expected = {"Math": 0.5, "Safety": 1.0, "safety": 1.0, "Ties": 1.00995}
        assert scores(found) == pytest.approx(expected, abs=1e-5)
        assert found.headline.score == pytest.approx((0.5 + 1 + 1.00995) / 3, abs=1e-5)
    pairs = run(Compares(), "rewardbench2", path)
    assert scores(pairs) == {"Math": 0.5, "Safety": 1.0, "safety": 1.0}
    assert pairs.missing == 1  # several right answers need one scale


def test_judgebench_wants_both_orders_more_right_than_wrong(tmp_path):
    rows = [
        {"question": "p", "response_A": "3", "response_B": "1", "label": "A>B"},  # both right
        {"question": "p", "response_A": "1", "response_B": "1.5", "label": "B>A"},  # one order only
        {"question": "p", "response_A": "1", "response_B": "3", "label": "A>B"},  # both wrong
    ]
    for i, row in enumerate(rows):
        row |= {"pair_id": str(i), "source": "livebench-math" if i else "mmlu-pro-law"}
    found = run(Compares(lean=1.0), "judgebench", write(tmp_path / "jb.jsonl", rows))
    assert found.headline.score == pytest.approx(1 / 3)
    assert scores(found) == {"knowledge": 1.0, "math": 0.0}
    assert [row["right"] for row in found.details] == [1.0, 0.0, 0.0]


def test_llmbar_means_both_orders_and_reads_subsets_off_file_names(tmp_path):
    folder = tmp_path / "llmbar"
    folder.mkdir()
    natural = [{"input": "p", "output_1": "1", "output_2": "1.5", "label": 2}]
    hard = [{"input": "p", "output_1": "3", "output_2": "1", "label": 1}]
    (folder / "LLMBar__Natural__dataset.json").write_text(json.dumps(natural))
    (folder / "LLMBar__Adversarial__GPTInst__dataset.json").write_text(json.dumps(hard))
    found = run(Compares(lean=1.0), "llmbar", tmp_path)
    assert scores(found) == {"Adversarial/GPTInst": 1.0, "Natural": 0.5}
    assert found.headline.score == 0.75
    assert scores(run(ByNumber(), "llmbar", folder)) == {"Adversarial/GPTInst": 1, "Natural": 1}


def test_a_file_of_pairs_with_kinds_and_swapped_groups(tmp_path):
    rows = [
        {"id": "1", "a": "1", "b": "0", "label": "A", "kind": "safety"},
        {"id": "2", "a": "1", "b": "0", "label": "B", "swapped_from": "1"},
        {"id": "3", "a": "1", "b": "1", "label": "tie"},
        {"id": "4", "a": "1", "b": "none", "label": "A"},
        {"id": "5", "a": "1", "b": "1", "label": "A", "kind": "over-refusal"},
    ]
    rows = [{"prompt": "p", **row} for row in rows]
    found = run(ByNumber(), str(write(tmp_path / "mine.jsonl", rows)))
    assert found.missing == 1 and found.headline.score == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    apart = {line.name: line.score for line in found.apart}
    assert apart == {
        "safety": 1.0,
        "over-refusal": 0.5,
        "group-swapped pairs": 0.5,
        "same verdict after a swap of groups": 0.0,
    }
    json.dumps(found.as_json(), allow_nan=False)


def test_swapping_a_and_b_with_the_label_changes_nothing(tmp_path):
    rows = [
        {"prompt": "p", "a": str(i % 3), "b": str(i % 5), "label": "AB"[i % 2]} for i in range(30)
    ]
    swapped = [
        {"prompt": "p", "a": r["b"], "b": r["a"], "label": "B" if r["label"] == "A" else "A"}
        for r in rows
    ]
    one = run(Compares(lean=1.0), str(write(tmp_path / "x.jsonl", rows)))
    two = run(Compares(lean=1.0), str(write(tmp_path / "y.jsonl", swapped)))
    assert one.headline == two.headline


def test_what_is_wrong_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    row = {"prompt": "p", "a": "1", "b": "0"}
    with pytest.raises(DataError, match="has no label"):
        load_tasks(str(write(tmp_path / "x.jsonl", [row])))
    with pytest.raises(ConfigError, match="princeton-nlp/LLMBar"):
        load_tasks("llmbar")
    with pytest.raises(ConfigError, match="no file or folder"):
        load_tasks("judgebench", data=tmp_path / "none")
    with pytest.raises(ConfigError, match="holds no files"):
        load_tasks("judgebench", data=tmp_path)
    with pytest.raises(DataError, match="must be lists"):
        load_tasks("rewardbench2", data=write(tmp_path / "y.jsonl", [row]))
    labelled = write(tmp_path / "z.jsonl", [row | {"label": "A"}])
    with pytest.raises(ConfigError, match="must be one of"):
        run_benchmark(compares, *load_tasks(str(labelled)), how="guess")
    with pytest.raises(ConfigError, match="does not compare"):
        run_benchmark(Grades(), *load_tasks(str(labelled)), how="compare")


def test_the_command_prints_figures_and_writes_them(tmp_path):
    rows = [{"prompt": "p", "a": "1", "b": "0", "label": "A", "kind": "refusal"}] * 10
    path, out = write(tmp_path / "mine.jsonl", rows), tmp_path / "out.json"
    command = ["audit", "benchmark", f"{__file__}:by_number", "--set", str(path), "--limit", "4"]
    found = CliRunner().invoke(app, [*command, "--json", str(out)])
    assert found.exit_code == 0, found.output
    assert "100.00%" in found.output and "reported apart" in found.output
    assert json.loads(out.read_text())["headline"]["tasks"] == 4
    assert CliRunner().invoke(app, [*command, "--how", "x"]).exit_code == 2


@dataclass(frozen=True)
class Recorded(Judge):
    """Gives JudgeBench's recorded scores of a reward model."""

    scores: dict

    def grade(self, items):
        at = {}
        found = []
        for item in items:
            at[item.id] = at.get(item.id, -1) + 1
            found.append(Grade(self.scores[item.id][at[item.id]]))
        return found

    def fingerprint(self):
        return "recorded"


@pytest.mark.parametrize(
    ("model", "published"),
    [
        ("Skywork_Skywork-Reward-Gemma-2-27B", 64.29),
        ("Skywork_Skywork-Reward-Llama-3.1-8B", 62.29),
        ("internlm_internlm2-20b-reward", 63.43),
        ("internlm_internlm2-7b-reward", 59.43),
        ("Ray2333_GRM-Gemma-2B-rewardmodel-ft", 59.43),
    ],
)
def test_published_scores_of_judgebench(model, published):
    folder = os.environ.get("ASSAY_DATA")
    if not folder:
        pytest.skip("ASSAY_DATA is not set")
    with gzip.open(Path(folder) / "judgebench" / "judgments.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if row["judge_model"] == model]
    rules, tasks = load_tasks("judgebench", data=Path(folder))
    better = {}
    for row in rows:
        a, b = (json.loads(row["scores"]) if isinstance(row["scores"], str) else row["scores"])[0]
        better[row["pair_id"]] = (a, b) if row["label"] == "A>B" else (b, a)
    found = run_benchmark(Recorded(better), rules, tasks, how="grade")
    assert round(100 * found.headline.score, 2) == published
    assert not math.isnan(found.headline.interval.low)
