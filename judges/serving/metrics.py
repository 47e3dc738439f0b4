"""Prometheus metrics of one server, in a registry of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """Counters, gauges and histograms; their names begin with `assay_`."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter(
            "assay_requests", "Requests answered.", ["endpoint", "status"], **made
        )
        self._seconds = Histogram(
            "assay_request_seconds", "Time of a request.", ["endpoint"], buckets=_SECONDS, **made
        )
        self._scores = Counter(
            "assay_results", "Scores, verdicts and grades given.", ["name", "status"], **made
        )
        self._batch_items = Histogram(
            "assay_batch_items", "Items of a batch.", ["name"], buckets=_ITEMS, **made
        )
        self._batch_seconds = Histogram(
            "assay_batch_seconds", "Time of a batch.", ["name"], buckets=_SECONDS, **made
        )
        self._waiting = Gauge("assay_queue_items", "Items that wait.", ["name"], **made)
        self.under_way = Gauge("assay_requests_under_way", "Requests under way.", **made)
        self.left = Counter("assay_clients_left", "Requests whose client left.", **made)
        # Finding a child by its labels costs more than counting does.
        self._request = lru_cache(4096)(self._requests.labels)
        self._second = lru_cache(1024)(self._seconds.labels)
        self._score = lru_cache(1024)(self._scores.labels)

    def answered(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._request(endpoint, str(status)).inc()
        self._second(endpoint).observe(seconds)

    def given(self, name: str, status: str, count: int = 1) -> None:
        """Count scores, verdicts or grades."""
        self._score(name, status).inc(count)

    def watch(self, name: str, waiting: Callable[[], int]) -> Callable[[int, float], None]:
        """Show a queue's length; returns what is to be told of each batch."""
        self._waiting.labels(name).set_function(waiting)
        items, seconds = self._batch_items.labels(name), self._batch_seconds.labels(name)

        def observe(count: int, took_s: float) -> None:
            items.observe(count)
            seconds.observe(took_s)

        return observe

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)
