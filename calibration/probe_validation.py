"""The auditor audited: every probe on judges whose biases are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.intervals import Interval, wilson_interval
from assay.calibration.planted import (
    OWN_NAME,
    Features,
    Latent,
    Strengths,
    features_of,
    planted_items,
    probabilities,
)
from assay.calibration.probe_estimates import Finding
from assay.calibration.probes import ProbePlan, standard_probes
from assay.errors import ConfigError
from assay.judge import Choice

TEMPLATES = ("reworded", "terse")


@dataclass(frozen=True)
class Scenario:
    """A judge, and the probe that must find what is planted in it.

    Attributes:
        name: For people.
        strengths: What is planted.
        probe: The probe that must flag it; empty for a judge without biases.
    """

    name: str
    strengths: Strengths
    probe: str = ""


#: The judges of `assay audit validate`.
SCENARIOS: tuple[Scenario, ...] = (
    Scenario("no bias", Strengths()),
    Scenario("position .3", Strengths(position=0.3), "position"),
    Scenario("position .8", Strengths(position=0.8), "position"),
    Scenario("position 1.5", Strengths(position=1.5), "position"),
    Scenario("position .8, differs by prompt", Strengths(position=0.8, spread=0.5), "position"),
    Scenario("length 1, by padding", Strengths(length=1.0), "padding"),
    Scenario("length 1, by labels", Strengths(length=1.0), "length"),
    Scenario("own answers 1", Strengths(own=1.0), "self_preference"),
    Scenario("noise of the wording 1.5", Strengths(template=1.5), "template"),
    Scenario("stated preference 1", Strengths(stated=1.0), "sycophancy"),
    Scenario("experts and crowds 1", Strengths(cue=1.0), "authority"),
)


@dataclass(frozen=True)
class ScenarioResult:
    """One judge over many seeds.

    Attributes:
        scenario: Its name.
        probe: The probe in question; for a judge without biases, all of them together.
        truth: What the probe measures in the whole population.
        mean: Mean estimate.
        coverage: Share of 95% intervals that hold the truth.
        power: Share of seeds in which the probe flagged (q < .05).
        detectable: Mean of the stated minimum detectable effect.
        false_flags: Mean share of false ones among what was flagged (the false discovery rate);
            without biases, the share of seeds in which anything was.
        seeds: Number of audits.
    """

    scenario: str
    probe: str
    truth: float
    mean: float
    coverage: float
    power: float
    detectable: float
    false_flags: float
    seeds: int

    def coverage_interval(self) -> Interval:
        """Of the coverage itself, over seeds."""
        return wilson_interval(round(self.coverage * self.seeds), self.seeds)


@dataclass(frozen=True)
class PowerResult:
    """A bias as large as what an audit says it would find in four of five cases.

    Attributes:
        probe: The probe.
        strength: What was planted, in logits.
        truth: The effect in the probe's own unit.
        detectable: Mean of the stated minimum detectable effect; near the truth by construction.
        power: Share of seeds with p < .05.
        seeds: Number of audits.
    """

    probe: str
    strength: float
    truth: float
    detectable: float
    power: float
    seeds: int


class PlantedAudit:
    """Audits of a population of pairs by all probes, one seed after another.

    Texts and requests are made once; each seed draws other qualities, wordings and verdicts.

    Args:
        prompts: Clusters.
        per_prompt: Pairs of a prompt.
        truth_draws: Draws of the population behind the truths.
    """

    def __init__(self, prompts: int = 150, per_prompt: int = 2, truth_draws: int = 400) -> None:
        if prompts < 20 or per_prompt < 1:
            raise ConfigError(
                f"a validation needs at least 20 prompts of 1 pair, got {prompts} of {per_prompt}"
            )
        self.per_prompt, self.truth_draws = per_prompt, truth_draws
        # Labels decide whether an item is used at all; which it is comes with each seed.
        self.items = [replace(i, label="A") for i in planted_items(prompts, per_prompt)]
        probes = standard_probes(own_name=OWN_NAME, templates=TEMPLATES, repeats=2, grades=False)
        self.plan = ProbePlan(self.items, probes)
        self.names = [probe.name for probe in probes]
        self.tested = [probe.name for probe in probes if probe.null]
        self.features: Features = features_of(self.plan.requests, TEMPLATES, per_prompt)

    def probabilities(self, strengths: Strengths, latent: Latent) -> FloatArray:
        """P(first wins) of every request."""
        return probabilities(self.features, latent, strengths)

    def latent(self, seed: Sequence[int]) -> Latent:
        """What a seed draws."""
        generator = np.random.default_rng(list(seed))
        return Latent.draw(generator, len(self.items), self.per_prompt, len(TEMPLATES))

    def labelled(self, latent: Latent) -> ProbePlan:
        """The plan with this seed's labels; requests do not depend on them."""
        better: list[Choice] = ["A" if q > 0 else "B" for q in latent.quality.tolist()]
        by_id = {item.pair.id: label for item, label in zip(self.items, better, strict=True)}
        return self.plan.with_labels(by_id)

    def truths(self, strengths: Strengths) -> dict[str, float]:
        """What each probe measures in the population, from exact probabilities.

        Sums of rows over many draws of the qualities stand for their expectation: verdicts are
        independent given the qualities, so that products of probabilities are those of verdicts.
        """
        sums: dict[str, FloatArray] = {}
        for draw in range(self.truth_draws):
            latent = self.latent((9, draw))
            plan = self.labelled(latent)
            values = self.probabilities(strengths, latent)
            for at, name in enumerate(self.names):
                if name in self.tested:
                    total = plan.table(at, values)[0].sum(axis=0)
                    sums[name] = sums.get(name, np.zeros(len(total))) + total
        return {
            probe.name: float(probe.statistic(sums[probe.name][None, :])[0])
            for probe in self.plan.probes
            if probe.name in sums
        }

    def run(self, scenario: Scenario, seeds: int) -> ScenarioResult:
        """Audit a planted judge over and over."""
        truths = self.truths(scenario.strengths)
        nulls = {name for name, value in truths.items() if abs(value) < _chance(name)}
        hits = flags = false = 0.0
        estimates, detectable = [], []
        for seed in range(seeds):
            found = self.findings(scenario.strengths, seed)
            flagged = [f.probe for f in found.values() if f.flagged]
            false += sum(name in nulls for name in flagged) / max(len(flagged), 1)
            mine = [found[scenario.probe]] if scenario.probe else [found[n] for n in self.tested]
            hits += sum(truths[f.probe] in f.interval for f in mine) / len(mine)
            flags += any(f.flagged for f in mine)
            estimates.append(np.mean([f.interval.estimate for f in mine]))
            detectable.append(np.mean([f.detectable for f in mine]))
        single = scenario.probe
        return ScenarioResult(
            scenario.name,
            single or "all",
            truths[single] if single else 0.0,
            float(np.mean(estimates)),
            hits / seeds,
            flags / seeds,
            float(np.mean(detectable)),
            false / seeds,
            seeds,
        )

    def findings(self, strengths: Strengths, seed: int) -> dict[str, Finding]:
        """One audit, by probe."""
        plan, drawn = self._drawn(strengths, seed)
        return {f.probe: f for f in plan.findings(drawn)}

    def _drawn(self, strengths: Strengths, seed: int) -> tuple[ProbePlan, FloatArray]:
        latent = self.latent((seed, 1))
        p = self.probabilities(strengths, latent)
        drawn = (np.random.default_rng((seed, 2)).random(len(p)) < p).astype(np.float64)
        return self.labelled(latent), drawn

    def _alone(self, strengths: Strengths, probe: str, seeds: range) -> list[Finding]:
        """One probe of each audit."""
        at, found = self.names.index(probe), []
        for seed in seeds:
            plan, drawn = self._drawn(strengths, seed)
            found.append(plan.finding(at, drawn))
        return found

    def power(self, probe: str, plant: Callable[[float], Strengths], seeds: int) -> PowerResult:
        """Plant what the audits say they would find with power .8, and see how often they do."""
        low, high = 0.0, 4.0
        stated = self._stated(plant(0.3), probe)
        for _ in range(3):  # what is stated depends a little on what is planted
            low, high = 0.0, 4.0
            for _ in range(12):
                middle = (low + high) / 2
                if abs(self._truth(plant(middle), probe)) < stated:
                    low = middle
                else:
                    high = middle
            stated = self._stated(plant(high), probe)
        strengths = plant(high)
        found = self._alone(strengths, probe, range(10**6, 10**6 + seeds))
        return PowerResult(
            probe,
            high,
            self._truth(strengths, probe),
            float(np.mean([f.detectable for f in found])),
            float(np.mean([f.p_value < 0.05 for f in found])),
            seeds,
        )

    def _truth(self, strengths: Strengths, probe: str) -> float:
        at = self.names.index(probe)
        total: FloatArray | None = None
        for draw in range(40):
            latent = self.latent((8, draw))
            rows = self.labelled(latent).table(at, self.probabilities(strengths, latent))[0]
            total = rows.sum(axis=0) if total is None else total + rows.sum(axis=0)
        assert total is not None
        return float(self.plan.probes[at].statistic(total[None, :])[0])

    def _stated(self, strengths: Strengths, probe: str) -> float:
        found = self._alone(strengths, probe, range(2 * 10**6, 2 * 10**6 + 40))
        return float(np.mean([f.detectable for f in found]))


