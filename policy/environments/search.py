"""An environment for deep search: search, visit and code tools on backends of your choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from assay.errors import ConfigError
from assay.policy.environments.domains import Blocklist
from assay.policy.environments.search_backends import (
    CodeBackend,
    Hit,
    Page,
    SearchBackend,
    VisitBackend,
)
from assay.policy.environments.spec import EnvironmentSpec, Finding, Tool, ToolError
from assay.rewards.answer_forms import Tolerance, final_answer_text, same_answer

Style = Literal["json", "markdown", "lines"]
#: The tools and what they are called unless told otherwise.
TOOLS = ("search", "visit", "python")


def matches_gold(answer: str, gold: str) -> bool:
    """Whether the final answer in a text is the gold one, as `AnswerMatch` compares them."""
    return bool(same_answer(final_answer_text(answer)[0], gold, Tolerance()))


@dataclass
class SearchEnvironment:
    """Tools of a deep-search agent; `environment` adds a question and its answer.

    Args:
        search: Finds pages: `Corpus`, `SerperSearch`, or your own.
        visit: Reads pages: `Corpus`, `JinaReader`, or your own; None for no such tool.
        code: Runs programs: `PythonTool`, or None.
        blocklist: Domains that are neither found nor read.
        names: Other names for the tools `search`, `visit` and `python`: a policy that was trained
            on one set of names should be tested on another.
        style: How results are written: `json`, `markdown` or `lines`.
        hits: Results of one search.
        page_characters: A visit shows one part of this length; `part` asks for later ones.
        max_calls: Budget of an episode, up to 600.
        matches: `matches(answer, expected)`; decides whether the answer is right.

    Raises:
        ConfigError: Names for tools that there are not, or a style that is none.

    Example:
        >>> from assay.policy.environments.search_backends import Corpus, Page
        >>> corpus = Corpus([Page("https://a.test/tea", "Tea", "Tea grows in Assam."),
        ...                  Page("https://b.test/oil", "Oil", "Oil comes from Baku.")])
        >>> tools = SearchEnvironment(corpus, corpus, names={"search": "web_search"}, style="lines")
        >>> from assay.policy.environments.episode import Episode
        >>> episode = Episode(tools.environment("Where does tea grow?", "Assam"))
        >>> print(episode.call("web_search", {"query": "tea"}))
        1. Tea | https://a.test/tea | Tea grows in Assam.
        >>> episode.outcome("Answer: Assam").passed
        True
    """

    search: SearchBackend
    visit: VisitBackend | None = None
    code: CodeBackend | None = None
    blocklist: Blocklist = field(default_factory=Blocklist)
    names: Mapping[str, str] = field(default_factory=dict)
    style: Style = "json"
    hits: int = 5
    page_characters: int = 6000
    max_calls: int = 600
    matches: Callable[[str, str], bool] = matches_gold

    def __post_init__(self) -> None:
        if unknown := sorted(self.names.keys() - set(TOOLS)):
            raise ConfigError(f"names may rename {TOOLS}, got {unknown}")
        if self.style not in get_args(Style):
            raise ConfigError(f"style must be one of {get_args(Style)}, got {self.style!r:.80}")

    def environment(self, question: str, answer: str, id: str = "") -> EnvironmentSpec:
        """The environment of one question."""
        return EnvironmentSpec(
            id=id or f"search/{question[:60]}",
            task=question,
            tools=self.tools(),
            start=dict,
            verify=partial(_verify, expected=answer, matches=self.matches),
            max_calls=self.max_calls,
            family="search",
        )

    def tools(self) -> tuple[Tool, ...]:
        """The tools on offer."""
        tools = [
            self._tool("search", "Search for pages; gives titles, addresses and snippets.",
                       {"query": {"type": "string", "minLength": 1}}, self._search)
        ]  # fmt: skip
        if self.visit is not None:
            properties: dict[str, Any] = {
                "url": {"type": "string", "minLength": 1},
                "part": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Which part of a long page",
                },
            }
            tools.append(self._tool("visit", "Read a page.", properties, self._visit))
        if self.code is not None:
            tools.append(
                self._tool("python", "Run a Python program; shows what it prints.",
                           {"code": {"type": "string", "minLength": 1}}, self._python)
            )  # fmt: skip
        return tuple(tools)

    def _tool(
        self, name: str, description: str, properties: dict[str, Any], run: Callable[..., Any]
    ) -> Tool:
        schema = {
            "type": "object",
            "properties": properties,
            "required": [next(iter(properties))],
            "additionalProperties": False,
        }
        return Tool(self.names.get(name, name), description, schema, run)

    def _search(self, state: Any, /, query: str) -> str:
        found = self.search.search(query, self.hits + 5 * bool(self.blocklist.domains))
        shown = [hit for hit in found if not self.blocklist.blocks(hit.url)][: self.hits]
        if not shown:
            raise ToolError(f"nothing was found for {query!r:.200}; try other words")
        return render_hits(shown, self.style)

    def _visit(self, state: Any, /, url: str, part: int | None = None) -> str:
        assert self.visit is not None
        if self.blocklist.blocks(url):
            raise ToolError(f"{url!r:.200} is blocked in this environment")
        page = self.visit.visit(url)
        parts = max(1, -(-len(page.text) // self.page_characters))
        wanted = part or 1
        if wanted > parts:
            raise ToolError(f"the page has {parts} parts, there is no part {wanted}")
        begin = (wanted - 1) * self.page_characters
        text = page.text[begin : begin + self.page_characters]
        return render_page(Page(page.url, page.title, text), wanted, parts, self.style)

    def _python(self, state: Any, /, code: str) -> str:
        assert self.code is not None
        return self.code.run(code)


def render_hits(hits: Sequence[Hit], style: Style) -> str:
    """Search results as text."""
    if style == "json":
        rows = [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in hits]
        return json.dumps({"results": rows}, ensure_ascii=False)
    if style == "markdown":
        return "\n\n".join(f"### [{hit.title}]({hit.url})\n{hit.snippet}" for hit in hits)
    return "\n".join(
        f"{place}. {hit.title} | {hit.url} | {hit.snippet}" for place, hit in enumerate(hits, 1)
    )


def render_page(page: Page, part: int, parts: int, style: Style) -> str:
    """A page, or a part of one, as text."""
    if style == "json":
        shown = {"url": page.url, "title": page.title, "part": part, "parts": parts}
        return json.dumps({**shown, "text": page.text}, ensure_ascii=False)
    more = f" (part {part} of {parts})" if parts > 1 else ""
    head = f"# {page.title}{more}" if style == "markdown" else f"{page.title} | {page.url}{more}"
    return f"{head}\n\n{page.text}"


def _verify(
    state: Any, answer: str | None, *, expected: str, matches: Callable[[str, str], bool]
) -> Finding:
    if not answer:
        return Finding.of(False, "no answer was given")
    right = matches(answer, expected)
    return Finding.of(right, "" if right else f"the answer should be {expected!r}")
