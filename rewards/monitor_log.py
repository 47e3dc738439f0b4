"""Reads a monitor's file after the fact: what grew while the policy trained."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError


@dataclass(frozen=True)
class MonitorReport:
    """A monitor's series, one entry per reward call, ranks averaged.

    Attributes:
        series: Values by name; NaN where a call had none.
        window: Calls at either end that `change` compares.
    """

    series: Mapping[str, Sequence[float]]
    window: int

    __hash__ = None  # type: ignore[assignment]

    @property
    def calls(self) -> int:
        """Number of reward calls."""
        return max(map(len, self.series.values()), default=0)

    def change(self, name: str) -> tuple[float, float]:
        """Mean of the first and of the last `window` calls; NaN where neither has a value."""
        values = self.series.get(name, ())
        return _mean(values[: self.window]), _mean(values[-self.window :])

    def gap(self) -> list[float]:
        """Reward minus held-out reward, each in its own standard deviations since the start.

        (mean_t - mean_0) / std_0 of the reward minus the same of the held-out one. It stays near 0
        while both rise together and grows once the reward rises alone.
        """
        ours = self._risen("mean", "std")
        theirs = self._risen("held_out_mean", "held_out_std")
        return [a - b for a, b in zip(ours, theirs, strict=False)]

    def warnings(self) -> list[str]:
        """What a person should look at, most telling first; empty where nothing stands out.

        Thresholds are ours and mark a change worth a look, not a proof.
        """
        found = []
        gap = [value for value in self.gap() if not math.isnan(value)]
        if gap and _mean(gap[-self.window :]) > 1:
            found.append(
                f"the reward has risen {_mean(gap[-self.window :]):.1f} standard deviations more "
                "than the held-out one"
            )
        for name in ("length", "repetition"):
            first, last = self.change(f"{name}_correlation")
            grown = self.change(f"{name}_mean")
            if last > 0.5 and grown[1] > 1.5 * grown[0]:
                found.append(
                    f"{name} goes along with the reward (correlation {last:.2f}, at the start "
                    f"{first:.2f}) and has grown from {grown[0]:.3g} to {grown[1]:.3g}"
                )
        first, last = self.change("style_r2")
        if last > 0.5 and not last <= first + 0.1:
            found.append(
                f"style explains {last:.0%} of the reward within groups, at first {first:.0%}"
            )
        _, silent = self.change("zero_variance_groups")
        if silent > 0.5:
            found.append(f"{silent:.0%} of the groups have equal rewards and train nothing")
        return found

    def __str__(self) -> str:
        names = [name for name in self.series if not math.isnan(self.change(name)[1])]
        width = max(map(len, names), default=4)
        lines = [f"{'':{width}}  {'first':>10}  {'last':>10}   of {self.calls} calls"]
        for name in names:
            first, last = self.change(name)
            lines.append(f"{name:{width}}  {first:>10.4g}  {last:>10.4g}")
        return "\n".join(lines + [f"! {text}" for text in self.warnings()])

    def _risen(self, mean: str, std: str) -> list[float]:
        values = self.series.get(mean, ())
        start, spread = self.change(mean)[0], self.change(std)[0]
        return [(value - start) / max(spread, 1e-9) for value in values]


def read_monitor(path: str | Path, window: int = 20) -> MonitorReport:
    """Read a monitor's file and those of the other ranks beside it.

    A line that a killed process left unfinished is passed over.

    Args:
        path: As given to `Monitored`.
        window: Calls at either end to compare; at most half of all.

    Raises:
        DataError: No such file, or a line that is not JSON.
    """
    main = Path(path)
    files = sorted({main, *main.parent.glob(f"{main.stem}.rank*{main.suffix}")})
    ranks = [_entries(file) for file in files if file.exists()]
    if not any(ranks):
        raise DataError(f"no monitor entries in {path}; was Monitored(path=...) given this path?")
    calls = max(map(len, ranks))
    names = list(dict.fromkeys(name for rank in ranks for entry in rank for name in entry))
    series = {
        name: [
            _mean([rank[i][name] for rank in ranks if i < len(rank) and name in rank[i]])
            for i in range(calls)
        ]
        for name in names
    }
    return MonitorReport(series, max(1, min(window, calls // 2)))


def _entries(file: Path) -> list[dict[str, float]]:
    entries = []
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            entries.append({str(k): float(v) for k, v in json.loads(line).items()})
        except (ValueError, AttributeError, TypeError) as error:
            if line.startswith(_BEGINNING) and not line.endswith("}"):
                continue  # torn by a kill while it was written
            raise DataError(f"{file}, line {number}: not a monitor entry ({error})") from None
    return entries


#: How every entry begins.
_BEGINNING = '{"rows"'


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
