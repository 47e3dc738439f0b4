"""The server's own endpoints, limits and access, over real sockets."""

from __future__ import annotations

import concurrent.futures
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("fastapi")

from assay.errors import ConfigError
from assay.judges.serving.app import create_app
from assay.judges.serving.config import ServeConfig
from tests.judges.serving import toys
from tests.judges.serving.running import TOYS, running, served

TABLES: dict[str, Any] = {
    "server": {"max_body_mb": 0.5, "max_items": 50, "allowed_hosts": ["Proxied"]},
    "rewards": served(words="words", rank="rank", answer="answer"),
    "judges": served(longer="longer", both="both", only="only_compares"),
    "complexity": {"static": {"object": "assay.judges.complexity:ComplexityJudge"}},
}
SCORE = "/v1/rewards/words/score"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(TABLES) as address:
        yield address


def post(url: str, path: str, body: Any, **more: Any) -> httpx2.Response:
    return httpx2.post(url + path, json=body, timeout=30, **more)


def rows(*completions: str, **columns: Any) -> dict[str, Any]:
    return {
        "samples": [{"prompt": "q", "completion": text, "columns": columns} for text in completions]
    }


def error(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["message"]


def test_scores_keep_status_parts_and_evidence(url: str) -> None:
    found = post(url, SCORE, rows("a b c", "down", "skip", note="why")).json()
    assert found["reward"] == "words" and found["fingerprint"] == toys.words.fingerprint()
    first, down, skip = found["scores"]
    assert first["value"] == 3.0 and first["passed"] is True and first["note"] == "why"
    assert first["info"] == {"seen": [1, 2], "prompt": "q"}  # a set is no JSON; still sent
    assert (down["value"], down["status"]) == (None, "failed")
    assert (skip["value"], skip["status"]) == (None, "skipped")
    part = post(url, "/v1/rewards/answer/score", rows("it is 4", answer="4")).json()["scores"][0]
    assert part["value"] == 1.0 and part["parts"]["length"]["value"] == 7.0


def test_messages_with_tool_calls(url: str) -> None:
    call = {"function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "4"},
        {"role": "assistant", "content": "it is four"},
    ]
    body = {"samples": [{"prompt": [{"role": "user", "content": "?"}], "completion": messages}]}
    assert post(url, SCORE, body).json()["scores"][0]["value"] == 3.0


def test_what_is_wrong_with_a_request_is_said(url: str) -> None:
    assert error(post(url, "/v1/rewards/wodrs/score", rows("a")))[1].endswith(
        "did you mean 'words'?"
    )
    assert error(post(url, SCORE, {"samples": [{"compltion": "a"}]}))[0] == 422
    status, message = error(post(url, SCORE, rows("a", "unusable")))
    assert status == 422 and message == "this row cannot be used"
    assert post(url, SCORE, rows("a", "unusable")).json()["error"]["index"] == 1
    status, message = error(post(url, "/v1/rewards/answer/score", rows("a")))
    assert status == 422 and "needs columns ['answer']" in message
    bad_role = {"samples": [{"completion": [{"role": "robot", "content": "x"}]}]}
    assert "role must be one of" in error(post(url, SCORE, bad_role))[1]
    plain = httpx2.post(url + SCORE, content=b"{", headers={"content-type": "application/json"})
    assert error(plain)[0] == 400
    assert error(httpx2.post(url + SCORE, content=b"{}"))[0] == 415
    assert error(post(url, SCORE, rows(*["a"] * 51)))[0] == 413
    assert error(httpx2.get(url + "/v1/nothing"))[0] == 404
    wrong_verb = httpx2.get(url + SCORE)
    assert error(wrong_verb) == (405, f"{SCORE} does not take GET")
    assert wrong_verb.headers["allow"] == "POST"
    status, message = error(post(url, SCORE, rows("crash")))
    assert status == 500 and "boom" not in message  # what broke stands in the log


def test_text_that_utf8_cannot_hold_is_scored(url: str) -> None:
    headers = {"content-type": "application/json"}
    for body in (
        b'{"samples": [{"completion": "a \\ud800"}]}',
        json.dumps(rows("a \ud800")).encode(),
    ):
        found = httpx2.post(url + SCORE, content=body, headers=headers)
        assert found.json()["scores"][0]["value"] == 2.0
    broken = httpx2.post(url + SCORE, content=b'{"samples": "\\ud800', headers=headers)
    assert error(broken)[0] == 400


def test_balancers_may_ask_with_head(url: str) -> None:
    for path in ("/health", "/ready"):
        found = httpx2.head(url + path)
        assert found.status_code == 200 and found.content == b""


def test_bodies_are_bounded(url: str) -> None:
    assert error(post(url, SCORE, rows("a" * 600_000)))[0] == 413

    def chunks() -> Iterator[bytes]:
        yield b'{"samples": [{"completion": "'
        for _ in range(20):
            yield b"a" * 50_000
        yield b'"}]}'

    headers = {"content-type": "application/json"}
    try:
        done = httpx2.post(url + SCORE, content=chunks(), headers=headers)
        assert done.status_code == 413
    except httpx2.HTTPError:  # the server may hang up on what is still being sent
        pass
    assert post(url, SCORE, rows("still here")).status_code == 200


def test_groups_are_whole_and_never_mixed(url: str) -> None:
    toys.batches.clear()
    path = "/v1/rewards/rank/score"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = [rows("a" * n, "b" * 2 * n, uid="one") for n in range(1, 9)]
        answers = list(pool.map(lambda body: post(url, path, body).json(), bodies))
    assert all([s["value"] for s in answer["scores"]] == [0.5, 1.0] for answer in answers)
    assert toys.batches == [2] * 8  # though they share a uid
    status, message = error(post(url, path, rows("a")))
    assert status == 422 and "give every row a column `uid`" in message


def test_judges(url: str) -> None:
    pair = {"prompt": "q", "a": "long answer", "b": "short"}
    plain = post(url, "/v1/judges/longer/compare", {"pairs": [pair]}).json()["verdicts"][0]
    assert plain["choice"] == "A" and plain["p_a"] == 0.85 and plain["order_gap"] is None
    both = post(url, "/v1/judges/both/compare", {"pairs": [pair]}).json()["verdicts"][0]
    assert both["p_a"] == 0.75 and both["order_gap"] == pytest.approx(0.2)
    down = post(url, "/v1/judges/longer/compare", {"pairs": [pair | {"a": "down"}]}).json()
    assert down["verdicts"][0]["status"] == "failed"
    assert "the judge is down" in down["verdicts"][0]["reason"]
    item = {"prompt": "q", "answer": "12345"}
    grade = post(url, "/v1/judges/longer/grade", {"items": [item]}).json()["grades"][0]
    assert grade["value"] == 5.0 and grade["criteria"] == {"length": 5.0, "style": None}
    status, message = error(post(url, "/v1/judges/only/grade", {"items": [item]}))
    assert status == 422 and "'only' does not grade" in message
    assert error(post(url, "/v1/judges/x/grade", {"items": [item]}))[0] == 404


def test_complexity(url: str) -> None:
    source = "n = int(input())\nfor i in range(n):\n    for j in range(n):\n        print(i)"
    body = {"programs": [{"source": source}]}
    found = post(url, "/v1/complexity/static/estimate", body).json()["estimates"][0]
    assert found["expression"] == "n^2" and found["evidence"]
    assert error(post(url, "/v1/complexity/x/estimate", body))[0] == 404


def test_what_is_served_is_told(url: str) -> None:
    told = httpx2.get(url + "/v1").json()
    assert [one["name"] for one in told["rewards"]] == ["words", "rank", "answer"]
    assert told["rewards"][2]["columns"] == ["answer"]
    assert told["rewards"][1]["scope"] == "group"
    assert told["judges"][2] == {
        "name": "only",
        "fingerprint": "only-compares",
        "compare": True,
        "grade": False,
    }
    assert told["code"] == []
    paths = httpx2.get(url + "/openapi.json").json()["paths"]
    assert "/v1/rewards/{name}/score" in paths
    assert not {"/run_code", "/submit", "/get_reward", "/classify", "/verify"} & paths.keys()
    for path in ("/run_code", "/submit", "/sandbox/run"):
        assert post(url, path, {"code": "print(1)", "language": "python"}).status_code == 404
    assert "swagger" in httpx2.get(url + "/docs").text.lower()


def test_metrics(url: str) -> None:
    post(url, SCORE, rows("a b", "down"))
    httpx2.get(url + "/somewhere/else")
    text = httpx2.get(url + "/metrics").text
    assert 'assay_requests_total{endpoint="/v1/rewards/{name}/score",status="200"}' in text
    assert 'assay_results_total{name="words",status="failed"}' in text
    assert 'assay_queue_items{name="words"} 0.0' in text
    assert 'assay_batch_items_count{name="words"}' in text
    assert 'endpoint="other"' in text and "somewhere" not in text  # no label for every typo


def test_requests_share_batches_and_get_their_own_answers() -> None:
    with running({"rewards": served(patient="patient")}) as url:
        toys.batches.clear()
        texts = ["w " * (i + 1) for i in range(40)]
        texts[7], texts[23], texts[31] = "unusable", "crash", "poison"

        def ask(text: str) -> httpx2.Response:
            return post(url, "/v1/rewards/patient/score", rows(text))

        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(ask, texts))
    assert max(toys.batches) > 5
    for i, answer in enumerate(answers):
        if i == 7:
            assert error(answer) == (422, "this row cannot be used")
        elif i == 23:
            assert answer.status_code == 500
        elif i == 31:
            assert answer.json()["scores"][0]["status"] == "failed"
        else:
            assert answer.json()["scores"][0]["value"] == i + 1


