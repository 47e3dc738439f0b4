"""`assay audit judge`, `benchmark`, `annotate` and `validate`: audits that ask somebody."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli_files import write_folder, write_json

if TYPE_CHECKING:
    from assay.judges.audit_judge import JudgeReport


def register(app: typer.Typer) -> None:
    """Add the commands to `assay audit`."""
    for command in (judge, benchmark, annotate, validate):
        app.command()(command)


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
    from assay.judges.audit_judge import audit_judge
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


def benchmark(
    spec: Annotated[
        str,
        typer.Argument(
            help="Judge or reward: FILE.py:attr, package.module:attr, or a TOML file.",
            metavar="SPEC",
        ),
    ],
    set_name: Annotated[
        str,
        typer.Option(
            "--set",
            help="rewardbench, rewardbench2, judgebench, llmbar, or a file of labelled pairs.",
            metavar="NAME|FILE",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="File or folder of a named set; else ASSAY_DATA, else the hub.", metavar="PATH"
        ),
    ] = None,
    how: Annotated[
        str, typer.Option(help="grade or compare, for judges that do both.", metavar="HOW")
    ] = "auto",
    cache: Annotated[
        Path | None, typer.Option(help="Keep a judge's opinions here.", metavar="FILE")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many tasks.", metavar="N")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write figures and every task's outcome here.", metavar="FILE"),
    ] = None,
) -> None:
    """Score a judge or reward on a benchmark by that benchmark's rules.

    Safety, refusal, over-refusal and group-swapped pairs are reported apart.
    """
    from assay.judge import Judge
    from assay.judges.audit_config import load_subject
    from assay.judges.benchmark_run import RULES, run_benchmark
    from assay.judges.benchmark_sets import load_tasks
    from assay.judges.cached import Cached
    from assay.judges.order import BothOrders

    if how not in ("auto", "grade", "compare"):
        raise typer.BadParameter(f"--how must be auto, grade or compare, got {how}")
    subject = load_subject(spec)
    asked = subject.judge.judge if isinstance(subject.judge, BothOrders) else subject.judge
    if cache is not None and isinstance(asked, Judge):
        asked = Cached(asked, cache)
    rules, tasks = load_tasks(set_name, data=data, limit=limit)
    report = run_benchmark(asked, rules, tasks, how=how)
    print(f"{subject.name} on {set_name}: {RULES[rules]}")
    lines = [report.headline, *report.lines]
    width = max(len(line.name) for line in (*lines, *report.apart))
    for title, rows in (("", lines), ("\nreported apart", report.apart)):
        if rows and title:
            print(title)
        for line in rows:
            ends = line.interval
            span = "" if ends is None else f" ({100 * ends.low:.1f}-{100 * ends.high:.1f})"
            count = f"  {line.tasks:,} tasks" if line.tasks else ""
            print(f"  {line.name:<{width}}  {100 * line.score:6.2f}%{span}{count}")
    if report.missing:
        print(f"  {report.missing:,} of {report.tasks:,} tasks have no answer and are left out")
    write_json(json_file, report.as_json())


def annotate(
    items: Annotated[Path, typer.Argument(help="Pairs to label.", metavar="FILE")],
    output: Annotated[
        Path,
        typer.Option(
            help="The sheet (CSV); with --labels the pairs with their labels (JSONL).",
            metavar="FILE",
        ),
    ],
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="A sheet that was filled in; repeatable.", metavar="SHEET"),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Which answer stands first; another one for each person.")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many pairs.", metavar="N")
    ] = None,
) -> None:
    """Write a sheet for people to label pairs on, or read the labels back into the file.

    The column `better` takes 1, 2 or tie. Several sheets are joined by majority; how far people
    agree is printed.
    """
    import math

    from assay.calibration.annotation import read_sheets, write_sheet
    from assay.judges.pair_files import pair_of, read_pairs, rows_of

    if not labels:
        pairs = read_pairs(items, limit=limit)
        write_sheet(pairs, output, seed=seed)
        print(f"{len(pairs):,} pairs are in {output}; fill in the column better: 1, 2 or tie")
        return
    found = read_sheets(labels)
    rows, known = [], 0
    for index, (line, row) in enumerate(rows_of(items)):
        name = pair_of(row, f"{items.name}:{line}", index).id
        label = found.label.get(name)
        known += label is not None
        if label is None:
            rows.append(dict(row))
            continue
        votes = {choice: found.votes[name].count(choice) for choice in ("A", "B", "tie")}
        rows.append({**row, "label": label, "votes": votes})
    strangers = len(found.label) - known
    if strangers:
        raise typer.BadParameter(
            f"{strangers} labelled ids are in no row of {items.name}; give the file that the sheet "
            "was made from"
        )
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_folder(output.parent, {output.name: text})
    print(f"{known:,} of {len(rows):,} pairs have a label; they are in {output}")
    if not math.isnan(found.agreement):
        alpha = "" if math.isnan(found.alpha) else f", Krippendorff's alpha {found.alpha:.2f}"
        print(f"people agree on {found.agreement:.0%} of votes{alpha}")


def validate(
    seeds: Annotated[
        int, typer.Option(min=20, help="Audits of each planted judge.", metavar="N")
    ] = 40,
    slow: Annotated[
        bool,
        typer.Option("--slow", help="2,000 seeds: tells 95% coverage from 93%; takes an hour."),
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures here.", metavar="FILE")
    ] = None,
) -> None:
    """Audit the auditor: judges whose biases are known go through every probe.

    Coverage of intervals must be 93-97%, power at the stated minimum detectable effect 75-85%,
    false flags at most 5%, allowing for the number of seeds; exits with 1 otherwise.
    """
    from dataclasses import asdict

    from assay.calibration.probe_validation import POWER, SCENARIOS, PlantedAudit, problems

    count = 2000 if slow else seeds
    audit = PlantedAudit()
    results, power = [], []
    print(f"{'judge':<32}{'probe':<17}{'truth':>7}{'mean':>8}{'covers':>8}{'flags':>7}{'false':>7}")
    for scenario in SCENARIOS:
        r = audit.run(scenario, count)
        results.append(r)
        print(
            f"{r.scenario:<32}{r.probe:<17}{r.truth:7.3f}{r.mean:8.3f}{r.coverage:8.1%}"
            f"{r.power:7.1%}{r.false_flags:7.1%}",
            flush=True,
        )
    print(f"\n{'at the stated detectable effect':<32}{'':<17}{'truth':>7}{'stated':>8}{'power':>8}")
    for name, plant in POWER.items():
        p = audit.power(name, plant, count)
        power.append(p)
        what = f"{p.strength:.2f} logits"
        print(f"{what:<32}{name:<17}{p.truth:7.3f}{p.detectable:8.3f}{p.power:8.1%}", flush=True)
    wrong = problems(results, power)
    plain = {
        "seeds": count,
        "scenarios": [asdict(r) for r in results],
        "power": [asdict(p) for p in power],
        "problems": wrong,
    }
    write_json(json_file, plain)
    for line in wrong:
        print(f"out of bounds: {line}", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)
    print(f"\nall within bounds for {count} seeds")


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
    from assay.calibration.audit_page import audit_page
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
