"""How fast an entity graph is built from a dump, and whether memory stays flat.

    python benchmarks/search_data.py                 # 10,000 and 200,000 pages: some minutes
    python benchmarks/search_data.py --pages 2000 10000
    python benchmarks/search_data.py --json out.json

The dump is generated: pages of about 1 KiB with an infobox and sentences with links. Each size is
built in a process of its own, whose peak memory is what counts. For comparison: a loop that only
parses the XML and the wikitext of the same pages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BUILD = """
import sys, time
from assay.policy.data.search.build import build_graph
from assay.policy.data.search.graph import EntityGraph
start = time.perf_counter()
with EntityGraph(sys.argv[2]) as graph:
    sizes = build_graph(graph, sys.argv[1])
print(time.perf_counter() - start, sizes["pages"], sizes["edges"])
"""
PARSE = """
import sys, time, mwparserfromhell
from xml.etree import ElementTree
start, count = time.perf_counter(), 0
for _, node in ElementTree.iterparse(sys.argv[1]):
    if node.tag == "text" and node.text:
        mwparserfromhell.parse(node.text)
        count += 1
    if node.tag == "page":
        node.clear()
print(time.perf_counter() - start, count, 0)
"""
QUESTIONS = """
import sys, time
from assay.policy.data.search.build import QuestionPlan, build_questions
from assay.policy.data.search.graph import EntityGraph
start = time.perf_counter()
with EntityGraph(sys.argv[1]) as graph:
    counts = build_questions(graph, QuestionPlan(count=500), sys.argv[2])
print(time.perf_counter() - start, counts.get("written", 0), 0)
"""


def write_dump(path: Path, count: int) -> None:
    """A dump of so many pages, each linked to five random others."""
    rng = random.Random(count)
    with path.open("w") as file:
        file.write("<mediawiki>\n")
        for number in range(count):
            a, b, c, d, e = (f"Place {rng.randrange(count)}" for _ in range(5))
            text = (
                f"{{{{Infobox settlement\n| founder = [[{a}]]\n| twin town = [[{b}]]\n"
                f"| population = {rng.randrange(10**6)}\n| image = x.jpg\n}}}}\n"
                f"'''Place {number}''' is a town located in [[{c}]]. It was named after [[{d}]], "
                "and has been written about for many years.&lt;ref&gt;book&lt;/ref&gt; "
                f"It is part of the [[{e}]]. " + "The town has a market and two schools. " * 15
            )
            file.write(
                f"<page><title>Place {number}</title><ns>0</ns><revision>"
                f"<timestamp>2026-05-{rng.randrange(1, 29):02}T00:00:00Z</timestamp>"
                f"<text>{text}</text></revision></page>\n"
            )
        file.write("</mediawiki>\n")


def run(script: str, *arguments: Path) -> tuple[float, int, int, float]:
    """Seconds, what was counted twice, and peak resident MiB."""
    words = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seconds, first, second = process.stdout.read().split()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"a run ended with {status}")
    return float(seconds), int(first), int(second), usage.ru_maxrss / 1024


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    given = parser.parse_args()
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}"
    }
    print(report["machine"])
    print(f"{'pages':>9}{'edges':>10}{'pages/s':>10}{'of parsing':>12}{'peak MiB':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in given.pages:
            dump, graph = folder / f"{count}.xml", folder / f"{count}.sqlite"
            write_dump(dump, count)
            parsing = run(PARSE, dump)
            seconds, pages, edges, peak = run(BUILD, dump, graph)
            made = run(QUESTIONS, graph, folder / f"{count}.jsonl")
            report[str(count)] = {
                "pages_per_s": pages / seconds,
                "share_of_parsing": parsing[0] / seconds,
                "edges": edges,
                "peak_mib": peak,
                "questions": made[1],
                "questions_per_s": made[1] / made[0],
            }
            print(
                f"{pages:>9,}{edges:>10,}{pages / seconds:>10,.0f}{parsing[0] / seconds:>12.2f}"
                f"{peak:>10.0f}   {made[1]} questions at {made[1] / made[0]:,.0f}/s"
            )
            dump.unlink()
    if given.json:
        Path(given.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
