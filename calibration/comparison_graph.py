"""Who met whom: what must hold before strengths of players can be compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.calibration.arrays import FloatArray, IntArray
from assay.errors import DataError

BoolArray = NDArray[np.bool_]


def check_connected(players: Sequence[Hashable], a: IntArray, b: IntArray) -> None:
    """Refuse players that fall into groups that never met.

    Raises:
        DataError: Names a group.

    >>> check_connected("wxyz", np.array([0, 2]), np.array([1, 3]))     # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assay.errors.DataError: strengths are not identified: w, x never met the other 2 players; ...
    """
    reached = _reachable(len(players), np.concatenate([a, b]), np.concatenate([b, a]))
    if not reached.all():
        raise DataError(
            f"strengths are not identified: {_names(players, reached)} never met the other "
            f"{int((~reached).sum())} players; add games between the groups or fit them apart"
        )


def check_strongly_connected(
    players: Sequence[Hashable], a: IntArray, b: IntArray, first_wins: FloatArray
) -> None:
    """Refuse a group that never lost to the rest, or never won: its strength is infinite.

    Raises:
        DataError: Names a group.
    """
    won, lost = first_wins > 0, first_wins < 1
    winner = np.concatenate([a[won], b[lost]])
    loser = np.concatenate([b[won], a[lost]])
    for source, target, verb in ((winner, loser, "beat"), (loser, winner, "lost to")):
        # From player 0 along wins (or losses): those not reached never lost to (beat) any of these.
        reached = _reachable(len(players), source, target)
        if not reached.all():
            raise DataError(
                f"strengths are infinite: {_names(players, reached)} never {verb} any of the other "
                f"{int((~reached).sum())} players; use penalty='ridge' or 'firth', or add games"
            )


def _reachable(k: int, source: IntArray, target: IntArray) -> BoolArray:
    neighbours: list[set[int]] = [set() for _ in range(k)]
    for u, v in np.unique(np.stack([source, target], axis=1), axis=0).tolist():
        neighbours[u].add(v)
    reached = np.zeros(k, dtype=bool)
    reached[0] = True
    front = [0]
    while front:
        for other in neighbours[front.pop()]:
            if not reached[other]:
                reached[other] = True
                front.append(other)
    return reached


def _names(players: Sequence[Hashable], inside: BoolArray) -> str:
    chosen = [str(player) for player, held in zip(players, inside, strict=True) if held]
    return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")
