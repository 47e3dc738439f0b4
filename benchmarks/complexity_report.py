r"""Puts what the complexity benchmarks measured into a page of the documentation, and a picture.

    python benchmarks/complexity.py --json static.json
    python benchmarks/complexity_empirical.py --json empirical.json
    python benchmarks/complexity_report.py --static static.json --empirical empirical.json \
        --page docs/complexity.md --picture docs/complexity.svg

The page holds a pair of comments, `<!-- figures: begin -->` and `<!-- figures: end -->`; what
stands between them is replaced. The hybrid figures are those of `ComplexityJudge` over the static
estimator, run now, and the empirical estimates of the file. Nothing is run in the sandbox.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assay.judge import Estimate  # noqa: E402
from assay.judges.complexity import ComplexityJudge, Program, parse  # noqa: E402
from assay.judges.complexity.expression import CLASSES  # noqa: E402
from assay.judges.complexity.judge import agree  # noqa: E402
from assay.judges.complexity.static import StaticEstimator  # noqa: E402
from examples.problems import load  # noqa: E402

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
NONE = "none"
SHORT = dict(zip((*CLASSES, NONE), ("1", "log", "n", "nlog", "n²", "n³", "exp", "-"), strict=True))
Matrix = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Panel:
    """One confusion matrix: (class, found class or `none`) -> programs."""

    title: str
    matrix: Matrix

    @property
    def accuracy(self) -> float:
        """Share of programs with the right class; undecided ones count as wrong."""
        right = sum(count for (label, found), count in self.matrix.items() if label == found)
        return right / max(1, sum(self.matrix.values()))


@dataclass(frozen=True)
class Recorded:
    """The empirical estimator as the file remembers it, by source."""

    known: Mapping[str, Estimate]

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """What was estimated when the file was written."""
        return [self.known[program.source] for program in programs]

    def fingerprint(self) -> str:
        """Not kept: every report has estimates of its own."""
        return f"recorded {id(self)}"


@dataclass(frozen=True)
class OwnFigures:
    """How estimators stand on the labelled programs of `examples/problems`."""

    rows: Sequence[Mapping[str, Any]]
    methods: Mapping[str, Sequence[Estimate]]

    def line(self, method: str) -> tuple[int, int, int, int]:
        """Programs, decided ones, the exact expression found, the right class found."""
        exact = alike = decided = 0
        for row, estimate in zip(self.rows, self.methods[method], strict=True):
            if estimate.expression is None:
                continue
            decided += 1
            alike += _right(row, estimate)
            exact += _same(row, estimate.expression)
        return len(self.rows), decided, exact, alike

    def panel(self, method: str) -> Panel:
        """Its confusion matrix."""
        matrix: Counter[tuple[str, str]] = Counter()
        for row, estimate in zip(self.rows, self.methods[method], strict=True):
            found = parse(estimate.expression).to_class() if estimate.expression else None
            matrix[str(parse(row["label"]).to_class()), found or NONE] += 1
        return Panel(f"{method}, own problems", matrix)

    def wrong(self, method: str) -> list[str]:
        """The programs that were found something else, or nothing."""
        found = []
        for row, estimate in zip(self.rows, self.methods[method], strict=True):
            if not _right(row, estimate):
                name = f"{row['problem']}/{row['solution']} ({row['language']})"
                found.append(f"{name}: {estimate.expression or 'undecided'} for {row['label']}")
        return found


def tricks(own: OwnFigures) -> Iterable[str]:
    """A line a kind of trick: how many programs, and how many of them each method saw through."""
    kinds = sorted({str(row["kind"]) for row in own.rows} - {"right"})
    yield f"| trick | programs | {' | '.join(own.methods)} |"
    yield "|---|---|" + "---|" * len(own.methods)
    for kind in kinds:
        places = [i for i, row in enumerate(own.rows) if row["kind"] == kind]
        seen = [
            sum(_right(own.rows[i], estimates[i]) for i in places)
            for estimates in own.methods.values()
        ]
        yield f"| {kind} | {len(places)} | {' | '.join(map(str, seen))} |"


def _same(row: Mapping[str, Any], found: str) -> bool:
    """Equal up to names, or under the problem's relations: n + m is n where m <= n."""
    (problem,) = (one for one in load() if one.uid == row["problem"])
    bounds = [f"{small} <= {large}" for small, large in problem.relations]
    label: str = row["label"]
    return agree(label, found) or parse(found).compare(parse(label), bounds) == "equal"


