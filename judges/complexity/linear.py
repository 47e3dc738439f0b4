"""A linear classifier over words and numbers, in plain arrays: numpy reads it, nothing is run."""

from __future__ import annotations

import importlib
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DataError

Floats = npt.NDArray[np.float32]

_ARRAYS = ("inverse_frequency", "mean", "scale", "weights", "bias")
_CLIP = 3.0  # standard deviations
_SHARE = 0.05  # of a standardised number, beside words whose vector has length 1
_RAREST = 2  # programs that a word must occur in


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Multinomial logistic regression.

    A program becomes one vector: its words, (1 + log count) times their inverse frequency, scaled
    to length 1; then its numbers, standardised, cut at three deviations and made small.

    Attributes:
        terms: The words, shape (words,).
        inverse_frequency: Of each word, shape (words,).
        mean: Of each number, shape (numbers,).
        scale: Standard deviation of each number, shape (numbers,).
        weights: Shape (words + numbers, classes).
        bias: Shape (classes,).
        classes: Names of the classes.
    """

    terms: tuple[str, ...]
    inverse_frequency: Floats
    mean: Floats
    scale: Floats
    weights: Floats
    bias: Floats
    classes: tuple[str, ...]

    __hash__ = None  # type: ignore[assignment]

    def predict(
        self, words: Sequence[Mapping[str, int]], numbers: Floats
    ) -> npt.NDArray[np.float64]:
        """Probabilities of the classes, shape (programs, classes).

        Args:
            words: Words of each program with their counts.
            numbers: Shape (programs, numbers).
        """
        place = {term: position for position, term in enumerate(self.terms)}
        scores = self._small(numbers) @ self.weights[len(self.terms) :] + self.bias
        for row, counts in enumerate(words):
            at, values = _weighted(counts, place, self.inverse_frequency)
            scores[row] += values @ self.weights[at]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True)).astype(np.float64)
        total: npt.NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return total

    def _small(self, numbers: Floats) -> Floats:
        return _standard(numbers, self.mean, self.scale)

    def save(self, path: str | Path) -> None:
        """Write a compressed npz without pickled objects."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        arrays["weights"] = self.weights.astype(np.float16)
        for name in ("terms", "classes"):
            text = "\n".join(getattr(self, name)).encode()
            arrays[name] = np.frombuffer(text, dtype=np.uint8)
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> LinearModel:
        """Read a model.

        Raises:
            DataError: Not a model, or one whose arrays do not fit together.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: np.asarray(file[name], dtype=np.float32) for name in _ARRAYS}
                terms, classes = (
                    tuple(bytes(np.asarray(file[name], dtype=np.uint8)).decode().split("\n"))
                    for name in ("terms", "classes")
                )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{Path(path).name} is no stored model: {error}; train one with "
                "assay complexity --train"
            ) from None
        model = cls(terms=terms, classes=classes, **arrays)
        rows, columns = len(terms) + len(model.mean), len(classes)
        fit = (
            model.weights.shape == (rows, columns)
            and model.bias.shape == (columns,)
            and model.inverse_frequency.shape == (len(terms),)
            and model.scale.shape == model.mean.shape
        )
        if not fit or not all(np.isfinite(array).all() for array in arrays.values()):
            raise DataError(f"{Path(path).name}: the arrays of the model do not fit; train again")
        return model

    @classmethod
    def fit(
        cls,
        words: Sequence[Mapping[str, int]],
        numbers: Floats,
        labels: Sequence[str],
        *,
        strength: float = 30.0,
    ) -> LinearModel:
        """Fit with scikit-learn and keep the arrays.

        Args:
            words: Words of each program with their counts.
            numbers: Shape (programs, numbers).
            labels: Class of each program.
            strength: Inverse of the weight of the L2 penalty.

        Raises:
            ImportError: scikit-learn is missing; names the pip command.
        """
        try:
            linear: Any = importlib.import_module("sklearn.linear_model")
            sparse: Any = importlib.import_module("scipy.sparse")
        except ModuleNotFoundError:
            raise ImportError(
                'training needs scikit-learn; install it with: pip install "assay[complexity]"'
            ) from None
        spread: Counter[str] = Counter()
        for counts in words:
            spread.update(counts.keys())
        rarest = _RAREST if len(words) > 2 * _RAREST else 1
        terms = tuple(sorted(term for term, number in spread.items() if number >= rarest))
        place = {term: position for position, term in enumerate(terms)}
        seen = np.array([spread[term] for term in terms], dtype=np.float64)
        inverse = (np.log((1 + len(words)) / (1 + seen)) + 1).astype(np.float32)
        mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0).astype(np.float32)
        lines = [_weighted(counts, place, inverse) for counts in words]
        ends = np.cumsum([0, *(len(at) for at, _ in lines)])
        matrix = sparse.csr_matrix(
            (
                np.concatenate([values for _, values in lines]),
                np.concatenate([at for at, _ in lines]),
                ends,
            ),
            shape=(len(words), len(terms)),
        )
        small = sparse.csr_matrix(_standard(numbers, mean, scale))
        features = sparse.hstack([matrix, small]).tocsr()
        classes: Sequence[str] = sorted(set(labels))
        if len(classes) == 1:  # nothing to tell apart, as in a fold of few programs
            weights, bias = np.zeros((features.shape[1], 1)), np.zeros(1)
        else:
            model = linear.LogisticRegression(C=strength, max_iter=500).fit(features, list(labels))
            weights, bias, classes = model.coef_.T, model.intercept_, model.classes_
        if len(classes) == 2:  # scikit-learn keeps one side only
            weights, bias = np.hstack([-weights, weights]) / 2, np.array([-bias[0], bias[0]]) / 2
        return cls(
            terms,
            inverse,
            mean.astype(np.float32),
            scale,
            weights.astype(np.float32),
            bias.astype(np.float32),
            tuple(str(name) for name in classes),
        )


def _weighted(
    counts: Mapping[str, int], place: Mapping[str, int], inverse: Floats
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Positions and values of a program's known words; the values have length 1."""
    known = sorted((place[term], number) for term, number in counts.items() if term in place)
    at = np.array([position for position, _ in known], dtype=np.int64)
    values = (1 + np.log(np.array([number for _, number in known], dtype=np.float32))) * inverse[at]
    length = float(np.sqrt((values**2).sum()))
    return at, (values / length if length else values).astype(np.float32)


def _standard(numbers: Floats, mean: Floats, scale: Floats) -> Floats:
    small: Floats = (_SHARE * np.clip((numbers - mean) / scale, -_CLIP, _CLIP)).astype(np.float32)
    return small
