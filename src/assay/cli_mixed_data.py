"""`assay data mix` and `assay data contamination`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli_files import print_counts, write_json
from assay.errors import ConfigError, DataError

if TYPE_CHECKING:
    from assay.policy.data.curriculum import Curriculum
    from assay.policy.data.mixture import Mixed, Mixture, RowTokens
    from assay.policy.data.sources import Source

#: Longest row where no context is given.
_NO_LIMIT = 1 << 31
_JSON = typer.Option("--json", help="Write the counts here, for machines.", metavar="FILE")


def mix(
    source: Annotated[
        list[str],
        typer.Option(help="A source; repeatable.", metavar="NAME=FILE[,WEIGHT]"),
    ],
    output: Annotated[
        Path,
        typer.Option(help="Rows; with several contexts one file each.", metavar="FILE"),
    ],
    tokenizer: Annotated[
        str | None, typer.Option(help="Counts tokens as training does.", metavar="FOLDER|ID")
    ] = None,
    token_column: Annotated[
        str | None, typer.Option(help="A column with each row's tokens.", metavar="NAME")
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Weights of the report's final mix: code 27, deep-search 26, stem 23, "
            "tool-use 13, general 10.",
        ),
    ] = False,
    tokens: Annotated[
        int | None, typer.Option(help="Draw so many; default: all within --epochs.", metavar="N")
    ] = None,
    context: Annotated[
        list[int] | None,
        typer.Option(help="Longest row, in tokens; repeat it for a curriculum.", metavar="N"),
    ] = None,
    rows: Annotated[
        str, typer.Option(help="A row's contexts: the shortest that holds it, or all.")
    ] = "shortest",
    epochs: Annotated[float, typer.Option(help="Most passes over a source.", metavar="X")] = 4.0,
    tolerance: Annotated[
        float, typer.Option(help="Largest error of a share.", metavar="SHARE")
    ] = 0.005,
    chat_template: Annotated[
        str | None, typer.Option(help="In place of the tokenizer's.", metavar="FILE|NAME")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order.", metavar="N")] = 0,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Mix sources by their share of tokens, for one context or a curriculum of several."""
    from assay.policy.data.curriculum import Curriculum
    from assay.policy.data.mixture import PUBLISHED_MIX, Mixture
    from assay.policy.data.row_files import write_rows
    from assay.policy.data.sources import read_sources

    sources = [_source(item) for item in source]
    if published:
        if any(one.weight is not None for one in sources):
            raise ConfigError("--published gives the weights; leave them out of --source")
        weights = dict(PUBLISHED_MIX)
    else:
        if bare := [one.name for one in sources if one.weight is None]:
            raise ConfigError(f"source {bare[0]!r} has no weight; give NAME=FILE,WEIGHT")
        weights = {one.name: float(one.weight or 0) for one in sources}
    names = [one.name for one in sources]
    if sorted(names) != sorted(weights):
        raise ConfigError(
            f"the mixture needs each of the sources {sorted(weights)} once, and --source names "
            f"{names}; give the others too, or weights of your own"
        )
    contexts = sorted(context or [])
    longest = contexts[-1] if contexts else _NO_LIMIT
    size = _size(tokenizer, token_column, chat_template, longest)
    mixture = Mixture(weights, tokens, seed, tolerance, epochs)
    found = read_sources(sources)
    curriculum = Curriculum(contexts or [longest], rows)  # type: ignore[arg-type]
    report: dict[str, Any] = {}
    mixtures: dict[Path, Mixed] = {}
    for name, part in _by_context(found, curriculum, size, report).items():
        file = output
        if len(contexts) > 1:
            file = output.with_name(f"{output.stem}-{name}{output.suffix}")
            absent = sorted(weights.keys() - part.keys())
            if not part:
                report[str(file)] = {"rows": 0, "absent": absent}
                continue
        elif absent := sorted(weights.keys() - part.keys()):
            raise DataError(
                f"source {absent[0]!r}: none of its {len(found[absent[0]])} rows fits the context "
                "and has anything to train on; raise --context, or leave the source out"
            )
        mixtures[file] = _mixed(mixture, part, size)
        report[str(file)] = mixtures[file].to_json() | ({"absent": absent} if absent else {})
    for file, mixed in mixtures.items():  # only when all of them could be drawn
        write_rows(file, mixed.rows)
    print_counts(report)
    write_json(json_file, report)


