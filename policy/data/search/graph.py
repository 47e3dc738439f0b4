"""The entity graph, in a SQLite file: an encyclopedia fits, an interrupted build goes on."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.errors import ConfigError, DataError
from assay.policy.data.search.pages import Page
from assay.policy.data.search.relations import Relation

_SCHEMA = """
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, title TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, words INTEGER NOT NULL,
    edited INTEGER);
CREATE TABLE IF NOT EXISTS redirect (title TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stated (
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, origin TEXT NOT NULL,
    evidence TEXT NOT NULL, PRIMARY KEY (subject, predicate, object)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS edge (
    subject INTEGER NOT NULL, predicate TEXT NOT NULL, object INTEGER NOT NULL,
    origin TEXT NOT NULL, evidence TEXT NOT NULL,
    PRIMARY KEY (subject, predicate, object)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_object ON edge (object);
CREATE INDEX IF NOT EXISTS by_target ON redirect (target);
CREATE TABLE IF NOT EXISTS progress (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Entity:
    """A page as a node.

    Attributes:
        id: In this graph.
        title: Its page.
        kind: Its infobox, or empty.
        words: Of running text.
        edited: When the page was last edited, or None.
    """

    id: int
    title: str
    kind: str
    words: int
    edited: datetime | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two entities of a graph."""

    subject: Entity
    predicate: str
    object: Entity
    origin: str
    evidence: str


class EntityGraph:
    """A graph in a file; one process writes it.

    Relations are collected as titles; `link` then resolves redirects and keeps those whose both
    ends are pages. Everything else reads linked edges.

    Args:
        path: The SQLite file, made if need be.

    Raises:
        DataError: The file is something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ConfigError(f"there is no folder {self.path.parent} for the graph")
        self._db = sqlite3.connect(self.path, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA cache_size = -32768")  # KiB: memory stays flat
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise DataError(f"{self.path} is no entity graph: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add(
        self, pages: Iterable[tuple[Page, str, int, Iterable[Relation]]], source: str, read: int
    ) -> None:
        """Add pages with their kind, words and relations, and how far the source was read.

        A page that is there already is replaced, with what it states.

        All of it is on disk when this returns, or none of it.

        Args:
            pages: (page, kind, words, relations).
            source: Name of the source in `read_so_far`.
            read: Pages of the source that were read, these included.
        """
        with self._db:
            self._db.execute("BEGIN")
            for page, kind, words, relations in pages:
                if page.redirect:
                    self._db.execute("DELETE FROM page WHERE title = ?", (page.title,))
                    self._db.execute(
                        "INSERT OR REPLACE INTO redirect VALUES (?, ?)", (page.title, page.redirect)
                    )
                    continue
                self._db.execute("DELETE FROM redirect WHERE title = ?", (page.title,))
                edited = None if page.edited is None else int(page.edited.timestamp())
                self._db.execute(
                    "INSERT INTO page (title, kind, words, edited) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (title) DO UPDATE SET kind = excluded.kind, "
                    "words = excluded.words, edited = excluded.edited",
                    (page.title, kind, words, edited),
                )
                self._db.execute(  # a newer edition of the page says what holds now
                    "DELETE FROM stated WHERE subject = ? AND origin != 'wikidata'", (page.title,)
                )
                self._state(relations)
            self._note(source, str(read))
            self._note("linked", "")

    def add_relations(self, relations: Iterable[Relation]) -> None:
        """Add relations that stand apart from pages, such as Wikidata's."""
        with self._db:
            self._db.execute("BEGIN")
            self._state(relations)
            self._note("linked", "")

    def read_so_far(self, source: str) -> int:
        """Pages of a source that earlier calls of `add` covered."""
        value = self._noted(source)
        return int(value) if value else 0

    def link(self) -> None:
        """Make edges of the relations whose ends are pages, redirects followed."""
        state = f"{self._count('stated')} {self._count('page')} {self._count('redirect')}"
        if self._noted("linked") == state:
            return
        resolved = (
            "coalesce((SELECT id FROM page WHERE title = s.{end}), "
            "(SELECT p.id FROM redirect r JOIN page p ON p.title = r.target "
            "WHERE r.title = s.{end}))"
        )
        with self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM edge")
            self._db.execute(
                "INSERT OR IGNORE INTO edge SELECT * FROM (SELECT "
                f"{resolved.format(end='subject')} AS a, s.predicate, "
                f"{resolved.format(end='object')} AS b, s.origin, s.evidence FROM stated s) "
                "WHERE a IS NOT NULL AND b IS NOT NULL AND a != b"
            )
            self._note("linked", state)
        self._db.execute("ANALYZE")

    def sizes(self) -> dict[str, int]:
        """How many pages, redirects, relations and edges there are."""
        return {
            "pages": self._count("page"),
            "redirects": self._count("redirect"),
            "relations": self._count("stated"),
            "edges": self._count("edge"),
        }

    def entity(self, key: int | str) -> Entity:
        """The entity with an id or a title.

        Raises:
            DataError: There is none.
        """
        column = "title" if isinstance(key, str) else "id"
        row = self._db.execute(
            f"SELECT id, title, kind, words, edited FROM page WHERE {column} = ?", (key,)
        ).fetchone()
        if row is None:
            raise DataError(f"{self.path} has no entity {key!r}")
        return _entity(row)

    def heads(
        self,
        *,
        since: datetime | None,
        until: datetime | None,
        min_words: int,
        min_relations: int,
    ) -> Iterator[Entity]:
        """Entities that are informative and were edited within a window, by title.

        Args:
            since: Earliest last edit, inclusive; None: any.
            until: Latest last edit, inclusive; None: any.
            min_words: Least running text.
            min_relations: Least edges that leave it.
        """
        where, values = ["words >= ?"], [min_words]
        for sign, bound in ((">=", since), ("<=", until)):
            if bound is not None:
                where.append(f"edited {sign} ?")
                values.append(int(bound.timestamp()))
        query = (
            "SELECT id, title, kind, words, edited FROM page WHERE "
            + " AND ".join(where)
            + " AND (SELECT count(*) FROM edge WHERE subject = page.id) >= ? ORDER BY title"
        )
        for row in self._db.execute(query, (*values, min_relations)):
            yield _entity(row)

    def out(self, entity: Entity) -> list[Edge]:
        """Edges that leave an entity, in a fixed order."""
        rows = self._db.execute(
            "SELECT e.predicate, e.origin, e.evidence, p.id, p.title, p.kind, p.words, p.edited "
            "FROM edge e JOIN page p ON p.id = e.object WHERE e.subject = ? "
            "ORDER BY e.predicate, p.title",
            (entity.id,),
        )
        return [Edge(entity, row[0], _entity(row[3:]), row[1], row[2]) for row in rows]

    def targets(self, subjects: Iterable[int], predicate: str) -> set[int]:
        """Ids that a predicate leads to from any of `subjects`."""
        found: set[int] = set()
        for subject in subjects:
            rows = self._db.execute(
                "SELECT object FROM edge WHERE subject = ? AND predicate = ?", (subject, predicate)
            )
            found.update(row[0] for row in rows)
        return found

    def neighbours(self, entity: int) -> set[int]:
        """Ids of everything one edge away, in either direction."""
        rows = self._db.execute(
            "SELECT object FROM edge WHERE subject = ? UNION SELECT subject FROM edge "
            "WHERE object = ?",
            (entity, entity),
        )
        return {row[0] for row in rows}

    def in_degree(self, entity: int, most: int) -> int:
        """How many edges point at an entity (its id), counted up to `most` + 1."""
        rows = self._db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM edge WHERE object = ? LIMIT ?)",
            (entity, most + 1),
        )
        return int(rows.fetchone()[0])

    def names(self, entity: Entity) -> list[str]:
        """Its title and the titles that redirect to it."""
        rows = self._db.execute("SELECT title FROM redirect WHERE target = ?", (entity.title,))
        return [entity.title, *(row[0] for row in rows)]

    def to_networkx(self) -> Any:
        """The linked graph in memory as a `networkx.MultiDiGraph`, titles as nodes.

        Raises:
            ImportError: The extra `search` is not installed.
        """
        try:
            networkx: Any = importlib.import_module("networkx")
        except ImportError:
            raise ImportError("to_networkx needs networkx: pip install 'assay[search]'") from None
        made = networkx.MultiDiGraph()
        for title, kind in self._db.execute("SELECT title, kind FROM page"):
            made.add_node(title, kind=kind)
        for subject, predicate, target in self._db.execute(
            "SELECT a.title, e.predicate, b.title FROM edge e JOIN page a ON a.id = e.subject "
            "JOIN page b ON b.id = e.object"
        ):
            made.add_edge(subject, target, key=predicate, predicate=predicate)
        return made

    def _state(self, relations: Iterable[Relation]) -> None:
        self._db.executemany(
            "INSERT OR IGNORE INTO stated VALUES (?, ?, ?, ?, ?)",
            ((r.subject, r.predicate, r.object, r.origin, r.evidence) for r in relations),
        )

    def _count(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def _note(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (name, value))

    def _noted(self, name: str) -> str:
        row = self._db.execute("SELECT value FROM progress WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])


def _entity(row: tuple[Any, ...]) -> Entity:
    edited = None if row[4] is None else datetime.fromtimestamp(row[4], UTC)
    return Entity(row[0], row[1], row[2], row[3], edited)