#: How each bias grows, for the check of power.
POWER: dict[str, Callable[[float], Strengths]] = {
    "position": lambda s: Strengths(position=s),
    "length": lambda s: Strengths(length=s),
    "padding": lambda s: Strengths(length=s),
    "authority": lambda s: Strengths(cue=s),
    "sycophancy": lambda s: Strengths(stated=s),
    "self_preference": lambda s: Strengths(own=s),
    "template": lambda s: Strengths(template=s),
}


def _chance(name: str) -> float:
    """A truth below it is the null: what is left of the error of drawing the population."""
    return 0.002 if name == "template" else 0.006


def problems(results: Sequence[ScenarioResult], power: Sequence[PowerResult]) -> list[str]:
    """What is out of bounds, allowing for the number of seeds (99.9% on either side).

    Coverage must be 93-97%, power at the stated effect 75-85%, false flags at most 5%.
    """
    found = []
    for r in results:
        for what, value, low, high in (
            ("coverage", r.coverage, 0.93, 0.97),
            ("false flags", r.false_flags, 0.0, 0.05),
        ):
            if not _within(value, low, high, r.seeds):
                found.append(f"{r.scenario}: {what} of {r.probe} is {value:.3f}")
    found += [
        f"{p.probe}: power {p.power:.3f} at the stated minimum detectable effect"
        for p in power
        if not _within(p.power, 0.75, 0.85, p.seeds)
    ]
    return found


def _within(value: float, low: float, high: float, seeds: int) -> bool:
    if math.isnan(value):
        return False
    reach = wilson_interval(round(value * seeds), seeds, 0.999)
    return reach.high >= low and reach.low <= high