def test_full_queue_time_limit_and_clients_that_leave() -> None:
    toys.gate.clear()
    toys.batches.clear()
    tables = {
        "server": {"timeout_s": 1.5},
        "rewards": {"slow": {"object": f"{TOYS}:slow", "batching": {"queue_items": 2}}},
    }
    body = {"samples": [{"completion": "a"}]}
    try:
        with running(tables) as url, concurrent.futures.ThreadPoolExecutor(8) as pool:
            path = "/v1/rewards/slow/score"
            late = pool.submit(post, url, path, body)
            while not toys.batches:
                time.sleep(0.01)
            waiting = [pool.submit(post, url, path, body) for _ in range(2)]
            while "} 2.0" not in _line(url, "assay_queue_items"):
                time.sleep(0.01)
            full = post(url, path, body)
            assert error(full) == (429, "2 items wait for 'slow', 2 may; try again later")
            assert int(full.headers["retry-after"]) >= 1
            for one in (late, *waiting):
                assert error(one.result())[0] == 504
            assert "} 0.0" in _line(url, "assay_queue_items")  # nobody waits, nothing is kept
            leaver = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
            data = json.dumps(body).encode()
            leaver.sendall(
                b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (path.encode(), len(data), data)
            )
            while "} 1.0" not in _line(url, "assay_queue_items"):
                time.sleep(0.01)
            leaver.close()
            while "} 0.0" not in _line(url, "assay_queue_items"):
                time.sleep(0.01)
            while " 1.0" not in _line(url, "assay_clients_left_total"):
                time.sleep(0.01)
            assert toys.batches == [1]  # the leaver's was never begun
            toys.gate.set()
            assert post(url, path, body).json()["scores"][0]["value"] == 1.0
    finally:
        toys.gate.set()


