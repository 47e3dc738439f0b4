"""Search tools: the local corpus, HTTP services of a fake server, blocked domains, other names."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from assay.errors import ConfigError, DataError
from assay.messages import Message, ToolCall
from assay.policy.environments import Episode, SearchEnvironment, ToolError, ToolUnavailable, play
from assay.policy.environments.domains import Blocklist
from assay.policy.environments.python_tool import PythonTool
from assay.policy.environments.search_backends import Corpus, Page, tokens
from assay.policy.environments.search_http import Http, JinaReader, SerperSearch

PAGES = [
    Page("https://rivers.test/lena", "Lena", "The Lena is a river in Siberia. It ends in a delta."),
    Page(
        "https://rivers.test/ebro", "Ebro", "The Ebro is a river in Spain. " + "It is long. " * 900
    ),
    Page("https://answers.test/all", "Answers", "The river in Siberia is the Lena, of course."),
    Page("https://food.test/tea", "Tea", "Tea grows in Assam."),
]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(PAGES)


def test_corpus_ranks_by_bm25_and_shows_where(corpus: Corpus) -> None:
    hits = corpus.search("river in Siberia", 2)
    assert {hit.title for hit in hits} == {"Lena", "Answers"}
    assert "Siberia" in hits[0].snippet
    assert corpus.search("zebra", 3) == []
    with pytest.raises(ToolError, match="no words"):
        corpus.search("?!", 3)
    with pytest.raises(ToolError, match="there is no page at 'https://x.test'"):
        corpus.visit("https://x.test")


def test_corpus_refuses_pages_that_are_none() -> None:
    with pytest.raises(DataError, match="a page needs url, title and text"):
        Corpus([{"url": "https://a.test"}])
    with pytest.raises(DataError, match="two pages have the address"):
        Corpus([PAGES[0], PAGES[0]])
    with pytest.raises(ConfigError, match="needs pages"):
        Corpus([])


def test_words_of_scripts_without_spaces() -> None:
    assert tokens("Lena 長江 C3") == ["lena", "長", "江", "c3"]


# Blocked domains.


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("https://answers.test/all", True),
        ("HTTP://WWW.Answers.TEST.:8080/x", True),
        ("https://user:pw@answers.test", True),
        ("https://deep.sub.answers.test/", True),
        ("answers.test/all", True),
        ("https://r.reader.test/https://answers.test/all", True),
        ("https://mirror.test/?u=https%3A%2F%2Fanswers.test%2Fall", True),
        ("https://notanswers.test/", False),
        ("https://answers.test.example.org/", False),
        ("https://rivers.test/lena", False),
        ("not an address", True),
    ],
)
def test_blocklist(url: str, blocked: bool) -> None:
    assert Blocklist(["answers.test"]).blocks(url) is blocked


def test_blocklist_entries() -> None:
    assert not Blocklist().blocks("not an address")
    assert Blocklist(["www.answers.test"]).blocks("https://answers.test")
    with pytest.raises(ConfigError, match=r"must be like 'example.org', got 'test'"):
        Blocklist(["test"])


def test_blocked_pages_are_neither_found_nor_read(corpus: Corpus) -> None:
    tools = SearchEnvironment(corpus, corpus, blocklist=Blocklist(["answers.test"]))
    episode = Episode(tools.environment("Which river is in Siberia?", "Lena"))
    found = json.loads(episode.call("search", {"query": "river Siberia"}))
    assert "answers.test" not in json.dumps(found) and found["results"][0]["title"] == "Lena"
    assert "is blocked" in episode.call("visit", {"url": "https://answers.test/all"})
    assert episode.calls[-1].error == "agent"


# Names and formats of tools.


@pytest.mark.parametrize("style", ["json", "markdown", "lines"])
@pytest.mark.parametrize("names", [{}, {"search": "web_search", "visit": "open_page"}])
def test_renamed_tools_and_other_formats(corpus: Corpus, style: Any, names: dict[str, str]) -> None:
    """An agent that reads the tools' schemas and looks for addresses gets by in all of them."""
    spec = SearchEnvironment(corpus, corpus, names=names, style=style).environment(
        "What grows in Assam?", "tea"
    )

    def agent(messages: Any, tools: Any) -> Message:
        by_argument = {next(iter(t["function"]["parameters"]["properties"])): t for t in tools}
        results = [message.content for message in messages if message.role == "tool"]
        if not results:
            name = by_argument["query"]["function"]["name"]
            return Message("assistant", tool_calls=(ToolCall(name, {"query": "grows Assam"}),))
        if len(results) == 1:
            name = by_argument["url"]["function"]["name"]
            assert "https://food.test/tea" in results[0]
            call = ToolCall(name, {"url": "https://food.test/tea"})
            return Message("assistant", tool_calls=(call,))
        assert "Tea grows in Assam." in results[1]
        return Message("assistant", "Final answer: Tea")

    done = play(spec, agent)
    assert done.outcome.passed and not [call for call in done.episode.calls if call.error]


def test_formats_differ(corpus: Corpus) -> None:
    shown = {
        style: Episode(SearchEnvironment(corpus, style=style).environment("q", "a")).call(
            "search", {"query": "tea"}
        )
        for style in ("json", "markdown", "lines")
    }
    assert json.loads(shown["json"])["results"][0]["url"] == "https://food.test/tea"
    assert shown["markdown"].startswith("### [Tea](https://food.test/tea)")
    assert shown["lines"] == "1. Tea | https://food.test/tea | Tea grows in Assam."


