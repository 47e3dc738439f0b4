"""Probes on judges with planted biases, beside judgecal 0.1.0 on the same judges.

    pip install judgecal==0.1.0          # without it only our side is measured
    python benchmarks/probes.py --seeds 200 --json probes.json

Both audit the same planted judges, on the same pairs, qualities and labels. Covered: does the 95%
interval hold what the estimator would read in the whole population (pooled over further seeds)?
Flagged: q < .05 for the bias that is there. False: anything flagged for a judge without biases.
`assay audit validate --slow` runs our side alone with 2,000 seeds and more judges.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.calibration.planted import OWN_NAME, Features, Latent, Strengths, probabilities
from assay.calibration.probe_validation import PlantedAudit
from assay.judge import Pair
from assay.messages import as_messages

PROMPTS, PER_PROMPT, POOLED = 150, 2, 40
#: Judge, our probe, judgecal's metric and the flag it raises.
CASES: tuple[tuple[str, Strengths, str, str, str], ...] = (
    ("position .3", Strengths(position=0.3), "position", "first_pick_rate", "position"),
    ("position .8", Strengths(position=0.8), "position", "first_pick_rate", "position"),
    ("position 1.5", Strengths(position=1.5), "position", "first_pick_rate", "position"),
    ("padding 1", Strengths(length=1.0), "padding", "pad_pick_rate", "verbosity"),
    ("own 1", Strengths(own=1.0), "self_preference", "self_error_pick_excess", "self_preference"),
    ("wording 1.5", Strengths(template=1.5), "template", "", "template"),
)
WORDINGS = ("tpl:v1", "tpl:v2")
#: What judgecal analyses for each flag: the probe in question and what it needs; it is slow.
NEEDED = {
    "position": ["position"],
    "verbosity": ["position", "verbosity"],
    "self_preference": ["position", "self_preference"],
    "template": ["template"],
}


def ours(seeds: int) -> list[dict[str, Any]]:
    """Coverage and flags of our probes."""
    from assay.calibration.probe_validation import Scenario

    audit, rows = PlantedAudit(PROMPTS, PER_PROMPT), []
    for name, strengths, probe, _, _ in CASES:
        start = time.perf_counter()
        found = audit.run(Scenario(name, strengths, probe), seeds)
        spent = time.perf_counter() - start
        rows.append(_row("assay", name, found.coverage, found.power, spent))
    start = time.perf_counter()
    found = audit.run(Scenario("no bias", Strengths()), seeds)
    rows.append(_row("assay", "no bias", found.coverage, found.power, time.perf_counter() - start))
    return rows


class Theirs:
    """judgecal's probes on the planted judge: its plan, our verdicts, its analysis and card."""

    def __init__(self) -> None:
        from judgecal.core import PairwiseItem
        from judgecal.probes import ProbeConfig, plan_suite

        self.items = PlantedAudit(PROMPTS, PER_PROMPT).items
        self.config = ProbeConfig(
            n_template_variants=1 + len(WORDINGS),
            stability_k=2,
            n_boot=200,
            judge_author=OWN_NAME,
        )
        self.probes = ["position", "verbosity", "self_preference", "template"]
        # Labels come with each seed; a plan with both labels gives the requests once.
        made = [
            PairwiseItem(
                item_id=i.pair.id,
                prompt=i.pair.prompt[0].content,
                response_a=i.pair.a[0].content,
                response_b=i.pair.b[0].content,
                label="A",
                author_a=i.author_a,
                author_b=i.author_b,
            )
            for i in self.items
        ]
        self.requests = plan_suite(made, self.probes, self.config)
        own = {i.pair.id: i.pair.columns for i in self.items}
        asked = []
        for r in self.requests:
            meta = r.meta
            first, second = (
                as_messages(meta[f"{side}_text"], role="assistant") for side in ("first", "second")
            )
            prompt = as_messages(meta["prompt_text"], role="user")
            wording = meta["condition"] if meta["condition"] in WORDINGS else ""
            asked.append((Pair(prompt, first, second, own[meta["item_id"]]), wording))
        self.features = Features.of(asked, WORDINGS, PER_PROMPT)
        # One verdict for each distinct request, as its manifests do.
        keys = [r.custom_id for r in self.requests]
        _, self.distinct = np.unique(keys, return_inverse=True)

    def judgments(self, strengths: Strengths, seed: tuple[int, ...], tag: str = "") -> list[Any]:
        """Its judgments of one seed."""
        from judgecal.core import Judgment

        generator = np.random.default_rng(list(seed))
        latent = Latent.draw(generator, len(self.items), PER_PROMPT, len(WORDINGS))
        p = probabilities(self.features, latent, strengths)
        drawn = generator.random(int(self.distinct.max()) + 1)[self.distinct] < p
        better = latent.quality > 0
        found = []
        for request, first, pair in zip(self.requests, drawn, self.features.pair, strict=True):
            meta = dict(request.meta)
            right = bool(better[pair]) == bool(meta["first_is_a"])
            meta |= {"label_first": "first" if right else "second"}
            meta["item_id"] = tag + meta["item_id"]
            verdict = "first" if first else "second"
            found.append(Judgment(request.custom_id, verdict, None, meta))
        return found

    def analysed(
        self, judgments: list[Any], flag: str = "", **changed: Any
    ) -> tuple[dict[str, Any], list[str]]:
        """Its estimates by name, and the flags of its card."""
        from judgecal.probes import analyze_suite
        from judgecal.report import build_card

        probes = NEEDED.get(flag, self.probes)
        results = analyze_suite(judgments, probes, replace(self.config, **changed))
        card = build_card(results, judge={"model": "planted"}, config={"alpha": 0.05})
        estimates = {e.name: e for result in results for e in result.estimates}
        return estimates, [str(flag) for flag in card.overall_flags]


