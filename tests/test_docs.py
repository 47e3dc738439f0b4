"""Every Python block of the documentation is run, page by page, in order."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line and code of each block that is not marked `no-run`."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(2)) + 1, match[2])
        for match in BLOCK.finditer(text)
        if match[1].strip() != "no-run"
    ]


def test_there_is_documentation() -> None:
    assert any(blocks(page) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_code_in_the_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks share one module, which can be imported by name, so that what they define pickles."""
    name = "docs_" + re.sub(r"\W", "_", page.stem)
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    for line, code in blocks(page):
        # Blank lines in front make a traceback point at the page's own lines.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), vars(module))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_marks_of_blocks_are_known(page: Path) -> None:
    marks = {match[1].strip() for match in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    assert marks <= {"", "no-run"}
