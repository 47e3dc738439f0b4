"""The loop: audit a judge, mend it by what the audit hands on, audit again on other pairs.

    python examples/audit_loop.py

A small judge is trained on labels of raters who see one order and like the first answer. The audit
finds its lean, its flips and how far its probabilities are off. Then it is mended in three ways:
served in one order with the audit's correction and calibrator, asked in both orders with the
calibrator, and trained again with the weight of the swap term that the audit suggests.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.calibration import (
    Calibrator,
    PositionCorrection,
    audit_verdicts,
    ece,
    log_loss,
    null_ece,
)
from assay.calibration.verdict_table import VerdictTable
from assay.judges import BothOrders, Calibrated, Corrected, Judge, Pair, Verdict
from assay.judges.judge_audit import audit_judge
from assay.messages import as_messages

FEATURES = 6
TASTE = np.array([1.2, -0.8, 0.6, 0.4, 0.0, 0.0])  # what makes an answer good; two say nothing
RATERS_LEAN = 1.0  # liking of the raters for the first answer, logits


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def make_pairs(count: int, seed: int) -> list[Pair]:
    """Pairs of answers, each a text of numbers, with the label of an honest rater."""
    generator = np.random.default_rng(seed)
    pairs = []
    for index in range(count):
        x = generator.normal(size=(2, FEATURES))
        better = generator.random() < sigmoid(TASTE @ (x[0] - x[1]))
        answers = [as_messages(" ".join(f"{v:.4f}" for v in row), role="assistant") for row in x]
        columns = {"label": "A" if better else "B", "prompt_id": f"{seed}-{index // 2}"}
        question = as_messages(f"Question {index // 2}", role="user")
        pairs.append(Pair(question, answers[0], answers[1], columns, f"{seed}-{index}"))
    return pairs


def numbers(pair: Pair) -> Any:
    """Features of the first-shown and the second, shape (2, FEATURES)."""
    return np.array([[float(w) for w in side[0].content.split()] for side in (pair.a, pair.b)])


@dataclass(frozen=True)
class Learned(Judge):
    """d(first, second) = w . first - v . second + b: free to treat the two places differently.

    Args:
        weights: w, v and b, shape (2 FEATURES + 1,).
    """

    weights: tuple[float, ...]

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """P(the first is better)."""
        p = sigmoid(rows_of(pairs) @ np.array(self.weights))
        return [Verdict("A" if one > 0.5 else "B", float(one)) for one in p]

    def fingerprint(self) -> str:
        """The weights are all there is."""
        return repr(self.weights)


def rows_of(pairs: Sequence[Pair]) -> Any:
    """Inputs of the judge, shape (n, 2 FEATURES + 1)."""
    both = np.array([numbers(pair) for pair in pairs])
    return np.concatenate([both[:, 0], -both[:, 1], np.ones((len(pairs), 1))], axis=1)


def train(pairs: Sequence[Pair], swap_weight: float, steps: int = 3000) -> Learned:
    """Cross-entropy on leaning labels in one order, plus swap_weight (d_AB + d_BA)^2.

    Few pairs and many steps: the judge is also too sure of itself.
    """
    generator = np.random.default_rng(7)
    straight, swapped = rows_of(pairs), rows_of([pair.swapped() for pair in pairs])
    quality = np.array([TASTE @ (x[0] - x[1]) for x in map(numbers, pairs)])
    labels = (generator.random(len(pairs)) < sigmoid(quality + RATERS_LEAN)).astype(float)
    weights = np.zeros(straight.shape[1])
    for _ in range(steps):
        ab, ba = straight @ weights, swapped @ weights
        slope = straight.T @ (sigmoid(ab) - labels)
        slope += 2 * swap_weight * (straight + swapped).T @ (ab + ba)
        weights -= 0.1 * slope / len(pairs)
    return Learned(tuple(weights.tolist()))


def figures(name: str, judge: Judge, pairs: Sequence[Pair]) -> dict[str, Any]:
    """What an audit on fresh pairs says of a judge that is asked as it stands."""
    table = VerdictTable()
    for pair in pairs:
        label = 0 if pair.columns["label"] == "A" else 1
        for swapped, shown in enumerate((pair, pair.swapped())):
            (verdict,) = judge.compare([shown])
            place = {"A": 0, "B": 1, "tie": 2, None: -1}[verdict.choice]
            p = verdict.p_a if verdict.p_a is not None else float("nan")
            prompt = pair.columns["prompt_id"]
            table.add(
                name, prompt, pair.id, swapped=bool(swapped), verdict=place, p_first=p, label=label
            )
    (audit,) = audit_verdicts(table, resamples=200)
    found = {key: audit.figures[key].estimate for key in ("first_pick_rate", "flip_rate")}
    # Forecasts as they are served: "the first-shown is better", one per order.
    side = audit.table
    told = np.concatenate([side.label == 0, side.label == 1]).astype(float)
    p = np.concatenate([side.p_ab, side.p_ba])
    return {
        "judge": name,
        **found,
        "accuracy": audit.figures["accuracy"].estimate,
        "log_loss": log_loss(p, told),
        "ece": ece(p, told, 10),
        "chance": null_ece(p, 10).band(0.9)[1],
    }


def run(count: int = 70, audited: int = 600) -> list[dict[str, Any]]:
    """The loop; a row of figures per judge."""
    for_training, for_audit = make_pairs(count, 1), make_pairs(audited, 2)
    fresh = make_pairs(audited, 3)
    judge = train(for_training, 0.0)
    report = audit_judge(judge, for_audit, repeats=1, probes=False, resamples=200)
    assert report.correction is not None
    with tempfile.TemporaryDirectory() as folder:  # as a server would: by file
        report.correction.save(Path(folder) / "correction.json")
        for name, fitted in report.calibrators.items():
            fitted.save(Path(folder) / f"{name}.json")
        correction = PositionCorrection.load(Path(folder) / "correction.json")
        one = Calibrator.load(Path(folder) / "calibrator_one_order.json")
        two = Calibrator.load(Path(folder) / "calibrator.json")
    print(f"audit: the first place is worth {correction.b:+.2f} logits "
          f"({correction.low:+.2f} to {correction.high:+.2f}); swap weight {report.swap_weight:g}"
    )  # fmt: skip
    again = train(for_training, report.swap_weight)
    return [
        figures("as trained", judge, fresh),
        figures("corrected, calibrated", Calibrated(Corrected(judge, correction), one), fresh),
        figures("both orders, calibrated", Calibrated(BothOrders(judge), two), fresh),
        figures("trained again, swap term", again, fresh),
    ]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="audit, mend, audit again")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = run()
    print(f"{'':<26}{'first':>7}{'flips':>7}{'right':>7}{'log loss':>10}{'ECE':>7}{'chance':>8}")
    for row in rows:
        print(
            f"{row['judge']:<26}{row['first_pick_rate']:7.1%}{row['flip_rate']:7.1%}"
            f"{row['accuracy']:7.1%}{row['log_loss']:10.3f}{row['ece']:7.3f}{row['chance']:8.3f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
