"""What the package exports is what it says, whichever modules were imported before."""

from __future__ import annotations

from importlib import import_module

import pytest

import assay.calibration as calibration


@pytest.mark.parametrize("module", sorted(calibration._MODULES))
def test_a_name_is_the_object_and_never_its_module(module: str) -> None:
    found = import_module(f"assay.calibration.{module}")  # binds the module in the package
    for name in calibration._MODULES[module].split():
        assert getattr(calibration, name) is getattr(found, name)
        assert name != module
