"""The page at `/`, in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install it")

from tests.judges.serving.running import TOYS, running, served  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: apt-get install chromium"
)
TABLES: dict[str, Any] = {
    "rewards": served(words="words", evident="evident"),
    "judges": served(longer="longer", both="both"),
    "complexity": {"static": {"object": "assay.judges.complexity:ComplexityJudge"}},
}
LOOP = "```python\nn = int(input())\nfor i in range(n):\n    print(i)\n```"
#: A folder for screenshots, to look at.
SHOTS = os.environ.get("ASSAY_SCREENSHOTS")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(TABLES) as address:
        yield address


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Any]:
    scheme = getattr(request, "param", "light")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1100, "height": 900})
        opened = context.new_page()
        opened.problems = []
        opened.on("pageerror", lambda error: opened.problems.append(str(error)))
        opened.on(
            "console",
            lambda said: opened.problems.append(said.text) if said.type == "error" else None,
        )
        yield opened
        browser.close()


def shows(page: Any, where: str, text: str) -> None:
    """Wait until an element holds a text; the page's policy lets nobody evaluate strings in it."""
    playwright.expect(page.locator(where)).to_contain_text(text, timeout=30_000)


@needs_chromium
@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_verdicts_by_keyboard_alone(page: Any, url: str, request: pytest.FixtureRequest) -> None:
    page.goto(url)
    shows(page, "#served", "2 judges")
    keys = page.keyboard
    keys.press("Tab")  # the link over everything
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#prompt")
    keys.insert_text("Print the numbers below n.")
    keys.press("Tab")
    keys.insert_text(LOOP)
    keys.press("Tab")
    keys.insert_text("It is four words.")
    keys.press("Control+Enter")
    shows(page, "#status", "results")
    text = page.inner_text("#results")
    # BothOrders over a judge that likes the first slot by .1: (.85 + 1 - .35) / 2 and .85 + .35 - 1
    assert text.count("A is preferred · P(A) = 0.75") == 2  # asked here, and by BothOrders itself
    assert text.count("order gap +0.2: favours what stands first") == 2
    assert "B, then A\tA wins\t0.35" in text
    assert "Grades by longer" in text and "length" in text
    assert "Reward words" in text and "O(n)" in text and "line 2: runs over its range: n" in text
    assert "1 AC" in text and "2 WA" in text and "3 not run" in text
    assert page.evaluate("document.activeElement.id") == "results"
    assert page.problems == []
    scheme = request.node.callspec.params["page"]
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(","))) < 200) == (scheme == "dark")
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"page-{scheme}.png"), full_page=True)


@needs_chromium
def test_text_is_text(page: Any, url: str) -> None:
    page.goto(url)
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    page.fill("#prompt", evil)
    page.fill("#a", evil)
    page.click("#more summary")
    page.fill("#columns", '{"note": "<b onmouseover=1>note</b>"}')
    page.click("#go")
    shows(page, "#status", "results")
    assert "<b onmouseover=1>note</b>" in page.inner_text("#results")
    assert page.title() == "assay"
    assert page.evaluate("document.querySelectorAll('#results b, #results img').length") == 0
    # Were a text taken for markup after all, the page's policy runs no script but its own.
    page.evaluate("text => { document.getElementById('results').innerHTML = text }", evil)
    page.wait_for_timeout(200)
    assert page.title() == "assay" and any("Content Security" in said for said in page.problems)


@needs_chromium
def test_mistakes_are_said(page: Any, url: str) -> None:
    page.goto(url)
    page.click("#go")
    assert page.inner_text("#error") == "There is no answer to judge."
    page.fill("#a", "one")
    page.click("#more summary")
    page.fill("#columns", "[1]")
    page.click("#go")
    assert "Columns must be a JSON object" in page.inner_text("#error")
    page.fill("#columns", "{}")
    page.fill("#a", "unusable")
    page.click("#go")
    shows(page, "#status", "results")
    assert "this row cannot be used" in page.inner_text("#results")


@needs_chromium
def test_a_token_is_asked_for(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", "t" * 32)
    tables = {"server": {"auth": "on"}, "rewards": {"words": {"object": f"{TOYS}:words"}}}
    with running(tables) as url:
        page.goto(url)
        playwright.expect(page.locator("#token")).to_be_visible()
        page.fill("#token", "t" * 32)
        page.press("#token", "Tab")
        shows(page, "#served", "words")