def _line(url: str, name: str) -> str:
    lines = httpx2.get(url + "/metrics").text.splitlines()
    return next(line for line in lines if line.startswith(name))


def test_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "secret-" + "x" * 32
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", token)
    tables = {"server": {"auth": "on"}, "rewards": served(words="words")}
    with running(tables) as url:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": token}):
            refused = post(url, SCORE, rows("a"), headers=headers)
            assert error(refused)[0] == 401
            assert refused.headers["www-authenticate"] == "Bearer"
        right = {"authorization": f"Bearer {token}"}
        assert post(url, SCORE, rows("a"), headers=right).status_code == 200
        for path in ("/v1", "/v1/rewards", "/metrics"):
            assert httpx2.get(url + path).status_code == 401
        for path in ("/", "/health", "/ready"):
            assert httpx2.get(url + path).status_code == 200


def test_a_page_of_another_site_reaches_nothing(url: str) -> None:
    evil = post(url, SCORE, rows("a"), headers={"host": "evil.example"})
    assert error(evil)[0] == 403
    for host in ("localhost:1", "127.0.0.1", "[::1]:8070", "127.8.8.8", "proxied"):
        assert post(url, SCORE, rows("a"), headers={"host": host}).status_code == 200
    for host in ("localhost:80@evil.example", "localhost.evil.example", "[::2]", "10.0.0.1", ""):
        assert post(url, SCORE, rows("a"), headers={"host": host}).status_code == 403
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        connection.sendall(b"GET /v1 HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 403 ")
    form = {"content-type": "text/plain"}
    plain = httpx2.post(url + SCORE, content=json.dumps(rows("a")), headers=form)
    assert error(plain)[0] == 415


def test_replicas() -> None:
    two = {"object": [f"{TOYS}:words", f"{TOYS}:words_again"]}
    with running({"rewards": {"words": two}}) as url:
        assert post(url, SCORE, rows("a b")).json()["scores"][0]["value"] == 2.0
    other = {"object": [f"{TOYS}:words", f"{TOYS}:other_words"]}
    with pytest.raises(ConfigError, match="different fingerprints"):
        create_app(ServeConfig.of({"rewards": {"words": other}}))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"rewards": served(x="longer")}, "must be a Reward, got Longer"),
        ({"judges": served(x="words")}, "must be a Judge, got Words"),
        ({"rewards": served(x="absent")}, "has no 'absent'; its rewards are"),
        ({"rewards": {"x": {"object": "words"}}}, r"\[rewards.x\] object must be FILE.py:attr"),
        ({"complexity": {"x": {"object": f"{TOYS}:words"}}}, "must have estimate"),
        ({"rewards": served(x="words"), "openrlhf": {"reward": "x", "raw": True}}, "score_inputs"),
        ({"code": {"endpoints": ["run_code"], "object": f"{TOYS}:words"}}, "must be a Sandbox"),
        ({"rewards": served(x="rank"), "nemo_gym": {"reward": "x"}}, "brings one at a time"),
    ],
)
def test_objects_that_cannot_be_served(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create_app(ServeConfig.of(tables))
