"""Every example in a docstring is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

PACKAGES = (
    "assay",
    "assay.rewards",
    "assay.judges",
    "assay.sandbox",
    "assay.calibration",
    "assay.policy",
)


def module_names() -> Iterator[str]:
    """All modules, found from each of the folders: the links in src/assay may be absent."""
    for package in PACKAGES:
        yield package
        yield from _inside(package)


def _inside(package: str) -> Iterator[str]:
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        name = f"{package}.{found.name}"
        if name in PACKAGES or found.name == "__main__":
            continue
        yield name
        if found.ispkg:
            yield from _inside(name)


def run(name: str) -> doctest.TestResults:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if "assay[" in str(error):  # says which extra is missing
            pytest.skip(str(error))
        raise
    return doctest.testmod(module)


@pytest.mark.parametrize("name", sorted(set(module_names())))
def test_examples(name: str) -> None:
    results = run(name)
    assert results.failed == 0, f"{results.failed} of {results.attempted} examples are wrong"


@pytest.mark.parametrize("name", [n for n in sorted(set(module_names())) if ".rewards." in n])
def test_every_reward_has_an_example(name: str) -> None:
    """A public reward without a runnable example is not finished."""
    from assay.reward import Reward

    module = importlib.import_module(name)
    for kind in vars(module).values():
        mine = isinstance(kind, type) and kind.__module__ == name
        if mine and issubclass(kind, Reward) and not kind.__name__.startswith("_"):
            examples = doctest.DocTestFinder(recurse=False).find(kind)
            assert any(e.examples for e in examples), f"{kind.__name__} has no doctest"
