"""`assay data`: build and filter training data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assay import cli_agent_data, cli_mixed_data, cli_refined_data
from assay.cli_files import write_json
from assay.errors import ConfigError

app = typer.Typer(no_args_is_help=True, help="Build training data.", rich_markup_mode=None)
app.command()(cli_agent_data.search)
app.command()(cli_agent_data.trajectories)
app.command()(cli_mixed_data.mix)
app.command()(cli_mixed_data.contamination)
app.command()(cli_refined_data.refine)
app.command()(cli_refined_data.reconstruct)

_JSON = typer.Option("--json", help="Write the counts here, for machines.", metavar="FILE")


@app.command()
def code(
    input: Annotated[
        Path, typer.Option(help="Problem rows: `prompt`, tests, `candidates`.", metavar="FILE")
    ],
    sft: Annotated[
        Path, typer.Option(help="Correct solutions of the best class go here.", metavar="FILE")
    ],
    rl: Annotated[
        Path, typer.Option(help="Problems with reference and label go here.", metavar="FILE")
    ],
    author: Annotated[
        list[str] | None,
        typer.Option(
            help="A model that proposes solutions; repeatable.", metavar="NAME=BASE_URL,MODEL"
        ),
    ] = None,
    merger: Annotated[
        str | None,
        typer.Option(help="A model that writes one best solution.", metavar="BASE_URL,MODEL"),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Answers per author.", metavar="N")] = 1,
    temperature: Annotated[float, typer.Option(help="Of authors and merger.", metavar="T")] = 0.8,
    max_tokens: Annotated[int, typer.Option(help="Longest answer.", metavar="N")] = 8192,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the endpoints' key.", metavar="NAME"),
    ] = None,
    language: Annotated[str, typer.Option(help="Of the solutions.", metavar="NAME")] = "python",
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Judge candidate solutions; keep the correct ones of the best complexity class."""
    from assay.policy.data.code import CodeBuilder
    from assay.policy.data.row_files import read_rows, write_rows
    from assay.policy.data.strong_weak import WrittenBy
    from assay.rewards import PassRate

    def model(spec: str) -> WrittenBy:
        from assay.judges.endpoint import Endpoint

        base_url, _, name = spec.rpartition(",")
        if not base_url or not name:
            raise ConfigError(f"a model is given as BASE_URL,MODEL; got {spec!r}")
        return WrittenBy(
            Endpoint(
                base_url,
                name,
                api_key_env=api_key_env,
                temperature=temperature,
                max_tokens=max_tokens,
                seed=None,
            )
        )

    authors = {}
    for item in author or ():
        name, sign, spec = item.partition("=")
        if not sign or not name or name in authors:
            raise ConfigError(f"--author is NAME=BASE_URL,MODEL with a new name; got {item!r}")
        authors[name] = model(spec)
    build = CodeBuilder(
        tests=PassRate(language=language),
        authors=authors,
        samples=samples,
        merger=None if merger is None else model(merger),
    )
    data = build(read_rows(input))
    write_rows(sft, data.sft)
    write_rows(rl, data.rl)
    _report({"sft rows": len(data.sft), "rl rows": len(data.rl), **data.counts}, json_file)


