"""`assay data refine` and `assay data reconstruct`: answers and traces that models write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli_files import print_counts, write_json
from assay.errors import ConfigError

# What both commands ask about their models and their work.
Temperature = Annotated[float, typer.Option(help="Of the models.", metavar="T")]
MaxTokens = Annotated[int, typer.Option(help="Longest reply.", metavar="N")]
ApiKeyEnv = Annotated[
    str | None, typer.Option(help="Environment variable with the key.", metavar="NAME")
]
BatchSize = Annotated[int, typer.Option(min=1, help="Rows at once.", metavar="N")]
KeepFailed = Annotated[
    bool,
    typer.Option("--keep-failed", help="Go on where a model answers no row after another."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Write the counts here, for machines.", metavar="FILE"),
]


def refine(
    input: Annotated[
        Path, typer.Option(help="Rows: `prompt`, maybe `completion`.", metavar="FILE")
    ],
    output: Annotated[Path, typer.Option(help="Refined rows.", metavar="FILE")],
    author: Annotated[
        str, typer.Option(help="Writes and revises.", metavar="BASE_URL,MODEL|FOLDER")
    ],
    critic: Annotated[
        str | None, typer.Option(help="Criticises; default: the author.", metavar="MODEL")
    ] = None,
    checklist: Annotated[
        str | None, typer.Option(help="A Checklist.", metavar="FILE.py:attr")
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(help="A Reward that must pass; repeatable.", metavar="FILE.py:attr"),
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(help="A yes-or-no question to the critic; repeatable.", metavar="TEXT"),
    ] = None,
    compiles: Annotated[
        str | None, typer.Option(help="The answer's code must compile.", metavar="LANGUAGE")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Most revisions.", metavar="N")] = 3,
    patience: Annotated[
        int, typer.Option(min=1, help="Rounds without gain before stopping.", metavar="N")
    ] = 1,
    only_holding: Annotated[
        bool, typer.Option("--only-holding", help="Write rows whose checklist holds only.")
    ] = False,
    temperature: Temperature = 0.6,
    max_tokens: MaxTokens = 8192,
    api_key_env: ApiKeyEnv = None,
    batch_size: BatchSize = 16,
    keep_failed: KeepFailed = False,
    json_file: JsonFile = None,
) -> None:
    """Critique and revise answers until a checklist holds or nothing is gained.

    Finished rows are kept: the same command goes on after it was cut.
    """
    from assay.policy.data.refinement import Refiner, refinement_report
    from assay.policy.evaluation.samplers import client_of

    settings = {"temperature": temperature, "max_tokens": max_tokens}
    writer = client_of(author, api_key_env, **settings)
    reader = None if critic is None else client_of(critic, api_key_env, **settings)
    rule = Refiner(
        writer,
        _checklist(checklist, reward or (), ask or (), compiles, reader or writer),
        reader,
        rounds,
        patience,
    )
    rows = _run(
        input,
        output,
        rule,
        batch_size,
        lambda row: not only_holding or row["refinement"]["holds"] is True,
        lambda row: "" if keep_failed else str(row["refinement"].get("problem", "")),
    )
    found = refinement_report(rows)
    print_counts(found)
    write_json(json_file, found)


def reconstruct(
    input: Annotated[Path, typer.Option(help="Rows: `prompt`, `completion`.", metavar="FILE")],
    output: Annotated[
        Path, typer.Option(help="Conversations with traces, for fine-tuning.", metavar="FILE")
    ],
    author: Annotated[str, typer.Option(help="Writes traces.", metavar="BASE_URL,MODEL|FOLDER")],
    replayer: Annotated[
        str | None, typer.Option(help="Replays them; default: the author.", metavar="MODEL")
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(
            help="A replay is right if it has full marks; default: equal final answers.",
            metavar="FILE.py:attr",
        ),
    ] = None,
    tries: Annotated[int, typer.Option(min=1, help="Traces a row at most.", metavar="N")] = 2,
    replays: Annotated[int, typer.Option(min=1, help="Replays of a trace.", metavar="N")] = 1,
    faithful: Annotated[
        float, typer.Option(help="Share of replays that must agree.", metavar="SHARE")
    ] = 1.0,
    no_control: Annotated[
        bool, typer.Option("--no-control", help="Do not replay without a trace.")
    ] = False,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Also write rows without a trace.")
    ] = False,
    temperature: Temperature = 0.6,
    max_tokens: MaxTokens = 16384,
    api_key_env: ApiKeyEnv = None,
    batch_size: BatchSize = 16,
    keep_failed: KeepFailed = False,
    json_file: JsonFile = None,
) -> None:
    """Write a chain of thought for each answer; keep it if its replay yields the answer.

    Finished rows are kept: the same command goes on after it was cut.
    """
    from assay.policy.data.reconstruction import (
        FullMarks,
        Reconstructor,
        SameFinalAnswer,
        reconstruction_report,
    )
    from assay.policy.evaluation.samplers import client_of

    settings = {"temperature": temperature, "max_tokens": max_tokens}
    rule = Reconstructor(
        client_of(author, api_key_env, **settings),
        None if replayer is None else client_of(replayer, api_key_env, **settings),
        SameFinalAnswer() if reward is None else FullMarks(_reward(reward)),
        tries,
        replays,
        faithful,
        not no_control,
    )
    rows = _run(
        input,
        output,
        rule,
        batch_size,
        lambda row: keep_all or row["reconstruction"]["kept"],
        lambda row: "" if keep_failed else str(row["reconstruction"].get("problem", "")),
    )
    found = reconstruction_report(rows)
    print_counts(found)
    write_json(json_file, found)


def _checklist(
    spec: str | None, rewards: Iterable[str], asks: Iterable[str], language: str | None, client: Any
) -> Any:
    from assay.judges.checklist import Checklist
    from assay.judges.criteria import Compiles, RewardPasses
    from assay.judges.question import Question
    from assay.loading import load_object

    criteria: dict[str, Any] = {}

    def add(name: str, criterion: Any) -> None:
        if name in criteria:
            raise ConfigError(
                f"two criteria are called {name!r}, and findings go by their names; give each "
                "reward a name of its own, and each question once"
            )
        criteria[name] = criterion

    if spec is not None:
        found = load_object(spec, Checklist, "--checklist")[0]
        if not isinstance(found, Checklist):
            raise ConfigError(f"--checklist {spec} must be a Checklist, got {type(found).__name__}")
        criteria |= found.criteria
    for item in rewards:
        reward = _reward(item)
        add(reward.name, RewardPasses(reward))
    for text in asks:
        add(text, Question(client, text))
    if language is not None:
        add("compiles", Compiles(language))
    if not criteria:
        raise ConfigError("refine needs criteria: --checklist, --reward, --ask or --compiles")
    return Checklist(criteria)


def _run(
    input: Path,
    output: Path,
    rule: Any,
    batch_size: int,
    keep: Callable[[Any], bool],
    problem: Callable[[Any], str],
) -> list[dict[str, Any]]:
    from assay.fingerprint import fingerprint_of
    from assay.policy.data.finished_rows import FinishedRows
    from assay.policy.data.row_files import read_rows

    mark = fingerprint_of((rule.fingerprint(), input))
    job = FinishedRows(output, mark, batch_size)
    rows = list(read_rows(input))
    rule.check(rows)
    return list(job.run(rows, rule, keep, problem))


def _reward(spec: str) -> Any:
    from assay.loading import load_reward

    return load_reward(spec).reward
