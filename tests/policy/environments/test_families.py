"""Generated environments: all different, all solvable, none of them by doing nothing or little."""

from __future__ import annotations

from itertools import islice

import pytest

from assay.errors import ConfigError
from assay.policy.environments import FAMILIES, environment, generate, play, validate
from assay.policy.environments.agents import Oracle, do_nothing, lazy_agents
from assay.policy.environments.families import table_task
from assay.policy.environments.table_task import TableTask


def test_at_least_twelve_families() -> None:
    assert len(FAMILIES) >= 12


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_sample_of_each_family_is_valid(family: str) -> None:
    for seed in range(8):
        assert validate(environment(family, seed)).problems == ()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_oracle_lazy_and_idle_agents(family: str) -> None:
    spec = environment(family, 101)
    assert play(spec, Oracle(spec)).outcome.passed
    assert not play(spec, do_nothing).outcome.passed
    lazy = lazy_agents(spec)
    assert {"looks_only", "all_but_last"} <= lazy.keys()
    for agent in lazy.values():
        assert play(spec, agent).outcome.value == 0.0


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_seed_is_one_environment_and_can_be_stored(family: str) -> None:
    task = table_task(family, 5)
    assert task == table_task(family, 5) and task != table_task(family, 6)
    again = TableTask.from_json(task.to_json())
    assert again.fingerprint() == task.fingerprint()
    spec = again.environment()
    assert play(spec, Oracle(spec)).outcome.passed


def test_all_seeds_of_a_family_have_the_same_tools() -> None:
    for family in FAMILIES:
        assert environment(family, 0).schemas() == environment(family, 1).schemas()


def test_generate_is_seeded_and_takes_families_in_turn() -> None:
    first = [spec.id for spec in islice(generate(50), 50)]
    assert first == [spec.id for spec in generate(50)]
    assert first[: len(FAMILIES)] == [f"{family}/0" for family in FAMILIES]
    assert not set(first) & {spec.id for spec in generate(50, seed=1)}


def test_unknown_family() -> None:
    with pytest.raises(ConfigError, match="family must be one of .*got 'pets'"):
        environment("pets", 0)


@pytest.mark.slow
def test_two_thousand_different_environments_are_valid() -> None:
    seen, problems = set(), []
    for spec in generate(2000):
        family, _, seed = spec.id.partition("/")
        seen.add(table_task(family, int(seed)).fingerprint())
        problems += [(spec.id, problem) for problem in validate(spec).problems]
    assert len(seen) == 2000
    assert problems == []
