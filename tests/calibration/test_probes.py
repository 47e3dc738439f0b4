"""Probes: what they ask, share and find; what they say where there is too little to find it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from assay.calibration.bias_probes import ChangeProbe, PositionProbe
from assay.calibration.planted import OWN_NAME, PlantedJudge, Strengths, planted_items
from assay.calibration.probe_changes import CHANGES, as_list, padded
from assay.calibration.probe_estimates import lean, mean_effect, two_sided_t
from assay.calibration.probe_requests import Ask, ProbeItem, Versions, both_orders
from assay.calibration.probe_text import finding_sentence, probe_section
from assay.calibration.probes import ProbePlan, run_probes, standard_probes
from assay.errors import DataError, JudgeError
from assay.judge import Grade, Judge, Pair, Verdict
from assay.messages import as_messages


def pair(a: str, b: str, name: str = "0", **columns: object) -> Pair:
    say = [as_messages(text, role="assistant") for text in (a, b)]
    return Pair(as_messages(f"Which {name}?", role="user"), say[0], say[1], columns, name)


@dataclass(frozen=True)
class Longest(Judge):
    """The longer answer wins, always; a judge without noise."""

    def compare(self, pairs):
        return [Verdict("A" if len(p.a[0].content) > len(p.b[0].content) else "B") for p in pairs]

    def fingerprint(self):
        return "longest"


class Counting(Judge):
    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def compare(self, pairs):
        self.asked += pairs
        return [Verdict("tie") for _ in pairs]

    def fingerprint(self):
        return "counting"


PAIRS = [
    pair(f"{i} is so. " * (2 + i % 3), f"{i} is not. " * (2 + i % 2), str(i)) for i in range(40)
]


def findings(strengths: Strengths, seed: int = 0):
    items = planted_items(150)
    judge = PlantedJudge(strengths, len(items), seed=seed)
    probes = standard_probes(own_name=OWN_NAME, templates=judge.templates)
    run = run_probes(judge.versions(), judge.labelled(items), probes)
    return {f.probe: f for f in run.findings}


@pytest.mark.parametrize(
    ("strengths", "probe"),
    [
        (Strengths(position=0.8), "position"),
        (Strengths(length=1.5), "padding"),
        (Strengths(length=1.5), "length"),
        (Strengths(own=1.2), "self_preference"),
        (Strengths(template=2.5), "template"),
        (Strengths(stated=1.2), "sycophancy"),
        (Strengths(cue=1.2), "bandwagon"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_planted_bias_is_flagged_through_the_judge_itself(strengths, probe):
    found = findings(strengths)
    assert found[probe].flagged
    assert found[probe].interval.low > 0
    assert found["stability"].interval.estimate < 1 and math.isnan(found["stability"].q_value)
    assert found["scale"].details["grades"] == 5


def test_a_position_term_of_eight_tenths_lies_in_its_interval_whatever_the_quality():
    assert 0.8 in findings(Strengths(position=0.8), seed=3)["position"].interval


def test_no_bias_says_what_could_have_been_found():
    found = findings(Strengths())
    assert not any(f.flagged for f in found.values())
    assert all(f.detectable > 0 for f in found.values() if f.null)
    assert "would have been found four times in five" in finding_sentence(found["padding"])


def test_a_mirrored_judge_has_the_mirrored_lean():
    # 3 pairs follow the first place, 1 the second: b = ln(3.5 / 1.5) / 2
    up = lean([1, 1, 1, 0, 0], [0, 0, 0, 1, 0], range(5))
    down = lean([0, 0, 0, 1, 0], [1, 1, 1, 0, 0], range(5))
    assert up.interval.estimate == pytest.approx(math.log(3.5 / 1.5) / 2)
    assert down.interval.estimate == pytest.approx(-up.interval.estimate)
    assert down.interval.low == pytest.approx(-up.interval.high)
    assert down.p_value == pytest.approx(up.p_value)


def test_lean_needs_no_model_of_quality():
    # p = sigmoid(.7 +- d): p_AB p_BA / ((1 - p_AB)(1 - p_BA)) = exp(1.4) for every d
    d = np.linspace(-3, 3, 400)
    ab, ba = 1 / (1 + np.exp(-0.7 - d)), 1 / (1 + np.exp(-0.7 + d))
    found = lean(ab * ba, (1 - ab) * (1 - ba), range(400))
    assert found.interval.estimate == pytest.approx(0.7, abs=0.01)


def test_repeated_prompts_widen_the_interval():
    values = [1.0, 0.0, 0.0, 1.0] * 15
    alone = mean_effect(np.repeat(values, 4), range(240)).interval
    shared = mean_effect(np.repeat(values, 4), np.repeat(range(60), 4)).interval
    single = mean_effect(values, range(60)).interval
    assert shared.high - shared.low == pytest.approx(single.high - single.low)
    assert shared.high - shared.low > 1.9 * (alone.high - alone.low)


def test_silence_is_not_certainty():
    found = mean_effect([0.0] * 20, range(20))
    assert found.p_value == 1.0
    assert found.interval.high == pytest.approx(1 - 0.025 ** (1 / 20))  # none seen in 20
    assert found.detectable == found.interval.high


def test_students_t_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    for t, df in ((0.3, 4), (-2.2, 11), (5.0, 150)):
        assert two_sided_t(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


def test_probes_share_requests_and_each_is_asked_once():
    judge = Counting()
    run = run_probes(judge, PAIRS, standard_probes(grades=False))
    # Position 2, seven changes 4 each, three repeats of both orders 6; all share the first 2.
    assert run.plan.planned == 40 * (2 + 7 * 4 + 6)
    assert len(judge.asked) == len(run.plan.requests) == 40 * (2 + 7 * 2 + 4)
    keys = [request.key for request in run.plan.requests]
    assert len(keys) == len(set(keys))


def test_a_request_is_known_by_its_content_not_its_id():
    one = pair("x", "y", "1", label="A")
    same, other = replace(one, id="2", columns={}), pair("x", "z", "1")
    assert Ask(one).key == Ask(same).key != Ask(other).key
    assert Ask(one).key not in (Ask(one.swapped()).key, Ask(one, "terse").key, Ask(one, "", 1).key)


def test_a_judge_without_noise_is_found_out_by_padding_and_never_by_its_place():
    found = {f.probe: f for f in run_probes(Longest(), PAIRS).findings}
    assert found["padding"].flagged and not found["position"].flagged
    assert found["stability"].interval.estimate == 1
    assert "does not grade" in found["scale"].problem


def test_swapping_every_pair_changes_nothing():
    swapped = [p.swapped() for p in PAIRS]
    for one, other in zip(
        run_probes(Longest(), PAIRS, [PositionProbe(), ChangeProbe(CHANGES[0])]).findings,
        run_probes(Longest(), swapped, [PositionProbe(), ChangeProbe(CHANGES[0])]).findings,
        strict=True,
    ):
        # another answer of each pair is padded, so only the size of the effect is comparable
        assert one.flagged == other.flagged


def test_missing_verdicts_leave_pairs_out():
    class Mute(Longest):
        def compare(self, pairs):
            found = super().compare(pairs)
            return [
                Verdict(None, status="abstained") if p.id == "3" else v
                for p, v in zip(pairs, found, strict=True)
            ]

    (found,) = run_probes(Mute(), PAIRS, [ChangeProbe(CHANGES[0])]).findings
    assert found.pairs == len(PAIRS) - 1


def test_a_judge_that_is_down_is_no_finding():
    class Down(Judge):
        def compare(self, pairs):
            return [Verdict(None, status="failed", reason="connection refused") for _ in pairs]

        def fingerprint(self):
            return "down"

    with pytest.raises(JudgeError, match="connection refused"):
        run_probes(Down(), PAIRS)


def test_what_cannot_be_probed_says_why():
    problems = {f.probe: f.problem for f in run_probes(Longest(), PAIRS).findings}
    assert "own name" in problems["self_preference"]
    assert "paraphrased" in problems["template"] and "label" in problems["length"]
    (few,) = run_probes(Longest(), PAIRS[:9], [PositionProbe()]).findings
    assert few.problem == "9 pairs of 9 prompts can be used; it takes 10"
    with pytest.raises(DataError, match="no pairs"):
        run_probes(Longest(), [])
    with pytest.raises(DataError, match="label must be"):
        ProbeItem.of(pair("x", "y", label="first"))


def test_a_judge_that_only_likes_a_place_has_a_one_sided_interval():
    class First(Judge):
        def compare(self, pairs):
            return [Verdict("A") for _ in pairs]

        def fingerprint(self):
            return "first"

    (found,) = run_probes(First(), PAIRS, [PositionProbe()]).findings
    assert found.flagged and found.interval.low > 1 and found.interval.high == math.inf
    assert found.as_json()["high"] is None
    assert "+inf" in finding_sentence(found)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_touches_its_target_or_the_prompt_alone(change):
    text = "It is four. Two and two make it."
    item = ProbeItem.of(pair(text, "Five. Or so they say.", "0"))
    new = change.of(item)
    assert new != item.pair and change.applies(item)
    other = "b" if item.target == "a" else "a"
    assert getattr(new, other) == getattr(item.pair, other)
    if change.name == "sycophancy":
        assert new.a == item.pair.a and "prefer" in new.prompt[0].content
    else:
        assert new.prompt == item.pair.prompt


def test_changes_that_do_not_apply_leave_the_pair_alone():
    assert as_list("One sentence only.") == "One sentence only."
    assert as_list("- a list\n- already") == "- a list\n- already"
    alike = ProbeItem.of(
        pair("Same words at the start here I say x", "Same words at the start here I say y")
    )
    stated = next(c for c in CHANGES if c.name == "sycophancy")
    assert not stated.applies(alike)
    assert 1.4 < len(padded("word " * 100)) / 500 < 1.8


def test_pairs_of_one_prompt_are_one_cluster_whatever_they_are_called():
    one, two = ProbeItem.of(pair("x", "y", "1")), ProbeItem.of(pair("x", "y", "2"))
    again = ProbeItem.of(replace(pair("x", "z", "1"), id="3"))
    assert one.prompt_id == again.prompt_id != two.prompt_id
    assert ProbeItem.of(pair("x", "y", "1", uid="u")).prompt_id == "u"
    assert ProbeItem.of(Pair((), (), (), {}, "named")).prompt_id == "named"


def test_targets_are_balanced():
    items = [ProbeItem.of(pair("x", "y", f"pair-{i}")) for i in range(100)]
    assert 35 < sum(item.target == "a" for item in items) < 65


def test_repeats_and_wordings_go_to_their_own_judges():
    seen = []

    class Named(Longest):
        def __init__(self, name: str) -> None:
            object.__setattr__(self, "name", name)

        def compare(self, pairs):
            seen.append(self.name)
            return super().compare(pairs)

        def grade(self, items):
            return [Grade(1.0) for _ in items]

    versions = Versions(
        Named("own"), {"terse": Named("terse")}, lambda judge, k: Named(f"{judge.name} {k}")
    )
    plan = ProbePlan(
        [ProbeItem.of(p) for p in PAIRS], standard_probes(templates=("terse",), repeats=2)
    )
    plan.ask(versions)
    assert sorted(seen) == ["own", "own 1", "terse", "terse 1"]
    assert plan.place(both_orders(PAIRS[0], "", 1)[1]) is not None
    assert plan.place(Ask(PAIRS[0], "unknown")) is None


def test_a_page_shows_what_was_found_and_what_to_do():
    pytest.importorskip("matplotlib")
    found = list(findings(Strengths(position=1.5)).values())
    page = probe_section(found, "<requests>")
    assert "<svg" in page and "<b>position</b>" in page and "&lt;requests&gt;" in page
    assert "BothOrders" in page
