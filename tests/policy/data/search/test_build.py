import json
import sqlite3
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError
from assay.judges.results import ResultFile
from assay.policy.data.search.build import QuestionPlan, build_graph, build_questions
from assay.policy.data.search.graph import EntityGraph
from assay.policy.data.search.questions import ModelWriter, TemplateWriter, fault
from assay.policy.data.search.walks import WalkRules, walk
from tests.judges.scripted import ScriptedClient, verdict
from tests.policy.data.search.dump import FILLER, PAGES, write_dump


@pytest.fixture
def graph(tmp_path):
    with EntityGraph(tmp_path / "graph.sqlite") as made:
        build_graph(made, write_dump(tmp_path / "dump.xml"))
        yield made


def chain_of(graph, *titles):
    edges = []
    for start, end in pairwise(titles):
        edges.append(next(e for e in graph.out(graph.entity(start)) if e.object.title == end))
    return tuple(edges)


ORLA = ("Orla Venn", "Tomas Brack", "Brack Institute", "Port Selmer")


def test_the_graph(graph):
    sizes = graph.sizes()
    assert sizes["pages"] == len(PAGES) and sizes["redirects"] == 2
    edges = {(e.predicate, e.object.title): e for e in graph.out(graph.entity("Orla Venn"))}
    assert edges["doctoral advisor", "Tomas Brack"].evidence == "doctoral advisor: Tomas Brack"
    assert edges["education", "University of Dunmere"].origin == "sentence"
    assert "Hidden page" not in {title for _, title in edges}
    whole = graph.to_networkx()
    assert whole.number_of_edges() == sizes["edges"]
    assert whole.nodes["Karsholm"]["kind"] == "city"
    with pytest.raises(DataError, match="no entity 'Nobody'"):
        graph.entity("Nobody")


def test_redirects_are_followed(graph):
    from assay.policy.data.search.relations import Relation

    graph.add_relations([Relation("T. Brack", "home", "Selmer", "wikidata", "row")])
    graph.link()
    edges = {(e.predicate, e.object.title) for e in graph.out(graph.entity("Tomas Brack"))}
    assert ("home", "Port Selmer") in edges


def test_heads_are_informative_and_recent(graph):
    may = datetime(2026, 5, 1, tzinfo=UTC)
    found = [h.title for h in graph.heads(since=may, until=None, min_words=30, min_relations=2)]
    assert found == ["Karsholm", "Orla Venn"]
    found = graph.heads(since=None, until=may, min_words=30, min_relations=3)
    assert [head.title for head in found] == ["Port Selmer", "Tomas Brack"]


def test_walks(graph):
    head = graph.entity("Orla Venn")
    rules = WalkRules(length=3)
    found = {tuple(e.object.title for e in walk(graph, head, rules, seed)) for seed in range(20)}
    assert ORLA[1:] in found and len(found) > 1
    assert walk(graph, head, rules, 5) == walk(graph, head, rules, 5)
    for seed in range(20):
        edges = walk(graph, head, rules, seed)
        titles = [edge.object.title for edge in edges]
        assert len(set(titles)) == 3 and "Norland" not in titles  # `country` is trivial
        assert len({edge.predicate for edge in edges}) == 3
        assert "award" not in {edge.predicate for edge in edges}  # leads to two
    assert walk(graph, head, WalkRules(length=9), 0) is None


def test_walk_rules(graph):
    head = graph.entity("Orla Venn")
    city = (frozenset({"scientist"}), frozenset(), frozenset({"city"}))
    for seed in range(5):
        edges = walk(graph, head, WalkRules(kinds=city), seed)
        assert tuple(e.object.title for e in edges) == ORLA[1:]
    tomas, strict = graph.entity("Tomas Brack"), WalkRules(length=1, hub_limit=1)
    ends = {walk(graph, tomas, strict, seed)[0].object.title for seed in range(20)}
    assert ends == {"Brack Institute"}  # two relations point at Ilse Brack: a hub here
    for bad in ({"length": 0}, {"hub_limit": 0}, {"tries": 0}, {"kinds": (frozenset(),)}):
        with pytest.raises(ConfigError):
            WalkRules(**bad)


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ("Where is the employer of the doctoral advisor of Orla Venn?", ""),
        ("Where is the employer of the doctoral advisor of Orla Venn", "not one question"),
        ("Where is the employer of her doctoral advisor?", "does not name the head, 'Orla Venn'"),
        ("Is the employer of the advisor of Orla Venn in Port Selmer?", "names the answer"),
        ("Is the employer of the advisor of Orla Venn in Selmer?", "names the answer"),
        ("Where is the Brack Institute of the advisor of Orla Venn?", "in between"),
        ("Where did T. Brack, advisor of Orla Venn, work?", "in between"),
    ],
)
def test_questions_are_checked(graph, question, problem):
    found = fault(graph, chain_of(graph, *ORLA), question)
    assert (problem in found) if problem else not found


