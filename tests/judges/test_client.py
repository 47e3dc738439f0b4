"""The endpoint client against a real HTTP server that behaves well and badly."""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from assay.errors import ConfigError
from assay.judges.client import Prices, Reply, Request, Usage
from assay.judges.endpoint import Endpoint
from assay.judges.rate_limit import TokenBucket
from assay.judges.retry import Retry, retry_after_s
from assay.messages import Message
from tests.judges.fake_server import KEY, FakeServer, serving

QUICK = Retry(attempts=3, base_s=0.01, cap_s=0.05)
SCHEMA = {"type": "object", "properties": {"choice": {"enum": ["A", "B"]}}}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with serving() as running:
        yield running


def client(server: FakeServer, **settings: object) -> Endpoint:
    defaults: dict[str, object] = {"retry": QUICK, "timeout_s": 5.0, "deadline_s": 5.0}
    return Endpoint(server.url, "judge", **(defaults | settings))  # type: ignore[arg-type]


def one(client: Endpoint, text: str) -> Reply:
    (reply,) = client.ask([text])
    return reply


def test_replies_keep_order_and_carry_usage_cost_and_revision(server: FakeServer) -> None:
    judge = client(server, prices=Prices(prompt=2.0, completion=8.0, cached=0.5))
    replies = judge.ask([f"question {i}" for i in range(40)])
    assert [r.text for r in replies] == [f"question {i}"[::-1] for i in range(40)]
    first = replies[0]
    assert first.usage == Usage(1000, 100, 400) and first.finish_reason == "stop"
    # (600 * 2 + 400 * .5 + 100 * 8) / 1e6
    assert first.cost == pytest.approx(0.0022)
    assert (first.model, first.revision, first.attempts) == ("judge-2026-11-30", "fp_1", 1)
    assert client(server, revision="abc").ask(["x"])[0].revision == "abc"
    assert judge.ask([]) == []


def test_the_body_holds_what_was_asked(server: FakeServer) -> None:
    judge = client(server, seed=7, top_p=0.9, extra_body={"min_p": 0.1}, max_tokens=32)
    judge.ask([Request((Message("system", "be strict"), Message("user", "hi")), seed=9)])
    sent = server.seen[-1]
    assert sent == {
        "model": "judge",
        "messages": [
            {"role": "system", "content": "be strict"},
            {"role": "user", "content": "hi"},
        ],
        "max_tokens": 32,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 9,
        "min_p": 0.1,
    }
    client(server, max_tokens_field="max_completion_tokens", temperature=None).ask(["hi"])
    assert "max_tokens" not in server.seen[-1] and "temperature" not in server.seen[-1]


