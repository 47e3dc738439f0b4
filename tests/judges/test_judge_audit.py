"""`assay audit judge`: what is asked, found, kept and handed on."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.calibration import Calibrator, PositionCorrection, read_verdicts
from assay.cli import app
from assay.errors import ConfigError, DataError
from assay.judge import Judge, Pair, Verdict
from assay.judges import BothOrders, Calibrated, Corrected, LLMPairwise
from assay.judges.audit_config import load_judge
from assay.judges.judge_audit import Repeated, audit_judge
from assay.judges.pair_files import read_pairs
from assay.judges.serving.config import ServeConfig
from assay.judges.serving.context import Context
from assay.messages import as_messages

SPEC = f"{__file__}:leaning"


@dataclass(frozen=True)
class Leaning(Judge):
    """Knows the quality in the text, is three times too sure and leans to the first place."""

    b: float = 0.9
    seed: int = 0
    calls: list[int] = field(default_factory=list, compare=False)

    def compare(self, pairs):
        self.calls.append(len(pairs))
        return [self._verdict(pair) for pair in pairs]

    def _verdict(self, pair):
        first, second = (side[-1].content for side in (pair.a, pair.b))
        first, second = (float(re.search(r"-?\d\.\d+", text)[0]) for text in (first, second))
        x = 3 * (first - second) + self.b
        p = 1 / (1 + math.exp(-x))
        return Verdict("A" if p > 0.5 else "B", p, cost=0.5)

    def fingerprint(self):
        return f"leaning {self.b} {self.seed}"


leaning = Leaning()
both = BothOrders(Leaning())
other = Leaning(seed=1)


def rows(count: int = 120) -> list[dict]:
    """Labels follow the quality by chance, as sigmoid(difference) says."""
    found = []
    for i in range(count):
        draw = random.Random(i)
        unit = [draw.uniform(-1, 1) for _ in "abc"]
        better = (unit[2] + 1) / 2 < 1 / (1 + math.exp(unit[1] - unit[0]))
        found.append(
            {
                "id": f"p{i}",
                "prompt_id": f"q{i // 2}",
                "prompt": f"question {i}?",
                "a": f"quality {unit[0]:.3f}",
                "b": f"quality {unit[1]:.3f}",
                "label": "A" if better else "B",
                "quality_gap": unit[0] - unit[1],
            }
        )
    return found


def write(path: Path, data: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    return path


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write(tmp_path / "items.jsonl", rows())


def test_an_audit_finds_the_lean_and_hands_on_what_takes_it_out(items):
    pairs = read_pairs(items)
    report = audit_judge(Leaning(), pairs, repeats=2, probes=False)
    assert report.correction is not None
    assert 0.9 in (report.correction.b,) or report.correction.low < 0.9 < report.correction.high
    assert report.cost == 0.5 * report.run.asked == 0.5 * 120 * 4
    assert report.audit.figures["repetition_stability"].estimate == 1.0
    assert report.audit.by_gap
    again = audit_judge(Corrected(Leaning(), report.correction), pairs, probes=False)
    b = again.run.findings[0].interval
    assert abs(b.estimate) < 0.4 * report.correction.b
    fit = report.calibration
    assert fit is not None and fit.calibrated.ece < fit.raw.ece
    assert fit.calibrator.temperature > 1.5  # three times too sure
    assert report.swap_weight > 0


def test_the_cache_answers_a_second_audit(items, tmp_path):
    pairs, cache = read_pairs(items, limit=30), tmp_path / "c.sqlite"
    first, second = Leaning(), Leaning()
    one = audit_judge(first, pairs, repeats=2, cache=cache)
    two = audit_judge(second, pairs, repeats=2, cache=cache)
    assert sum(first.calls) == one.run.asked
    assert second.calls == []
    plain = one.as_json(), two.as_json()
    assert [data["requests"].pop("cost") for data in plain] == [0.5 * one.run.asked, 0.0]
    assert plain[0] == plain[1]


def test_repeats_have_fingerprints_and_seeds_of_their_own():
    one, two = Repeated(Leaning(), 1), Repeated(Leaning(), 2)
    assert len({one.fingerprint(), two.fingerprint(), Leaning().fingerprint()}) == 3
    assert one._asked.seed != two._asked.seed != 0


def test_the_command_writes_what_a_server_loads(items, tmp_path):
    out = tmp_path / "out"
    command = ["audit", "judge", SPEC, "--items", str(items), "--output", str(out)]
    found = CliRunner().invoke(app, [*command, "--no-probes", "--require", "flip_rate<=1"])
    assert found.exit_code == 0, found.output
    assert "likes the first place" in found.output and "Calibrator: ECE" in found.output
    names = {"audit.html", "audit.json", "verdicts.jsonl", "correction.json", "calibrator.json"}
    names.add("calibrator_one_order.json")
    assert {path.name for path in out.iterdir()} == names
    data = json.loads((out / "audit.json").read_text())
    assert data["correction"]["b"] == pytest.approx(
        PositionCorrection.load(out / "correction.json").b
    )
    (pairs,) = read_verdicts(out / "verdicts.jsonl").by_judge()
    assert len(pairs) == 240 and "<svg" in (out / "audit.html").read_text()
    served = {"object": SPEC, "correction": str(out / "correction.json")}
    served["calibrator"] = str(out / "calibrator_one_order.json")
    context = Context.open(ServeConfig.of({"judges": {"one": served}}))
    (judge,) = context.judges["one"].objects
    context.close()
    assert isinstance(judge, Calibrated) and isinstance(judge.judge, Corrected)
    pair = read_pairs(items)[0]
    (raw,), (mended,) = leaning.compare([pair]), judge.compare([pair])
    b = PositionCorrection.load(out / "correction.json").b
    t = Calibrator.load(out / "calibrator_one_order.json").temperature
    logit = math.log(raw.p_a / (1 - raw.p_a)) - b
    assert mended.p_a == pytest.approx(1 / (1 + math.exp(-logit / t)))


def test_ci_fails_on_a_broken_limit_and_on_any_flag_if_strict(items):
    command = ["audit", "judge", SPEC, "--items", str(items), "--no-probes", "--repeats", "1"]
    found = CliRunner().invoke(app, [*command, "--require", "abs_position_term<=0.1"])
    assert found.exit_code == 1 and "broken limit: leaning: abs_position_term" in found.stderr
    assert CliRunner().invoke(app, [*command, "--strict"]).exit_code == 1
    assert CliRunner().invoke(app, [*command, "--require", "position"]).exit_code == 2
    assert CliRunner().invoke(app, command).exit_code == 0


def test_redaction_leaves_no_names_of_pairs(items, tmp_path):
    out = tmp_path / "out"
    command = ["audit", "judge", SPEC, "--items", str(items), "--no-probes", "--redact"]
    found = CliRunner().invoke(app, [*command, "--output", str(out)])
    assert found.exit_code == 0
    assert not (out / "verdicts.jsonl").exists()
    assert json.loads((out / "audit.json").read_text())["flipped"] == []


def test_a_toml_file_names_judge_and_wordings(tmp_path):
    path = tmp_path / "judge.toml"
    path.write_text(f'[judge]\nobject = "{SPEC}"\n[templates]\nother = "{__file__}:other"\n')
    found = load_judge(str(path))
    assert found.name == "judge" and found.templates["other"].seed == 1
    (tmp_path / "mine.txt").write_text("{nonce} {conversation} {answer_a} {answer_b}")
    path.write_text(
        '[judge]\nname = "m"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\nallow_tie = false\n'
        '[templates]\nmine = "mine.txt"\n'
    )
    found = load_judge(str(path))
    assert isinstance(found.judge, LLMPairwise) and not found.judge.allow_tie
    assert found.templates["mine"].prompt.startswith("{nonce}")
    assert found.templates["mine"].fingerprint() != found.judge.fingerprint()
    path.write_text('[judge]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n')
    assert sorted(load_judge(str(path)).templates) == ["reworded", "terse"]  # shipped
    path.write_text('[judge]\nobjet = "x:y"\n')
    with pytest.raises(ConfigError, match="objet"):
        load_judge(str(path))


def test_the_judge_inside_both_orders_is_audited():
    found = load_judge(f"{__file__}:both")
    assert type(found.judge).__name__ == "Leaning" and "one order at a time" in found.note


def test_rows_of_every_layout_become_pairs(tmp_path):
    layouts = [
        {"prompt": "p", "a": "x", "b": "y", "label": "tie"},
        {"prompt": "p", "chosen": "x", "rejected": "y", "chosen_model": "m"},
        {"input": "p", "output_1": "x", "output_2": "y", "label": 2},
        {"question": "p", "response_A": "x", "response_B": "y", "label": "B>A", "pair_id": "k"},
    ]
    pairs = read_pairs(write(tmp_path / "rows.jsonl", layouts))
    assert [p.columns["label"] for p in pairs] == ["tie", "A", "B", "B"]
    assert {(p.a[0].content, p.b[0].content) for p in pairs} == {("x", "y")}
    assert pairs[1].columns["author_a"] == "m" and pairs[3].id == "k"
    with pytest.raises(DataError, match="is no pair"):
        read_pairs(write(tmp_path / "bad.jsonl", [{"prompt": "p", "answer": "x"}]))
    with pytest.raises(DataError, match="label must be"):
        read_pairs(write(tmp_path / "bad.jsonl", [{"prompt": "p", "a": "x", "b": "y", "label": 3}]))
    with pytest.raises(DataError, match="stands in two rows"):
        read_pairs(write(tmp_path / "bad.jsonl", [layouts[3]] * 2))
    with pytest.raises(ConfigError, match="no file"):
        read_pairs(tmp_path / "none.jsonl")


def test_a_correction_leaves_alone_what_it_cannot_mend(tmp_path):
    class Fixed(Judge):
        def __init__(self, verdict):
            self.verdict = verdict

        def compare(self, pairs):
            return [self.verdict for _ in pairs]

        def fingerprint(self):
            return "fixed"

    pair = Pair((), as_messages("x", role="assistant"), as_messages("y", role="assistant"))
    for verdict in (
        Verdict("A"),
        Verdict(None, status="abstained"),
        Verdict("A", 0.7, 0.2),  # both orders were run
    ):
        assert Corrected(Fixed(verdict), PositionCorrection(1.0)).compare([pair]) == [verdict]
    with pytest.raises(ConfigError, match="cannot read the correction"):
        Corrected(Leaning(), tmp_path / "none.json")
    (tmp_path / "x.json").write_text('{"correction": "length", "format": 1, "b": 1}')
    with pytest.raises(ConfigError, match="not a position correction"):
        Corrected(Leaning(), tmp_path / "x.json")
    with pytest.raises(ConfigError, match="of judges"):
        ServeConfig.of({"rewards": {"r": {"object": "m:r", "calibrator": "c.json"}}})
