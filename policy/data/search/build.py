"""Builds the graph from pages and the questions from the graph; both go on where they stopped."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.judges.results import ResultFile
from assay.policy.data.row_files import appended_rows
from assay.policy.data.search.graph import Edge, EntityGraph
from assay.policy.data.search.pages import Page, read_pages
from assay.policy.data.search.questions import Chain, QuestionWriter, TemplateWriter, fault
from assay.policy.data.search.relations import (
    PatternExtractor,
    Relation,
    RelationExtractor,
    infobox_relations,
    wikidata_relations,
)
from assay.policy.data.search.walks import WalkRules, walk
from assay.policy.data.search.wikitext import read_article

_CHUNK = 200
_TOGETHER = 16


def build_graph(
    graph: EntityGraph,
    pages: str | Path,
    *,
    extractor: RelationExtractor | None = None,
    wikidata: str | Path | None = None,
    limit: int | None = None,
    progress: Callable[[int], None] = lambda pages: None,
) -> dict[str, int]:
    """Read pages into a graph, from where an earlier call stopped, and link it.

    Args:
        graph: Where to.
        pages: See `read_pages`. A file of another size under the same name is another source.
        extractor: For the sentences; None for `PatternExtractor()`.
        wikidata: Rows of further relations.
        limit: At most so many pages of the source.
        progress: Called with the pages read so far.

    Returns:
        Sizes of the graph.

    Raises:
        DataError: The source is damaged; what was read before stays.
    """
    extractor = PatternExtractor() if extractor is None else extractor
    path = Path(pages)
    source = f"{path.resolve()} of {path.stat().st_size if path.is_file() else 0} bytes"
    done = graph.read_so_far(source)
    read = done
    left = islice(read_pages(pages), done, limit)
    while chunk := list(islice(left, _CHUNK)):
        read += len(chunk)
        graph.add([_read(page, extractor) for page in chunk], source, read)
        progress(read)
    if wikidata is not None:
        graph.add_relations(wikidata_relations(wikidata))
    graph.link()
    return graph.sizes()


def _read(page: Page, extractor: RelationExtractor) -> tuple[Page, str, int, list[Relation]]:
    if page.redirect:
        return page, "", 0, []
    article = read_article(page.text)
    relations = infobox_relations(page.title, article)
    relations += extractor.extract(page.title, article.sentences)
    return page, article.kind, article.words, relations


@dataclass(frozen=True)
class QuestionPlan:
    """Which questions are made.

    Args:
        count: How many.
        rules: Of the walks.
        since: Earliest last edit of a head, inclusive; None: any.
        until: Latest last edit of a head, inclusive; None: any.
        min_words: Least running text of a head.
        min_relations: Least edges that leave a head.
        walks_per_head: Tries with different seeds before a head is passed over.
        writer: Who writes.
        seed: Of everything random.
    """

    count: int = 100
    rules: WalkRules = field(default_factory=WalkRules)
    since: datetime | None = None
    until: datetime | None = None
    min_words: int = 30
    min_relations: int = 2
    walks_per_head: int = 3
    writer: QuestionWriter = field(default_factory=TemplateWriter)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 1 or self.walks_per_head < 1:
            raise ConfigError(
                "QuestionPlan needs count and walks_per_head >= 1, got "
                f"{self.count} and {self.walks_per_head}"
            )
        if self.since and self.until and self.since > self.until:
            raise ConfigError(f"the window is empty: {self.since} is after {self.until}")


def build_questions(graph: EntityGraph, plan: QuestionPlan, output: str | Path) -> dict[str, int]:
    """Write question rows, one head each, after those that `output` holds already.

    A row: `id`, `question`, `answer`, `entity_chain` (titles), `relations` (predicates), `evidence`
    (one text a hop), `origins`, `dates` (last edit by title), `as_of` (the latest of them).

    Args:
        graph: Linked.
        plan: Which questions.
        output: JSON lines; whole rows of an earlier run stay and their heads are passed over.

    Returns:
        `written`, `already`, and per reason how many heads or questions were passed over.

    Raises:
        DataError: `output` holds something else, or the writer does not answer.
        ConfigError: Another process writes `output`.
    """
    output = Path(output)
    with ResultFile(output, resume=True, start=b"{") as file:
        done = {str(row["entity_chain"][0]) for row in appended_rows(output, "entity_chain")}
        counts: Counter[str] = Counter(already=len(done))
        for chains in _together(_chains(graph, plan, done, counts)):
            left = plan.count - counts["already"] - counts["written"]
            if left <= 0:
                break
            when = [_as_of(chain) for chain in chains]
            made = []
            for chain, text, latest in zip(
                chains, plan.writer.write(chains, when), when, strict=True
            ):
                problem = "nothing written"
                if text is not None:
                    problem = fault(graph, chain, text, hub_limit=plan.rules.hub_limit)
                if problem:
                    counts[f"question: {problem.split(',')[0]}"] += 1
                else:
                    made.append(_row(chain, str(text), latest))
            file.append(made[:left])
            counts["written"] += len(made[:left])
    return dict(counts)


def _chains(
    graph: EntityGraph, plan: QuestionPlan, done: set[str], counts: Counter[str]
) -> Iterator[Chain]:
    heads = graph.heads(
        since=plan.since,
        until=plan.until,
        min_words=plan.min_words,
        min_relations=plan.min_relations,
    )
    ids = array("q", (head.id for head in heads))
    random.Random(plan.seed).shuffle(ids)
    for one in ids:
        head = graph.entity(one)
        if head.title in done:
            continue
        if graph.in_degree(one, plan.rules.hub_limit) > plan.rules.hub_limit:
            counts["head: a hub"] += 1
            continue
        chain = None
        problem = "no walk of this length"
        for attempt in range(plan.walks_per_head):
            found = walk(graph, head, plan.rules, plan.seed + attempt)
            if found is not None:
                problem = fault(graph, found, hub_limit=plan.rules.hub_limit)
                if not problem:
                    chain = found
                    break
        if chain is None:
            counts[f"head: {problem}"] += 1
        else:
            yield chain


def _together(chains: Iterator[Chain]) -> Iterator[Sequence[Chain]]:
    while some := list(islice(chains, _TOGETHER)):
        yield some


def _row(chain: Chain, question: str, as_of: datetime | None) -> dict[str, Any]:
    entities = [chain[0].subject, *(edge.object for edge in chain)]
    return {
        "id": f"{chain[0].subject.title} -> {chain[-1].object.title}",
        "question": question,
        "answer": chain[-1].object.title,
        "entity_chain": [entity.title for entity in entities],
        "relations": [edge.predicate for edge in chain],
        "evidence": [edge.evidence for edge in chain],
        "origins": [edge.origin for edge in chain],
        "dates": {
            entity.title: entity.edited.date().isoformat() for entity in entities if entity.edited
        },
        "as_of": None if as_of is None else as_of.date().isoformat(),
    }


def _as_of(chain: Sequence[Edge]) -> datetime | None:
    """When all of it was last seen to hold: the latest edit of the pages that state it."""
    edits = [edge.subject.edited for edge in chain if edge.subject.edited is not None]
    return max(edits, default=None)
