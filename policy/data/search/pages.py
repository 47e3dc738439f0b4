"""Pages of an encyclopedia, streamed from a MediaWiki XML dump or from JSON lines.

Memory does not grow with the number of pages: the XML tree is emptied as it is read.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from assay.errors import DataError
from assay.policy.data.row_files import read_rows

#: Characters that no page shows: controls, and halves of surrogate pairs, which no file can hold.
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Page:
    """One article, or a redirect to one.

    Attributes:
        title: With spaces, as readers see it.
        text: Wikitext; empty for a redirect.
        edited: When it was last edited, UTC, or None where the source does not say.
        redirect: Title that it redirects to, or empty.
    """

    title: str
    text: str
    edited: datetime | None = None
    redirect: str = ""


def read_pages(path: str | Path) -> Iterator[Page]:
    """All articles of a file, in its order.

    A MediaWiki export (`<mediawiki>`, plain, bz2 or gzip) gives its main name space (ns 0) with the
    last revision of each page. JSON lines have `title` and `text`, and optionally `timestamp` (ISO
    8601) and `redirect`.

    Raises:
        DataError: No such file, neither form, or damaged; says where.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    with path.open("rb") as file:
        magic = file.read(2)
    with _opened(path, magic) as file:
        try:
            start = file.read(512)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} is damaged: {error}") from error
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield from _dump(path, magic)
    else:
        for number, row in enumerate(read_rows(path), start=1):
            yield _of_row(row, f"{path}:{number}")


def _opened(path: Path, magic: bytes) -> IO[bytes] | gzip.GzipFile:
    if magic == b"BZ":
        return bz2.BZ2File(path)
    return gzip.GzipFile(path) if magic == b"\x1f\x8b" else path.open("rb")


def _of_row(row: Mapping[str, Any], where: str) -> Page:
    title, text = row.get("title"), row.get("text", "")
    if not isinstance(title, str) or not clean_title(title) or not isinstance(text, str):
        raise DataError(
            f"{where}: a page has text in `title` and `text`, got {row.get('title')!r:.40} and "
            f"{type(text).__name__}"
        )
    return Page(
        clean_title(title),
        text,
        moment(row.get("timestamp"), where),
        clean_title(str(row.get("redirect") or "")),
    )


def _dump(path: Path, magic: bytes) -> Iterator[Page]:
    count = 0
    with _opened(path, magic) as file:
        try:
            events = ElementTree.iterparse(file, events=("start", "end"))
            _, root = next(events)
            if _name(root.tag) != "mediawiki":
                raise DataError(f"{path} is XML, but its root is {root.tag!r}, not <mediawiki>")
            for event, node in events:
                if event == "end" and _name(node.tag) == "page":
                    count += 1
                    page = _of_node(node, f"{path}, page {count}")
                    root.clear()
                    if page is not None:
                        yield page
        except (ElementTree.ParseError, OSError, EOFError, zlib.error) as error:
            raise DataError(
                f"{path} is damaged after page {count}: {error}; fetch it again, or begin with the "
                "part that is whole"
            ) from error


def _of_node(node: ElementTree.Element, where: str) -> Page | None:
    title, space, redirect = "", "0", ""
    text, stamp = "", None
    for child in node:
        name = _name(child.tag)
        if name == "title":
            title = child.text or ""
        elif name == "ns":
            space = child.text or "0"
        elif name == "redirect":
            redirect = child.get("title", "")
        elif name == "revision":  # the last one counts
            for inner in child:
                if _name(inner.tag) == "text":
                    text = inner.text or ""
                elif _name(inner.tag) == "timestamp":
                    stamp = inner.text
    if space.strip() != "0" or not clean_title(title):
        return None
    return Page(
        clean_title(title),
        "" if redirect else text,
        moment(stamp, where),
        clean_title(redirect) if redirect else "",
    )


def readable(text: str) -> str:
    r"""Text without control characters and lone surrogates.

    >>> readable("a\x02b\ud83d")
    'ab'
    """
    return _UNREADABLE.sub("", text)


def clean_title(title: str) -> str:
    """A title as pages call themselves: spaces for underscores, first letter a capital, no anchor.

    >>> clean_title("ada_Lovelace#Early life")
    'Ada Lovelace'
    """
    plain = " ".join(readable(title).split("#", 1)[0].replace("_", " ").split())
    return plain[:1].upper() + plain[1:]


def moment(value: Any, where: str) -> datetime | None:
    """A time stamp in UTC; one without a zone is taken for UTC.

    Raises:
        DataError: Not ISO 8601.
    """
    if value is None or value == "":
        return None
    try:
        found = datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise DataError(f"{where}: a timestamp is ISO 8601, got {value!r:.60}") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _name(tag: str) -> str:
    return tag.rsplit("}", 1)[-1]
