"""The report of a run: curves of every reward leaf, the evaluation matrix, examples, cost."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.policy.data.row_files import read_rows
from assay.policy.matrix import MATRIX, read_matrix
from assay.policy.recipe import Recipe
from assay.policy.report_plots import stage_plots
from assay.policy.run_folder import RECIPE_FILE, RunFolder
from assay.policy.run_table import seconds_text
from assay.policy.stages.progress_log import read_log

#: Rows of the matrix that every set has, and how they are called.
_MEASURES = (
    ("reward", "reward"),
    ("passed", "full marks"),
    ("truncated", "cut at the limit"),
    ("repetition", "repetition"),
    ("tokens", "tokens"),
)

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def write_report(recipe: Recipe) -> Path:
    """Write `report.md` and `report.html` (pictures inside) into the run; returns the page.

    What the run has not done yet is left out.
    """
    run = Path(recipe.output_dir)
    run.mkdir(parents=True, exist_ok=True)
    plots = stage_plots(recipe, run / "report")
    sections: list[tuple[str, list[Any]]] = [
        ("Run", [_run(recipe)]),
        ("Stages", [_stages(recipe)]),
        ("Reward leaves, stage by stage", list(plots)),
        ("Evaluation of every checkpoint", _matrix(recipe, run)),
        ("Before and after", _examples(recipe, run)),
        ("Cost", [_cost(recipe)]),
    ]
    _write(run / "report.md", _markdown(recipe, sections))
    _write(run / "report.html", _html(recipe, sections))
    return run / "report.html"


def _write(path: Path, text: str) -> None:
    """All of it or what was there before; half a character of a row's becomes a question mark."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", errors="replace")
    part.replace(path)


def _run(recipe: Recipe) -> Table:
    about = RunFolder(Path(recipe.output_dir)).read(RECIPE_FILE) or {}
    commit = about.get("commit", {})
    rows = [
        ("recipe", recipe.name),
        ("model", recipe.model.path),
        ("seed", str(recipe.seed)),
        ("began", about.get("began", "")),
        (
            "commit",
            commit.get("commit", "") + (" and changes" if commit.get("changed_files") else ""),
        ),
        ("versions", ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items())),
        ("recipes before this one", str(len(about.get("earlier", [])))),
    ]
    return ("", ""), [row for row in rows if row[1]]


def _stages(recipe: Recipe) -> Table:
    state = RunFolder(Path(recipe.output_dir)).state()
    rows = []
    for stage in recipe.stages:
        entries = [e for e in read_log(recipe.folder(stage)) if "reward" in e or "loss" in e]
        entry = state.get(stage.name, {})
        key = "reward" if any("reward" in e for e in entries) else "loss"
        values = [e[key] for e in entries if key in e]
        rows.append(
            (
                stage.name,
                stage.kind.name,
                str(entry.get("status", "not begun")),
                f"{entries[-1]['step']:.0f}" if entries else "",
                f"{key} {values[0]:.3f} → {values[-1]:.3f}" if values else "",
                seconds_text(entry["seconds"]) if "seconds" in entry else "",
                str(entry.get("tries", "")),
            )
        )
    return ("stage", "kind", "state", "steps", "first → last", "time", "tries"), rows


def _matrix(recipe: Recipe, run: Path) -> list[Any]:
    matrix = read_matrix(run)
    order = ["start", *(stage.name for stage in recipe.stages if stage.kind.policy)]
    order = [name for name in order if name in matrix]
    found: list[Any] = []
    for evaluation in recipe.evaluations:
        cells = {name: matrix[name].get(evaluation.name) for name in order}
        known = {name: cell for name, cell in cells.items() if cell}
        if not known:
            continue
        measures = [*_MEASURES, *_part_measures(known)]
        shown = [(key, label) for key, label in measures if any(key in c for c in known.values())]
        rows = [
            (name, *(f"{cell[key]:.3f}" if key in cell else "" for key, _ in shown))
            for name, cell in known.items()
        ]
        decoding = next(iter(known.values()))["decoding"]
        found.append(f"**{evaluation.name}**: {json.dumps(decoding)}")
        found.append((("after", *(label for _, label in shown)), rows))
    return found


