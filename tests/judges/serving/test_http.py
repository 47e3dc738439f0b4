"""Remote and local are interchangeable: `HttpReward` and `HttpJudge` against a real server."""

from __future__ import annotations

import pickle
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

pytest.importorskip("fastapi")

from assay.errors import ConfigError, DataError, JudgeError, RewardError
from assay.judge import Item, Pair
from assay.judges import BothOrders, Connection, HttpJudge, HttpReward
from assay.judges.retry import Retry
from assay.messages import Sample, as_messages
from tests.judges.serving import toys
from tests.judges.serving.running import running, served

TABLES: dict[str, Any] = {
    "rewards": served(words="words", rank="rank", answer="answer"),
    "judges": served(longer="longer", both="both"),
}
ONCE = Retry(attempts=1)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(TABLES) as address:
        yield address


def samples() -> list[Sample]:
    texts = ["one two", "down", "skip", "a b c d", "x" * 10]
    call = {"id": "7", "function": {"name": "f", "arguments": {"x": 1}}}
    talk = [
        {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "7"},
        {"role": "assistant", "content": "it is four now"},
    ]
    rest = Sample.of([{"role": "system", "content": "s"}], talk, {"n": 1}, completion_ids=[1, 2])
    return [Sample.of("q", text, {"note": "n"}) for text in texts] + [rest]


def test_the_same_scores_as_here(url: str) -> None:
    remote = HttpReward.connect(Connection(url, batch_size=2), "words")
    assert remote.fingerprint() == toys.words.fingerprint()
    assert (remote.name, remote.range, remote.scope) == ("words", (0.0, 1000.0), "sample")
    here, there = toys.words.evaluate(samples()), remote.evaluate(samples())
    for mine, theirs in zip(here, there, strict=True):
        assert theirs.to_json() | {"info": 0} == mine.to_json() | {"info": 0}
    assert there[0].info["prompt"] == "q"
    assert remote(completions=["a b"], prompts=["q"]) == [2.0]


def test_columns_and_bad_rows(url: str) -> None:
    remote = HttpReward.connect(Connection(url, batch_size=2), "answer", name="gold")
    assert remote.columns == {"answer"}
    with pytest.raises(DataError, match="needs columns"):
        remote.evaluate([Sample.of("q", "a")])
    words = HttpReward.connect(Connection(url, batch_size=2), "words")
    with pytest.raises(DataError, match="cannot be used") as caught:
        words.evaluate([Sample.of("q", text) for text in ["a", "b", "c", "unusable"]])
    assert caught.value.index == 3  # of the call, not of the request


def test_groups_stay_whole(url: str) -> None:
    remote = HttpReward.connect(Connection(url, batch_size=2), "rank")
    assert remote.scope == "group"
    rows = [Sample.of("q", "x" * n, {"uid": uid}) for n in (1, 2, 3) for uid in ("a", "b")]
    values = [score.value for score in remote.evaluate(rows)]
    assert values == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1, 1])


def test_the_same_opinions_as_here(url: str) -> None:
    remote = HttpJudge.connect(Connection(url, batch_size=2), "longer")
    assert remote.fingerprint() == toys.longer.fingerprint()
    prompt = as_messages("q", role="user")

    def answer(text: str) -> Any:
        return as_messages(text, role="assistant")

    pairs = [Pair(prompt, answer("a" * n), answer("bbb")) for n in range(1, 6)]
    assert remote.compare(pairs) == toys.longer.compare(pairs)
    assert BothOrders(remote).compare(pairs) == BothOrders(toys.longer).compare(pairs)
    items = [Item(prompt, answer("a" * n)) for n in range(1, 6)]
    assert remote.grade(items) == toys.longer.grade(items)
    assert remote.compare([]) == []


def test_a_server_that_is_not_there_gives_failed_scores() -> None:
    dead = Connection("http://127.0.0.1:9", retry=ONCE)
    reward = HttpReward(dead, "words")
    (score,) = reward.evaluate([Sample.of("q", "a")])
    assert score.status == "failed" and "gave up after 1 tries" in score.note
    with pytest.raises(RewardError, match="failed on 1 of the 1 rows"):
        reward(completions=["a"], prompts=["q"])
    prompt, answer = as_messages("q", role="user"), as_messages("a", role="assistant")
    (verdict,) = HttpJudge(dead, "j").compare([Pair(prompt, answer, answer)])
    assert verdict.status == "failed"
    with pytest.raises(RewardError, match="check that the server runs"):
        HttpReward.connect(dead, "words")
    with pytest.raises(JudgeError, match="check that"):
        HttpJudge.connect(dead, "j")


SCORED = b'{"value": 1.0, "status": "scored"}'


