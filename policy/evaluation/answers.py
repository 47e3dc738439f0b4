"""Figures of answers that a reward scored: pass@k, best-of-N, majority, parts, overlong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.calibration import Interval
from assay.messages import as_messages
from assay.policy.data.difficulty import part_of
from assay.policy.evaluation.metrics import best_of, figure, majority, mean_interval, powers
from assay.policy.evaluation.metrics import pass_curve as pass_curve_of
from assay.policy.rollouts import token_count

ByPrompt = dict[str, dict[str, float]]


@dataclass
class Figures:
    """Metrics of one result, and the value of each prompt that they are means of.

    Attributes:
        metrics: By name; each an interval as JSON.
        by_prompt: Value of each prompt, by metric.
        notes: What was left out, for people.
    """

    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_prompt: ByPrompt = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, name: str, values: Mapping[str, float], seed: int = 0, *, share: bool = True
    ) -> None:
        """A mean over prompts, of a share in [0, 1] or else a count; nothing without a prompt."""
        if values:
            self.put(name, mean_interval(list(values.values()), seed=seed, share=share), values)

    def put(self, name: str, found: Interval, values: Mapping[str, float]) -> None:
        """A metric whose interval is known."""
        self.metrics[name] = figure(found)
        self.by_prompt[name] = dict(values)

    def joined(self, other: Figures) -> Figures:
        """Both together."""
        return Figures(
            self.metrics | other.metrics,
            self.by_prompt | other.by_prompt,
            [*self.notes, *other.notes],
        )


def answer_figures(
    rollouts: Sequence[Mapping[str, Any]],
    scores: Sequence[Mapping[str, Any]],
    *,
    ks: Sequence[int] = (1,),
    selector: Sequence[float | None] | None = None,
    passing: str = "",
    vote: bool = True,
) -> Figures:
    """All figures of one result.

    Samples without a score (our side failed, a judge abstained) are in no figure of scores; how
    many there are is noted.

    Args:
        rollouts: Several a prompt, with `uid`, `completion` and `truncated`.
        scores: One row a rollout, as `assay score` writes.
        ks: For pass@k.
        selector: Another reward's value of each rollout, which picks in best-of-N.
        passing: Path of the part whose `passed` counts; empty: the whole score's.
        vote: Whether to draw the majority curve.
    """
    found = Figures()
    groups: dict[str, list[int]] = {}
    for place, row in enumerate(rollouts):
        groups.setdefault(str(row["uid"]), []).append(place)
    found.add("overlong", _means(groups, [float(bool(r["truncated"])) for r in rollouts]))
    found.add("tokens", _means(groups, [_number(token_count(r)) for r in rollouts]), share=False)
    values = [score["value"] for score in scores]
    found.add("score", _means(groups, values))
    for path in _paths(scores):
        found.add(f"part {path}", _means(groups, [_value(score, path) for score in scores]))
        if any(_gated(score, path) for score in scores):
            asked = [None if _gated(score, path) else _value(score, path) for score in scores]
            found.add(f"part {path}, gate open", _means(groups, asked))
    passed = [_passed(score, passing) for score in scores]
    missing = sum(value is None for value in values)
    if missing:
        found.notes.append(f"{missing} of {len(values)} samples have no score")
    if any(one is not None for one in passed):
        _pass_figures(found, groups, passed, ks)
        if vote:
            _vote(found, groups, rollouts, passed)
    worth = values if all(one is None for one in passed) else [_number(one) for one in passed]
    _best_of(found, groups, worth, values if selector is None else selector)
    return found


def _pass_figures(
    found: Figures,
    groups: Mapping[str, list[int]],
    passed: Sequence[bool | None],
    ks: Sequence[int],
) -> None:
    counts = {}
    for uid, places in groups.items():
        known = [passed[place] for place in places if passed[place] is not None]
        if known:
            counts[uid] = (len(known), sum(map(bool, known)))
    for k, (interval, by_prompt) in pass_curve_of(counts, ks).items():
        found.put(f"pass@{k}", interval, by_prompt)
    least = min((n for n, _ in counts.values()), default=0)
    for k in ks:
        if k > least:
            found.notes.append(f"pass@{k} needs {k} scored samples of every prompt, have {least}")


def _best_of(
    found: Figures,
    groups: Mapping[str, list[int]],
    worth: Sequence[float | None],
    picks: Sequence[float | None],
) -> None:
    rows = {}
    for uid, places in groups.items():
        known = [(worth[p], picks[p]) for p in places]
        pairs = [(w, s) for w, s in known if w is not None and s is not None]
        if pairs:
            rows[uid] = pairs
    least = min(map(len, rows.values()), default=0)
    for n in powers(least):
        if n > 1:
            values = {
                uid: best_of([w for w, _ in pairs], [s for _, s in pairs], n)
                for uid, pairs in rows.items()
            }
            found.add(f"best-of-{n}", values)


def _vote(
    found: Figures,
    groups: Mapping[str, list[int]],
    rollouts: Sequence[Mapping[str, Any]],
    passed: Sequence[bool | None],
) -> None:
    """Majority of the final answers; only where answers are short enough to vote on.

    An answer that nobody scored is neither right nor wrong, and has no vote.
    """
    keys = [answer_key(row) for row in rollouts]
    said = [key for key in keys if key is not None]
    if not said or any("```" in _text(row) for row in rollouts):
        return  # programs do not vote by their text
    scored = {
        uid: known
        for uid, places in groups.items()
        if (known := [place for place in places if passed[place] is not None])
    }
    for n in powers(min(map(len, scored.values()), default=0)):
        if n > 2:
            values = {
                uid: majority([keys[p] for p in places], [bool(passed[p]) for p in places], n)
                for uid, places in scored.items()
            }
            found.add(f"majority-of-{n}", values)


def answer_key(row: Mapping[str, Any]) -> str | None:
    """The final answer in a form in which equal ones are equal; None where nothing was said.

    >>> answer_key({"completion": "**42**"}), answer_key({"completion": ""})
    ('42', None)
    """
    from assay.rewards.answer_forms import final_answer_text, normalised

    text = normalised(final_answer_text(_text(row))[0])
    return text[:200] or None


def _text(row: Mapping[str, Any]) -> str:
    messages = as_messages(row["completion"], role="assistant")
    return messages[-1].split()[1] if messages else ""


def _means(groups: Mapping[str, list[int]], values: Sequence[float | None]) -> dict[str, float]:
    found = {}
    for uid, places in groups.items():
        known = [value for place in places if (value := values[place]) is not None]
        if known:
            found[uid] = sum(known) / len(known)
    return found


def _paths(scores: Sequence[Mapping[str, Any]], prefix: str = "") -> list[str]:
    names = dict.fromkeys(name for score in scores for name in score["parts"])
    found: list[str] = []
    for name in names:
        inner = [score["parts"][name] for score in scores if name in score["parts"]]
        found.append(f"{prefix}{name}")
        found += _paths(inner, f"{prefix}{name}/")
    return found


def _value(score: Mapping[str, Any], path: str) -> float | None:
    """A part's value; where a gate kept it from being asked, it adds nothing and counts as 0."""
    part = part_of(score, path)
    if part is None:
        return None
    return 0.0 if part["status"] == "gated" else part["value"]


def _gated(score: Mapping[str, Any], path: str) -> bool:
    part = part_of(score, path)
    return part is not None and part["status"] == "gated"


def _passed(score: Mapping[str, Any], path: str) -> bool | None:
    part = part_of(score, path) if path else score
    if part is None:
        return None
    if part["status"] == "gated":
        return False
    return None if part["passed"] is None else bool(part["passed"])


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
