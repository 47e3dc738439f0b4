"""Layouts of verdict files of public benchmarks: which rows they are, and whose numbers they use.

What matters is whether the verdict on the swapped order names the answer shown first or the answer
that is first in the file. Every reader here knows it of its layout:

- `llmbar`: original numbering, already un-swapped (LLMBar's results, or a table of them);
- `judgebench`: `decisions[1]` is relative to the swapped presentation;
- `mtbench`: `g1_winner` and `g2_winner` name models, already un-swapped;
- `arenahard`: `games[1]` is relative to the swapped presentation;
- `alpacaeval`: one hidden order, so that nothing can be said of places;
- `rewardbench`: scores of single answers, which have no order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from assay.calibration.arrays import sigmoid
from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE
from assay.calibration.verdict_table import VerdictTable
from assay.errors import DataError

Row = Mapping[str, Any]
Reader = Callable[[VerdictTable, Row, str], None]

_SWAP = {FIRST: SECOND, SECOND: FIRST, TIE: TIE, MISSING: MISSING}
_ARROWS = {"A>B": FIRST, "A>>B": FIRST, "B>A": SECOND, "B>>A": SECOND, "A=B": TIE, "B=A": TIE}
_ARROWS |= {"A<B": SECOND, "A<<B": SECOND, "B<A": FIRST, "B<<A": FIRST}


def detect_layout(row: Row) -> str | None:
    """The layout that a first row has, or None.

    >>> detect_layout({"pair_id": 1, "label": "A>B", "decisions": ["A>B", "B>A"]})
    'judgebench'
    """
    keys = set(row)
    for name, needed in _NEEDED.items():
        if any(wanted <= keys for wanted in needed):
            return name
    return None


def read_llmbar(table: VerdictTable, row: Row, where: str) -> None:
    """`winner_order_AB`, `winner_order_BA`, or LLMBar's own `results`; original numbering."""
    if "results" in row:
        result = row["results"][-1] if isinstance(row["results"], list) else row["results"]
        winners = [(result.get(f"swap = {swap}") or {}).get("winner") for swap in ("False", "True")]
        names = ("", str(row.get("judge", "judge")), where)
    else:
        winners = [row["winner_order_AB"], row["winner_order_BA"]]
        judge = "/".join(str(row[k]) for k in ("judge", "strategy") if row.get(k))
        names = (str(row.get("subset", "")), judge or "judge", str(row.get("item", where)))
    item = f"{names[0]}/{names[2]}" if names[0] else names[2]
    label = _number(row.get("label"))
    _both(table, names[1], item, item, [_number(w) for w in winners], label)


def read_judgebench(table: VerdictTable, row: Row, where: str) -> None:
    """`decisions` (or `judgments[].decision`), the second relative to the swapped presentation."""
    decisions = row.get("decisions")
    if decisions is None:
        decisions = [j.get("decision") if j else None for j in row["judgments"]]
    if not isinstance(decisions, list):
        raise DataError(f"{where}: decisions must be a list of two, got {decisions!r:.60}")
    judge = str(row.get("judge_model") or row.get("judge_name") or "judge")
    item = str(row.get("pair_id", where))
    label = _arrow(row.get("label"))
    scores = row.get("scores")
    for index, decision in enumerate(decisions[:2]):
        p = math.nan
        if scores is not None and len(scores) > index:
            first, second = scores[index]
            p = float(sigmoid(np.array([float(first) - float(second)]))[0])
        table.add(
            judge,
            item,
            item,
            swapped=index == 1,
            verdict=_arrow(decision),
            p_first=p,
            label=label,
        )


def read_mtbench(table: VerdictTable, row: Row, where: str) -> None:
    """FastChat's pair judgments: `g1_winner`, `g2_winner` name `model_1` or `model_2`."""
    words = {"model_1": FIRST, "model_2": SECOND, "tie": TIE}
    judge = row.get("judge", "judge")
    judge = str(judge[0] if isinstance(judge, list) else judge)
    prompt = str(row.get("question_id", where))
    item = f"{prompt}/{row['model_1']}/{row['model_2']}/{row.get('turn', 1)}"
    winners = [words.get(str(row[k]), MISSING) for k in ("g1_winner", "g2_winner")]
    _both(table, judge, prompt, item, winners, MISSING)


def read_arenahard(table: VerdictTable, row: Row, where: str) -> None:
    """`games[].score`, A and B being places; the second game has the answers swapped."""
    prompt = str(row.get("question_id", row.get("uid", where)))
    item = f"{prompt}/{row.get('model', '')}"
    games = row["games"] if row["games"] is not None else []
    if not isinstance(games, list):
        raise DataError(f"{where}: games must be a list of two, got {games!r:.60}")
    for index, game in enumerate(games[:2] or [None]):  # none at all: unparsed
        score = (game or {}).get("score")
        table.add(
            str(row.get("judge", "judge")),
            prompt,
            item,
            swapped=index == 1,
            verdict=_arrow(score),
        )


