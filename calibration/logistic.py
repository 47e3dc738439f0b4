"""Logistic regression by Newton's method, with Firth's or a ridge penalty and clustered errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray, group_codes, sigmoid, vector
from assay.calibration.distributions import normal_quantile, t_quantile, two_sided_p
from assay.calibration.intervals import Interval
from assay.errors import DataError

Penalty = Literal["none", "firth", "ridge"]
_LARGEST = 25.0  # a logit beyond it means that the maximum lies at infinity


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Coefficients with their covariance.

    Attributes:
        names: One per coefficient.
        coefficients: Shape (k,), in logits.
        covariance: Shape (k, k); the sandwich by cluster where clusters were given.
        log_likelihood: Without the penalty.
        clusters: Number of independent units.
        robust: Whether the covariance is the sandwich.
    """

    names: tuple[str, ...]
    coefficients: FloatArray
    covariance: FloatArray
    log_likelihood: float
    clusters: int
    robust: bool

    def __getitem__(self, name: str) -> float:
        return float(self.coefficients[self._at(name)])

    def standard_error(self, name: str) -> float:
        """Standard error of a coefficient."""
        at = self._at(name)
        return math.sqrt(float(self.covariance[at, at]))

    def z(self, name: str) -> float:
        """Coefficient over its standard error."""
        return self[name] / self.standard_error(name)

    def p_value(self, name: str) -> float:
        """Two-sided p of the null that the coefficient is 0."""
        return two_sided_p(self.z(name))

    def interval(self, name: str, level: float = 0.95) -> Interval:
        """Wald interval: by Student's t with clusters - 1 degrees where clusters were given."""
        upper = 0.5 + level / 2.0
        wide = t_quantile(upper, self.clusters - 1) if self.robust else normal_quantile(upper)
        half = wide * self.standard_error(name)
        how = "wald, clustered" if self.robust else "wald"
        value = self[name]
        return Interval(value, value - half, value + half, level, how, self.clusters)

    def _at(self, name: str) -> int:
        if name not in self.names:
            raise DataError(f"no coefficient {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)


def fit_logistic(
    features: ArrayLike,
    outcomes: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    penalty: Penalty = "firth",
    strength: float = 1.0,
    penalised: Sequence[str] | None = None,
) -> LogisticFit:
    """Fit P(y = 1) = sigmoid(x . w) on rows of `features`; no intercept is added.

    Firth's penalty adds half the log determinant of the information: it takes the first-order bias
    of maximum likelihood away and keeps the estimate finite where the outcomes are separated.

    Args:
        features: Shape (n, k).
        outcomes: Shape (n,), in [0, 1]; a tie is .5, votes are soft.
        names: One per column; x0, x1, ... if not given.
        weights: Shape (n,), >= 0; how often each row stands.
        clusters: Shape (n,); rows of one prompt share a value. Errors are then the sandwich.
        penalty: `firth`, `ridge` (adds strength/2 times the squared coefficients) or `none`.
        strength: Of the ridge.
        penalised: Which coefficients the ridge shrinks; all if not given.

    Raises:
        DataError: No rows, columns that depend on each other (named), or, with penalty `none`, a
            maximum at infinity.

    Source: Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993); clustered
    errors: Liang and Zeger, Biometrika 73 (1986), with the factor G/(G-1).

    Example:
        >>> x = np.ones((100, 1))
        >>> fit = fit_logistic(x, [1] * 80 + [0] * 20, names=["b"], penalty="none")
        >>> round(fit["b"], 4)      # log(.8 / .2)
        1.3863
    """
    try:
        x = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.ndim != 2 or not x.size or not np.isfinite(x).all():
        raise DataError(
            f"features must be finite with shape (n, k) and n > 0, got {x.shape}; leave out rows "
            "with missing values"
        )
    y = vector("outcomes", outcomes, low=0, high=1, size=len(x))
    w = np.ones(len(x)) if weights is None else vector("weights", weights, low=0, size=len(x))
    labels = tuple(names) if names is not None else tuple(f"x{i}" for i in range(x.shape[1]))
    if len(labels) != x.shape[1] or len(set(labels)) < len(labels):
        raise DataError(f"need {x.shape[1]} different names, got {list(labels)[:10]}")
    ridge = _ridge(penalty, strength, labels, penalised)
    _check_rank(x * np.sqrt(w)[:, None], labels)
    theta = _newton(x, y, w, penalty == "firth", ridge, labels)
    p = sigmoid(x @ theta)
    information = (x * (w * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
    bread: FloatArray = np.linalg.inv(information).astype(np.float64)
    units, robust = int(np.count_nonzero(w)), clusters is not None
    covariance = bread
    if robust:
        codes = group_codes("clusters", clusters, len(x))
        units = int(codes.max()) + 1
        if units < 2:
            raise DataError("clustered errors need at least 2 clusters, got 1; add prompts")
        scores = x * (w * (y - p))[:, None]
        sums = np.stack([np.bincount(codes, weights=c, minlength=units) for c in scores.T], axis=1)
        covariance = bread @ (sums.T @ sums) @ bread * (units / (units - 1))
    likelihood = float(np.sum(w * (y * np.log(p + 1e-300) + (1 - y) * np.log1p(-p + 1e-300))))
    return LogisticFit(labels, theta, covariance, likelihood, units, robust)


def _newton(
    x: FloatArray,
    y: FloatArray,
    w: FloatArray,
    firth: bool,
    ridge: FloatArray,
    labels: tuple[str, ...],
) -> FloatArray:
    theta = np.zeros(x.shape[1])
    value = -math.inf
    for _ in range(200):
        p = sigmoid(x @ theta)
        v = w * p * (1 - p)
        information = (x * v[:, None]).T @ x
        gradient = x.T @ (w * (y - p)) - ridge * theta
        curvature = information + np.diag(ridge)
        try:
            if firth:
                hat = v * np.einsum("ij,ij->i", x @ np.linalg.inv(information), x)
                gradient = gradient + x.T @ (hat * (0.5 - p))
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            raise _separated(labels) from None
        largest = float(np.max(np.abs(step)))
        if largest > 2.0:  # long steps overshoot where the curve is flat
            step *= 2.0 / largest
        theta = theta + step
        if float(np.max(np.abs(x @ theta))) > _LARGEST * 40 or not np.isfinite(theta).all():
            raise _separated(labels)
        if largest < 1e-10:
            break
        value = largest
    else:
        if value > 1e-6:
            raise _separated(labels)
    if not firth and not ridge.any() and float(np.max(np.abs(x @ theta))) > _LARGEST:
        raise _separated(labels)
    return theta


def _separated(labels: tuple[str, ...]) -> DataError:
    return DataError(
        f"the fit of {', '.join(labels[:6])} runs away to infinity: the outcomes are separated (a "
        "feature decides every one); use penalty='firth' or add pairs that go the other way"
    )


def _ridge(
    penalty: str, strength: float, labels: tuple[str, ...], penalised: Sequence[str] | None
) -> FloatArray:
    if penalty not in ("none", "firth", "ridge"):
        raise DataError(f"penalty must be one of {{'none', 'firth', 'ridge'}}, got {penalty!r}")
    if penalty != "ridge":
        return np.zeros(len(labels))
    if not 0 < strength < math.inf:
        raise DataError(
            f"strength of a ridge must be > 0 and finite, got {strength}; use penalty='none'"
        )
    chosen = labels if penalised is None else tuple(penalised)
    if unknown := [name for name in chosen if name not in labels]:
        raise DataError(f"penalised must name features among {labels}, got {unknown}")
    return np.array([strength if name in chosen else 0.0 for name in labels])


def _check_rank(x: FloatArray, labels: tuple[str, ...]) -> None:
    gram = x.T @ x
    scale = np.sqrt(np.diag(gram))
    if (scale == 0).any():
        empty = [label for label, s in zip(labels, scale, strict=True) if s == 0]
        raise DataError(
            f"not identified: {', '.join(empty)} is 0 in every row; leave it out or add rows in "
            "which it varies"
        )
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    if values[0] > 1e-9 * len(labels):
        return
    mixed = [name for name, share in zip(labels, np.abs(vectors[:, 0]), strict=True) if share > 0.1]
    raise DataError(
        f"not identified: {', '.join(mixed)} cannot be told apart on these rows (one is a "
        "combination of the others); leave one out, or add rows in which they differ, such as the "
        "other order of each pair"
    )