def contamination(
    inputs: Annotated[list[Path], typer.Argument(help="Training files.")],
    evaluation: Annotated[
        list[Path], typer.Option(help="Evaluation files; repeatable.", metavar="FILE")
    ],
    output: Annotated[Path, typer.Option(help="Rows that stay.", metavar="FILE")],
    report: Annotated[
        Path | None, typer.Option(help="One row a leak, with both texts.", metavar="FILE")
    ] = None,
    ngram: Annotated[int, typer.Option(min=1, help="Words of the n-grams.", metavar="N")] = 13,
    contained: Annotated[
        float,
        typer.Option(help="Share of an item's n-grams that is a leak.", metavar="SHARE"),
    ] = 0.5,
    threshold: Annotated[
        float, typer.Option(help="Similarity that is a leak.", metavar="SHARE")
    ] = 0.8,
    duplicates: Annotated[
        float, typer.Option(help="The same among training rows; above 1: keep.", metavar="SHARE")
    ] = 0.8,
    compare: Annotated[str, typer.Option(help="prompt, or all: answers too.")] = "all",
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 if there is a leak.")] = False,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Drop training rows that hold evaluation items, and near duplicates."""
    from assay.policy.data.contamination import Contamination, check_files

    rule = Contamination(ngram, contained, threshold, duplicates, compare)
    found = check_files(inputs, evaluation, output, rule, report=report)
    print_counts(found)
    write_json(json_file, found)
    if fail and any(found[kind] for kind in ("same", "near", "contained")):
        raise typer.Exit(1)


def _source(item: str) -> Source:
    from assay.policy.data.sources import Source

    name, sign, rest = item.partition("=")
    path, _, weight = rest.rpartition(",")
    if not sign or not name or not rest:
        raise ConfigError(f"--source is NAME=FILE or NAME=FILE,WEIGHT; got {item!r}")
    if not path:
        return Source(name, rest)
    try:
        return Source(name, path, float(weight))
    except ValueError:
        return Source(name, rest)  # a comma in the file's name


def _size(
    tokenizer: str | None, column: str | None, template: str | None, longest: int
) -> RowTokens:
    from assay.policy.data.mixture import column_tokens, trained_tokens

    if (tokenizer is None) == (column is None):
        raise ConfigError("give either --tokenizer or --token-column, so that rows can be counted")
    if column is not None:
        return column_tokens(column)
    from assay.policy.stages.models import load_tokenizer

    count = trained_tokens(load_tokenizer(str(tokenizer), template), longest)
    known: dict[int, int] = {}

    def once(row: Mapping[str, Any]) -> int:
        """Rendering is slow, and curriculum and mixture both ask; the rows outlive the call."""
        if id(row) not in known:
            known[id(row)] = count(row)
        return known[id(row)]

    return once


def _by_context(
    found: Mapping[str, list[dict[str, Any]]],
    curriculum: Curriculum,
    size: RowTokens,
    report: dict[str, Any],
) -> dict[int, dict[str, list[Any]]]:
    """Rows of each source by context; what no context holds goes into the report."""
    names = [name for name, part in found.items() for _ in part]
    rows = [row for part in found.values() for row in part]
    assigned = curriculum([size(row) for row in rows])
    refused: dict[str, int] = {}
    for place in assigned.refused:
        refused[names[place]] = refused.get(names[place], 0) + 1
    if curriculum.contexts[-1] < _NO_LIMIT:
        report["curriculum"] = assigned.to_json()
    report["refused: too long, or nothing to train on"] = refused
    parts: dict[int, dict[str, list[Any]]] = {}
    for context, places in assigned.places.items():
        mine: dict[str, list[Any]] = {name: [] for name in found}
        for place in places:
            mine[names[place]].append(rows[place])
        parts[context] = {name: part for name, part in mine.items() if part}
    return parts


def _mixed(mixture: Mixture, part: Mapping[str, list[Any]], size: RowTokens) -> Mixed:
    """A context's mixture; sources that have no row of its length are left out."""
    from dataclasses import replace

    weights = {name: weight for name, weight in mixture.weights.items() if name in part}
    return replace(mixture, weights=weights)(part, size)