@contextmanager
def answering(reply: bytes, pause_s: float = 0.0) -> Iterator[str]:
    """A server that answers everything with the same bytes, then hangs up."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            size = 0
            while (line := self.rfile.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            self.rfile.read(size)
            head, gap, body = reply.partition(b"\r\n\r\n")
            self.wfile.write(head + gap)
            for part in [body] if not pause_s else [bytes([one]) for one in body]:
                time.sleep(pause_s)
                with suppress(OSError):
                    self.wfile.write(part)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def whole(status: int, body: bytes, header: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (status, header, len(body), body)


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (b"", "RemoteProtocolError"),
        (b"HTTP/1.1 200 X\r\nContent-Length: 99\r\n\r\n{", "RemoteProtocolError"),
        (whole(200, b"<html>"), "the answer is not JSON"),
        (whole(200, b"[" * 100_000), "the answer is not JSON"),
        (whole(200, b"[]"), "did not answer with scores"),
        (whole(200, b'{"scores": [%s]}' % SCORED), "1 scores for 2 samples"),
        (whole(200, b'{"scores": [{"value": NaN, "status": "scored"}, %s]}' % SCORED), "finite"),
        (
            whole(200, b'{"scores": [{"value": 1, "status": "scored", "note": 5}, %s]}' % SCORED),
            "note must be text",
        ),
        (whole(422, b'{"error": "odd"}'), "HTTP 422"),
        (whole(429, b"{}", b"Retry-After: 1000000\r\n"), "come again in 1000000 s, more than"),
    ],
)
def test_garbage_is_a_failed_score(reply: bytes, note: str) -> None:
    with answering(reply) as address:
        connection = Connection(address, retry=Retry(attempts=2, base_s=0.01))
        scores = HttpReward(connection, "words").evaluate([Sample.of("q", "a")] * 2)
        assert [score.status for score in scores] == ["failed"] * 2 and note in scores[0].note
        prompt, answer = as_messages("q", role="user"), as_messages("a", role="assistant")
        (verdict,) = HttpJudge(connection, "j").compare([Pair(prompt, answer, answer)])
        assert verdict.status == "failed"
        with pytest.raises(RewardError):
            HttpReward.connect(connection, "words")
        with pytest.raises(JudgeError):
            HttpJudge.connect(connection, "j")


@pytest.mark.parametrize("index", [b"99", b"-1", b"true", b'"a"'])
def test_an_index_that_names_no_row(index: bytes) -> None:
    with answering(whole(422, b'{"error": {"message": "bad", "index": %s}}' % index)) as address:
        reward = HttpReward(Connection(address), "words")
        with pytest.raises(DataError, match="bad") as caught:
            reward.evaluate([Sample.of("q", "a")])
        assert caught.value.index is None


def test_an_answer_that_drips_is_late() -> None:
    with answering(whole(200, b'{"scores": [%s]}' % SCORED), pause_s=0.1) as address:
        reward = HttpReward(Connection(address, timeout_s=0.5, retry=ONCE), "words")
        (score,) = reward.evaluate([Sample.of("q", "a")])
        assert score.status == "failed" and "no whole answer within 0.5 s" in score.note


def test_a_name_that_is_not_served(url: str) -> None:
    connection = Connection(url, retry=ONCE)
    with pytest.raises(RewardError, match="did you mean 'words'"):
        HttpReward.connect(connection, "wrods")
    with pytest.raises(JudgeError, match="its judges are"):
        HttpJudge.connect(connection, "x")


def test_another_reward_behind_the_same_name_is_noticed(url: str) -> None:
    stale = HttpReward(Connection(url), "words", served_fingerprint="0" * 64)
    (score,) = stale.evaluate([Sample.of("q", "a")])
    assert score.status == "failed" and "now serves another 'words'" in score.note


def test_tokens_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", "t" * 32)
    with running({"server": {"auth": "on"}, "rewards": served(words="words")}) as url:
        assert HttpReward.connect(url, "words")(completions=["a b"], prompts=["q"]) == [2.0]
        monkeypatch.setenv("ASSAY_SERVE_TOKEN", "u" * 32)
        with pytest.raises(RewardError, match="put the server's token into ASSAY_SERVE_TOKEN"):
            HttpReward.connect(url, "words")
        monkeypatch.setenv("ASSAY_SERVE_TOKEN", "t\u00f6ken" * 8)
        with pytest.raises(ConfigError, match="not ASCII"):
            HttpReward.connect(url, "words")


def test_handles() -> None:
    reward = HttpReward(Connection("http://h:1", batch_size=4), "words")
    assert pickle.loads(pickle.dumps(reward)) == reward
    same = HttpReward(Connection("http://h:1", concurrency=2), "words")
    assert reward.fingerprint() == same.fingerprint()  # how it is asked changes no score
    assert reward.score([]) == []
    with pytest.raises(ConfigError, match="url .* is none"):
        HttpReward(Connection("http://\u2603"), "words").score([Sample.of("q", "a")])
    with pytest.raises(ConfigError, match="url must start with"):
        Connection("h:1")
    with pytest.raises(ConfigError, match="batch_size must be >= 1"):
        Connection("http://h:1", batch_size=0)
