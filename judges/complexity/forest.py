"""A forest of decision trees in plain arrays: stored without pickle, read by numpy alone."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DataError

_FIELDS = ("feature", "threshold", "left", "right", "leaf", "roots")


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees side by side; a node goes left where the feature is at most the threshold.

    Attributes:
        feature: Feature of each node, or -1 in a leaf.
        threshold: Its threshold.
        left: Next node to the left.
        right: Next node to the right.
        leaf: Shares of the classes in each node, shape (nodes, classes), in 1/255.
        roots: First node of each tree.
        classes: Names of the classes.
    """

    feature: npt.NDArray[np.int16]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    leaf: npt.NDArray[np.uint8]
    roots: npt.NDArray[np.int32]
    classes: tuple[str, ...]

    __hash__ = None  # type: ignore[assignment]

    def predict(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Mean shares of the classes over all trees, shape (rows, classes)."""
        at = np.tile(self.roots, (len(rows), 1))
        index = np.arange(len(rows))[:, None]
        while True:
            feature = self.feature[at]
            inner = feature >= 0
            if not inner.any():
                break
            value = rows[index, np.maximum(feature, 0)]
            below = np.where(value <= self.threshold[at], self.left[at], self.right[at])
            at = np.where(inner, below, at)
        shares: npt.NDArray[np.float64] = self.leaf[at].astype(np.float64).mean(axis=1)
        total: npt.NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return total

    def save(self, path: str | Path) -> None:
        """Write a compressed npz without pickled objects."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        np.savez_compressed(path, classes=np.array(self.classes), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Forest:
        """Read a forest; nothing in the file is run.

        Raises:
            DataError: Not a forest, or one whose arrays do not fit together.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in _FIELDS}
                classes = tuple(str(name) for name in file["classes"])
        except (OSError, ValueError, KeyError) as error:
            raise DataError(
                f"{Path(path).name} is no stored forest: {error}; train one with "
                "assay complexity --train"
            ) from None
        forest = cls(**arrays, classes=classes)
        nodes = len(forest.feature)
        ends = np.concatenate([forest.left, forest.right, forest.roots])
        shapes = {len(forest.threshold), len(forest.left), len(forest.right), len(forest.leaf)}
        inner = forest.feature >= 0
        after = np.arange(nodes)
        forward = (forest.left > after)[inner].all() and (forest.right > after)[inner].all()
        if shapes != {nodes} or ends.min(initial=0) < 0 or ends.max(initial=0) >= nodes:
            raise DataError(f"{Path(path).name}: the arrays of the forest do not fit; train again")
        if not forward or forest.leaf.shape[1] != len(classes):
            raise DataError(f"{Path(path).name}: the trees of the forest loop; train again")
        return forest

    @classmethod
    def fit(
        cls,
        rows: npt.NDArray[np.float32],
        labels: list[str],
        *,
        trees: int = 300,
        seed: int = 0,
    ) -> Forest:
        """Grow extremely randomised trees with scikit-learn and keep their arrays.

        Raises:
            ImportError: scikit-learn is missing; names the pip command.
        """
        try:
            ensemble: Any = importlib.import_module("sklearn.ensemble")
        except ModuleNotFoundError:
            raise ImportError(
                'training needs scikit-learn; install it with: pip install "assay[complexity]"'
            ) from None
        model = ensemble.ExtraTreesClassifier(
            trees, min_samples_leaf=2, max_features=0.3, random_state=seed, class_weight=None
        ).fit(rows, labels)
        parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _FIELDS}
        start = 0
        for estimator in model.estimators_:
            tree = estimator.tree_
            leaf = tree.children_left < 0
            after = np.arange(tree.node_count)
            shares = tree.value[:, 0, :]
            shares = shares / shares.sum(axis=1, keepdims=True)
            parts["feature"].append(np.where(leaf, -1, tree.feature).astype(np.int16))
            parts["threshold"].append(np.where(leaf, 0, tree.threshold).astype(np.float32))
            parts["left"].append(
                (np.where(leaf, after, tree.children_left) + start).astype(np.int32)
            )
            parts["right"].append(
                (np.where(leaf, after, tree.children_right) + start).astype(np.int32)
            )
            parts["leaf"].append(np.where(leaf[:, None], np.rint(shares * 255), 0).astype(np.uint8))
            parts["roots"].append(np.array([start], dtype=np.int32))
            start += tree.node_count
        arrays = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        return cls(**arrays, classes=tuple(str(name) for name in model.classes_))
