"""What stands behind a search agent's tools: interfaces, and a local corpus with BM25."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.errors import ConfigError, DataError
from assay.policy.environments.spec import ToolError


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a corpus or of the web."""

    url: str
    title: str
    text: str


class SearchBackend(Protocol):
    """Finds pages."""

    def search(self, query: str, count: int) -> Sequence[Hit]:
        """The best `count` hits, best first. Raises ToolUnavailable where it cannot search."""


class VisitBackend(Protocol):
    """Reads pages."""

    def visit(self, url: str) -> Page:
        """The page. Raises ToolError where there is none, ToolUnavailable where it is down."""


class CodeBackend(Protocol):
    """Runs programs."""

    def run(self, source: str) -> str:
        """What the program wrote, or how it failed. Raises ToolUnavailable where it cannot run."""


@dataclass
class Corpus:
    """Pages in memory, searched with BM25; both a search and a visit backend.

    Args:
        pages: `Page`s or mappings with `url`, `title` and `text`.
        snippet: Characters of a hit's snippet, cut around the query's words.

    Raises:
        DataError: A page lacks something, or two have one address.

    Source: BM25 by the library `bm25s` (arXiv:2407.03618).

    Example:
        >>> corpus = Corpus([Page("https://a.test/tea", "Tea", "Tea grows in Assam."),
        ...                  Page("https://a.test/oil", "Oil", "Oil comes from Baku.")])
        >>> [hit.title for hit in corpus.search("where does tea grow", 1)]
        ['Tea']
    """

    pages: Iterable[Page | Mapping[str, Any]]
    snippet: int = 200
    _by_url: dict[str, Page] = field(init=False, repr=False, default_factory=dict)
    _index: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        for index, given in enumerate(self.pages):
            page = _page(given, index)
            if page.url in self._by_url:
                raise DataError(f"two pages have the address {page.url!r}", index)
            self._by_url[page.url] = page
        self.pages = tuple(self._by_url.values())
        if not self._by_url:
            raise ConfigError("a corpus needs pages, got none")

    def search(self, query: str, count: int) -> list[Hit]:
        """The best `count` pages by BM25 over title and text that share a word with the query."""
        import bm25s

        words = tokens(query)
        if not words:
            raise ToolError(f"the query has no words: {query!r:.80}")
        if self._index is None:
            texts = [tokens(f"{page.title} {page.text}") for page in self._by_url.values()]
            index = bm25s.BM25()
            index.index(texts, show_progress=False)
            self._index = index
        places, scores = self._index.retrieve(
            [words], k=min(count, len(self._by_url)), show_progress=False
        )
        pages = list(self._by_url.values())
        return [
            Hit(pages[place].title, pages[place].url, self._snippet(pages[place].text, words))
            for place, score in zip(places[0].tolist(), scores[0].tolist(), strict=True)
            if score > 0
        ]

    def visit(self, url: str) -> Page:
        """The page of that address."""
        page = self._by_url.get(url.strip())
        if page is None:
            raise ToolError(
                f"there is no page at {url!r:.200}; visit an address that a search gave"
            )
        return page

    def _snippet(self, text: str, words: Sequence[str]) -> str:
        found = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
        begin = max(0, (found.start() if found else 0) - self.snippet // 3)
        end = begin + self.snippet
        return (
            ("..." if begin else "") + text[begin:end].strip() + ("..." if end < len(text) else "")
        )


def tokens(text: str) -> list[str]:
    """Words in lower case, runs of letters and digits; scripts without spaces by character."""
    return re.findall(r"[぀-ヿ㐀-鿿가-힯]|[^\W_぀-ヿ㐀-鿿가-힯]+", text.lower())


def _page(given: Page | Mapping[str, Any], index: int) -> Page:
    if isinstance(given, Page):
        return given
    try:
        url, title, text = (given[name] for name in ("url", "title", "text"))
    except (KeyError, TypeError):
        raise DataError(f"a page needs url, title and text, got {given!r:.120}", index) from None
    return Page(str(url), str(title), str(text))