def test_chains_are_checked(graph):
    from assay.policy.data.search.relations import Relation

    good = chain_of(graph, *ORLA)
    assert fault(graph, good) == ""
    graph.add_relations([Relation("Port Selmer", "famous child", "Orla Venn", "wikidata", "row")])
    graph.link()
    assert "shorter way" in fault(graph, chain_of(graph, *ORLA))
    two = chain_of(graph, "Tomas Brack", "Ring Prize")
    assert "leads to 2 entities" in fault(graph, two)


def test_the_template(graph):
    chain = chain_of(graph, *ORLA)
    (text,) = TemplateWriter().write([chain], [datetime(2026, 5, 2, tzinfo=UTC)])
    assert text == (
        "As of May 2026, what is the location of the employer of the doctoral advisor of Orla Venn?"
    )
    assert fault(graph, chain, text) == ""


def test_rows_and_going_on(graph, tmp_path):
    out = tmp_path / "rows.jsonl"
    plan = QuestionPlan(count=2, rules=WalkRules(length=2), seed=3)
    counts = build_questions(graph, plan, out)
    assert counts["written"] == 2
    whole = out.read_text()
    row = json.loads(whole.splitlines()[0])
    assert row["question"].endswith("?") and row["answer"] == row["entity_chain"][-1]
    assert len(row["relations"]) == len(row["evidence"]) == 2 and set(row["dates"])
    first, torn = whole.splitlines()[0] + "\n", whole.splitlines()[1][:30]
    out.write_text(first + torn)  # killed in the middle of a line
    again = build_questions(graph, plan, out)
    assert (again["already"], again["written"]) == (1, 1) and out.read_text() == whole
    out.write_text("nonsense\n")
    with pytest.raises(DataError, match="not written by this command"):
        build_questions(graph, plan, out)


def test_a_model_writes(graph, tmp_path):
    said = iter(["good", "names", "none"])

    def say(prompt, request):
        kind = next(said, "none")
        head = prompt.split("facts>>\n")[1].split(" -- ")[0]
        answer = prompt.split('must be "')[1].split('"')[0]
        if kind == "none":
            return "no question"
        question = f"What comes of {head} after two steps" + (
            f", {answer}?" if kind == "names" else "?"
        )
        return verdict(prompt, question=question)

    plan = QuestionPlan(count=5, rules=WalkRules(length=2), writer=ModelWriter(ScriptedClient(say)))
    counts = build_questions(graph, plan, tmp_path / "rows.jsonl")
    assert counts["written"] == 1 and counts["question: it names the answer"] == 1
    assert counts["question: nothing written"] >= 1


def test_a_build_that_was_killed_goes_on(tmp_path):
    dump = write_dump(tmp_path / "dump.xml")
    with EntityGraph(tmp_path / "whole.sqlite") as whole:
        build_graph(whole, dump)
        expected = whole.sizes()
    seen = []
    with EntityGraph(tmp_path / "part.sqlite") as part:
        build_graph(part, dump, limit=5)
        assert part.sizes()["pages"] == 5
    with EntityGraph(tmp_path / "part.sqlite") as part:
        build_graph(part, dump, progress=seen.append)
        assert part.sizes() == expected and seen == [16]
        build_graph(part, dump, progress=seen.append)
        assert seen == [16]


