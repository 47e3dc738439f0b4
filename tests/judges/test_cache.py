"""The score cache: content addressing, many processes, bounds, broken files, full disks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sqlite3
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.fingerprint import configuration_fingerprint
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges.cache import ScoreCache, cache_key
from assay.judges.cached import Cached
from assay.judges.order import BothOrders
from assay.messages import as_messages


@dataclass(frozen=True)
class Longer(Judge):
    """Prefers the longer answer; fails and abstains on request; appends each question to a log."""

    log: Path
    model: str = "m"
    prompt: str = "which is better?"

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        self._note([p.a[0].content for p in pairs])
        return [self._one(p.a[0].content, p.b[0].content) for p in pairs]

    def _one(self, a: str, b: str) -> Verdict:
        if a in ("failed", "abstained"):
            return Verdict(None, status=a, reason="on purpose")  # type: ignore[arg-type]
        return Verdict("A" if len(a) > len(b) else "B", len(a) / (len(a) + len(b)), raw="é")

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        self._note([i.answer[0].content for i in items])
        return [Grade(float(len(i.answer[0].content)), criteria={"x": None}) for i in items]

    def _note(self, texts: list[str]) -> None:
        with self.log.open("a") as file:
            file.writelines(f"{text}\n" for text in texts)

    def asked(self) -> list[str]:
        return self.log.read_text().split("\n")[:-1] if self.log.exists() else []

    def fingerprint(self) -> str:
        return configuration_fingerprint(replace(self, log=Path()))


def pair(a: str, b: str = "bb", **columns: object) -> Pair:
    return Pair(
        as_messages("question", role="user"),
        as_messages(a, role="assistant"),
        as_messages(b, role="assistant"),
        columns,
        id=os.urandom(4).hex(),
    )


@pytest.fixture
def judge(tmp_path: Path) -> Longer:
    return Longer(tmp_path / "log")


def test_asked_once(judge: Longer, tmp_path: Path) -> None:
    cached = Cached(judge, tmp_path / "deep" / "scores.sqlite")
    first = cached.compare([pair("aaa"), pair("a"), pair("aaa")])
    assert judge.asked() == ["aaa", "a"]
    assert [v.choice for v in first] == ["A", "B", "A"] and first[0].p_a == 0.6
    assert cached.compare([pair("a"), pair("new"), pair("aaa")]) == [
        first[1],
        judge._one("new", "bb"),
        first[0],
    ]
    assert judge.asked() == ["aaa", "a", "new"]
    item = Item(as_messages("q", role="user"), as_messages("aaa", role="assistant"))
    grades = [cached.grade([item])[0] for _ in range(2)]
    assert grades[0] == grades[1] == Grade(3.0, criteria={"x": None})
    assert len(judge.asked()) == 4 and cached.compare([]) == []
    assert cached.fingerprint() == judge.fingerprint()


def test_what_changes_the_score_changes_the_key(judge: Longer, tmp_path: Path) -> None:
    path = tmp_path / "scores"
    for changed in [judge, replace(judge, model="n"), replace(judge, prompt="worse?")]:
        Cached(changed, path).compare([pair("aaa")])
    for asked in [pair("aaa", "cc"), pair("aaa", uid=1), pair("aaa", uid="1"), pair("aab")]:
        Cached(judge, path).compare([asked])
    assert len(judge.asked()) == 7
    Cached(judge, path).compare([pair("aaa"), pair("aaa", "cc"), pair("aaa", uid=1)])
    assert len(judge.asked()) == 7
    assert cache_key("f", "compare", "ab", "c") != cache_key("f", "compare", "a", "bc")


def test_columns_that_cannot_be_written_are_never_mixed_up(judge: Longer, tmp_path: Path) -> None:
    cached = Cached(judge, tmp_path / "scores")
    asked = [pair("a", x=Path("p")), pair("a", x=Path("q")), pair("a", x=object())]
    cached.compare(asked)
    cached.compare(asked)
    assert len(judge.asked()) == 4  # the one that cannot be hashed is asked each time


def test_failures_and_abstentions_are_asked_again(judge: Longer, tmp_path: Path) -> None:
    cached = Cached(judge, tmp_path / "scores")
    for _ in range(2):
        verdicts = cached.compare([pair("failed"), pair("abstained"), pair("aaa")])
        assert [v.status for v in verdicts] == ["failed", "abstained", "ok"]
    assert judge.asked() == ["failed", "abstained", "aaa", "failed", "abstained"]
    keeping = Cached(judge, tmp_path / "other", keep_abstained=True)
    for _ in range(2):
        keeping.compare([pair("failed"), pair("abstained")])
    assert judge.asked()[5:] == ["failed", "abstained", "failed"]


def test_a_hit_costs_nothing_and_odd_evidence_breaks_nothing(tmp_path: Path) -> None:
    class Priced(Judge):
        def grade(self, items: Sequence[Item]) -> list[Grade]:
            return [Grade(1.0, cost=0.5, info={"x": float(one.columns["x"])}) for one in items]

        def fingerprint(self) -> str:
            return "priced"

    answer = as_messages("a", role="assistant")
    item, odd = (Item((), answer, {"x": x}) for x in ("1", "inf"))
    cached = Cached(Priced(), tmp_path / "scores")
    assert [grade.cost for grade in cached.grade([item, item, odd])] == [0.5, 0.0, 0.5]
    assert [grade.cost for grade in cached.grade([item, odd])] == [0.0, 0.5]


def test_orders_compose(judge: Longer, tmp_path: Path) -> None:
    cached = BothOrders(Cached(judge, tmp_path / "scores"))
    (first,) = cached.compare([pair("aaa")])
    (swapped,) = cached.compare([pair("aaa").swapped()])
    assert (first.choice, swapped.choice) == ("A", "B") and len(judge.asked()) == 2


def work(cached: Cached, start: int, queue: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    wrong = 0
    for step in range(30):
        pairs = [pair("a" * ((start + step + i) % 40 + 1)) for i in range(8)]
        for p, v in zip(pairs, cached.compare(pairs), strict=True):
            wrong += v.p_a != len(p.a[0].content) / (len(p.a[0].content) + 2)
    queue.put(wrong)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_eight_processes_share_one_file(judge: Longer, tmp_path: Path, method: str) -> None:
    cached = Cached(judge, tmp_path / "scores")
    cached.compare([pair("opened in the parent")])
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    count = 8 if method == "fork" else 2
    children = [context.Process(target=work, args=(cached, 5 * i, queue)) for i in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for child in children:
            child.start()
        assert [queue.get(timeout=60) for _ in children] == [0] * count
    for child in children:
        child.join(20)
        assert child.exitcode == 0
    assert len(cached.cache) == 41
    before = len(judge.asked())
    cached.compare([pair("a" * n) for n in range(1, 41)])
    assert len(judge.asked()) == before
    check = sqlite3.connect(tmp_path / "scores").execute("PRAGMA integrity_check").fetchone()
    assert check == ("ok",)


def test_threads_share_one_connection(judge: Longer, tmp_path: Path) -> None:
    cached = Cached(judge, tmp_path / "scores")
    wrong: list[float] = []

    def run(n: int) -> None:
        for i in range(40):
            (verdict,) = cached.compare([pair("a" * (i % 10 + 1))])
            if verdict.p_a != (i % 10 + 1) / (i % 10 + 3):
                wrong.append(n)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(cached.cache) == 10


def test_least_recently_used_entries_go(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path / "scores", max_mb=0.25)
    keys = [cache_key("f", "k", i) for i in range(1000)]
    favourite = cache_key("f", "k", "favourite")
    cache.put({favourite: "kept"})
    for start in range(0, 1000, 20):
        cache.put({key: "x" * 1000 for key in keys[start : start + 20]})
        assert cache.get([favourite]) == ["kept"]  # used again and again: it stays
    found = [value is not None for value in cache.get(keys)]
    assert 0 < sum(found) < 300 and found[-1] and not found[0]
    cache.close()
    assert (tmp_path / "scores").stat().st_size < 600_000
    with pytest.raises(ConfigError, match="max_mb must be >= 0.1"):
        ScoreCache(tmp_path, max_mb=0)


@pytest.mark.parametrize("damage", ["garbage", "header", "middle"])
def test_corrupted_files_are_moved_aside(judge: Longer, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "scores"
    cached = Cached(judge, path)
    cached.compare([pair("a" * n) for n in range(1, 200)])
    cached.cache.close()
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        data = bytearray(os.urandom(len(data)))
    elif damage == "header":
        data[:100] = b"\0" * 100
    else:
        data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="is corrupted .* it was moved to .*corrupt-"):
        verdicts = Cached(judge, path).compare([pair("a" * n) for n in range(1, 200)])
    assert [v.p_a for v in verdicts] == [n / (n + 2) for n in range(1, 200)]
    assert len(list(tmp_path.glob("scores.corrupt-*"))) == 1
    count = len(judge.asked())
    Cached(judge, path).compare([pair("a")])
    assert len(judge.asked()) == count  # the new file works


def test_a_flipped_bit_is_a_miss_not_a_wrong_score(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path / "scores")
    key = cache_key("f", "k", 1)
    cache.put({key: {"value": 0.25}})
    cache.close()
    with sqlite3.connect(tmp_path / "scores") as connection:
        (blob,) = connection.execute("SELECT value FROM scores").fetchone()
        connection.execute("UPDATE scores SET value = ?", (blob.replace(b"0.25", b"0.75"),))
    assert cache.get([key]) == [None]


def test_without_a_disk_it_works_and_says_so_once(judge: Longer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="working without the score cache") as seen:
        cached = Cached(judge, tmp_path / "file" / "scores")
        for _ in range(3):
            assert cached.compare([pair("aaa")])[0].choice == "A"
    assert len(seen) == 1 and len(judge.asked()) == 3


def on_a_small_disk(path: str, queue: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))  # writes beyond this fail
    cache = ScoreCache(path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(60):
            cache.put({cache_key("f", "k", i): "x" * 4000})
            cache.get([cache_key("f", "k", i)])
    queue.put([str(w.message) for w in seen])


def test_a_full_disk_turns_it_off(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=on_a_small_disk, args=(str(tmp_path / "scores"), queue))
    child.start()
    (message,) = queue.get(timeout=30)
    child.join(10)
    assert message.startswith("working without the score cache")


def test_pickles_and_shows_its_configuration(judge: Longer, tmp_path: Path) -> None:
    cached = Cached(judge, tmp_path / "scores")
    cached.compare([pair("aaa")])
    copy = pickle.loads(pickle.dumps(cached))
    assert copy == cached and "handle" not in repr(cached)
    assert copy.compare([pair("aaa")])[0].choice == "A" and len(judge.asked()) == 1
    with pytest.raises(TypeError, match="not JSON serializable"):
        copy.cache.put({b"k" * 32: object()})
