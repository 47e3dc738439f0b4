"""The verdicts of an audit as rows that `assay audit verdicts` reads."""

from __future__ import annotations

import json
import math
from typing import Any

from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE
from assay.judges.judge_audit import JudgeReport

_CHOICE = {FIRST: "first", SECOND: "second", TIE: "tie", MISSING: ""}
_LABEL = {FIRST: "A", SECOND: "B", TIE: "tie"}


def verdict_lines(report: JudgeReport) -> str:
    """JSON lines in the plain layout, one verdict each, repeats one after another."""
    table = report.audit.table
    prompts = {item.pair.id: item.prompt_id for item in report.run.plan.items}
    lines = []
    for row in range(len(table)):
        item = table.item_names[table.items[row]]
        for order, codes, chances in (("AB", table.ab, table.p_ab), ("BA", table.ba, table.p_ba)):
            line: dict[str, Any] = {
                "item": item,
                "prompt_id": prompts.get(item, item),
                "judge": table.judge,
                "order": order,
                "choice": _CHOICE[int(codes[row])],
                "p_first": _known(chances[row]),
                "label": _LABEL.get(int(table.label[row])),
                "quality_gap": _known(table.gap[row]),
                "length_a": _known(table.length_a[row]),
                "length_b": _known(table.length_b[row]),
            }
            lines.append(json.dumps({k: v for k, v in line.items() if v is not None}) + "\n")
    return "".join(lines)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
