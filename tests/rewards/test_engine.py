"""The engine: every sequence as if it were alone, whatever else is in the batch."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError, RewardError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from assay.rewards.batch_plan import (  # noqa: E402
    common_prefix,
    micro_batches,
    share_prefixes,
    waves,
)
from assay.rewards.engine import Batching, Engine  # noqa: E402
from assay.rewards.heads import ClassificationHead, VerdictHead  # noqa: E402
from assay.rewards.model_ways import ways_of  # noqa: E402
from assay.rewards.prefix_cache import reusable  # noqa: E402
from tests.rewards.small_models import (  # noqa: E402
    groups,
    language_model,
    one_by_one,
    reward_model,
)


def scores(model: Any, sequences: list[list[int]], **batching: Any) -> list[float]:
    engine = Engine([model], ClassificationHead(), Batching(**batching))
    return [row[0] for row in engine.score(sequences)]


# --- The plan


def test_prefixes_of_groups_behind_one_system_prompt() -> None:
    system = [1] * 20
    a, b = [*system, *[2] * 50], [*system, *[3] * 50]
    sequences = [[*a, 4], [*b, 4, 5], [*a, 6, 7], [*b, 8], [9, 9]]
    # Two groups of 70 save 140 tokens; one of four with the 20 of the system prompt 60.
    assert {p.length for p in share_prefixes(sequences)} == {0, 70}
    assert sorted(p.rows for p in share_prefixes(sequences) if p.length) == [(0, 2), (1, 3)]


def test_a_prefix_leaves_the_token_that_is_read() -> None:
    short, long = list(range(3, 40)), list(range(3, 60))
    (prefix,) = share_prefixes([short, long])
    assert prefix.length == len(short) - 1
    (prefix,) = share_prefixes([short, long], limits=[30, 56])
    assert prefix.length == 30


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12))
def test_prefixes_partition_and_are_common(sequences: list[list[int]]) -> None:
    prefixes = share_prefixes(sequences, min_length=2)
    assert sorted(row for prefix in prefixes for row in prefix.rows) == list(range(len(sequences)))
    for prefix in prefixes:
        starts = {tuple(sequences[row][: prefix.length]) for row in prefix.rows}
        assert len(starts) == 1
        assert all(len(sequences[row]) > prefix.length for row in prefix.rows)
    for part in waves(prefixes, budget=5):
        assert len(part) == 1 or sum(prefix.length for prefix in part) <= 5
    spread = waves(prefixes, budget=5, parts=3)
    assert sorted(row for part in spread for p in part for row in p.rows) == list(
        range(len(sequences))
    )


def test_one_group_is_divided_among_replicas() -> None:
    whole = [[*range(40), 50 + i] for i in range(8)]
    parts = waves(share_prefixes(whole), 100, parts=4)
    assert [[len(p.rows) for p in part] for part in parts] == [[2], [2], [2], [2]]


def test_rows_of_a_batch_hold_no_more_prefix_than_the_budget() -> None:
    batches = micro_batches([1] * 100, 10_000, held=[50] * 100, held_budget=400)
    assert {len(batch) for batch in batches} == {8, 4}
    assert micro_batches([1, 1], 10, held=[900, 900], held_budget=400) == [[0], [1]]


def test_common_prefix() -> None:
    made = random.Random(0)
    for _ in range(100):
        a = [made.randrange(2) for _ in range(made.randrange(12))]
        b = [made.randrange(2) for _ in range(made.randrange(12))]
        slow = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
        assert common_prefix(a, b) == (min(len(a), len(b)) if slow is None else slow)


# --- The scores


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("budget", [1, 700, 100_000])
def test_equal_to_hugging_face_one_by_one(side: Any, reuse: bool, budget: int) -> None:
    model = reward_model()
    sequences = groups()
    random.Random(1).shuffle(sequences)
    expected = one_by_one(model, sequences)
    got = scores(
        model,
        sequences,
        padding_side=side,
        reuse_prefix=reuse,
        token_budget=budget,
        max_padding=0.9,
        prefix_budget=100,
    )
    assert got == pytest.approx(expected, abs=1e-5)
    assert max(expected) - min(expected) > 0.1


@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_long_sequences_in_pieces(chunk: int) -> None:
    model = reward_model()
    sequences = [*groups(longest=90), list(range(3, 200)) * 3, [5]]
    ways: list[dict[str, Any]] = [{"max_padding": 0.9}, {}, {"padding_side": "left"}]
    for way in ways:
        got = scores(model, sequences, chunk=chunk, **way)
        assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)
    engine = Engine([language_model()], VerdictHead((5, 9)), Batching(chunk=chunk))
    whole = Engine([language_model()], VerdictHead((5, 9)), Batching(reuse_prefix=False))
    for a, b in zip(engine.score(sequences), whole.score(sequences), strict=True):
        assert a == pytest.approx(b, abs=1e-5)


def test_neither_order_nor_company_changes_a_score() -> None:
    model = reward_model()
    sequences = groups()
    together = scores(model, sequences, max_padding=0.5)
    assert scores(model, sequences[::-1], max_padding=0.5)[::-1] == pytest.approx(
        together, abs=1e-5
    )
    assert scores(model, [sequences[5]]) == pytest.approx([together[5]], abs=1e-5)
    assert scores(model, []) == []


def test_work_that_is_saved() -> None:
    model = reward_model()
    prompt = list(range(3, 203))
    sequences = [[*prompt, 5, i] for i in range(3, 11)]
    engine = Engine([model], ClassificationHead(), Batching())
    engine.score([*sequences, sequences[0]])
    # The prompt and the 5 once, then eight tokens; the ninth sequence is the first one again.
    assert engine.stats.computed == 201 + 8
    assert engine.stats.duplicates == 1
    assert engine.stats.tokens == 9 * 202
    assert engine.stats.padding == 0
    engine = Engine([model], ClassificationHead(), Batching())
    engine.score(groups(prompts=4, rollouts=8))
    assert engine.stats.padding_share < 0.05


def test_padding_token_inside_and_at_the_end() -> None:
    """Where the padding token ends a text, transformers reads the token before it; so do we."""
    model = reward_model()
    pad = model.config.pad_token_id
    prompt = list(range(3, 43))
    sequences = [[*prompt, pad, 7, pad], [*prompt, pad, pad], [*prompt, 9], [*prompt, pad, 8]]
    expected = one_by_one(model, sequences)
    for reuse in (True, False):
        got = scores(model, sequences, reuse_prefix=reuse, max_padding=0.9)
        assert got == pytest.approx(expected, abs=1e-5)


def test_without_a_padding_id_rows_run_alone() -> None:
    model = reward_model(pad_token_id=None)
    sequences = groups(prompts=2)
    assert scores(model, sequences) == pytest.approx(one_by_one(model, sequences), abs=1e-5)


def test_encoders_have_no_prefix_to_reuse() -> None:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=320,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            num_labels=1,
            initializer_range=0.2,
        )
    ).eval()
    assert not reusable(model)
    assert reusable(reward_model())
    sequences = groups(prompts=2, longest=60)
    got = scores(model, sequences, max_padding=0.9)
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)


SHAPE: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "pad_token_id": 0,
    "num_labels": 1,
    "initializer_range": 0.2,
}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["BertConfig", "ModernBertConfig", "XLNetConfig"])
def test_models_that_padding_changes(kind: str, side: Any) -> None:
    """Encoders read their first token, XLNet its last one, whatever is padded there."""
    import transformers

    torch.manual_seed(0)
    made = SHAPE | ({"local_attention": 16} if kind == "ModernBertConfig" else {})
    if kind == "XLNetConfig":
        made |= {"n_layer": 2, "n_head": 4, "d_model": 32, "d_inner": 64}
        for name in ("hidden_size", "intermediate_size", "num_hidden_layers"):
            del made[name]
        del made["num_attention_heads"]
    config = getattr(transformers, kind)(**made)
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    sequences = groups(prompts=2, longest=60)
    got = scores(model, sequences, max_padding=0.9, padding_side=side)
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)
    ways = ways_of(ClassificationHead(), model, Batching(padding_side=side))
    assert ways.side == ("left" if kind == "XLNetConfig" else "right")
    assert ways.max_padding > 0


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_positions_that_scale_with_length_leave_rows_alone(kind: str) -> None:
    """transformers scales such positions by the longest row, of a batch or of an earlier one."""
    from transformers import (
        AutoModelForSequenceClassification,
        LlamaConfig,
        Phi3Config,
        PreTrainedConfig,
    )

    def fresh() -> Any:
        torch.manual_seed(0)
        rope: dict[str, Any] = {"rope_type": kind, "rope_theta": 10_000.0}
        config: PreTrainedConfig
        if kind == "dynamic":
            config = LlamaConfig(
                **SHAPE, max_position_embeddings=64, rope_parameters=rope | {"factor": 4.0}
            )
        else:
            factors = {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
            config = Phi3Config(
                **SHAPE,
                max_position_embeddings=512,
                original_max_position_embeddings=64,
                rope_parameters=rope | factors,
            )
        return AutoModelForSequenceClassification.from_config(config).eval()

    sequences = groups(prompts=2, longest=120)
    expected = [one_by_one(fresh(), [sequence])[0] for sequence in sequences]
    model = fresh()
    for way in (sequences, sequences[::-1]):
        got = dict(zip(map(tuple, way), scores(model, way, max_padding=0.9), strict=True))
        assert [got[tuple(s)] for s in sequences] == pytest.approx(expected, abs=1e-5)


def test_sliding_windows_do_without_reuse() -> None:
    from transformers import MistralConfig, MistralForSequenceClassification

    torch.manual_seed(0)
    model = MistralForSequenceClassification(
        MistralConfig(
            vocab_size=320,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            sliding_window=16,
            pad_token_id=0,
            num_labels=1,
            initializer_range=0.2,
        )
    ).eval()
    assert not reusable(model)
    sequences = groups(prompts=2, longest=60)
    got = scores(model, sequences, max_padding=0.9)
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_verdict_logits_equal_the_full_vocabulary(side: Any) -> None:
    model = language_model()
    sequences = groups()
    engine = Engine([model], VerdictHead((5, 9)), Batching(padding_side=side, max_padding=0.9))
    got = engine.score(sequences)
    with torch.inference_mode():
        for sequence, row in zip(sequences, got, strict=True):
            expected = model(input_ids=torch.tensor([sequence])).logits[0, -1, [5, 9]].tolist()
            assert row == pytest.approx(expected, abs=1e-5)


def test_replicas_share_the_work() -> None:
    import copy

    model = reward_model()
    sequences = groups(prompts=6)
    engine = Engine([model, copy.deepcopy(model)], ClassificationHead(), Batching())
    got = [row[0] for row in engine.score(sequences)]
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)


def test_bfloat16_is_near() -> None:
    model = reward_model()
    sequences = groups(prompts=2)
    expected = one_by_one(model, sequences)
    got = scores(model.to(torch.bfloat16), sequences)
    assert got == pytest.approx(expected, abs=0.2)


class Cramped(torch.nn.Module):
    """A model on a device with room for so many tokens in one forward pass."""

    def __init__(self, model: Any, room: int) -> None:
        super().__init__()
        self.model, self.room, self.config = model, room, model.config

    def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
        if input_ids.numel() > self.room:
            raise torch.OutOfMemoryError(f"tried to allocate {input_ids.numel()} tokens")
        return self.model(input_ids=input_ids, attention_mask=attention_mask)


def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    model = reward_model()
    sequences = groups(prompts=4, prompt_length=20, longest=50)
    engine = Engine(
        [Cramped(model, 250)], ClassificationHead(), Batching(token_budget=4000, max_padding=0.9)
    )
    got = [row[0] for row in engine.score(sequences)]
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)
    assert engine.stats.halvings > 0
    first = engine.stats.halvings
    engine.score(sequences)  # the budget stays small: it does not run out again
    assert engine.stats.halvings == first
    with pytest.raises(RewardError, match="one sequence alone does not fit.*max_length"):
        Engine([Cramped(model, 10)], ClassificationHead()).score(sequences)


def test_a_trainers_model_goes_on_training() -> None:
    model = reward_model(attention_dropout=0.5).train()
    sequences = groups(prompts=1)
    first, second = scores(model, sequences), scores(model, sequences)
    assert first == second
    assert model.training


def test_threads_take_turns_with_a_trainers_model() -> None:
    """One thread must not switch dropout on while another one scores."""
    from concurrent.futures import ThreadPoolExecutor

    model = reward_model(attention_dropout=0.5).train()
    sequences = groups(prompts=2, longest=60)
    expected = scores(model, sequences)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: scores(model, sequences), range(12)):
            assert got == pytest.approx(expected, abs=1e-6)
    assert model.training


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_any_mixture_of_lengths(seed: int) -> None:
    made = random.Random(seed)
    sequences = groups(
        made.randrange(1, 4), made.randrange(1, 5), made.randrange(1, 60), seed, longest=80
    )
    model = reward_model()
    got = scores(
        model,
        sequences,
        token_budget=made.randrange(1, 600),
        max_padding=made.random() * 0.9,
        min_prefix=made.randrange(1, 30),
        chunk=made.randrange(1, 100),
        padding_side=made.choice(["left", "right"]),
    )
    assert got == pytest.approx(one_by_one(model, sequences), abs=1e-5)


def test_messages() -> None:
    with pytest.raises(ConfigError, match="padding_side must be one of"):
        Batching(padding_side="top")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"max_padding must be in \[0, 1\), got 1"):
        Batching(max_padding=1)
    with pytest.raises(RewardError, match=r"sequences \[1\] have no tokens"):
        scores(reward_model(), [[1], []])
    with pytest.raises(ConfigError, match=r"has no output 'score'; it has \['logits'\]"):
        Engine([reward_model()], ClassificationHead("score")).score([[3, 4]])
