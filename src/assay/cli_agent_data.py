"""`assay data search` and `assay data trajectories`: data for agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli_files import write_json
from assay.errors import ConfigError

_JSON = typer.Option("--json", help="Write the counts here, for machines.", metavar="FILE")


def search(
    pages: Annotated[
        Path,
        typer.Option(
            help="A MediaWiki XML export (plain, bz2, gzip), or JSON lines with title and text.",
            metavar="FILE",
        ),
    ],
    graph: Annotated[
        Path, typer.Option(help="The entity graph, a SQLite file; continued.", metavar="FILE")
    ],
    output: Annotated[Path, typer.Option(help="Question rows go here; continued.", metavar="FILE")],
    wikidata: Annotated[
        Path | None,
        typer.Option(help="More relations: subject, predicate, object.", metavar="FILE"),
    ] = None,
    extractor: Annotated[
        str | None,
        typer.Option(
            help="A model that reads relations out of sentences, instead of patterns.",
            metavar="BASE_URL,MODEL",
        ),
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option(
            help="A model that writes the questions, instead of a template.",
            metavar="BASE_URL,MODEL",
        ),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the endpoints' key.", metavar="NAME"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Questions.", metavar="N")] = 100,
    length: Annotated[int, typer.Option(min=1, help="Hops.", metavar="N")] = 3,
    since: Annotated[
        str | None, typer.Option(help="Heads edited on this day or later.", metavar="DATE")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Heads edited on this day or earlier.", metavar="DATE")
    ] = None,
    min_words: Annotated[int, typer.Option(min=0, help="Of a head.", metavar="N")] = 30,
    min_relations: Annotated[int, typer.Option(min=1, help="Of a head.", metavar="N")] = 2,
    hub_limit: Annotated[
        int, typer.Option(min=1, help="More edges than this point at a hub.", metavar="N")
    ] = 500,
    seed: Annotated[int, typer.Option(help="Of walks and order.", metavar="N")] = 0,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Build questions that take several searches, from the pages of an encyclopedia."""
    from datetime import timedelta

    from assay.errors import DataError
    from assay.judges.endpoint import Endpoint
    from assay.policy.data.search.build import QuestionPlan, build_graph, build_questions
    from assay.policy.data.search.graph import EntityGraph
    from assay.policy.data.search.pages import moment
    from assay.policy.data.search.questions import ModelWriter, TemplateWriter
    from assay.policy.data.search.relations import ModelExtractor
    from assay.policy.data.search.walks import WalkRules

    def endpoint(spec: str) -> Endpoint:
        base_url, _, name = spec.rpartition(",")
        if not base_url or not name:
            raise ConfigError(f"a model is given as BASE_URL,MODEL; got {spec!r}")
        return Endpoint(base_url, name, api_key_env=api_key_env)

    try:
        start, end = moment(since, "--since"), moment(until, "--until")
        if end is not None and until is not None and len(until.strip()) == len("2026-01-31"):
            end += timedelta(days=1, microseconds=-1)  # a day's end, not its beginning
        plan = QuestionPlan(
            count=count,
            rules=WalkRules(length=length, hub_limit=hub_limit),
            since=start,
            until=end,
            min_words=min_words,
            min_relations=min_relations,
            writer=TemplateWriter() if writer is None else ModelWriter(endpoint(writer)),
            seed=seed,
        )
        reader = None if extractor is None else ModelExtractor(endpoint(extractor))
    except (ConfigError, DataError) as error:
        print(f"assay: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    with EntityGraph(graph) as made:
        sizes = build_graph(made, pages, extractor=reader, wikidata=wikidata)
        print("; ".join(f"{number:,} {name}" for name, number in sizes.items()))
        counts = build_questions(made, plan, output)
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{number:>8,}  {name}")
    write_json(json_file, {"graph": sizes, "questions": counts})


def trajectories(
    output: Annotated[
        Path, typer.Option(help="Rows for fine-tuning go here; continued.", metavar="FILE")
    ],
    agent: Annotated[
        list[str],
        typer.Option(
            help="An agent: style (native, react or plan), a name, and the model; repeatable.",
            metavar="STYLE:NAME=BASE_URL,MODEL",
        ),
    ],
    count: Annotated[int, typer.Option(min=1, help="Environments.", metavar="N")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the environments.", metavar="N")] = 0,
    attempts: Annotated[int, typer.Option(min=1, help="Tries per agent.", metavar="N")] = 1,
    form: Annotated[
        str, typer.Option(help="hermes, miroflow, react or openai.", metavar="FORM")
    ] = "hermes",
    most_failing: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of failing turns allowed.", metavar="SHARE"),
    ] = 1.0,
    keep_results: Annotated[
        int | None, typer.Option(min=1, help="Latest tool results that agents see.", metavar="N")
    ] = None,
    temperature: Annotated[float, typer.Option(help="Of the agents.", metavar="T")] = 1.0,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the endpoints' key.", metavar="NAME"),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Runs at a time.", metavar="N")] = 8,
    json_file: Annotated[Path | None, _JSON] = None,
) -> None:
    """Let agents work in generated environments; keep what succeeded, reviewed turn by turn."""
    from assay.judges.endpoint import Endpoint
    from assay.judges.turn_critic import RuleCritic
    from assay.policy.data.synthesis import SynthesisPlan, synthesise
    from assay.policy.environments import generate
    from assay.policy.environments.styles import AgentStyle, NativeTools, PlanThenAct, ReActAgent

    styles = {"native": NativeTools, "react": ReActAgent, "plan": PlanThenAct}
    agents: dict[str, AgentStyle] = {}
    try:
        for item in agent:
            style, _, rest = item.partition(":")
            name, sign, spec = rest.partition("=")
            base_url, _, model = spec.rpartition(",")
            if style not in styles or not sign or not name or not base_url or name in agents:
                raise ConfigError(
                    f"--agent is STYLE:NAME=BASE_URL,MODEL with a style of {sorted(styles)} and a "
                    f"new name; got {item!r}"
                )
            client = Endpoint(base_url, model, api_key_env=api_key_env, temperature=temperature)
            agents[name] = styles[style](client)
        plan = SynthesisPlan(
            agents,
            RuleCritic(),
            attempts=attempts,
            form=form,
            keep_results=keep_results,
            most_failing=most_failing,
            concurrency=concurrency,
        )
    except ConfigError as error:
        print(f"assay: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    made = synthesise(generate(count, seed), plan, output)
    for name, fates in made.fates.items():
        print(f"{name}: " + ", ".join(f"{number:,} {fate}" for fate, number in fates.items()))
    for why, number in made.errors.most_common(3):
        print(f"assay: {number:,} times: {why}", file=sys.stderr)
    write_json(json_file, made.to_json())
    raise typer.Exit(int(not any(fates["kept"] for fates in made.fates.values())))
