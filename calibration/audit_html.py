"""The audit as one self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from assay.calibration.audit_text import advice, sentences
from assay.calibration.coded_winners import FIRST, SECOND
from assay.calibration.plots import as_svg, plot_bias_by_gap, plot_order_gap, plot_reliability
from assay.calibration.verdict_audit import JudgeAudit

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;border-bottom:1px solid #ccc;
text-align:right}td:first-child,th:first-child{text-align:left}figure{display:inline-block;margin:0}
svg{max-width:100%;height:auto}h2{margin-top:2.5rem}.do{background:#eef4f8;padding:.5rem 1rem}
"""
_PLOTTED = 20_000  # rows of a histogram or curve: more changes no picture


def audit_page(
    audits: Sequence[JudgeAudit],
    *,
    title: str,
    note: str = "",
    redact: bool = False,
    more: str = "",
) -> str:
    """HTML with what was found, what to do, figures and plots of every judge.

    Args:
        audits: From `audit_verdicts`.
        title: Usually the file's name.
        note: What the layout does not tell.
        redact: Leave out the names of pairs, which may hold text of the data.
        more: HTML that goes to the end, such as `probe_section`.

    Raises:
        ImportError: No matplotlib.
    """
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_safe(title)}</title>"
        f"<style>{_STYLE}</style><h1>Audit of {_safe(title)}</h1>"
    ]
    if note:
        parts.append(f"<p>{_safe(note)}</p>")
    for audit in audits:
        parts.append(f"<h2>{_safe(audit.judge)}</h2>")
        parts += [f"<p>{_safe(line)}</p>" for line in sentences(audit)]
        items = "".join(f"<li>{_safe(line)}</li>" for line in advice(audit))
        parts.append(f"<div class=do><b>What to do</b><ul>{items}</ul></div>")
        parts.append(_table(audit))
        parts += _pictures(audit)
        if audit.flipped and not redact:
            names = ", ".join(_safe(name[:80]) for name in audit.flipped)
            parts.append(f"<p>Some pairs that flip: {names}</p>")
    if more:
        parts.append(more)
    parts.append("</html>\n")
    return "\n".join(parts)


def _table(audit: JudgeAudit) -> str:
    rows = "".join(
        f"<tr><td>{_safe(name.replace('_', ' '))}</td><td>{v.estimate:.3f}</td>"
        f"<td>{v.low:.3f}</td><td>{v.high:.3f}</td></tr>"
        for name, v in audit.figures.items()
    )
    return (
        "<table><tr><th>figure</th><th>estimate</th><th>low</th><th>high</th></tr>"
        f"{rows}</table><p>{audit.pairs:,} pairs, {audit.prompts:,} prompts; intervals draw whole "
        "prompts.</p>"
    )


def _pictures(audit: JudgeAudit) -> list[str]:
    table, found = audit.table, []
    gap = table.p_ab + table.p_ba - 1.0
    gap = gap[~np.isnan(gap)][:_PLOTTED]
    if table.ordered and len(gap):
        found.append(_figure(as_svg(plot_order_gap(gap))))
    if audit.by_gap:
        found.append(_figure(as_svg(plot_bias_by_gap(audit.by_gap))))
    p = table.p_a
    use = np.flatnonzero(~np.isnan(p) & ((table.label == FIRST) | (table.label == SECOND)))
    use = use[:_PLOTTED]
    if len(use):
        found.append(_figure(as_svg(plot_reliability(p[use], table.label[use] == FIRST))))
    return found


def _figure(svg: str) -> str:
    return f"<figure>{svg}</figure>"


def _safe(text: str) -> str:
    return html.escape(str(text))