def _right(row: Mapping[str, Any], estimate: Estimate) -> bool:
    said = estimate.expression
    return said is not None and parse(said).to_class() == parse(row["label"]).to_class()


def own_figures(empirical: Mapping[str, Any]) -> OwnFigures:
    """Static and hybrid estimates of the programs that the file has empirical ones of."""
    sources = {(p.uid, s.name): s.source for p in load() for s in p.labelled()}
    rows = [row for row in empirical["rows"] if (row["problem"], row["solution"]) in sources]
    programs = [Program(sources[r["problem"], r["solution"]], r["language"]) for r in rows]
    known = {
        program.source: Estimate(
            row["found"], row["confidence"], "empirical", (), tuple(row["flags"])
        )
        for program, row in zip(programs, rows, strict=True)
    }
    static, recorded = StaticEstimator(), Recorded(known)
    hybrid = ComplexityJudge((static, recorded), cross_check=True)
    return OwnFigures(
        rows,
        {
            "static": static.estimate(programs),
            "empirical": recorded.estimate(programs),
            "hybrid": hybrid.estimate(programs),
        },
    )


def data_panels(static: Mapping[str, Any]) -> list[Panel]:
    """Matrices of the CodeComplex part: both halves together, and the cross-validated ones."""
    found = static.get("codecomplex", {})
    panels = []
    halves = [found[half]["languages"] for half in ("developed on", "held out") if half in found]
    for title, parts in (("static", halves), ("static + learned", [_languages(found, "learned")])):
        for language in sorted({name for part in parts for name in part}):
            matrix: Counter[tuple[str, str]] = Counter()
            for part in parts:
                for label, counts in part.get(language, {}).get("confusion", {}).items():
                    for said, count in counts.items():
                        matrix[label, said] += count
            panels.append(Panel(f"{title}, CodeComplex {language}", matrix))
    return panels