def test_what_is_no_graph(tmp_path):
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(DataError, match="no entity graph"):
        EntityGraph(tmp_path / "text")
    with pytest.raises(ConfigError, match="no folder"):
        EntityGraph(tmp_path / "none" / "graph")
    with pytest.raises(ConfigError, match="window is empty"):
        QuestionPlan(since=datetime(2026, 2, 1), until=datetime(2026, 1, 1))
    with pytest.raises(ConfigError, match="count"):
        QuestionPlan(count=0)


def test_command_line(tmp_path):
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"subject": "Eastby", "predicate": "twin town", "object": "Karsholm"}\n')
    words = ["data", "search", "--pages", str(write_dump(tmp_path / "dump.xml"))]
    words += ["--graph", str(tmp_path / "g.sqlite"), "--output", str(tmp_path / "rows.jsonl")]
    more = ["--wikidata", str(facts), "--length", "2", "--count", "3", "--since", "2026-01-01"]
    done = CliRunner().invoke(app, [*words, *more, "--json", str(tmp_path / "c.json")])
    assert done.exit_code == 0, done.output
    counts = json.loads((tmp_path / "c.json").read_text())
    assert counts["graph"]["pages"] == len(PAGES) and counts["questions"]["written"] == 3
    with sqlite3.connect(tmp_path / "g.sqlite") as file:
        assert file.execute("SELECT count(*) FROM edge WHERE predicate = 'twin town'").fetchone()
    assert CliRunner().invoke(app, [*words, "--since", "soon"]).exit_code == 2


def lines(path, *pages):
    rows = [{"title": title, "text": f"{text} {FILLER}"} for title, text in pages]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_newer_edition_replaces_what_a_page_states(tmp_path):
    with EntityGraph(tmp_path / "g.sqlite") as graph:
        new = ("Ada", "{{Infobox x|employer=[[Inst B]]}} Ada.")
        towns = [("Inst A", "A place."), ("Inst B", "A place.")]
        source = tmp_path / "pages.jsonl"
        build_graph(graph, lines(source, ("Ada", "{{Infobox x|employer=[[Inst A]]}}"), *towns))
        build_graph(graph, lines(source, new, *towns))  # the same name, another file
        assert [e.object.title for e in graph.out(graph.entity("Ada"))] == ["Inst B"]


@pytest.mark.parametrize(
    ("title", "question", "named"),
    [
        ("東京", "Adaの東京は何ですか\uff1f", True),
        ("Düsseldorf", "Where in Du\u0308sseldorf did Ada live?", True),  # the same, decomposed
        ("Rome", "How did Ada like romence?", False),
    ],
)
def test_names_in_other_scripts(tmp_path, title, question, named):
    pages = [("Ada", f"{{{{Infobox x|home=[[{title}]]}}}}"), (title, "A town.")]
    with EntityGraph(tmp_path / "g.sqlite") as graph:
        build_graph(graph, lines(tmp_path / "pages.jsonl", *pages))
        found = fault(graph, chain_of(graph, "Ada", title), question)
        assert ("names the answer" in found) == named, found


def test_what_thousands_share_is_no_shorter_way(tmp_path):
    pages = [("Ada", "{{Infobox x|work=[[Lab]]|land=[[Norland]]}}"), ("Norland", "A country.")]
    pages += [("Lab", "{{Infobox x|town=[[Aun]]}}"), ("Aun", "{{Infobox x|mayor=[[Bo]]}}")]
    pages += [("Bo", "{{Infobox x|land=[[Norland]]}}")]
    with EntityGraph(tmp_path / "g.sqlite") as graph:
        build_graph(graph, lines(tmp_path / "pages.jsonl", *pages))
        chain = chain_of(graph, "Ada", "Lab", "Aun", "Bo")
        assert "shorter way" in fault(graph, chain) and fault(graph, chain, hub_limit=1) == ""
        plan = QuestionPlan(rules=WalkRules(length=1, hub_limit=1), min_words=1, min_relations=1)
        counts = build_questions(graph, plan, tmp_path / "rows.jsonl")
        assert counts["written"] == 3  # Bo has only the hub


def test_one_process_writes_questions(graph, tmp_path):
    with (
        ResultFile(tmp_path / "rows.jsonl", resume=True),
        pytest.raises(ConfigError, match="another process is writing"),
    ):
        build_questions(graph, QuestionPlan(), tmp_path / "rows.jsonl")
