"""A reward model behind a server that speaks vLLM's pooling routes, a real model inside it."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.errors import ConfigError, RewardError
from assay.messages import Sample

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from assay.rewards.engine import Engine  # noqa: E402
from assay.rewards.heads import ClassificationHead  # noqa: E402
from assay.rewards.pointwise import PointwiseModel, PointwiseReward  # noqa: E402
from assay.rewards.remote import RemotePointwiseModel  # noqa: E402
from tests.rewards.small_models import reward_model, tokenizer  # noqa: E402


class Server(ThreadingHTTPServer):
    """Answers /classify, /pooling and /score as vLLM 0.1x does, in its request and reply forms."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine = Engine([reward_model()], ClassificationHead())
        self.lock = threading.Lock()
        self.busy = 0  # so many requests are answered with 503 first
        self.bodies: list[dict[str, Any]] = []
        self.canned: list[bytes] = []  # what is answered first, with 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            if self.server.busy:
                self.server.busy -= 1
                return self.reply(503, {"error": "overloaded"})
            if self.server.canned:
                return self.send(200, self.server.canned.pop())
        if body.get("model") == "unknown":
            return self.reply(404, {"error": "no such model"})
        if body.get("model") == "chatty":
            return self.reply(200, {"choices": []})
        assert body["use_activation"] is False
        words = tokenizer()
        if "messages" in body:
            text = words.apply_chat_template(
                body["messages"],
                tokenize=False,
                add_generation_prompt=body["add_generation_prompt"],
                continue_final_message=body.get("continue_final_message", False),
            )
            ids = [words(text, add_special_tokens=False)["input_ids"]]
        elif "text_1" in body:
            ids = [words(body["text_1"] + body["text_2"])["input_ids"]]
        else:
            ids = body["input"]
        with self.server.lock:
            values = [row[0] for row in self.server.engine.score(ids)]
        forms: dict[str, Any] = {
            "/classify": lambda i, v: {"index": i, "label": None, "probs": [v], "num_classes": 1},
            "/pooling": lambda i, v: {"index": i, "object": "pooling", "data": [[0.0], [v]]},
            "/score": lambda i, v: {"index": i, "object": "score", "score": v},
        }
        data = [forms[self.path](i, v) for i, v in enumerate(values)]
        self.reply(200, {"object": "list", "data": data[::-1]})

    def reply(self, status: int, body: Any) -> None:
        self.send(status, json.dumps(body).encode())

    def send(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def samples() -> list[Sample]:
    done = [Sample.of("Print a sum.", "print(a + b)" * n) for n in range(1, 6)]
    return [*done, Sample.of("Print a sum.", "print(a +", truncated=True)]


def local(**settings: Any) -> list[float]:
    model = PointwiseModel.of(reward_model(), tokenizer(), **settings)
    return [value.value for value in model.values(samples())]


@pytest.mark.parametrize("route", ["classify", "pooling"])
@pytest.mark.parametrize("words", [True, False])
def test_same_scores_as_here(server: Server, route: Any, words: bool) -> None:
    model = RemotePointwiseModel(
        server.url, route, tokenizer=tokenizer() if words else None, batch_size=2
    )
    scores = PointwiseReward(model).evaluate(samples())
    assert [score.value for score in scores] == pytest.approx(local(), abs=1e-5)
    assert len(server.bodies) == (3 if words else 6)
    assert (scores[-1].info.get("open") is True) == words


def test_cut_here_as_a_local_model_cuts(server: Server) -> None:
    model = RemotePointwiseModel(server.url, tokenizer=tokenizer(), max_length=20)
    got = [value.value for value in model.values(samples())]
    assert got == pytest.approx(local(max_length=20), abs=1e-5)
    assert got != pytest.approx(local(), abs=1e-3)


def test_score_route_sends_two_texts(server: Server) -> None:
    values = RemotePointwiseModel(server.url, "score").values(samples())
    assert len({round(value.value, 5) for value in values}) == 6
    assert server.bodies[0].keys() == {"text_1", "text_2", "use_activation"}


def test_tools_and_model_name_are_sent(server: Server) -> None:
    tools = [{"type": "function", "function": {"name": "add"}}]
    RemotePointwiseModel(server.url, model="rm").values([Sample.of("q", "a", {"tools": tools})])
    assert server.bodies[0]["model"] == "rm"
    assert server.bodies[0]["chat_template_kwargs"] == {"tools": tools}


def test_a_busy_server_is_asked_again(server: Server) -> None:
    server.busy = 2
    model = RemotePointwiseModel(server.url, tokenizer=tokenizer(), concurrency=1)
    assert len(model.values(samples())) == 6
    server.busy = 5
    scores = PointwiseReward(RemotePointwiseModel(server.url, retries=0)).evaluate(samples()[:1])
    assert scores[0].status == "failed"
    assert "after 1 tries (HTTP 503" in scores[0].note


def test_a_refusal_and_a_strange_answer_say_what_came(server: Server) -> None:
    with pytest.raises(RewardError, match="HTTP 404: .*no such model"):
        RemotePointwiseModel(server.url, model="unknown").values(samples())
    with pytest.raises(RewardError, match="did not answer with scores .*choices"):
        RemotePointwiseModel(server.url, model="chatty", retries=0).values(samples())


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [{"index": 0, "probs": [0.',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "probs": [NaN]}]}',
        b'{"data": [{"index": 0, "probs": []}]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "probs": [1]}, {"index": 1, "probs": [2]}]}',
        b'{"data": [{"index": 1, "probs": [1]}]}',
        b"[" * 100_000,
    ],
)
def test_an_unreadable_body_is_asked_for_again(server: Server, body: bytes) -> None:
    good = RemotePointwiseModel(server.url).values(samples()[:1])
    server.canned = [body]
    assert RemotePointwiseModel(server.url).values(samples()[:1]) == good
    server.canned = [body]
    with pytest.raises(RewardError, match="after 1 tries .*did not answer with scores"):
        RemotePointwiseModel(server.url, retries=0).values(samples()[:1])


def test_one_failed_request_takes_only_its_own_rows(server: Server) -> None:
    """Without a tokenizer each sample is a request; the first answered one has no score."""
    model = RemotePointwiseModel(server.url, retries=0, concurrency=1)
    good = model.values(samples())
    server.canned = [b'{"data": [{"index": 0, "probs": [NaN]}]}']
    scores = PointwiseReward(model).evaluate(samples())
    assert [score.status for score in scores] == ["failed"] + ["scored"] * (len(good) - 1)
    assert scores[0].value is None and "no finite number" in scores[0].note
    assert [score.value for score in scores[1:]] == [value.value for value in good[1:]]


def test_a_dead_server_is_a_failure_of_ours() -> None:
    reward = PointwiseReward(RemotePointwiseModel("http://127.0.0.1:9", retries=1, timeout_s=2))
    scores = reward.evaluate(samples())
    assert {score.status for score in scores} == {"failed"}
    with pytest.raises(RewardError, match="failed on 6 of the 6 rows"):
        reward(completions=["a"] * 6, prompts=["q"] * 6)


def test_handle() -> None:
    model = RemotePointwiseModel("http://h:1", headers={"Authorization": "secret"})
    assert pickle.loads(pickle.dumps(model)) == model
    assert "secret" not in repr(model)
    assert model.fingerprint() != RemotePointwiseModel("http://h:1", "pooling").fingerprint()
    with pytest.raises(ConfigError, match="url must start with http://"):
        RemotePointwiseModel("h:1")
    with pytest.raises(ConfigError, match="route must be one of"):
        RemotePointwiseModel("http://h:1", "embed")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_length needs tokenizer="):
        RemotePointwiseModel("http://h:1", max_length=9)
