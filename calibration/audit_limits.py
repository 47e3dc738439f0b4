"""Limits that an audit must keep, for CI: `consistency>=0.8`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.calibration.verdict_audit import JudgeAudit
from assay.errors import ConfigError

_FORM = re.compile(r"\s*(\w+)\s*(<=|>=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Limit:
    """A bound on a figure; on its absolute value where the name starts with `abs_`."""

    figure: str
    at_least: bool
    bound: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read `name>=number` or `name<=number`.

        Raises:
            ConfigError: Anything else.

        >>> Limit.parse("flip_rate<=0.2")
        Limit(figure='flip_rate', at_least=False, bound=0.2)
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise ConfigError(
                f"a limit is NAME>=NUMBER or NAME<=NUMBER, such as consistency>=0.8, got {text!r}"
            )
        return cls(match[1], match[2] == ">=", float(match[3]))

    def __str__(self) -> str:
        return f"{self.figure}{'>=' if self.at_least else '<='}{self.bound:g}"


def broken_limits(audits: Sequence[JudgeAudit], limits: Sequence[Limit]) -> list[str]:
    """What each judge breaks, in words; a figure that the file does not support is broken too."""
    found = []
    for audit in audits:
        for limit in limits:
            value = audit.figures.get(limit.figure.removeprefix("abs_"))
            if value is None:
                have = ", ".join(audit.figures)
                found.append(f"{audit.judge}: no figure {limit.figure}; the file supports {have}")
                continue
            number = abs(value.estimate) if limit.figure.startswith("abs_") else value.estimate
            if not (number >= limit.bound if limit.at_least else number <= limit.bound):
                found.append(f"{audit.judge}: {limit} is broken, it is {number:.3f}")
    return found