@app.command(name="filter")
def filter_rollouts(
    rollouts: Annotated[
        Path, typer.Option(help="Rollouts with a `uid` per problem.", metavar="FILE")
    ],
    scores: Annotated[Path, typer.Option(help="What `assay score` made of them.", metavar="FILE")],
    output: Annotated[Path, typer.Option(help="Problems that stay.", metavar="FILE")],
    stage: Annotated[
        int, typer.Option(min=1, max=2, help="1: solved; 2: solved within the bound.")
    ] = 1,
    n: Annotated[int, typer.Option(help="Rollouts per problem.", metavar="N")] = 8,
    low: Annotated[int, typer.Option(help="Fewest that may meet it.", metavar="K")] = 1,
    high: Annotated[int, typer.Option(help="Most that may meet it.", metavar="K")] = 5,
    tests: Annotated[str, typer.Option(help="Path of the tests part.", metavar="PART")] = "tests",
    time: Annotated[
        str, typer.Option(help="Path of the complexity part.", metavar="PART")
    ] = "time",
    criterion: Annotated[
        str | None,
        typer.Option(
            help="In place of --stage: a callable on a score row that gives true, false or none.",
            metavar="FILE.py:attr",
        ),
    ] = None,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Keep problems that some rollouts solve and most do not."""
    from assay.loading import load_object
    from assay.policy.data.difficulty import (
        Criterion,
        DifficultyFilter,
        MeetsBound,
        Solved,
        filter_files,
    )

    counts: Criterion = Solved(tests) if stage == 1 else MeetsBound(time, tests=tests)
    if criterion is not None:
        counts = load_object(criterion, type, "--criterion")[0]
        if not callable(counts):
            raise ConfigError(f"--criterion {criterion} must be callable on a score row")
    rule = DifficultyFilter(counts, n, low, high)
    _report(filter_files(rollouts, scores, output, rule), json_file)


@app.command()
def preferences(
    inputs: Annotated[list[Path], typer.Argument(help="Files of preferences, or of rollouts.")],
    output: Annotated[Path, typer.Option(help="Where rows go.", metavar="FILE")],
    format: Annotated[
        str, typer.Option(help="Form of the inputs; told from their columns.", metavar="NAME")
    ] = "auto",
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(help="Files whose prompts must not be in it; repeatable.", metavar="FILE"),
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="Where held-out preferences go.", metavar="FILE")
    ] = None,
    held_out_share: Annotated[
        float, typer.Option(help="Share of prompts held out.", metavar="SHARE")
    ] = 0.1,
    slots: Annotated[
        str, typer.Option(help="keep, shuffle, or both orders.", metavar="HOW")
    ] = "keep",
    near_duplicates: Annotated[
        float, typer.Option(help="Similarity from which a pair repeats one.", metavar="SHARE")
    ] = 0.8,
    ties: Annotated[bool, typer.Option(help="Keep ties.")] = True,
    limit: Annotated[
        int | None, typer.Option(help="At most so many rows of each file.", metavar="N")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad row.")] = False,
    seed: Annotated[int, typer.Option(help="Of split and coins.", metavar="N")] = 0,
    export: Annotated[
        str | None,
        typer.Option(
            help="From scored rollouts: best_of_n, rejection_sampled or best_against_worst.",
            metavar="KIND",
        ),
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Scores of the rollouts, with --export.", metavar="FILE")
    ] = None,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Clean, split and write preferences; or export rows from scored rollouts."""
    if export is not None or scores is not None:
        from assay.policy.data.rollout_exports import export_rollouts

        if export is None or scores is None or len(inputs) != 1:
            print("assay: --export KIND needs --scores FILE and one input", file=sys.stderr)
            raise typer.Exit(2)
        _report(export_rollouts(export, inputs[0], scores, output), json_file)  # type: ignore[arg-type]
        return
    from assay.policy.data.preference_job import PreferenceJob

    job = PreferenceJob(
        inputs=tuple(map(str, inputs)),
        output=str(output),
        format=format,
        near_duplicates=near_duplicates,
        evaluation=tuple(map(str, evaluation or ())),
        held_out=None if held_out is None else str(held_out),
        held_out_share=held_out_share,
        ties=ties,
        slots=slots,
        strict=strict,
        limit=limit,
        seed=seed,
    )
    _report(job.run(), json_file)


def _report(counts: dict[str, Any], json_file: Path | None) -> None:
    for name, count in counts.items():
        if isinstance(count, dict):
            for key, value in count.items():
                print(f"{name}: {key}: {value}")
        else:
            print(f"{name}: {count}")
    write_json(json_file, counts)
