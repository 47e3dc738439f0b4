"""Write and run the notebooks of `calibration/notebooks` from the Markdown beside them.

    python examples/make_notebooks.py                 # all four
    python examples/make_notebooks.py position_bias   # one

With `ASSAY_DATA` set the parts on published verdicts run too. Needs nbformat, nbclient, ipykernel.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "calibration" / "notebooks"
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells(page: str) -> list[tuple[str, str]]:
    r"""Kind and source of each cell: Python blocks are code, what lies between is text.

    >>> cells("# Title\n\n```python\n1 + 1\n```\n")
    [('markdown', '# Title'), ('code', '1 + 1')]
    """
    found, at = [], 0
    for match in _CODE.finditer(page):
        found += [("markdown", page[at : match.start()]), ("code", match[1])]
        at = match.end()
    found.append(("markdown", page[at:]))
    return [(kind, source.strip("\n")) for kind, source in found if source.strip()]


def notebook(name: str) -> Any:
    """The notebook of a page, not run."""
    import nbformat

    made = nbformat.v4.new_notebook()
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for number, (kind, source) in enumerate(cells(page)):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        made.cells.append(make(source, id=f"{name.replace('_', '-')}-{number}"))
    return made


def run(made: Any, folder: Path, timeout_s: int = 300) -> Any:
    """The notebook with its outputs.

    Raises:
        CellExecutionError: A cell failed.
    """
    from nbclient import NotebookClient

    client = NotebookClient(
        made,
        timeout=timeout_s,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )
    return client.execute()


def main() -> None:
    """Make what is named."""
    import nbformat

    names = sorted(path.stem for path in FOLDER.glob("*.md"))
    parser = argparse.ArgumentParser(description="write and run the notebooks")
    parser.add_argument("names", nargs="*", help=", ".join(names), metavar="NAME")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"there are no notebooks {sorted(unknown)}; there are {names}")
    for name in chosen:
        target = FOLDER / f"{name}.ipynb"
        draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            nbformat.write(run(notebook(name), FOLDER), draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        print(target.relative_to(FOLDER.parents[1]))


if __name__ == "__main__":
    main()
