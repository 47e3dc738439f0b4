"""`assay audit judge`: asks a judge about pairs, again and changed, and says what decides."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli_files import write_folder

if TYPE_CHECKING:
    from assay.judges.judge_audit import JudgeReport


def judge(
    spec: Annotated[
        str,
        typer.Argument(
            help="The judge: FILE.py:attr, package.module:attr, or a TOML file.", metavar="CONFIG"
        ),
    ],
    items: Annotated[
        Path,
        typer.Option(
            help="Pairs: prompt, a, b; label, prompt_id, author_a, author_b where known. Also "
            "chosen and rejected, LLMBar's and JudgeBench's rows.",
            metavar="FILE",
        ),
    ],
    repeats: Annotated[
        int, typer.Option(min=1, help="How often each order is asked.", metavar="N")
    ] = 2,
    probes: Annotated[
        bool, typer.Option(help="Also change answers and prompts, and see whether verdicts move.")
    ] = True,
    own_name: Annotated[
        str, typer.Option(help="What the judge is called in author_a, author_b.", metavar="NAME")
    ] = "",
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Keep opinions in this SQLite file: a killed audit goes on.", metavar="FILE"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many pairs.", metavar="N")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 unless it holds, e.g. consistency>=0.8, abs_position_term<=0.3; "
            "repeatable.",
            metavar="LIMIT",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if any probe finds a bias (q < .05).")
    ] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="No names of pairs in the reports.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for audit.html, audit.json, verdicts.jsonl, and where there is something "
            "to mend correction.json, calibrator.json, calibrator_one_order.json.",
            metavar="FOLDER",
        ),
    ] = None,
) -> None:
    """Ask a judge in both orders, again and about changed answers; say what decides.

    A served judge takes the files ([judges.NAME] correction = ..., calibrator = ...):
    correction.json with calibrator_one_order.json if it is asked in one order, calibrator.json
    alone if it is BothOrders.
    """
    from assay.calibration.audit_limits import Limit, broken_limits
    from assay.calibration.audit_text import advice, sentences
    from assay.calibration.probe_text import finding_advice, finding_sentence
    from assay.errors import ConfigError
    from assay.judges.audit_config import load_judge
    from assay.judges.judge_audit import audit_judge
    from assay.judges.pair_files import read_pairs

    try:
        limits = [Limit.parse(text) for text in require or ()]
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    subject = load_judge(spec)
    pairs = read_pairs(items, limit=limit)
    report = audit_judge(
        subject.judge,  # type: ignore[arg-type]
        pairs,
        name=subject.name,
        templates=subject.templates,
        repeats=repeats,
        own_name=own_name,
        probes=probes,
        cache=cache,
    )
    audit = replace(report.audit, flipped=[]) if redact else report.audit
    report = replace(report, audit=audit)
    for line in (subject.note, _asked(report)):
        if line:
            print(line)
    print(f"\n{subject.name}")
    findings = report.run.findings
    for line in (*sentences(audit), *map(finding_sentence, findings)):
        print(f"  {line}")
    for line in (*advice(audit), *finding_advice(findings), *_handed_on(report)):
        print(f"  -> {line}")
    broken = broken_limits([audit], limits)
    if strict:
        broken += [finding_sentence(f) for f in findings if f.flagged]
    if output is not None:
        _write(report, output, items.name, redact, broken)
    for line in broken:
        print(f"broken limit: {line}", file=sys.stderr)
    if broken:
        raise typer.Exit(1)


def _asked(report: JudgeReport) -> str:
    plan, answers = report.run.plan, report.run.answers
    text = (
        f"{report.run.asked:,} requests ({plan.planned:,} without sharing) about "
        f"{len(plan.items):,} pairs"
    )
    if answers.failed or answers.abstained:
        text += f"; {answers.failed:,} failed, {answers.abstained:,} without a readable verdict"
    return text + ("" if report.cost is None else f"; cost {report.cost:,.4g}")


def _handed_on(report: JudgeReport) -> list[str]:
    found = []
    if report.max_order_gap is not None:
        found.append(
            f"As a reward: PairwiseReward(max_order_gap={report.max_order_gap:g}); beyond that gap "
            "its verdicts are no better than a coin."
        )
    if report.swap_weight > 0:
        found.append(f"To train it again: swap_weight = {report.swap_weight:g}.")
    fit = report.calibration
    if fit is not None:
        found.append(
            f"Calibrator: ECE {fit.raw.ece:.3f} -> {fit.calibrated.ece:.3f} out of fold (a perfect "
            f"judge reads up to {fit.calibrated.null_high:.3f})."
        )
    return found


def _write(report: JudgeReport, folder: Path, title: str, redact: bool, broken: list[str]) -> None:
    from assay.calibration.audit_html import audit_page
    from assay.calibration.probe_text import probe_section
    from assay.judges.audit_rows import verdict_lines

    section = probe_section(report.run.findings, _asked(report))
    data = {"items": title, **report.as_json(), "broken": broken}
    texts = {
        "audit.html": audit_page([report.audit], title=title, redact=redact, more=section),
        "audit.json": json.dumps(data, indent=2, allow_nan=False) + "\n",
    }
    if not redact:
        texts["verdicts.jsonl"] = verdict_lines(report)
    if report.correction is not None:
        texts["correction.json"] = json.dumps(report.correction.to_dict(), indent=2) + "\n"
    for name, fitted in report.calibrators.items():
        texts[f"{name}.json"] = json.dumps(fitted.to_dict(), indent=2) + "\n"
    write_folder(folder, texts)
    print(f"\n{', '.join(texts)} are in {folder}")
