"""Beta calibration: a curve that can bend differently at either end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray, sigmoid
from assay.calibration.calibrator import Calibrator, checked
from assay.calibration.logistic import fit_logistic
from assay.errors import DataError


@dataclass(frozen=True)
class Beta(Calibrator):
    """p = sigmoid(a ln q - b ln(1 - q) + c) for a forecast q.

    For `pairs` the mirror symmetry leaves a = b and c = 0, which is temperature scaling with
    T = 1 / a; the family is richer only for `pairs=False`, with a, b >= 0.

    Attributes:
        a: Weight of ln q.
        b: Weight of -ln(1 - q).
        c: Intercept.

    Source: Kull, Silva Filho and Flach, Beta calibration, AISTATS 2017, section 3; a negative
    weight is set to 0 and the rest fitted again, as there.

    Example:
        >>> y = [1, 0] * 25 + [1, 0, 0, 0, 0] * 10
        >>> fitted = Beta(pairs=False).fit([.9] * 50 + [.4] * 50, y)
        >>> fitted.predict([.9, .4]).round(1).tolist()
        [0.5, 0.2]
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0

    kind: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "a", 0.0)
        checked(self, "b", 0.0)
        checked(self, "c")

    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        if self.pairs:
            fit = fit_logistic(x[:, None], y, names=["a"], weights=np.full(len(x), 0.5))
            found = {"a": fit["a"], "b": fit["a"], "c": 0.0}
        else:
            found = self._free(x, y)
        if found["a"] <= 0 and found["b"] <= 0:
            raise DataError(
                "the fitted curve falls: the forecasts are no better than chance on these labels; "
                "check that the labels say what happened"
            )
        return found

    def _free(self, x: FloatArray, y: FloatArray) -> dict[str, float]:
        columns = {"a": _log_p(x), "b": -_log_p(-x), "c": np.ones(len(x))}
        if len(np.unique(x)) < 3:  # two forecasts say nothing of the bend
            columns = {"a": x, "c": columns["c"]}
        names = list(columns)
        while True:
            fit = fit_logistic(np.stack([columns[n] for n in names], axis=1), y, names=names)
            negative = [n for n in names if n != "c" and fit[n] < 0]
            if not negative or names == ["c"]:
                break
            names.remove(min(negative, key=lambda n: fit[n]))
        found = {n: fit[n] if n in names else 0.0 for n in ("a", "b", "c")}
        if "b" not in columns:
            found["b"] = found["a"]
        return found

    def _map(self, x: FloatArray) -> FloatArray:
        return sigmoid(self.a * _log_p(x) - self.b * _log_p(-x) + self.c)


def _log_p(x: FloatArray) -> FloatArray:
    """The logarithm of sigmoid(x), without overflow."""
    found: FloatArray = -np.logaddexp(0.0, -x)
    return found
