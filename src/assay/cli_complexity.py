"""`assay complexity`: estimate time complexities, measure the judge, train the learned part."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli_files import language_of, write_json
from assay.errors import ConfigError, DataError

if TYPE_CHECKING:
    from rich.table import Table

    from assay.judge import Estimate
    from assay.judges.complexity import Program

_BATCH = 256


def complexity(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Source files; or one .jsonl with `source` (or `src`) and `language` per row."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="static, learned, or hybrid (both).", metavar="NAME")
    ] = "static",
    language: Annotated[
        str | None, typer.Option(help="By each file's suffix if not given.", metavar="NAME")
    ] = None,
    entry: Annotated[
        str | None, typer.Option(help="The function that is called.", metavar="NAME")
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="An example input, or a .py file with `generate(n, seed)`: run the programs as "
            "well, on growing inputs, and flag where reading and running disagree.",
            metavar="FILE",
        ),
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            help="Rows with `language`, `src`, `complexity`: print accuracy per language, a "
            "confusion matrix and the mean rank distance.",
            metavar="FILE",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(help="Fit the learned estimator on such rows.", metavar="FILE"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where --train puts the model, or a .jsonl run its rows.", metavar="FILE"
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model of the learned estimator, as --train wrote it.", metavar="FILE"),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the results here, for machines.", metavar="FILE"),
    ] = None,
) -> None:
    """Estimate the time complexity of programs, with the lines that decide it."""
    given = sum(item is not None for item in (files, labelled, train))
    if given != 1:
        print("assay: give source files, --labelled FILE or --train FILE", file=sys.stderr)
        raise typer.Exit(2)
    if inputs is not None and (files is None or _many(files)):
        print("assay: --inputs goes with source files", file=sys.stderr)
        raise typer.Exit(2)
    if train is not None:
        _train(train, output)
    elif labelled is not None:
        _measure(labelled, method, model, json_file)
    elif files is not None and _many(files):
        _rows(files[0], method, model, output)
    else:
        _files(files or [], method, model, language, entry, inputs, json_file)


def _many(files: list[Path]) -> bool:
    return len(files) == 1 and files[0].suffix in (".jsonl", ".gz")


def _judge(method: str, model: Path | None, *, running: bool = False) -> Any:
    from assay.judges.complexity import ComplexityJudge
    from assay.judges.complexity.learned import LearnedEstimator
    from assay.judges.complexity.static import StaticEstimator

    if method not in ("static", "learned", "hybrid"):
        raise ConfigError(f"--method must be one of static, learned, hybrid; got {method!r}")
    estimators: list[Any] = [] if method == "learned" else [StaticEstimator()]
    if method != "static":
        shipped = LearnedEstimator.shipped
        estimators.append(shipped() if model is None else LearnedEstimator.load(model))
    if not running:
        return ComplexityJudge(tuple(estimators))
    from assay.judges.complexity.empirical import EmpiricalEstimator

    estimators.insert(1, EmpiricalEstimator())  # second: a cross-check always asks it
    return ComplexityJudge(tuple(estimators), cross_check=True)


def _plan(path: Path, entry: str | None) -> Any:
    from assay.judges.complexity.argument_generators import infer_arguments
    from assay.judges.complexity.generators import infer
    from assay.judges.complexity.written_generator import written_plan

    text = _text(path)
    if path.suffix == ".py":
        return written_plan(text)
    if entry is None:
        plan = infer(text)
    else:
        try:
            arguments = json.loads(text)
        except ValueError as error:
            raise DataError(f"{path} must be a JSON list of arguments: {error}") from None
        plan = infer_arguments(tuple(arguments)) if isinstance(arguments, list) else None
    if plan is None:
        raise DataError(
            f"{path}: nothing in this example grows; give a .py file with generate(n, seed)"
        )
    return plan


def _files(
    paths: list[Path],
    method: str,
    model: Path | None,
    language: str | None,
    entry: str | None,
    inputs: Path | None,
    json_file: Path | None,
) -> None:
    from rich.console import Console

    from assay.judges.complexity import Program

    programs = []
    for path in paths:
        programs.append(Program(_text(path), language_of(path, language), entry))
    if inputs is None:
        estimates = _judge(method, model).estimate(programs)
    else:
        plans = [_plan(inputs, entry)] * len(programs)
        estimates = _judge(method, model, running=True).estimate(programs, plans)
    Console().print(_table([str(path) for path in paths], estimates))
    rows = [
        {"file": str(path)} | _as_json(estimate)
        for path, estimate in zip(paths, estimates, strict=True)
    ]
    write_json(json_file, rows)


def _rows(path: Path, method: str, model: Path | None, output: Path | None) -> None:
    judge = _judge(method, model)
    out = sys.stdout if output is None else output.open("w", encoding="utf-8")
    try:
        batch: list[tuple[Any, Program]] = []
        for row in _read(path):
            batch.append(row)
            if len(batch) == _BATCH:
                _write(batch, judge, out)
                batch = []
        _write(batch, judge, out)
    finally:
        if output is not None:
            out.close()


def _read(path: Path) -> Iterator[tuple[Any, Program]]:
    import gzip

    from assay.judges.complexity import Program

    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}:{number} is not JSON: {error}") from None
            source = row.get("source", row.get("src")) if isinstance(row, dict) else None
            if not isinstance(source, str) or not isinstance(row.get("language"), str):
                raise DataError(f"{path}:{number} needs texts `source` (or `src`) and `language`")
            yield row.get("id", number), Program(source, row["language"], row.get("entry"))


def _write(batch: list[tuple[Any, Program]], judge: Any, out: Any) -> None:
    estimates = judge.estimate([program for _, program in batch])
    for (key, _), estimate in zip(batch, estimates, strict=True):
        out.write(json.dumps({"id": key} | _as_json(estimate)) + "\n")
    out.flush()


def _measure(path: Path, method: str, model: Path | None, json_file: Path | None) -> None:
    from rich.console import Console

    from assay.judges.complexity.labelled import evaluate, read_labelled

    evaluation = evaluate(read_labelled(path), _judge(method, model), method)
    Console().print(evaluation.table())
    write_json(json_file, evaluation.as_json())


def _train(path: Path, output: Path | None) -> None:
    from rich.console import Console

    from assay.judges.complexity.labelled import read_labelled
    from assay.judges.complexity.learned import LearnedEstimator, cross_validate

    if output is None:
        print("assay: --train needs --output FILE for the model", file=sys.stderr)
        raise typer.Exit(2)
    rows = read_labelled(path)
    Console().print(cross_validate(rows).table())
    LearnedEstimator.train(rows).save(output)
    print(
        f"{output}: trained on {len(rows)} programs; use it with --method learned --model {output}"
    )


def _table(names: list[str], estimates: list[Estimate]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("program")
    table.add_column("complexity", style="bold")
    table.add_column("sure", justify="right")
    table.add_column("by")
    table.add_column("because", overflow="fold")
    for name, estimate in zip(names, estimates, strict=True):
        lines = [*estimate.evidence, *(f"flag: {flag}" for flag in estimate.flags)]
        table.add_row(
            name,
            f"O({estimate.expression})" if estimate.expression else "undecided",
            f"{estimate.confidence:.0%}",
            estimate.method,
            "\n".join(lines),
        )
    return table


def _as_json(estimate: Estimate) -> dict[str, Any]:
    from assay.judges.complexity import parse

    found = estimate.expression
    return {
        "expression": found,
        "class": None if found is None else parse(found).to_class(),
        "confidence": estimate.confidence,
        "method": estimate.method,
        "evidence": list(estimate.evidence),
        "flags": list(estimate.flags),
    }


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error}") from None
