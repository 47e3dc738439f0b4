"""Through a proxy that gets requests wrong: no score is wrong, none is lost."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("fastapi")

from assay.judges import Connection, HttpReward
from assay.judges.retry import Retry
from assay.messages import Sample
from benchmarks.serving_faults import FaultyProxy
from tests.judges.serving.running import running, served


def test_a_third_of_the_requests_fail_and_every_score_is_right() -> None:
    with running({"rewards": served(words="words")}) as url:
        proxy = FaultyProxy(int(url.rpartition(":")[2]), share=0.3)
        retry = Retry(attempts=20, base_s=0.01, cap_s=0.05)
        connection = Connection(f"http://127.0.0.1:{proxy.port}", batch_size=1, retry=retry)
        reward = HttpReward(connection, "words")
        texts = ["w " * (i % 50 + 1) for i in range(200)]
        scores = reward.evaluate([Sample.of("q", text) for text in texts])
    assert [score.value for score in scores] == [i % 50 + 1 for i in range(200)]
    assert all(proxy.seen[fault] for fault in ("slow", "500", "reset", "garbage"))
    assert threading.active_count() < 100