def _part_measures(cells: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    keys = dict.fromkeys(key for cell in cells.values() for key in cell)
    means = [(key, key.removeprefix("part ")) for key in keys if key.startswith("part ")]
    shares = [(key, f"pass {key[7:]}") for key in keys if key.startswith("passed ")]
    return means + shares


def _examples(recipe: Recipe, run: Path, most: int = 3) -> list[Any]:
    """The same prompts before and after: the first rollout of the first two and last checkpoint."""
    order = ["start", *(stage.name for stage in recipe.stages if stage.kind.policy)]
    found: list[Any] = []
    for evaluation in recipe.evaluations:
        files = [run / MATRIX / name / evaluation.name / "rollouts.jsonl" for name in order]
        files = [file for file in files if file.is_file()]
        if len(files) < 2:
            continue
        files = list(dict.fromkeys([*files[:2], files[-1]]))
        before, *after = (_first_by_uid(file) for file in files)
        rows = [
            (
                before[uid]["prompt"][-1]["content"][:300],
                *(_text(some[uid]) for some in (before, *after)),
            )
            for uid in list(before)[:most]
            if all(uid in some for some in after)
        ]
        names = [file.parts[-3] for file in files]
        found.append(f"**{evaluation.name}**")
        found.append((("prompt", *names), rows))
    return found


def _first_by_uid(file: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in read_rows(file):
        found.setdefault(str(row["uid"]), row)
    return found


def _text(row: Mapping[str, Any]) -> str:
    text = "\n".join(str(m["content"]) for m in row["completion"] if m["role"] == "assistant")
    return text[:600] + (" …" if len(text) > 600 else "") + (" [cut]" if row["truncated"] else "")


def _cost(recipe: Recipe) -> Table:
    state = RunFolder(Path(recipe.output_dir)).state()
    rows = []
    for stage in recipe.stages:
        entries = read_log(recipe.folder(stage))
        if not entries:
            continue
        tokens = max((e.get("num_tokens", 0.0) for e in entries), default=0.0)
        rewards = sum(e.get("time/rewards_s", 0.0) for e in entries)
        rollouts = sum(e.get("time/rollouts_s", 0.0) for e in entries)
        seconds = float(state.get(stage.name, {}).get("seconds", 0.0))
        share = f"{rewards / seconds:.0%}" if rollouts and seconds else ""
        generation = f"{(rollouts - rewards) / seconds:.0%}" if rollouts and seconds else ""
        rows.append((stage.name, f"{tokens:,.0f}", f"{seconds:.0f}", generation, share))
    return ("stage", "tokens", "seconds", "in generation", "in rewards"), rows


def _markdown(recipe: Recipe, sections: Sequence[tuple[str, list[Any]]]) -> str:
    parts = [f"# {recipe.name}"] + ([recipe.description] if recipe.description else [])
    for title, items in sections:
        if not items:
            continue
        parts.append(f"## {title}")
        for item in items:
            if isinstance(item, Path):
                parts.append(f"![{item.stem}](report/{item.name})")
            elif isinstance(item, str):
                parts.append(item)
            elif item[1]:
                head, rows = item
                lines = [head, ["---"] * len(head), *rows]
                parts.append("\n".join("| " + " | ".join(map(_cell, r)) + " |" for r in lines))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Text of rows, which may hold anything, as one cell in which nothing is markup."""
    text = html.escape(text, quote=False)
    return text.replace("|", "\\|").replace("\n", "<br>")


def _html(recipe: Recipe, sections: Sequence[tuple[str, list[Any]]]) -> str:
    parts = [f"<h1>{html.escape(recipe.name)}</h1>"]
    if recipe.description:
        parts.append(f"<p>{html.escape(recipe.description)}</p>")
    for title, items in sections:
        if not items:
            continue
        parts.append(f"<h2>{html.escape(title)}</h2>")
        for item in items:
            if isinstance(item, Path):
                parts.append(f"<figure>{_svg(item)}</figure>")
            elif isinstance(item, str):
                parts.append(f"<p>{html.escape(item.replace('**', ''))}</p>")
            elif item[1]:
                parts.append(_html_table(*item))
    return _PAGE.format(title=html.escape(recipe.name), body="\n".join(parts))


def _svg(path: Path) -> str:
    """The picture without the XML prologue, which has no place in a page."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = []
    if any(head):
        lines.append("<tr>" + "".join(f"<th>{html.escape(c)}</th>" for c in head) + "</tr>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }}
h2 {{ margin-top: 2.5rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .8rem; text-align: left;
  vertical-align: top; white-space: pre-wrap; }}
figure {{ margin: 1rem 0; }} figure svg {{ max-width: 100%; height: auto; }}
</style></head><body>
{body}
</body></html>
"""
