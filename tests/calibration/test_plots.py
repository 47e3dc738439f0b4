"""Every picture is drawn, says what its axes are, and goes into a page by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.calibration.gap_bins import bias_by_gap
from assay.calibration.standings import leaderboard

plots = pytest.importorskip("assay.calibration.plots")
pytest.importorskip("matplotlib")


def drawn(name: str) -> Any:
    if name == "reliability":
        return plots.plot_reliability([0.1, 0.9, 0.95, 0.5], [0, 1, 1, 0])
    if name == "order gap":
        return plots.plot_order_gap([0.1, -0.2, 0.4])
    if name == "no order gap":
        return plots.plot_order_gap([])
    if name == "bias by gap":
        return plots.plot_bias_by_gap(bias_by_gap("AABB", "ABAB", [0.1, 0.2, 1.0, 2.0], bins=2))
    if name == "length":
        return plots.plot_length_bias(np.linspace(-1, 1, 20), [0, 1] * 10)
    if name == "agreement":
        return plots.plot_agreement(["x", "y"], [[1.0, 0.3], [0.3, 1.0]])
    first, second = ["x", "y"] * 5, ["y", "x"] * 5
    return plots.plot_leaderboard(leaderboard(first, second, [1, 0, 0, 1, 1] * 2, range(10))[0])


NAMES = ["reliability", "order gap", "no order gap", "bias by gap", "length", "agreement", "elo"]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_one_svg_element(name: str) -> None:
    figure = drawn(name)
    (axes,) = figure.axes
    if name != "agreement":
        assert axes.get_xlabel()
    svg = plots.as_svg(figure)
    assert svg.startswith("<svg") and svg.rstrip().endswith("</svg>")
