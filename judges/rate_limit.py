"""Rate limits: token buckets shared by the threads of one process."""

from __future__ import annotations

import threading
import time

from assay.errors import ConfigError


class TokenBucket:
    """A bucket that fills at a steady rate and may be overdrawn by whoever is ready to wait.

    Reservations are in order of arrival: nobody overtakes, and a large one is not starved. One that
    is larger than the bucket waits until its whole cost has been earned.

    Args:
        per_minute: Rate at which the bucket fills, > 0.
        burst_s: Its capacity, in seconds of that rate; at least one unit.

    >>> bucket = TokenBucket(60, burst_s=1)
    >>> [bucket.reserve(1, now=100.0) for _ in range(3)]
    [0.0, 1.0, 2.0]
    """

    def __init__(self, per_minute: float, burst_s: float = 1.0) -> None:
        if not 0 < per_minute < float("inf"):
            raise ConfigError(f"a rate limit must be > 0 per minute, got {per_minute}")
        self.rate = per_minute / 60.0
        self.capacity = max(1.0, self.rate * burst_s)
        self._level = self.capacity
        self._then: float | None = None
        self._lock = threading.Lock()

    def reserve(self, cost: float, now: float | None = None) -> float:
        """Take `cost` units; returns how many seconds to wait before using them."""
        with self._lock:
            self._fill(time.monotonic() if now is None else now)
            self._level -= cost
            return max(0.0, -self._level / self.rate)

    def give_back(self, cost: float) -> None:
        """Return units that were not used; a negative number takes what was used beyond."""
        with self._lock:
            self._level = min(self.capacity, self._level + cost)

    def _fill(self, now: float) -> None:
        if self._then is not None and now > self._then:
            self._level = min(self.capacity, self._level + (now - self._then) * self.rate)
        self._then = now if self._then is None else max(self._then, now)


class Pace:
    """Requests and tokens per minute of one endpoint, and the pauses that it asks for."""

    def __init__(
        self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._requests = None if requests_per_minute is None else TokenBucket(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else TokenBucket(tokens_per_minute)
        self._paused_until = 0.0

    def reserve(self, tokens: float) -> float:
        """Seconds to wait before a request of about `tokens` tokens may be sent."""
        now = time.monotonic()
        waits = [self._paused_until - now, 0.0]
        if self._requests is not None:
            waits.append(self._requests.reserve(1.0, now))
        if self._tokens is not None:
            waits.append(self._tokens.reserve(tokens, now))
        return max(waits)

    def cancel(self, tokens: float) -> None:
        """Give back a reservation that was not used."""
        if self._requests is not None:
            self._requests.give_back(1.0)
        self.settle(tokens, 0.0)

    def settle(self, reserved: float, used: float) -> None:
        """Correct a reservation by the tokens really used."""
        if self._tokens is not None:
            self._tokens.give_back(reserved - used)

    def pause(self, seconds: float) -> None:
        """Hold every request back: the server said so."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
