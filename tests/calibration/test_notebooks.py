"""Notebooks run, print what is committed, and are written from the pages beside them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

from examples.make_notebooks import FOLDER, notebook, run  # noqa: E402

NAMES = sorted(path.stem for path in FOLDER.glob("*.md"))
#: Run with every change; the others are of the same make and take longer.
QUICK = "comparing_judges"


def committed(name: str):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def printed(made) -> str:
    outputs = [o for cell in made.cells if cell.cell_type == "code" for o in cell.outputs]
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")


def test_there_are_four():
    assert len(NAMES) == 4 == len(list(FOLDER.glob("*.ipynb")))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_its_page_says_with_outputs_and_no_errors(name):
    made = committed(name)
    assert [(c.cell_type, c.source) for c in made.cells] == [
        (c.cell_type, c.source) for c in notebook(name).cells
    ]
    first, last = made.cells[0].source, made.cells[-1].source
    assert first.splitlines()[0].endswith("?") and "**The question.**" in first
    assert "**Decision.**" in last
    outputs = [o for cell in made.cells if cell.cell_type == "code" for o in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    assert sum("image/png" in o.get("data", {}) for o in outputs) >= 1
    assert not re.search(r"/(?:home|tmp|work|root|usr)/", str(outputs))  # no machine's paths


@pytest.mark.parametrize(
    "name", [n if n == QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_it_runs_and_says_the_same_again(name, tmp_path: Path):
    found = printed(run(notebook(name), tmp_path, timeout_s=600))
    want = printed(committed(name))
    if os.environ.get("ASSAY_DATA"):
        assert found == want
    else:  # what is made here comes first, published data after it
        assert "ASSAY_DATA is not set" in found
        head = found.partition("ASSAY_DATA is not set")[0]
        assert head and want.startswith(head)