def read_alpacaeval(table: VerdictTable, row: Row, where: str) -> None:
    """`preference` from 1 (`output_1`) to 2 (`output_2`); the place shown is not recorded."""
    table.ordered = False
    table.note = (
        "AlpacaEval shuffles the two answers and does not record how: nothing is said of places"
    )
    value = row.get("preference")
    p, verdict = math.nan, MISSING
    if value is not None and not math.isnan(float(value)):
        # 0 is an old code for a tie.
        if float(value) != 0 and not 1.0 <= float(value) <= 2.0:
            raise DataError(f"{where}: preference must lie in [1, 2], got {value!r:.40}")
        p = 0.5 if float(value) == 0 else 2.0 - float(value)
        verdict = FIRST if p > 0.5 else SECOND if p < 0.5 else TIE
    lengths = [len(str(row[k])) if row.get(k) is not None else math.nan for k in _OUTPUTS]
    table.add(
        str(row.get("annotator", "judge")),
        str(row.get("instruction", where)),
        f"{where}",
        swapped=False,
        verdict=verdict,
        p_first=p,
        length_a=lengths[0],
        length_b=lengths[1],
    )


def read_rewardbench(table: VerdictTable, row: Row, where: str) -> None:
    """Scores of the chosen (A) and rejected (B) answer; single answers have no places."""
    table.ordered = False
    table.note = "scores of single answers have no order: nothing is said of places"
    chosen, rejected = (
        row.get(f"scores_{k}", row.get(f"score_{k}")) for k in ("chosen", "rejected")
    )
    for name, value in (("chosen", chosen), ("rejected", rejected)):
        if isinstance(value, list) and len(value) != 1:
            raise DataError(
                f"{where}: this layout compares one {name} answer, got {len(value)} scores; "
                "best-of-n sets are for `assay audit benchmark`"
            )
    chosen, rejected = (v[0] if isinstance(v, list) else v for v in (chosen, rejected))
    item = str(row.get("id", where))
    if chosen is None or rejected is None or not math.isfinite(float(chosen) - float(rejected)):
        table.add(str(row.get("model", "reward model")), item, item, swapped=False, verdict=MISSING)
        return
    d = float(chosen) - float(rejected)
    table.add(
        str(row.get("model", "reward model")),
        item,
        item,
        swapped=False,
        verdict=FIRST if d > 0 else SECOND if d < 0 else TIE,
        p_first=float(sigmoid(np.array([d]))[0]),
        label=FIRST,
    )


def _both(
    table: VerdictTable, judge: str, prompt: str, item: str, winners: list[int], label: int
) -> None:
    """Verdicts in original numbering: that of the swapped order is turned into a place."""
    for index, winner in enumerate(winners):
        verdict = _SWAP[winner] if index else winner
        table.add(judge, prompt, item, swapped=index == 1, verdict=verdict, label=label)


def _number(value: Any) -> int:
    words = {"1": FIRST, "2": SECOND, "0": TIE, "tie": TIE, "3": TIE}
    return words.get("" if value is None else str(value).strip(), MISSING)


def _arrow(value: Any) -> int:
    return _ARROWS.get("" if value is None else str(value).strip("[] "), MISSING)


_OUTPUTS = ("output_1", "output_2")
_NEEDED: dict[str, tuple[set[str], ...]] = {
    "llmbar": (
        {"winner_order_AB", "winner_order_BA"},
        {"output_1", "output_2", "label", "results"},
    ),
    "judgebench": ({"label", "decisions"}, {"label", "judgments"}),
    "mtbench": ({"model_1", "model_2", "g1_winner", "g2_winner"},),
    "arenahard": ({"games"},),
    "alpacaeval": ({"output_1", "output_2", "preference"},),
    "rewardbench": (
        {"scores_chosen", "scores_rejected"},
        {"score_chosen", "score_rejected"},
    ),
}

#: Reader of every layout but the plain one.
READERS: dict[str, Reader] = {
    "llmbar": read_llmbar,
    "judgebench": read_judgebench,
    "mtbench": read_mtbench,
    "arenahard": read_arenahard,
    "alpacaeval": read_alpacaeval,
    "rewardbench": read_rewardbench,
}


def check_row(layout: str, row: Row, where: str) -> None:
    """Refuse a row that lacks what its layout needs.

    Raises:
        DataError: Names the layout, the row and the fields.
    """
    needed = _NEEDED[layout]
    if not any(wanted <= set(row) for wanted in needed):
        lacking = sorted(needed[0] - set(row))
        raise DataError(f"{where}: a row of layout {layout} needs {lacking}; use --layout")