def _languages(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    languages: Mapping[str, Any] = document.get(key, {}).get("languages", {})
    return languages


def text(static: Mapping[str, Any], empirical: Mapping[str, Any], own: OwnFigures) -> str:
    """The tables, in Markdown."""
    lines = [
        "| on the library's own problems | programs | decided | right expression | right class |"
    ]
    lines.append("|---|---|---|---|---|")
    for method in own.methods:
        programs, decided, exact, alike = own.line(method)
        lines.append(
            f"| {method} | {programs} | {decided / programs:.1%} | "
            f"{exact / max(1, decided):.1%} of decided | {alike / programs:.1%} of all |"
        )
    seconds = empirical["seconds_per_program"]
    lines += ["", "An expression is right if it is the label's up to the names of variables."]
    lines += ["", f"The empirical estimator took {seconds:.1f} s a program. Not right (class):", ""]
    for method in own.methods:
        wrong = own.wrong(method)
        lines.append(f"- {method}: " + ("; ".join(wrong) if wrong else "none"))
    lines += ["", *tricks(own)]
    panels = data_panels(static)
    if panels:
        lines += ["", "| on CodeComplex | programs | right class | mean rank distance |"]
        lines.append("|---|---|---|---|")
        for panel in panels:
            total = sum(panel.matrix.values())
            lines.append(
                f"| {panel.title.replace(', CodeComplex', ',')} | {total} | "
                f"{panel.accuracy:.1%} | {_distance(panel.matrix):.2f} |"
            )
        lines += ["", *_over_seeds(static["codecomplex"]), *_halves(static["codecomplex"])]
    if speed := static.get("throughput"):
        lines += [
            "",
            f"Static estimates per second of CPU time on one core: {speed['programs_per_s']:,.0f} "
            f"programs of {speed['mean_lines']:.0f} lines "
            f"({speed['programs_per_s_of_the_clock']:,.0f} per second of the clock).",
        ]
    lines += ["", f"Measured on {empirical['machine']}."]
    return "\n".join(lines)


def _over_seeds(found: Mapping[str, Any]) -> Iterable[str]:
    """The folds of a cross-validation are drawn: what other draws give."""
    parts = [
        f"{language} {figures['mean']:.1%} ± {figures['standard_deviation']:.1%}"
        for language, figures in sorted(found.get("learned over seeds", {}).items())
    ]
    if parts:
        yield (
            "Static + learned over three draws of the folds (the table has the first; mean and "
            f"standard deviation): {'; '.join(parts)}."
        )
        yield ""


def _halves(found: Mapping[str, Any]) -> Iterable[str]:
    """The rules were developed on one half alone: both must be told."""
    parts = [
        f"{half}: "
        + ", ".join(
            f"{language} {figures['accuracy']:.1%}"
            for language, figures in sorted(_languages(found, half).items())
        )
        for half in ("developed on", "held out")
        if half in found
    ]
    if parts:
        told = (
            "the rules were developed on one; of the other one program was read, and its labels "
            "were seen to change"
        )
        yield f"Static by halves ({told}): {'; '.join(parts)}."


def _distance(matrix: Matrix) -> float:
    """Mean distance of ranks among the seven classes; no estimate counts as seven."""
    far = len(CLASSES)
    total = sum(
        count * (abs(CLASSES.index(label) - CLASSES.index(said)) if said in CLASSES else far)
        for (label, said), count in matrix.items()
    )
    return total / max(1, sum(matrix.values()))


def draw(panels: Sequence[Panel], path: Path) -> None:
    """One confusion matrix a panel, rows shaded by their share."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "assay"
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["font.size"] = 8
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(3.4 * columns, 3.3 * lines), squeeze=False
    )
    names = (*CLASSES, NONE)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, panel in zip(axes.flat, panels, strict=False):
        counts = [[panel.matrix.get((label, said), 0) for said in names] for label in CLASSES]
        shares = [[count / max(1, sum(row)) for count in row] for row in counts]
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(counts):
            for x, count in enumerate(row):
                if count:
                    dark = shares[y][x] > 0.5
                    axis.text(
                        x, y, str(count), ha="center", va="center", color="w" if dark else "k"
                    )
        axis.set_xticks(range(len(names)), [SHORT[name] for name in names])
        axis.set_yticks(range(len(CLASSES)), [SHORT[name] for name in CLASSES])
        axis.set_title(f"{panel.title}: {panel.accuracy:.1%}", fontsize=8)
        axis.set_xlabel("found")
        axis.set_ylabel("label")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def rewrite(page: Path, figures: str) -> None:
    """Replace what stands between the comments.

    Raises:
        SystemExit: The page has no such comments.
    """
    whole = page.read_text("utf-8")
    if whole.count(BEGIN) != 1 or whole.count(END) != 1:
        raise SystemExit(f"{page} must hold {BEGIN} and {END} once each")
    head, rest = whole.split(BEGIN)
    tail = rest.split(END)[1]
    page.write_text(f"{head}{BEGIN}\n\n{figures}\n\n{END}{tail}", "utf-8")


def main() -> int:
    """Write the tables and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--static", type=Path, required=True, help="of benchmarks/complexity.py")
    parser.add_argument("--empirical", type=Path, required=True, help="of complexity_empirical.py")
    parser.add_argument("--page", type=Path, help="page to rewrite; standard output without it")
    parser.add_argument("--picture", type=Path, help="SVG or PNG to draw")
    options = parser.parse_args()
    static = json.loads(options.static.read_text("utf-8"))
    empirical = json.loads(options.empirical.read_text("utf-8"))
    own = own_figures(empirical)
    figures = text(static, empirical, own)
    if options.page is None:
        print(figures)
    else:
        rewrite(options.page, figures)
    if options.picture is not None:
        draw([*data_panels(static), *(own.panel(m) for m in own.methods)], options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