def test_concurrency_is_used_and_bounded() -> None:
    with serving() as server:
        judge = client(server, concurrency=4)
        start = time.monotonic()
        judge.ask(["slow 0.1"] * 12)
        assert time.monotonic() - start < 1.0  # 1.2 s one by one
        assert server.peak == 4


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
def test_passing_faults_are_retried(server: FakeServer, status: int) -> None:
    reply = one(client(server), f"{status} x2")
    assert (reply.status, reply.attempts) == ("ok", 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_refusals_are_not_retried(server: FakeServer, status: int) -> None:
    reply = one(client(server), f"{status}")
    assert (reply.status, reply.attempts, reply.text) == ("failed", 1, "")
    assert f"status {status}: as you wish; " in reply.error and server.url in reply.error


@pytest.mark.parametrize("fault", ["reset", "garbage", "truncated", "odd", "short"])
def test_broken_transfers_are_retried_and_reported(server: FakeServer, fault: str) -> None:
    reply = one(client(server), f"{fault} once")
    assert (reply.status, reply.attempts) == ("ok", 2)
    reply = one(client(server), fault)
    assert (reply.status, reply.attempts) == ("failed", 3)
    assert "gave up after 3 attempts" in reply.error


def test_failures_are_per_item(server: FakeServer) -> None:
    replies = client(server).ask(["fine", "400", "garbage", "also fine"])
    assert [r.status for r in replies] == ["ok", "failed", "failed", "ok"]


def test_nobody_listens() -> None:
    judge = Endpoint("http://127.0.0.1:9/v1", "judge", retry=QUICK, deadline_s=5.0)
    reply = one(judge, "hi")
    assert reply.status == "failed" and "ConnectError" in reply.error and reply.attempts == 3


def test_retry_after_is_honoured_or_refused(server: FakeServer) -> None:
    start = time.monotonic()
    assert one(client(server), "429 x1 after 0.4").status == "ok"
    assert time.monotonic() - start >= 0.4
    start = time.monotonic()
    reply = one(client(server), "503 after 60")
    assert time.monotonic() - start < 2.0 and reply.status == "failed"
    assert "past the deadline" in reply.error
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert retry_after_s("Mon, 30 Nov 2026 12:00:07 GMT", now) == 7.0
    assert retry_after_s("inf") is None and retry_after_s("nan") is None


@pytest.mark.parametrize("what", ["slow 3", "drip body 3", "drip headers 3"])
def test_item_deadlines_hold_whatever_the_server_does(server: FakeServer, what: str) -> None:
    judge = client(server, timeout_s=5.0, deadline_s=0.3, concurrency=2)
    start = time.monotonic()
    slow, fine = judge.ask([what, "fine"])
    # the drip of headers is cut by the watcher, after one second of grace
    assert time.monotonic() - start < 2.3
    assert slow.status == "failed" and fine.status == "ok"


def test_what_is_unfinished_at_the_batch_deadline_has_failed(server: FakeServer) -> None:
    judge = client(server, concurrency=2, batch_deadline_s=0.5)
    start = time.monotonic()
    replies = judge.ask(["fine", "slow 2", "slow 2", "never begun"])
    assert time.monotonic() - start < 1.0
    assert [r.status for r in replies] == ["ok", "failed", "failed", "failed"]
    assert "batch deadline of 0.5 s" in replies[3].error
    assert one(judge, "next batch").status == "ok"


def test_slow_attempts_are_cut_and_tried_again(server: FakeServer) -> None:
    reply = one(client(server, timeout_s=0.2), "slow 1")
    assert reply.status == "failed" and reply.attempts == 3 and "ReadTimeout" in reply.error


def test_request_rate_is_limited() -> None:
    with serving() as server:
        judge = client(server, requests_per_minute=600.0)  # ten a second, burst of ten
        judge.ask([f"q{i}" for i in range(14)])
        assert server.times[-1] - server.times[0] >= 0.35
        with pytest.raises(ConfigError, match="requests_per_minute must be > 0"):
            client(server, requests_per_minute=0)


def test_token_bucket_overdraws_and_settles() -> None:
    bucket = TokenBucket(600, burst_s=2)  # ten a second, twenty at most
    assert bucket.reserve(20, now=0.0) == 0.0
    assert bucket.reserve(50, now=0.0) == 5.0  # larger than the bucket: earned in full
    assert bucket.reserve(1, now=1.0) == pytest.approx(4.1)  # behind it, nobody overtakes
    bucket.give_back(41)
    assert bucket.reserve(0, now=1.0) == 0.0
    assert bucket.reserve(20, now=100.0) == 0.0  # never more than the capacity saved
    assert bucket.reserve(10, now=100.0) == 1.0


def test_schema_is_sent_and_a_refusal_is_remembered() -> None:
    request = Request((Message("user", "hi"),), schema=SCHEMA)
    with serving() as server:
        judge = client(server)
        assert judge.ask([request])[0].schema_enforced
        assert server.seen[-1]["response_format"]["json_schema"]["schema"] == SCHEMA
        assert not client(server, structured="off").ask([request])[0].schema_enforced
    with serving(refuses_schema=True) as server:
        judge = client(server, concurrency=1)
        replies = judge.ask([request] * 3)
        assert [(r.status, r.schema_enforced) for r in replies] == [("ok", False)] * 3
        assert ["response_format" in body for body in server.seen] == [True, False, False, False]
        reply = client(server, structured="json_schema").ask([request])[0]
        assert reply.status == "failed" and "not supported" in reply.error
        # a 400 that has nothing to do with the schema does not switch it off
        other = Request((Message("user", "400"),), schema=SCHEMA)
        assert client(server).ask([other])[0].status == "failed"


def test_logprobs(server: FakeServer) -> None:
    reply = one(client(server, top_logprobs=2), "BA")
    assert reply.logprobs is not None
    assert [t.token for t in reply.logprobs] == ["A", "B"]
    assert reply.logprobs[0].top == {"A": -0.1, "B": -2.3}
    assert one(client(server), "BA").logprobs is None


def test_wrong_model_says_what_to_do_and_ends_the_batch() -> None:
    with serving() as server:
        judge = replace(client(server, concurrency=1), model="jugde")
        replies = judge.ask(["a", "b", "c"])
        assert [r.status for r in replies] == ["failed"] * 3
        assert "does not exist; check the model 'jugde'" in replies[2].error
        assert len(server.seen) == 1


def test_keys_show_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(wants_key=True) as server:
        judge = client(server, api_key_env="ASSAY_TEST_KEY")
        monkeypatch.delenv("ASSAY_TEST_KEY", raising=False)
        with pytest.raises(ConfigError, match="ASSAY_TEST_KEY, which is not set"):
            judge.ask(["hi"])
        monkeypatch.setenv("ASSAY_TEST_KEY", KEY)
        echoed = one(judge, "echo key")
        assert echoed.status == "ok" and KEY not in echoed.text
        monkeypatch.setenv("ASSAY_TEST_KEY", KEY + "x")
        refused = one(judge, "hi")
        assert "check the key in ASSAY_TEST_KEY" in refused.error
        monkeypatch.setenv("ASSAY_TEST_KEY", "schlüssel\n" + KEY)
        with pytest.raises(ConfigError, match="characters that no key has") as info:
            judge.ask(["hi"])
        shown = [repr(judge), repr(echoed), repr(refused), str(info.value), judge.fingerprint()]
        shown += [pickle.dumps(judge).decode("latin-1"), caplog.text]
        assert not [text for text in shown if KEY in text]
    for url in ("http://u:p@host/v1", "http://host/v1?key=x", "host/v1", "ftp://host"):
        with pytest.raises(ConfigError, match=r"base_url must"):
            Endpoint(url, "judge")


def test_fingerprint_is_identity_and_parameters(server: FakeServer) -> None:
    judge = client(server)
    same = [replace(judge, concurrency=2), replace(judge, deadline_s=9.0), replace(judge)]
    assert {j.fingerprint() for j in same} == {judge.fingerprint()}
    other = [
        replace(judge, model="m"),
        replace(judge, temperature=0.5),
        replace(judge, seed=1),
        replace(judge, max_tokens=7),
        replace(judge, extra_body={"min_p": 0.1}),
        replace(judge, revision="r"),
        replace(judge, base_url="http://other/v1"),
    ]
    assert len({j.fingerprint() for j in [judge, *other]}) == 8
    # a named revision identifies the model wherever it runs
    named = replace(judge, revision="r")
    assert named.fingerprint() == replace(named, base_url="http://other/v1").fingerprint()


def test_misuse_is_refused(server: FakeServer) -> None:
    for settings, words in [
        ({"model": ""}, "must name a model"),
        ({"structured": "yes"}, "must be one of"),
        ({"concurrency": 0}, "concurrency must be >= 1"),
        ({"deadline_s": 0}, "deadline_s must be > 0"),
        ({"batch_deadline_s": 0}, "batch_deadline_s must be > 0"),
        ({"top_logprobs": 21}, r"must lie in \[0, 20\]"),
        ({"extra_body": {"stream": True}}, r"must not set \['stream'\]"),
    ]:
        with pytest.raises(ConfigError, match=words):
            replace(client(server), **settings)  # type: ignore[arg-type]


def ask_in_child(judge: Endpoint, queue: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    queue.put([r.text for r in judge.ask(["abc"] * 4)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_works_in_daemon_processes_and_after_a_fork(server: FakeServer, method: str) -> None:
    judge = client(server)
    judge.ask(["opened in the parent"])
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=ask_in_child, args=(judge, queue), daemon=True)
    child.start()
    assert queue.get(timeout=30) == ["cba"] * 4
    child.join(10)
    assert one(judge, "abc").text == "cba"
    assert pickle.loads(pickle.dumps(judge)) == judge


def test_works_from_many_threads(server: FakeServer) -> None:
    judge = client(server)
    got: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda i=i: got.append([r.text for r in judge.ask([f"{i}x"] * 5)]))
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted([f"x{i}"] * 5 for i in range(8))
    judge.close()
    assert one(judge, "abc").text == "cba"


def test_a_failing_callback_is_raised_not_swallowed() -> None:
    from assay.judges.dispatch import Dispatch, Limit

    def work(index: int, limit: Limit) -> int:
        if index == 3:
            raise ZeroDivisionError("a bug of ours")
        return index

    with pytest.raises(ZeroDivisionError, match="a bug of ours"):
        Dispatch(5, work, lambda i, why: -1, concurrency=2, deadline_s=1.0).run()


def test_replies_survive_pickling(server: FakeServer) -> None:
    reply = one(client(server, top_logprobs=1), "abc")
    assert pickle.loads(pickle.dumps(reply)) == reply