def theirs(seeds: int) -> list[dict[str, Any]]:
    """The same of judgecal; empty where it is not installed."""
    try:
        import judgecal  # noqa: F401
    except ImportError:
        return []
    auditor, rows = Theirs(), []
    for name, strengths, _, metric, flag in (*CASES, ("no bias", Strengths(), "", "", "")):
        start = time.perf_counter()
        truth = None
        if metric:
            pooled = [
                judgment
                for draw in range(POOLED)
                for judgment in auditor.judgments(strengths, (9, draw), f"{draw}-")
            ]
            truth = auditor.analysed(pooled, flag, n_boot=2)[0][metric].estimate
        covered = flagged = 0
        for seed in range(seeds):
            estimates, flags = auditor.analysed(auditor.judgments(strengths, (seed, 1)), flag)
            if truth is not None:
                e = estimates[metric]
                covered += e.ci_low <= truth <= e.ci_high
            bias = [f for f in flags if not f.startswith("underpowered")]
            flagged += any(f.startswith(flag) for f in bias) if flag else bool(bias)
        share = None if truth is None else covered / seeds
        spent = time.perf_counter() - start
        rows.append(_row("judgecal 0.1.0", name, share, flagged / seeds, spent))
    return rows


def _row(who: str, judge: str, coverage: Any, flagged: float, seconds: float) -> dict[str, Any]:
    row = {"auditor": who, "judge": judge, "coverage": coverage, "flagged": flagged}
    covered = "" if coverage is None else f"{coverage:.1%}"
    print(f"{who:<16}{judge:<14}{covered:>9}{flagged:9.1%}{seconds:9.0f}", flush=True)
    return row | {"seconds": seconds}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="probes on planted judges")
    parser.add_argument("--seeds", type=int, default=200, metavar="N")
    parser.add_argument("--quick", action="store_true", help="40 seeds")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    seeds = 40 if options.quick else options.seeds
    print(f"{seeds} audits of {PROMPTS * PER_PROMPT} pairs, {PROMPTS} prompts")
    print(f"{'auditor':<16}{'judge':<14}{'covered':>9}{'flagged':>9}{'seconds':>9}")
    rows = ours(seeds) + theirs(seeds)
    if len(rows) == len(CASES) + 1:
        print("judgecal is not installed: its side is left out")
    print(f"{os.cpu_count()} CPUs, Python {platform.python_version()}, NumPy {np.__version__}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
