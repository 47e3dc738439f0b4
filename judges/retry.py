"""What may be tried again, and when."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from assay.errors import ConfigError

#: Statuses after which the same request may succeed; every 5xx is another.
RETRIED_STATUSES = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential back-off with full jitter: a wait drawn from [0, min(cap, base 2^k)].

    Args:
        attempts: Requests in all, >= 1.
        base_s: Scale of the first wait.
        cap_s: Longest wait of our own; a server may ask for more.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("Full
    Jitter"). Departure: a server's Retry-After is a lower bound.
    """

    attempts: int = 5
    base_s: float = 0.5
    cap_s: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.base_s < 0 or self.cap_s < 0:
            raise ConfigError(f"Retry needs attempts >= 1 and waits >= 0, got {self}")

    def wait_s(self, tried: int, rng: random.Random, retry_after_s: float | None = None) -> float:
        """Seconds to wait after `tried` attempts, at least what the server asked for."""
        top = min(self.cap_s, self.base_s * 2.0 ** min(tried - 1, 60))
        drawn = rng.uniform(0.0, top)
        return drawn if retry_after_s is None else retry_after_s + min(drawn, 1.0)


def may_retry(status: int) -> bool:
    """Whether a response with this status may be followed by another attempt.

    >>> [s for s in (200, 400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 503) if may_retry(s)]
    [408, 409, 425, 429, 500, 503]
    """
    return status in RETRIED_STATUSES or 500 <= status <= 599


def retry_after_s(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds of a Retry-After header (a number or a date), or None where it says nothing.

    >>> retry_after_s("1.5"), retry_after_s("soon"), retry_after_s("-3")
    (1.5, None, None)
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except (TypeError, ValueError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
