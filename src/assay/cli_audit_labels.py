"""`assay audit benchmark`, `annotate` and `validate`: against labels, people and planted biases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_folder, write_json


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