def test_long_pages_come_in_parts(corpus: Corpus) -> None:
    tools = SearchEnvironment(corpus, corpus, page_characters=4000)
    episode = Episode(tools.environment("q", "a"))
    first = json.loads(episode.call("visit", {"url": "https://rivers.test/ebro"}))
    assert (first["part"], first["parts"], len(first["text"])) == (1, 3, 4000)
    url = {"url": "https://rivers.test/ebro"}
    assert json.loads(episode.call("visit", url | {"part": 3}))["part"] == 3
    assert "no part 4" in episode.call("visit", url | {"part": 4})


def test_answers(corpus: Corpus) -> None:
    episode = Episode(SearchEnvironment(corpus).environment("When?", "4 July 1776"))
    assert episode.outcome("Answer: 1776-07-04").passed
    assert not episode.outcome("Answer: 1777-07-04").passed
    assert not episode.outcome(None).passed


def test_settings_that_are_none(corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match="names may rename"):
        SearchEnvironment(corpus, names={"browse": "x"})
    with pytest.raises(ConfigError, match="style must be one of"):
        SearchEnvironment(corpus, style="xml")  # type: ignore[arg-type]


def test_nothing_found_is_the_agents_to_mend(corpus: Corpus) -> None:
    episode = Episode(SearchEnvironment(corpus).environment("q", "a"))
    assert "try other words" in episode.call("search", {"query": "zebra"})


# Services over HTTP.


class Service(BaseHTTPRequestHandler):
    """Answers as Serper and Jina do; `/flaky` fails twice, `/down` always, `/odd` says no JSON."""

    seen: ClassVar[list[Any]] = []
    fails = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((self.path, self.headers.get("X-API-KEY"), body))
        if self.path == "/down":
            return self.reply(503, "busy")
        if self.path == "/flaky" and type(self).fails < 2:
            type(self).fails += 1
            return self.reply(429, "slow down")
        if self.path == "/odd":
            return self.reply(200, "<html>")
        rows = [{"title": "Lena", "link": "https://rivers.test/lena", "snippet": "A river."}] * 9
        return self.reply(200, json.dumps({"organic": rows}))

    def do_GET(self) -> None:
        type(self).seen.append((self.path, self.headers.get("Authorization"), None))
        if "missing" in self.path:
            return self.reply(404, "no")
        return self.reply(200, "Title: The Lena\n\nIt flows north.")

    def reply(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


OPEN = Http(None, timeout_s=5, attempts=3, pause_s=0.01)


def test_serper(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "k")
    search = SerperSearch(f"{server}/search", Http("SEARCH_KEY"), {"gl": "us"})
    hits = search.search("lena", 3)
    assert [hit.url for hit in hits] == ["https://rivers.test/lena"] * 3
    assert Service.seen[-1] == ("/search", "k", {"q": "lena", "num": 3, "gl": "us"})
    monkeypatch.delenv("SEARCH_KEY")
    with pytest.raises(ConfigError, match="'SEARCH_KEY' holds no key"):
        search.search("lena", 3)


def test_jina(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER_KEY", "k")
    page = JinaReader(server, Http("READER_KEY")).visit("https://rivers.test/lena?x=1 2")
    assert page == Page("https://rivers.test/lena?x=1 2", "The Lena", "It flows north.")
    assert Service.seen[-1][:2] == ("/https://rivers.test/lena?x=1%202", "Bearer k")


def test_services_that_fail(server: str) -> None:
    Service.fails = 0
    assert SerperSearch(f"{server}/flaky", OPEN).search("lena", 1)
    for path, message in (("/down", "status 503"), ("/odd", "cannot be read")):
        with pytest.raises(ToolUnavailable, match=message):
            SerperSearch(server + path, OPEN).search("lena", 1)
    with pytest.raises(ToolError, match="no such page"):
        JinaReader(server, OPEN).visit("https://rivers.test/missing")
    gone = Http(None, timeout_s=1, attempts=1)
    with pytest.raises(ToolUnavailable):
        JinaReader("http://127.0.0.1:9", gone).visit("https://rivers.test/lena")


def test_a_service_that_is_down_is_not_held_against_the_agent(server: str) -> None:
    tools = SearchEnvironment(SerperSearch(f"{server}/down", OPEN))
    episode = Episode(tools.environment("q", "a"))
    assert "not your fault" in episode.call("search", {"query": "lena"})
    assert episode.outcome("I do not know").value is None


# The Python tool.


@pytest.mark.slow
def test_python_tool_runs_in_the_sandbox(corpus: Corpus) -> None:
    tools = SearchEnvironment(corpus, code=PythonTool(longest=50))
    episode = Episode(tools.environment("q", "a"))
    assert episode.call("python", {"code": "print(6 * 7)"}).strip() == "42"
    assert "ZeroDivisionError" in episode.call("python", {"code": "1 / 0"})
    assert "wrote nothing" in episode.call("python", {"code": "x = 1"})
    assert episode.call("python", {"code": "print('x' * 500)"}).endswith("[cut]")
    network = "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)"
    assert episode.call("python", {"code": network}).startswith("[RE]")  # no network
    assert [call.error for call in episode.calls] == [""] * 5
