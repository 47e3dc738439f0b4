"""Shared fixtures: a cache of its own for the run, and one sandbox per module."""

from __future__ import annotations

import shutil

import pytest

from assay.sandbox import Bubblewrap, compiler


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        compiler.compile_cache.cache_clear()
        yield


@pytest.fixture(scope="module")
def sandbox():
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with Bubblewrap(workers=2) as box:
        yield box
