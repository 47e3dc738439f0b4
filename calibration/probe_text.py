"""What probes found, in plain words and as part of a page."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from assay.calibration.probe_estimates import Finding

#: Name, what a positive estimate means, what to do about it.
_WORDS: dict[str, tuple[str, str, str]] = {
    "position": (
        "likes the first place",
        "likes the second place",
        "ask in both orders (BothOrders), or subtract the term (Corrected)",
    ),
    "length": (
        "finds longer answers more readily when they are better than shorter ones",
        "finds shorter answers more readily when they are better than longer ones",
        "report length-controlled win rates, and say in the prompt that length is no merit",
    ),
    "padding": (
        "is taken in by padding",
        "punishes padding",
        "cap length in the reward, and do not train on it without a length term",
    ),
    "markdown": (
        "is taken in by headings and bold type",
        "punishes headings and bold type",
        "show it plain text",
    ),
    "lists": ("is taken in by lists", "punishes lists", "show it plain text"),
    "confidence": (
        "is taken in by assertions of certainty",
        "punishes assertions of certainty",
        "say in the prompt that certainty is no evidence",
    ),
    "authority": (
        "is taken in by a claim that experts agree",
        "punishes a claim that experts agree",
        "say in the prompt that such claims are no evidence",
    ),
    "bandwagon": (
        "is taken in by a claim that most people agree",
        "punishes a claim that most people agree",
        "say in the prompt that such claims are no evidence",
    ),
    "sycophancy": (
        "goes along with what the user says they prefer",
        "goes against what the user says they prefer",
        "take stated preferences out of what it is shown",
    ),
    "self_preference": (
        "favours its own answers",
        "favours others' answers over its own",
        "do not let it judge its own model; use a panel",
    ),
    "template": (
        "changes its verdict with the wording of its prompt",
        "changes its verdict with the wording of its prompt",
        "fix the prompt and audit again after each change, or average over wordings",
    ),
}


def finding_sentence(finding: Finding) -> str:
    """One sentence: what was found, or what could have been.

    The words tell a bias that is not there from one that could not have been seen.
    """
    f, name = finding, finding.probe.replace("_", " ")
    if f.problem:
        return f"{name}: not probed: {f.problem}."
    if not f.null:
        return f"{name}: {f.measures}: {_number(f)}{_details(f)}."
    likes, dislikes, _ = _WORDS.get(f.probe, (f"shows {name}", f"shows less {name}", ""))
    if f.flagged:
        return (
            f"{name}: it {likes if f.interval.estimate > 0 else dislikes}: {_number(f)}, "
            f"q = {f.q_value:.2g}."
        )
    if math.isnan(f.detectable):
        return f"{name}: nothing found; there is too little to say how small an effect could be."
    return (
        f"{name}: nothing found ({_number(f)}); an effect of {f.detectable:.2g} would have been "
        "found four times in five."
    )


def finding_advice(findings: Sequence[Finding]) -> list[str]:
    """What to do about what was flagged."""
    return [
        f"{f.probe.replace('_', ' ')}: {_WORDS[f.probe][2]}."
        for f in findings
        if f.flagged and f.probe in _WORDS
    ]


def probe_section(findings: Sequence[Finding], requests: str = "") -> str:
    """HTML: a picture, a table with what could have been found, and what to do.

    Raises:
        ImportError: No matplotlib.
    """
    from assay.calibration.plots import as_svg
    from assay.calibration.probe_plots import plot_findings

    parts = ["<h3>Probes</h3>"]
    if requests:
        parts.append(f"<p>{html.escape(requests)}</p>")
    tested = [f for f in findings if f.null and f.interval.defined]
    if tested:
        parts.append(f"<figure>{as_svg(plot_findings(tested))}</figure>")
    rows = "".join(_row(f) for f in findings)
    parts.append(
        "<table><tr><th>probe</th><th>estimate</th><th>low</th><th>high</th><th>q</th>"
        "<th>detectable</th><th>pairs</th><th style='text-align:left'>what it measures</th></tr>"
        f"{rows}</table>"
    )
    skipped = [f for f in findings if f.problem]
    if skipped:
        items = "".join(f"<li>{html.escape(finding_sentence(f))}</li>" for f in skipped)
        parts.append(f"<ul>{items}</ul>")
    advice = finding_advice(findings)
    if advice:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in advice)
        parts.append(f"<div class=do><b>What to do</b><ul>{items}</ul></div>")
    return "\n".join(parts)


def _row(f: Finding) -> str:
    if f.problem:
        return ""
    numbers = (f.interval.estimate, f.interval.low, f.interval.high, f.q_value, f.detectable)
    cells = "".join(f"<td>{_cell(value)}</td>" for value in numbers)
    mark = "<b>", "</b>"
    name = html.escape(f.probe.replace("_", " "))
    if f.flagged:
        name = mark[0] + name + mark[1]
    return (
        f"<tr><td>{name}</td>{cells}<td>{f.pairs:,}</td>"
        f"<td style='text-align:left'>{html.escape(f.measures)}</td></tr>"
    )


def _cell(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if math.isfinite(value) else ("&infin;" if value > 0 else "-&infin;")


def _number(f: Finding) -> str:
    i = f.interval
    sign = "+" if f.null else ""
    unit = " logits" if f.probe == "position" else ""
    text = f"{i.estimate:{sign}.2f}{unit}"
    return text + (f" ({i.low:{sign}.2f} to {i.high:{sign}.2f})" if i.defined else "")


def _details(f: Finding) -> str:
    if f.probe == "scale":
        return f" ({f.details['grades']} grades, {f.details['entropy_bits']:.1f} bits)"
    return ""
