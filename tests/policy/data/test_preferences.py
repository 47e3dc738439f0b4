"""Preferences: sources, the strong-versus-weak builder, duplicates, leaks, exports."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from assay.errors import ConfigError, DataError, JudgeError, RewardError
from assay.judge import Item
from assay.judges.checklist import Checklist
from assay.judges.client import Client, Reply, Request
from assay.judges.criteria import Compiles, LengthWithin, RewardPasses
from assay.judges.offline import OfflineJob
from assay.judges.progress import Terminal
from assay.messages import Message, ToolCall
from assay.policy.data.preference_duplicates import (
    deduplicate,
    jaccard,
    leaks,
    near_duplicates,
    shingles,
    without_leaks,
)
from assay.policy.data.preference_job import PreferenceJob
from assay.policy.data.preference_sources import format_of, load_preferences
from assay.policy.data.preferences import (
    Preference,
    shuffled_slots,
    split_by_prompt,
    swap_augmented,
    write_preferences,
)
from assay.policy.data.rollout_exports import (
    best_against_worst,
    best_of_n,
    export_rollouts,
    rejection_sampled,
    scored_rollouts,
)
from assay.policy.data.strong_weak import StrongWeak, WrittenBy
from assay.rewards import PassRate
from tests.samples import FromColumn

DATA = os.environ.get("ASSAY_DATA")
needs_data = pytest.mark.skipif(
    DATA is None, reason="ASSAY_DATA (folder with the real data sets) is unset"
)


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(tmp_path: Path, *rows: Any, format: str = "auto", **options: Any) -> list[Preference]:
    return list(load_preferences(write_rows(tmp_path / "rows.jsonl", rows), format, **options))


# --- the canonical form --------------------------------------------------------------------------


def test_json_round_trip_keeps_everything() -> None:
    call = ToolCall("search", {"q": "x"}, id="7")
    preference = Preference.of(
        [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        [
            Message("assistant", "", tool_calls=(call,), reasoning="think"),
            Message("tool", "result", tool_call_id="7", name="search"),
            Message("assistant", "done"),
        ],
        "no",
        label=2 / 3,
        weight=0.5,
        votes=(1.0, 1.0, 0.0),
        source="hand",
        evidence={"why": "because"},
        columns={"tools": [{"name": "search"}]},
    )
    again = Preference.from_json(json.loads(json.dumps(preference.to_json())))
    assert again == preference
    assert pickle.loads(pickle.dumps(preference)) == preference


def test_swapping_twice_is_the_same_and_keeps_the_id() -> None:
    preference = Preference.of(
        "q", "x", "y", 0.75, votes=(1.0, 0.5), evidence={"a": 1, "b": 2, "c": 3}
    )
    swapped = preference.swapped()
    assert (swapped.label, swapped.votes) == (0.25, (0.0, 0.5))
    assert swapped.evidence == {"a": 2, "b": 1, "c": 3}
    assert swapped.chosen == preference.chosen == preference.a
    assert swapped.id == preference.id == Preference.of("q", "y", "x", 0.0).id
    assert swapped.swapped() == preference


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": 1.2}, r"label must lie in \[0, 1\] .* got 1.2"),
        ({"label": float("nan")}, "label must be a finite number, got nan"),
        ({"label": True}, "label must be a finite number, got True"),
        ({"label": 1.0, "weight": -1.0}, "weight must be >= 0, got -1.0"),
        ({"label": 1.0, "votes": (2,)}, r"votes must lie in \[0, 1\] .* got 2"),
    ],
)
def test_what_is_no_preference(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Preference.of("q", "x", "y", **changes)


def test_an_empty_answer_is_refused() -> None:
    with pytest.raises(DataError, match="empty answer"):
        Preference.of("q", [], "y", 1.0)


# --- sources -------------------------------------------------------------------------------------


def test_chosen_rejected_with_a_prompt(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"prompt": "2+2?", "chosen": "4", "rejected": "5", "id": 3})
    assert (found.prompt[0].content, found.a[0].content, found.b[0].content) == ("2+2?", "4", "5")
    assert (found.label, found.id, found.source) == (1.0, "3", "rows")


def test_chosen_rejected_as_conversations(tmp_path: Path) -> None:
    user = {"role": "user", "content": "2+2?"}
    good, bad = {"role": "assistant", "content": "4"}, {"role": "assistant", "content": "5"}
    implicit, repeated = read(
        tmp_path,
        {"chosen": [user, good], "rejected": [user, bad]},
        {"prompt": "2+2?", "chosen": [user, good], "rejected": [user, bad], "score_chosen": 9},
        format="chosen_rejected",
    )
    for found in (implicit, repeated):
        assert [m.content for m in (*found.prompt, *found.a, *found.b)] == ["2+2?", "4", "5"]
    assert repeated.evidence == {"score_chosen": 9}
    with pytest.raises(DataError, match="row 1: .*there is no 'prompt'"):
        read(tmp_path, {"chosen": "4", "rejected": "5"})
    with pytest.raises(DataError, match="must differ first in an assistant turn"):
        read(tmp_path, {"chosen": [user, good], "rejected": [{**user, "content": "3"}, good]})


def test_hh_transcripts(tmp_path: Path) -> None:
    shared = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nHuman: Tell me\n\nabout it\n\nAssistant:"
    (found,) = read(tmp_path, {"chosen": shared + " Yes.", "rejected": shared + " No."})
    assert [(m.role, m.content) for m in found.prompt] == [
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "Tell me\n\nabout it"),
    ]
    assert (found.a[0].content, found.b[0].content) == ("Yes.", "No.")
    with pytest.raises(DataError, match="transcript must begin with"):
        read(tmp_path, {"chosen": "Yes.", "rejected": "No."}, format="hh")


@pytest.mark.parametrize(
    ("votes", "label"),
    [((1, 1, 1), 1.0), ((2, 2, 2), 0.0), ((0, 0, 0), 0.5), ((1, 1, 0), 5 / 6), ((1, 2, 2), 1 / 3)],
)
def test_annotator_votes(tmp_path: Path, votes: tuple[int, ...], label: float) -> None:
    row = {"instruction": "Sum", "input": "1 2", "response1": "3", "response2": True, "idx": 0}
    row |= {f"annotator{i}": vote for i, vote in enumerate(votes, 1)}
    (found,) = read(tmp_path, row)
    assert found.label == pytest.approx(label)
    assert len(found.votes) == 3
    assert found.prompt[0].content == "Sum\n\n1 2"
    assert found.b[0].content == "True"
    assert found.id == "0"


def test_votes_are_checked(tmp_path: Path) -> None:
    row = {"instruction": "Sum", "response1": "3", "response2": "4"}
    with pytest.raises(DataError, match="needs columns annotator1"):
        read(tmp_path, row)
    with pytest.raises(DataError, match=r"annotator1 must be one of \{0 \(tie\), 1, 2\}, got 3"):
        read(tmp_path, {**row, "annotator1": 3})
    for odd in ([1], {}, "1"):
        with pytest.raises(DataError, match="annotator1 must be one of"):
            read(tmp_path, {**row, "annotator1": odd})
    # A table writes NaN where an annotator said nothing.
    (one,) = read(tmp_path, {**row, "annotator1": 1, "annotator2": float("nan")})
    assert one.votes == (1.0,)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"votes": 3}, "votes must be a list of numbers, got 3"),
        ({"evidence": "x"}, "evidence must be an object, got 'x'"),
        ({"columns": [1]}, r"columns must be an object, got \[1\]"),
        ({"label": 1.2}, r"label must lie in \[0, 1\]"),
        ({"label": float("nan")}, "label must be a finite number"),
    ],
)
def test_wrong_types_are_named(tmp_path: Path, odd: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, {"prompt": "q", "a": "x", "b": "y", "label": 1.0} | odd)


def test_damaged_files_say_so(tmp_path: Path) -> None:
    for name, data in (("x.parquet", b"PAR1junk"), ("x.json", b"[" * 100_000)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match="is damaged|is none"):
            list(load_preferences(tmp_path / name))


def test_what_json_cannot_hold_leaves_no_half_file(tmp_path: Path) -> None:
    bad = Preference.of("q", "x", "y", 1.0, evidence={"score": float("nan")})
    with pytest.raises(DataError, match="row 2 cannot be written as JSON.*leave such values out"):
        write_preferences(tmp_path / "out.jsonl", [Preference.of("q", "x", "y", 1.0), bad])
    assert list(tmp_path.iterdir()) == []


def test_prompts_without_words_and_without_spaces() -> None:
    assert leaks(["\u2211 \u222b = ?"], ["\u00b1 !"]) == []  # two formulas are not one
    # One of 25 signs more: 20 of 21 five-sign shingles are shared.
    asked = "".join(chr(0x4E00 + i) for i in range(24))
    (leak,) = leaks([asked + chr(0x5E00)], [asked])
    assert leak.kind == "near" and leak.overlap == pytest.approx(20 / 21)


@pytest.mark.parametrize(
    ("winner", "label"),
    [("model_a", 1.0), ("model_b", 0.0), ("tie", 0.5), ("tie (bothbad)", 0.5), ("both_bad", 0.5)],
)
def test_arena_battles(tmp_path: Path, winner: str, label: float) -> None:
    def conversation(*texts: str) -> list[dict[str, str]]:
        roles = ("user", "assistant") * 2
        return [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]

    whole = {
        "model_a": "one",
        "model_b": "two",
        "winner": winner,
        "conversation_a": conversation("hi", "a1", "more", "a2"),
        "conversation_b": conversation("hi", "b1", "more", "b2"),
    }
    turns = {
        "winner": winner,
        "prompt": '["hi", "more"]',
        "response_a": '["a1", "a2"]',
        "response_b": '["b1", null]',
    }
    first, second = read(tmp_path, whole, turns)
    assert first.label == second.label == label
    assert first.evidence["model_a"] == "one"
    assert ("both_bad" in first.evidence) == ("bad" in winner)
    assert [m.content for m in first.prompt] == ["hi"]
    assert [m.content for m in first.a] == ["a1", "more", "a2"]
    assert [m.content for m in second.b] == ["b1", "more", ""]


def test_arena_flags_and_errors(tmp_path: Path) -> None:
    row = {"prompt": "hi", "response_a": "a", "response_b": "b"}
    flags = {"winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0}
    (found,) = read(tmp_path, {**row, **flags})
    assert found.label == 0.0
    with pytest.raises(DataError, match="exactly one of winner_model_a"):
        read(tmp_path, {**row, **flags, "winner_tie": 1})
    with pytest.raises(DataError, match="winner must be one of .* got 'me'"):
        read(tmp_path, {**row, "winner": "me"})


def test_judgebench(tmp_path: Path) -> None:
    row = {"pair_id": "p", "question": "q", "response_A": "x", "response_B": "y", "source": "law"}
    found = read(tmp_path, {**row, "label": "A>B"}, {**row, "label": "B>A"})
    assert [p.label for p in found] == [1.0, 0.0]
    assert found[0].evidence == {"subject": "law"}
    with pytest.raises(DataError, match="label must be one of"):
        read(tmp_path, {**row, "label": "A"})


def test_bad_rows_raise_or_are_counted(tmp_path: Path) -> None:
    rows = [
        {"prompt": "q", "chosen": "x", "rejected": "y"},
        {"prompt": "q", "chosen": "x"},
        {"prompt": "q", "chosen": "x", "rejected": "x"},
    ]
    dropped: dict[str, int] = {}
    assert len(read(tmp_path, *rows, dropped=dropped)) == 1
    assert sorted(dropped.values()) == [1, 1]
    assert "both answers are the same" in dropped
    with pytest.raises(DataError, match=r"row 2: columns \['rejected'\] are missing"):
        read(tmp_path, *rows)
    with pytest.raises(DataError, match="cannot tell the preference format"):
        read(tmp_path, {"text": "x"})
    with pytest.raises(ConfigError, match="format must be 'auto' or one of"):
        read(tmp_path, rows[0], format="csv")
    with pytest.raises(DataError, match="there is no file"):
        list(load_preferences(tmp_path / "nothing.jsonl"))


def test_forms_of_files(tmp_path: Path) -> None:
    rows = [{"prompt": f"q{i}", "chosen": "x", "rejected": "y"} for i in range(3)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.json").write_text("\n" + json.dumps(rows, indent=1))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    found = [list(load_preferences(path, source="s")) for path in sorted(tmp_path.iterdir())]
    assert found[0] == found[1] == found[2] == found[3]
    assert len(list(load_preferences(tmp_path / "a.jsonl", limit=2))) == 2
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:-12])
    with pytest.raises(DataError, match="is damaged"):
        list(load_preferences(tmp_path / "c.jsonl.gz"))


def test_written_files_are_read_again(tmp_path: Path) -> None:
    preferences = [Preference.of(f"q{i}", "x", "y", i / 4, source="s") for i in range(5)]
    path = tmp_path / "preferences.jsonl"
    assert write_preferences(path, preferences) == 5
    assert format_of(json.loads(path.read_text().splitlines()[0])) == "canonical"
    assert list(load_preferences(path)) == preferences


@needs_data
def test_real_sets() -> None:
    folder = Path(str(DATA))
    votes = list(load_preferences(folder / "pandalm" / "testset-v1.json.gz"))
    assert len(votes) == 485
    assert sum(p.tie for p in votes) == 42  # three votes for a tie; a 1, a 2 and a tie: none
    assert all(len(p.votes) == 3 for p in votes)
    judged = list(load_preferences(folder / "judgebench" / "pairs_gpt-4o-2024-05-13.jsonl.gz"))
    assert [sum(p.label == x for p in judged) for x in (1.0, 0.0)] == [193, 157]
    chats = list(load_preferences(folder / "hh_rlhf" / "harmless-base_test.jsonl.gz"))
    assert len(chats) == 1138
    assert all(p.prompt[0].role == "user" and p.a[0].role == "assistant" for p in chats)
    found = deduplicate(chats)
    assert len(found.kept) + found.copies + found.merged + found.near == 1138
    assert not without_leaks(found.kept, judged)[1]


# --- orders and splits ---------------------------------------------------------------------------


def test_swap_augmented_holds_both_orders() -> None:
    both = list(swap_augmented([Preference.of("q", "x", "y", 1.0)]))
    assert [(p.a[0].content, p.label) for p in both] == [("x", 1.0), ("y", 0.0)]


def test_slots_are_shuffled_evenly_and_the_same_way_every_time() -> None:
    preferences = [Preference.of(f"q{i}", "x", "y", 1.0) for i in range(1000)]
    shuffled = list(shuffled_slots(preferences, seed=1))
    share = sum(p.label for p in shuffled) / 1000
    assert 0.45 < share < 0.55  # sd .016
    assert list(shuffled_slots(preferences[::-1], seed=1))[::-1] == shuffled
    assert list(shuffled_slots(preferences, seed=2)) != shuffled
    assert all(p.chosen[0].content == "x" for p in shuffled)


def test_a_prompt_is_on_one_side_of_the_split() -> None:
    preferences = [Preference.of(f"q{i % 100}", f"x{i}", "y", 1.0) for i in range(400)]
    train, held_out = split_by_prompt(preferences, 0.3)
    assert len(train) + len(held_out) == 400
    assert not {p.prompt[0].content for p in train} & {p.prompt[0].content for p in held_out}
    assert 60 < len(held_out) < 180  # 120 expected, sd 18
    assert split_by_prompt(preferences[:40], 0.3)[1] == [
        p for p in held_out if p in preferences[:40]
    ]
    with pytest.raises(DataError, match=r"held_out is a share in \[0, 1\], got 20"):
        split_by_prompt(preferences, 20)


# --- strong against weak -------------------------------------------------------------------------

TESTS = [{"stdin": "1 2", "expected": "3"}, {"stdin": "4 5", "expected": "9"}]
GOOD = "```python\nprint(sum(map(int, input().split())))\n```"
WRONG = "```python\nprint(0)\n```"
BROKEN = "```python\nprint((1\n```"


def test_only_labels_that_the_checklist_supports_are_kept() -> None:
    checklist = Checklist({"compiles": Compiles("python"), "tests": RewardPasses(PassRate())})
    rows = [
        {"prompt": "Add.", "strong": GOOD, "weak": WRONG, "tests": TESTS, "id": "kept"},
        {"prompt": "Add.", "strong": WRONG, "weak": GOOD, "tests": TESTS, "id": "wrong way round"},
        {"prompt": "Add.", "strong": WRONG, "weak": BROKEN, "tests": TESTS, "id": "compiles"},
        {
            "prompt": "Add.",
            "strong": GOOD,
            "weak": GOOD + " ",
            "tests": TESTS,
            "id": "no difference",
        },
        {"prompt": "Add.", "strong": GOOD, "weak": " ", "tests": TESTS, "id": "no answer"},
        {"prompt": "Add.", "strong": GOOD, "weak": GOOD, "tests": TESTS, "id": "the same"},
    ]
    built = StrongWeak(checklist, batch_size=4, names=("big", "small"))(rows)
    assert [p.id for p in built] == ["kept", "compiles"]
    assert built.dropped == {
        "contradicted by tests": 1,
        "no criterion tells": 1,
        "no answer from the small": 1,
        "both answers are the same": 1,
    }
    assert (built.rows, built.checked) == (6, 4)
    kept = built.preferences[0]
    assert kept.chosen[0].content == GOOD
    slot = "a" if kept.label == 1.0 else "b"
    assert kept.evidence[slot]["model"] == "big"
    assert kept.evidence[slot]["findings"]["tests"]["answer"] == "yes"
    json.dumps(kept.to_json())


def test_answers_are_generated_where_rows_lack_them() -> None:
    asked: list[int] = []

    def weak(prompts: Sequence[tuple[Message, ...]]) -> list[str | None]:
        asked.append(len(prompts))
        return [None if "bad" in p[-1].content else "word" for p in prompts]

    build = StrongWeak(Checklist({"long": LengthWithin(2)}), weak=weak, batch_size=2)
    rows = [{"prompt": p, "strong": "two words"} for p in ("one", "bad", "three")]
    built = build([*rows, {"prompt": "four", "strong": "two words", "weak": "two  words!"}])
    assert len(built.preferences) == 2
    assert asked == [2, 1]
    assert built.dropped == {"no answer from the weak": 1, "no criterion tells": 1}
    with pytest.raises(
        DataError, match="row 1 has no column 'strong' and StrongWeak.strong is None"
    ):
        build([rows[0], {"prompt": "q"}])
    with pytest.raises(DataError, match="row 0 has no 'prompt'"):
        build([{"strong": "x"}])
    wrong = StrongWeak(Checklist({"long": LengthWithin(2)}), weak=lambda prompts: [])
    with pytest.raises(DataError, match="StrongWeak.weak returned 0 answers for 1 prompts"):
        wrong(rows[:1])


def test_the_strong_answer_takes_either_slot() -> None:
    rows = [{"prompt": f"q{i}", "strong": "two words", "weak": "word"} for i in range(200)]
    built = StrongWeak(Checklist({"long": LengthWithin(2)}))(rows)
    assert 70 < sum(p.label for p in built) < 130  # sd 7
    assert all(p.chosen[0].content == "two words" for p in built)


@dataclass(frozen=True)
class Sometimes(Client):
    """Repeats what it is asked; fails where it reads "bad"."""

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        texts = [request.messages[-1].content for request in requests]
        return [Reply.failed("refused") if "bad" in t else Reply(t) for t in texts]

    def fingerprint(self) -> str:
        return "sometimes"


def test_a_language_model_writes_answers() -> None:
    build = StrongWeak(Checklist({"long": LengthWithin(2)}), strong=WrittenBy(Sometimes()))
    built = build([{"prompt": p, "weak": "word"} for p in ("two words", "bad words")])
    assert [p.chosen[0].content for p in built] == ["two words"]
    assert built.dropped == {"no answer from the strong": 1}


def sometimes_down(item: Item) -> bool:
    if "down" in item.prompt[-1].content:
        raise JudgeError("no answer from the judge")
    return len(item.answer[-1].content) > 4


def test_a_dead_service_is_told_apart_and_raises_beyond_the_limit() -> None:
    rows = [{"prompt": p, "strong": "long one", "weak": "abc"} for p in ("up", "down", "up too")]
    build = StrongWeak(Checklist({"long": sometimes_down}), batch_size=1)
    built = build(rows)
    assert (len(built.preferences), built.dropped) == (2, {"our side failed": 1})
    assert "no answer from the judge" in built.failure
    with pytest.raises(RewardError, match="2 of 2 pairs could not be checked .* JudgeError"):
        build([rows[1], rows[1]])


# --- duplicates and leaks ------------------------------------------------------------------------


def sentence(rng: random.Random, size: int) -> list[str]:
    return [f"w{rng.randrange(5000)}" for _ in range(size)]


def test_near_duplicates_against_all_pairs() -> None:
    rng = random.Random(0)
    texts = []
    for _ in range(30):
        words = sentence(rng, 60)
        texts.append(" ".join(words))
        for changes in (1, 3, 12):  # similarity about .85, .6, .2
            other = list(words)
            for place in rng.sample(range(60), changes):
                other[place] = "changed"
            texts.append(" ".join(other))
    rng.shuffle(texts)
    sets = [shingles(text) for text in texts]
    expected: list[int] = []
    for i, one in enumerate(sets):
        new = [j for j in range(i) if expected[j] == j and jaccard(one, sets[j]) >= 0.8]
        expected.append(max(new, key=lambda j: (jaccard(one, sets[j]), -j)) if new else i)
    assert near_duplicates(texts) == expected
    assert 10 < sum(i != j for i, j in enumerate(expected)) < 60
    assert near_duplicates(["", ""]) == [0, 0]
    with pytest.raises(ConfigError, match="similarity threshold must lie in"):
        near_duplicates(texts, threshold=0)


def test_copies_second_opinions_and_near_duplicates() -> None:
    long = " ".join(str(i) for i in range(60))
    preferences = [
        Preference.of("Q?", "yes", "no", 1.0),
        Preference.of("q", "YES", "No.", 1.0),  # a copy
        Preference.of("q", "no", "yes", 0.0),  # a copy in the other order
        Preference.of("q", "no", "yes", 0.5),  # a second opinion: .5 for "yes"
        Preference.of(long, "x", "y", 1.0),
        Preference.of(long + " sigma", "y", "x", 0.0),  # near, other order
    ]
    found = deduplicate(preferences)
    assert (found.copies, found.merged, found.near) == (2, 1, 1)
    assert [p.prompt[0].content for p in found.kept] == ["Q?", long]
    assert found.kept[0].label == pytest.approx(0.75)
    assert found.kept[0].votes == (1.0, 0.5)
    assert deduplicate(preferences, threshold=2).near == 0
    # Told from the other side, the answer is the same.
    other = deduplicate([p.swapped() for p in preferences])
    assert other.kept[0].label == pytest.approx(0.25)


def test_votes_are_weighed_by_their_number() -> None:
    first = Preference.of("q", "yes", "no", 1.0, votes=(1.0, 1.0, 1.0))
    second = Preference.of("q", "yes", "no", 0.0, votes=(0.0,))
    assert deduplicate([first, second]).kept[0].label == pytest.approx(0.75)


def test_leaks_of_every_kind() -> None:
    rng = random.Random(1)
    words = sentence(rng, 40)
    near = [*words[:20], "other", *words[21:]]
    evaluation = ["What is the capital of France?", " ".join(words)]
    train = [
        "what is the capital of FRANCE",
        " ".join(near),
        " ".join([*sentence(rng, 100), *words[5:40], *sentence(rng, 100)]),
        " ".join([*words[:14], *sentence(rng, 60)]),  # two 13-grams of 28: boilerplate
        "What is the capital of Spain?",
    ]
    found = leaks(train, evaluation, threshold=0.7)
    assert [(leak.train, leak.evaluation, leak.kind) for leak in found] == [
        (0, 0, "same"),
        (1, 1, "near"),
        (2, 1, "contained"),
    ]
    assert found[2].overlap == pytest.approx(23 / 28)  # 35 shared words: 23 of 28 13-grams


def test_leaks_look_at_what_users_wrote() -> None:
    system = {"role": "system", "content": "You are a careful assistant who answers in one line."}
    train = [Preference.of([system, {"role": "user", "content": q}], "x", "y", 1.0) for q in "abc"]
    kept, found = without_leaks(train, [Preference.of("b", "z", "w", 1.0)])
    assert [leak.train for leak in found] == [1]
    assert kept == [train[0], train[2]]


# --- exports from scored files -------------------------------------------------------------------


@pytest.fixture
def scored(tmp_path: Path) -> tuple[Path, Path]:
    """Two prompts with four rollouts each, and one whose scores are missing; scored for real."""
    values: list[Any] = [
        *[(0.25, False), (1.0, True), (1.0, True), (0.5, False)],
        *[(0.0, False), (0.0, False), (0.0, False), "failed"],
        *["abstained", "skipped"],
    ]
    groups = [*["p"] * 4, *["q"] * 4, *["r"] * 2]
    rows = [
        {"prompt": f"prompt {g}", "completion": f"answer {i}", "uid": g, "x": v, "id": f"row{i}"}
        for i, (g, v) in enumerate(zip(groups, values, strict=True))
    ]
    source = write_rows(tmp_path / "rollouts.jsonl", rows)
    output = tmp_path / "scores.jsonl"
    job = OfflineJob(reward=FromColumn(), input=source, output=output, max_error_rate=1.0)
    with Terminal(Console(stderr=True), quiet=True) as listener:
        job.run(listener)
    return source, output


def test_best_of_n(scored: tuple[Path, Path]) -> None:
    dropped: dict[str, int] = {}
    rollouts = scored_rollouts(*scored, dropped)
    assert dropped == {"failed": 1, "abstained": 1, "skipped": 1}
    best = list(best_of_n(rollouts))
    assert [row["id"] for row in best] == ["row1", "row4"]
    assert best[0]["prompt"] == [{"role": "user", "content": "prompt p"}]
    assert best[0]["completion"] == [{"role": "assistant", "content": "answer 1"}]
    assert best[0]["mean_value"] == pytest.approx(2.75 / 4)
    assert [row["id"] for row in best_of_n(rollouts, n=1)] == ["row0", "row4"]
    assert [row["id"] for row in best_of_n(rollouts, min_value=0.1)] == ["row1"]
    with pytest.raises(ConfigError, match="n >= 1, got 0"):
        list(best_of_n(rollouts, n=0))


def test_rejection_sampling(scored: tuple[Path, Path]) -> None:
    rollouts = scored_rollouts(*scored)
    assert [row["id"] for row in rejection_sampled(rollouts)] == ["row1", "row2"]
    assert [row["id"] for row in rejection_sampled(rollouts, per_prompt=1)] == ["row1"]
    assert [row["id"] for row in rejection_sampled(rollouts, min_value=0.5)] == [
        "row1",
        "row2",
        "row3",
    ]
    assert len(list(rejection_sampled(rollouts, min_value=0.0, skip_saturated=True))) == 0
    rows = list(rejection_sampled([*rollouts, rollouts[1]]))
    assert [row["id"] for row in rows] == ["row1", "row2"]  # the same text once


def test_best_against_worst(scored: tuple[Path, Path]) -> None:
    rollouts = scored_rollouts(*scored)
    (found,) = best_against_worst(rollouts)
    assert found.chosen[0].content == "answer 1"
    assert found.rejected[0].content == "answer 0"
    slot = "a" if found.label == 1.0 else "b"
    assert found.evidence[slot] == {"id": "row1", "value": 1.0}
    assert not list(best_against_worst(rollouts, min_gap=0.75))


def test_exports_are_written(tmp_path: Path, scored: tuple[Path, Path]) -> None:
    output = tmp_path / "out.jsonl"
    report = export_rollouts("rejection_sampled", *scored, output, min_value=0.5, per_prompt=2)
    assert report == {
        "rollouts": 7,
        "prompts": 2,
        "written": 2,
        "dropped": {"failed": 1, "abstained": 1, "skipped": 1},
    }
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["row1", "row2"]
    assert export_rollouts("best_against_worst", *scored, output)["written"] == 1
    (pair,) = load_preferences(output)
    assert pair.source == "best_against_worst"
    with pytest.raises(ConfigError, match="kind must be one of .* got 'worst'"):
        export_rollouts("worst", *scored, output)  # type: ignore[arg-type]


def test_files_that_do_not_belong_together(tmp_path: Path, scored: tuple[Path, Path]) -> None:
    other = write_rows(tmp_path / "other.jsonl", [{"id": "elsewhere", "value": 1.0}])
    with pytest.raises(DataError, match="no id of .* stands in"):
        scored_rollouts(scored[0], other)
    twice = write_rows(tmp_path / "twice.jsonl", [{"id": "row0", "value": 1.0}] * 2)
    with pytest.raises(DataError, match="id 'row0' has two scores"):
        scored_rollouts(scored[0], twice)
    with pytest.raises(DataError, match="a score needs 'id' and 'value'"):
        scored_rollouts(scored[0], scored[0])
    silent = write_rows(tmp_path / "silent.jsonl", [{"id": "row0", "value": 1.0, "passed": None}])
    with pytest.raises(DataError, match="do not say `passed`"):
        list(rejection_sampled(scored_rollouts(scored[0], silent)))


# --- the job behind the command ------------------------------------------------------------------


def test_the_job_cleans_splits_and_writes(tmp_path: Path) -> None:
    battles = [
        {"prompt": f"prompt number {i}", "response_a": f"a{i}", "response_b": f"b{i}"}
        | {"winner": ("model_a", "model_b", "tie", "tie (bothbad)")[i % 4]}
        for i in range(40)
    ]
    source = write_rows(tmp_path / "arena.jsonl", [*battles, battles[0], {"prompt": "broken"}])
    other = write_rows(tmp_path / "eval.jsonl", battles[4:6])
    job = PreferenceJob(
        (str(source),),
        str(tmp_path / "train.jsonl"),
        format="arena",
        evaluation=(str(other),),
        held_out=str(tmp_path / "held.jsonl"),
        held_out_share=0.25,
        both_bad=False,
        slots="both",
    )
    report = job.run()
    assert report["read"] == 41
    unread = [reason for reason in report["dropped"] if "winner" in reason]
    assert len(unread) == 1
    expected = {"both bad": 10, "copies": 1, "prompts of the evaluation files": 2, unread[0]: 1}
    assert report["dropped"] == expected
    assert report["leaks"] == {"same": 2}
    train = list(load_preferences(job.output))
    held_out = list(load_preferences(str(job.held_out)))
    assert len(train) == report["written"]
    assert len(held_out) == report["held_out"]
    assert len(train) / 2 + len(held_out) == 28
    assert train[1] == train[0].swapped()
    assert report["sources"] == {"arena": len(train) // 2}
    with pytest.raises(DataError, match="row 42"):
        PreferenceJob((str(source),), job.output, format="arena", strict=True).run()


def test_what_is_no_job() -> None:
    with pytest.raises(ConfigError, match="at least one input file"):
        PreferenceJob((), "out")
    with pytest.raises(ConfigError, match="slots must be one of .* got 'swap'"):
        PreferenceJob(("in",), "out", slots="swap")
    with pytest.raises(ConfigError, match="format must be 'auto' or one of .* got 'csv'"):
        PreferenceJob(("in",), "out", format="csv")
    with pytest.raises(ConfigError, match="near_duplicates must be > 0 or None, got 0"):
        PreferenceJob(("in",), "out", near_duplicates=0)
