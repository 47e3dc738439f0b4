"""Training of reward models: losses against TRL's, metrics, resume, saved folders, both kinds."""

from __future__ import annotations

import json
import math
import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.crossed_pairs import unlabelled_pairs
from assay.policy.data.preferences import Preference, write_preferences
from assay.policy.order_metrics import cross_entropy, pairwise_metrics
from assay.policy.reward_model_config import PairwiseConfig, PointwiseConfig
from assay.policy.reward_model_data import (
    export_stock,
    in_training_order,
    pair_text,
    pairwise_rows,
    pointwise_rows,
    split_preferences,
    stock_rows,
    unlabelled_rows,
)
from assay.policy.reward_models import main, trained_model
from assay.rewards.pair_text import PairText
from assay.rewards.pairwise import PairwiseModel, PairwiseReward
from assay.rewards.pointwise import PointwiseModel, PointwiseReward
from tests.ranks import run_ranks
from tests.samples import sample

pytest.importorskip("trl", reason="training needs assay[train]")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

TEMPLATE = "{history}\nfirst: {first}\nsecond: {second}"
TRL = {
    "max_steps": 4,
    "per_device_train_batch_size": 4,
    "per_device_eval_batch_size": 3,
    "learning_rate": 1e-3,
    "logging_strategy": "no",
    "save_strategy": "no",
    "disable_tqdm": True,
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny Llama."""
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    folder = tmp_path_factory.mktemp("base")
    tokenizer = tiny_tokenizer()
    tiny_llama(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from examples.tiny_models import tiny_tokenizer

    return tiny_tokenizer()


def preferences(count: int = 40, *, ties: bool = True) -> list[Preference]:
    rng = random.Random(0)
    labels = (1.0, 0.0, 2 / 3, 0.5) if ties else (1.0, 0.0)
    return [
        Preference.of(
            f"question {i}: {'x' * rng.randrange(9)}",
            f"print({rng.randrange(1000)})",
            f"return {rng.randrange(1000)} now",
            labels[i % len(labels)],
            source="hand",
        )
        for i in range(count)
    ]


def pairwise(base: Path, output: Path, **changes: Any) -> PairwiseConfig:
    settings: dict[str, Any] = {
        "model": base,
        "data": (),
        "output_dir": output,
        "max_length": 256,
        "near_duplicates": 2.0,
        "held_out": 0.3,
        "template": TEMPLATE,
        "trl": TRL,
    }
    return PairwiseConfig.of(**(settings | changes))


def pointwise(base: Path, output: Path, **changes: Any) -> PointwiseConfig:
    settings: dict[str, Any] = {
        "model": base,
        "data": (),
        "output_dir": output,
        "max_length": 256,
        "near_duplicates": 2.0,
        "held_out": 0.3,
        "trl": TRL,
    }
    return PointwiseConfig.of(**(settings | changes))


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


# --- metrics -------------------------------------------------------------------------------------


def test_metrics_by_hand() -> None:
    # Four pairs: right in both orders; first slot twice; second slot twice; a tie.
    d_ab, d_ba = [2.0, 1.0, -1.0, 0.0], [-2.0, 1.0, -1.0, 0.0]
    found = pairwise_metrics(d_ab, d_ba, [1.0, 1.0, 0.0, 0.5])
    assert found.pairs == 4
    assert found.ties == 0.25
    # Preferred first: pairs 0 and 1 with A first (right, right), pair 2 with B first (wrong).
    assert found.accuracy_preferred_first == pytest.approx(2 / 3)
    # Preferred second: pair 0 right, pair 1 wrong, pair 2 (B second, d_ab < 0) right.
    assert found.accuracy_preferred_second == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.accuracy_both == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert found.accuracy_agree == 1.0
    assert found.flip_rate == 0.5
    # sigmoid(1) = .731059: gaps 0, .462117, -.462117, 0.
    assert found.swap_gap == pytest.approx(0.462117 / 2, abs=1e-6)
    assert found.slot_bias == pytest.approx(0.0)
    assert found.first_slot_rate == pytest.approx((1 + 2 + 0 + 1) / 8)  # 0 counts half, twice
    # Means .88, .5, .5, .5: bin of .88 and of .12 hold one label each, 1 and 0; the rest is .5.
    assert found.resolution == pytest.approx(2 / 8 * 0.25)


def test_a_constant_half_has_no_gap_and_no_resolution() -> None:
    found = pairwise_metrics([0.0] * 6, [0.0] * 6, [1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    assert found.swap_gap == found.flip_rate == found.resolution == 0.0
    assert found.accuracy == found.accuracy_both == found.first_slot_rate == 0.5
    assert "accuracy_agree" not in found.to_json()  # no pair to count


def test_metrics_do_not_depend_on_which_answer_is_called_a() -> None:
    rng = np.random.default_rng(0)
    d_ab, d_ba = rng.normal(0.5, 2, 200), rng.normal(0.5, 2, 200)
    label = rng.choice([0.0, 1 / 3, 0.5, 1.0], 200)
    turn = rng.random(200) < 0.5
    found = pairwise_metrics(d_ab, d_ba, label).to_json()
    turned = pairwise_metrics(
        np.where(turn, d_ba, d_ab), np.where(turn, d_ab, d_ba), np.where(turn, 1 - label, label)
    ).to_json()
    assert found == pytest.approx(turned)


def test_metrics_of_a_slot_bias() -> None:
    s = np.linspace(-3, 3, 301)[np.arange(301) != 150]
    fair, biased = (pairwise_metrics(s + b, -s + b, s > 0) for b in (0.0, 1.0))
    assert (fair.accuracy, fair.flip_rate, fair.swap_gap) == pytest.approx((1.0, 0.0, 0.0))
    assert biased.accuracy_preferred_first == 1.0
    assert biased.accuracy_preferred_second < 0.7
    assert biased.accuracy_both == 1.0  # a constant bias cancels over both orders
    assert biased.first_slot_rate > 0.6
    assert biased.slot_bias == pytest.approx(biased.swap_gap)


def test_metrics_refuse_what_is_none() -> None:
    with pytest.raises(DataError, match="three arrays of one shape"):
        pairwise_metrics([1.0], [1.0, 2.0], [1.0])
    with pytest.raises(DataError, match="logits must be finite"):
        pairwise_metrics([np.inf], [1.0], [1.0])
    with pytest.raises(DataError, match=r"labels must lie in \[0, 1\], got 2.0"):
        pairwise_metrics([1.0], [1.0], [2.0])


def test_cross_entropy_by_hand() -> None:
    # Logits 2.0, 75% right: NLL .6269, and .5623 at T = 1.8205.
    logits, label = np.array([2.0] * 4), [1.0, 1.0, 1.0, 0.0]
    assert cross_entropy(logits, label) == pytest.approx(0.6269, abs=1e-4)
    assert cross_entropy(logits / 1.8205, label) == pytest.approx(0.5623, abs=1e-4)


# --- the trainer ---------------------------------------------------------------------------------


def make_trainer(kind: Any, rows: list[dict[str, Any]], tokenizer: Any, **settings: Any) -> Any:
    import torch
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForSequenceClassification
    from trl import RewardConfig

    torch.manual_seed(0)
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            pad_token_id=tokenizer.pad_token_id,
            num_labels=1,
        )
    )
    center = settings.pop("center_rewards_coefficient", None)
    arguments = RewardConfig(
        "unused",
        max_length=None,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        center_rewards_coefficient=center,
        max_steps=3,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        disable_tqdm=True,
    )
    return kind(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        **settings,
    )


def loss_and_gradient(trainer: Any, count: int = 8) -> tuple[float, Any]:
    import torch

    rows = [trainer.train_dataset[i] for i in range(count)]
    batch = trainer.data_collator(rows)
    trainer.model.eval()
    loss = trainer.compute_loss(trainer.model, batch)
    gradients = torch.autograd.grad(loss, list(trainer.model.parameters()))
    return loss.item(), torch.cat([g.flatten() for g in gradients])


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_trls_stock_trainer_on_the_export_has_our_loss(
    tokenizer: Any, tmp_path: Path, weight: float
) -> None:
    import torch
    from trl import RewardTrainer

    from assay.policy.pairwise_trainer import PairwiseRewardTrainer

    # Hard labels of both kinds: the export shows the preferred answer first.
    data = preferences(12, ties=False)
    text = PairText(TEMPLATE, answer_follows=False)
    path = tmp_path / "stock.jsonl"
    assert export_stock(path, data, text, tokenizer, 256) == 12
    stock = [json.loads(line) for line in path.read_text().splitlines()]
    ours = list(pairwise_rows(data, text, tokenizer, 256))
    theirs = make_trainer(
        RewardTrainer, stock, tokenizer, center_rewards_coefficient=weight or None
    )
    trainer = make_trainer(
        PairwiseRewardTrainer, ours, tokenizer, objective="difference", swap_weight=weight
    )
    loss, gradient = loss_and_gradient(theirs)
    loss_2, gradient_2 = loss_and_gradient(trainer)
    assert loss == pytest.approx(loss_2, rel=1e-6)
    torch.testing.assert_close(gradient, gradient_2, rtol=1e-4, atol=1e-6)


def test_the_balanced_loss_by_hand(tokenizer: Any) -> None:
    import torch
    from torch.nn import functional

    from assay.policy.pairwise_trainer import PairwiseRewardTrainer

    data = [p for p in preferences(8)]
    text = PairText(TEMPLATE, answer_follows=False)
    rows = list(pairwise_rows(data, text, tokenizer, 256))
    for i, row in enumerate(rows):
        row["weight"] = 0.5 + i / 7
    trainer = make_trainer(PairwiseRewardTrainer, rows, tokenizer, swap_weight=0.25, space="prob")
    loss, _ = loss_and_gradient(trainer)
    batch = trainer.data_collator(rows)
    with torch.no_grad():
        d = trainer.model(batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, 0]
    d_ab, d_ba = d.chunk(2)
    y, w = batch["target"], batch["weight"]
    bce = functional.binary_cross_entropy_with_logits
    first = bce(d_ab, y, reduction="none")
    second = bce(d_ba, 1 - y, reduction="none")
    gap = torch.sigmoid(d_ab) + torch.sigmoid(d_ba) - 1
    expected = (w * ((first + second) / 2 + 0.25 * gap**2)).mean()
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    # Swapping A and B of every pair changes nothing.
    turned = list(pairwise_rows([p.swapped() for p in data], text, tokenizer, 256))
    for i, row in enumerate(turned):
        row["weight"] = 0.5 + i / 7
    other = make_trainer(PairwiseRewardTrainer, turned, tokenizer, swap_weight=0.25, space="prob")
    assert loss_and_gradient(other)[0] == pytest.approx(loss, rel=1e-5)


def test_rows_without_a_label_get_the_swap_term_alone(tokenizer: Any) -> None:
    import torch

    from assay.policy.pairwise_trainer import PairwiseRewardTrainer
    from assay.rewards.losses import swap_consistency_loss

    data = preferences(6)
    text = PairText(TEMPLATE, answer_follows=False)
    labelled = list(pairwise_rows(data, text, tokenizer, 256))
    crossed = unlabelled_pairs(data, 1, seed=3)
    assert len(crossed) == 6
    bare = list(unlabelled_rows(crossed, text, tokenizer, 256))
    assert all(math.isnan(row["target"]) for row in bare)

    def loss(rows: list[dict[str, Any]], weight: float) -> float:
        trainer = make_trainer(PairwiseRewardTrainer, rows, tokenizer, swap_weight=weight)
        return loss_and_gradient(trainer, len(rows))[0]

    # Without the term they change nothing; with it, their swap losses join the mean.
    assert loss(labelled + bare, 0.0) == pytest.approx(loss(labelled, 0.0), rel=1e-5)
    trainer = make_trainer(PairwiseRewardTrainer, labelled + bare, tokenizer, swap_weight=0.5)
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(12)])
    with torch.no_grad():
        d_ab, d_ba = torch.chunk(trainer.slot_logits(trainer.model.eval(), batch), 2)
    swap = swap_consistency_loss(d_ab, d_ba).item()
    expected = loss(labelled, 0.0) + 0.5 * swap
    assert loss(labelled + bare, 0.5) == pytest.approx(expected, rel=1e-4)


def test_training_on_unlabelled_pairs_counts_labelled_ones(base: Path, tmp_path: Path) -> None:
    trl = {**TRL, "logging_strategy": "steps", "logging_steps": 1}
    config = pairwise(base, tmp_path / "out", unlabelled_pairs=2, trl=trl)
    trained = main(config, preferences=preferences(24))
    assert trained.train_rows + trained.held_out_rows <= 24
    assert all(math.isfinite(value) for value in trained.metrics.values())
    with pytest.raises(ConfigError, match="unlabelled_pairs = 1 needs a swap_weight > 0"):
        pairwise(base, tmp_path, unlabelled_pairs=1, swap_weight=0.0)


def test_crossed_pairs_are_of_two_answers_and_repeat_themselves() -> None:
    data = preferences(9)
    found = unlabelled_pairs(data, 3, seed=1)
    assert len(found) == 27
    assert all(pair.a != pair.b for pair in found)
    assert found == unlabelled_pairs(data, 3, seed=1) != unlabelled_pairs(data, 3, seed=2)
    assert unlabelled_pairs(data[:1], 3) == unlabelled_pairs(data, 0) == []
    own = [(p.prompt, answer) for p in data for answer in (p.a, p.b)]
    for pair in found:  # one answer is the prompt's own
        assert any((pair.prompt, side) in own for side in (pair.a, pair.b))


def test_evaluation_logs_the_metrics_of_the_whole_set(tokenizer: Any) -> None:
    from assay.policy.pairwise_trainer import PairwiseRewardTrainer

    data = preferences(11)
    rows = list(pairwise_rows(data, PairText(TEMPLATE, answer_follows=False), tokenizer, 256))
    trainer = make_trainer(PairwiseRewardTrainer, rows, tokenizer)
    trainer.args.per_device_eval_batch_size = 4  # batches of 4, 4 and 3
    logged = trainer.evaluate()
    d = trainer.predict(trainer.eval_dataset).predictions
    expected = pairwise_metrics(d[:, 0], d[:, 1], [p.label for p in data]).to_json()
    assert d.shape == (11, 2)
    for name, value in expected.items():
        if name != "pairs":
            assert logged[f"eval_{name}"] == pytest.approx(value, abs=1e-6), name


def test_trainer_settings_are_checked(tokenizer: Any) -> None:
    from assay.policy.pairwise_trainer import PairwiseRewardTrainer

    rows = list(
        pairwise_rows(preferences(4), PairText(TEMPLATE, answer_follows=False), tokenizer, 256)
    )
    with pytest.raises(ConfigError, match="swap_weight must be finite and >= 0, got -1"):
        make_trainer(PairwiseRewardTrainer, rows, tokenizer, swap_weight=-1)
    with pytest.raises(ConfigError, match="objective must be one of"):
        make_trainer(PairwiseRewardTrainer, rows, tokenizer, objective="both")
    with pytest.raises(ConfigError, match="space must be one of"):
        make_trainer(PairwiseRewardTrainer, rows, tokenizer, space="log")
    with pytest.raises(DataError, match=r"the train set lacks columns \['target', 'weight'\]"):
        short = [{k: row[k] for k in ("chosen_ids", "rejected_ids")} for row in rows]
        make_trainer(PairwiseRewardTrainer, short, tokenizer)


# --- data ----------------------------------------------------------------------------------------


def test_rows_are_rendered_as_scoring_renders_them(base: Path, tokenizer: Any) -> None:
    (preference,) = preferences(1)
    text = PairText(TEMPLATE, answer_follows=False)
    (row,) = pairwise_rows([preference], text, tokenizer, 256)
    assert row["chosen_ids"] == list(text.render(tokenizer, preference.pair(), 256).ids)
    assert row["rejected_ids"] == list(text.render(tokenizer, preference.pair().swapped(), 256).ids)
    assert (row["target"], row["weight"]) == (1.0, 1.0)


def test_stock_and_pointwise_rows_leave_ties_out(tokenizer: Any) -> None:
    data = preferences(8)
    text = PairText(TEMPLATE, answer_follows=False)
    stock = list(stock_rows(data, text, tokenizer, 256))
    assert len(stock) == 6
    # Row 1 prefers B: it is shown first in `chosen_ids`.
    shown = text.render(tokenizer, data[1].pair().swapped(), 256)
    assert stock[1]["chosen_ids"] == list(shown.ids)
    rows = list(pointwise_rows(data, tokenizer, 256))
    assert len(rows) == 6
    assert "now" in tokenizer.decode(rows[1]["chosen_ids"])
    assert "now" in tokenizer.decode(rows[0]["rejected_ids"])


def test_margins_come_from_the_rows(tokenizer: Any) -> None:
    data = [
        Preference.of("q", "x", "y", 1.0, evidence=evidence)
        for evidence in ({"margin": 0.5}, {"score_chosen": 8, "score_rejected": 6.5}, {})
    ]
    rows = list(pointwise_rows(data, tokenizer, 256, margin=True))
    assert [row["margin"] for row in rows] == [0.5, 1.5, 0.0]
    for evidence in ({"margin": math.nan}, {"score_chosen": "high", "score_rejected": 1}):
        bad = [Preference.of("q", "x", "y", 1.0, evidence=evidence)]
        with pytest.raises(DataError, match="must be a finite number, got .*margin = false"):
            list(pointwise_rows(bad, tokenizer, 256, margin=True))


def test_scores_of_a_diverged_model_are_no_metrics() -> None:
    from types import SimpleNamespace

    from assay.policy.reward_model_evaluation import evaluate_held_out

    found = SimpleNamespace(predictions=np.array([[1.0, 0.0], [math.nan, 0.0]]))
    trainer = SimpleNamespace(predict=lambda _: found, eval_dataset=None)
    for pairwise in (True, False):
        with pytest.raises(DataError, match="1 of 2 held-out pairs .*diverged"):
            evaluate_held_out(trainer, preferences(2), pairwise=pairwise)


def test_the_split_is_clean_and_says_what_it_left_out(tmp_path: Path) -> None:
    data = preferences(40)
    train, held = tmp_path / "train.jsonl", tmp_path / "held.jsonl"
    write_preferences(train, [*data, data[0]])
    write_preferences(held, data[:3])
    config = PointwiseConfig.of(
        model="m", data=train, held_out_data=held, output_dir=tmp_path, near_duplicates=2.0
    )
    split = split_preferences(config, decided=True)
    assert split.dropped == {"ties": 10, "copies": 1, "training prompts like a held-out one": 3}
    assert len(split.train) == 27
    assert not {p.id for p in split.train} & {p.id for p in split.held_out}
    keep_ties = split_preferences(config, decided=False)
    assert keep_ties.dropped == {"copies": 1, "training prompts like a held-out one": 3}
    with pytest.raises(DataError, match="no preferences are left to train on"):
        split_preferences(config, decided=True, given=data[:3])


def test_weights_get_mean_one_and_slots_are_shuffled(tmp_path: Path) -> None:
    data = [Preference.of(f"q{i}", "x", "y", 1.0, weight=3.0 * (i % 2)) for i in range(100)]
    config = PairwiseConfig.of(model="m", data=(), output_dir=tmp_path)
    shown = in_training_order(data, config)
    assert {p.weight for p in shown} == {0.0, 2.0}
    assert 30 < sum(p.label for p in shown) < 70
    straight = in_training_order(
        data, PairwiseConfig.of(**config.to_json() | {"shuffle_slots": False})
    )
    assert all(p.label == 1.0 for p in straight)
    with pytest.raises(DataError, match="all preferences have weight 0"):
        in_training_order(data[:1], config)


# --- from start to end ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slot_model(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    output = tmp_path_factory.mktemp("slot") / "tiny-slot"
    config = pairwise(base, output, licence="apache-2.0", data_licence="MIT")
    yield output, main(config, preferences=preferences(60))


def test_a_pairwise_model_is_trained_saved_and_used(slot_model: tuple[Path, Any]) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder, trained = slot_model
    data = preferences(60)
    assert trained.folder == folder
    assert trained.train_rows + trained.held_out_rows == 60
    assert trained.metrics["pairs"] == trained.held_out_rows
    json.dumps(trained.to_json())
    # Plain from_pretrained, forward by hand.
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    plain = AutoTokenizer.from_pretrained(folder)
    loaded = trained_model(folder)
    assert isinstance(loaded, PairwiseModel)
    (found,) = loaded.logits([data[0].pair()])
    import torch

    text = PairText(TEMPLATE, answer_follows=False)
    for pair, d in ((data[0].pair(), found.d_ab), (data[0].pair().swapped(), found.d_ba)):
        ids = torch.tensor([text.render(plain, pair, 256).ids])
        with torch.no_grad():
            by_hand = model(ids).logits.item()
        assert by_hand == pytest.approx(d * loaded.temperature, abs=1e-5)
    # It scores what it was evaluated on as the evaluation did.
    split = split_preferences(pairwise(folder, folder), decided=False, given=data)
    logits = loaded.logits([p.pair() for p in split.held_out])
    again = pairwise_metrics(
        [d.d_ab * loaded.temperature for d in logits],
        [(d.d_ba or 0.0) * loaded.temperature for d in logits],
        [p.label for p in split.held_out],
    )
    assert again.to_json() == pytest.approx(trained.metrics, abs=1e-4)
    reward = PairwiseReward(loaded)
    (score,) = reward.evaluate([sample("print(1)", "question", reference="return 2 now")])
    assert score.status == "scored"


def test_the_card_lies_beside_the_weights(slot_model: tuple[Path, Any]) -> None:
    from assay.policy.model_card import read_front_matter

    folder, trained = slot_model
    matter = read_front_matter(folder / "README.md")
    assert matter["license"] == "apache-2.0"
    if trained.temperature is None:
        assert "calibration" not in matter
    else:
        found = matter["calibration"]["temperature"]
        assert found == pytest.approx(trained.temperature, abs=1e-5)
    text = (folder / "README.md").read_text()
    assert "| hand | train |" in text
    assert str(folder.parent) not in text
    assert "trl 1." in text


def test_a_model_learns_what_the_pairs_say(base: Path, tmp_path: Path) -> None:
    by_text = [Preference(p.prompt, p.a, p.b, 1.0, source="hand") for p in preferences(60)]
    trl = {**TRL, "max_steps": 40, "learning_rate": 5e-3, "per_device_train_batch_size": 8}
    learned = main(pairwise(base, tmp_path / "out", trl=trl), preferences=by_text)
    assert learned.metrics["accuracy_both"] > 0.95
    assert learned.metrics["flip_rate"] < 0.1
    assert learned.metrics["swap_gap"] < 0.1
    # The same run on labels turned round prefers the other text.
    turned = [Preference(p.prompt, p.a, p.b, 0.0, source="hand") for p in by_text]
    other = main(pairwise(base, tmp_path / "turned", trl=trl), preferences=turned)
    pair = by_text[0].pair()
    first, second = (trained_model(m.folder).compare([pair])[0] for m in (learned, other))
    assert (first.choice, second.choice) == ("A", "B")


def test_resuming_ends_where_an_uninterrupted_run_does(base: Path, tmp_path: Path) -> None:
    import shutil

    import torch

    trl = {**TRL, "save_strategy": "steps", "save_steps": 2, "lr_scheduler_type": "constant"}
    whole = main(pairwise(base, tmp_path / "whole", trl=trl), preferences=preferences(40))
    assert whole.resumed_from == ""
    # A copy that was stopped after two steps.
    broken = tmp_path / "broken"
    broken.mkdir()
    shutil.copytree(tmp_path / "whole" / "checkpoint-2", broken / "checkpoint-2")
    shutil.copy(tmp_path / "whole" / "assay_run.json", broken)
    resumed = main(pairwise(base, broken, trl=trl), preferences=preferences(40))
    assert resumed.resumed_from == "checkpoint-2"
    assert resumed.metrics == pytest.approx(whole.metrics)
    first, second = weights(tmp_path / "whole"), weights(broken)
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=0, atol=1e-6)
    with pytest.raises(ConfigError, match="resume is off"):
        main(pairwise(base, broken, trl=trl, resume=False), preferences=preferences(40))
    with pytest.raises(ConfigError, match="checkpoint-4 of another configuration"):
        main(pairwise(base, broken, trl=trl, swap_weight=0.1), preferences=preferences(40))


@pytest.mark.parametrize("merge", [True, False])
def test_lora_on_a_verdict_model(base: Path, tmp_path: Path, merge: bool) -> None:
    from transformers import AutoModelForCausalLM

    config = pairwise(
        base, tmp_path / "out", head="verdict", lora={"r": 2, "lora_alpha": 4}, merge_lora=merge
    )
    trained = main(config, preferences=preferences(24))
    assert (trained.folder / "adapter" / "adapter_config.json").is_file() == merge
    assert (trained.folder / "adapter_config.json").is_file() != merge
    loaded = trained_model(trained.folder)
    assert isinstance(loaded, PairwiseModel)
    (verdict,) = loaded.compare([preferences(1)[0].pair()])
    assert verdict.status == "ok"
    if merge:
        model = AutoModelForCausalLM.from_pretrained(trained.folder)
        assert (
            model.config.num_labels == AutoModelForCausalLM.from_pretrained(base).config.num_labels
        )
        before = AutoModelForCausalLM.from_pretrained(base)
        name = "model.layers.0.self_attn.q_proj.weight"
        assert not model.state_dict()[name].equal(before.state_dict()[name])
        assert model.state_dict()["lm_head.weight"].equal(before.state_dict()["lm_head.weight"])


@pytest.mark.parametrize(
    ("changes", "dtype"),
    [
        ({}, "float32"),  # steps of full training are smaller than the last bit of bf16
        ({"lora": {"r": 2}}, "bfloat16"),
        ({"trl": {**TRL, "model_init_kwargs": {"dtype": "bfloat16"}}}, "bfloat16"),
    ],
)
def test_weights_that_are_trained_have_32_bits(
    base: Path, tmp_path: Path, changes: dict[str, Any], dtype: str
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    half = tmp_path / "half"
    AutoModelForCausalLM.from_pretrained(base, dtype="bfloat16").save_pretrained(half)
    AutoTokenizer.from_pretrained(base).save_pretrained(half)
    settings: dict[str, Any] = {"trl": {**TRL, "max_steps": 1}} | changes
    config = pointwise(half, tmp_path / "out", held_out=0.0, **settings)
    saved = weights(main(config, preferences=preferences(12, ties=False)).folder)
    assert {str(tensor.dtype) for tensor in saved.values()} == {f"torch.{dtype}"}


def test_the_head_beside_a_lora_has_32_bits(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    trl = {**TRL, "max_steps": 2, "bf16": True, "learning_rate": 1e-6}
    trl["model_init_kwargs"] = {"dtype": "bfloat16"}
    config = pointwise(base, tmp_path / "out", lora={"r": 2}, trl=trl)
    trained = main(config, preferences=preferences(12, ties=False))
    adapter = load_file(trained.folder / "adapter" / "adapter_model.safetensors")
    head = adapter["base_model.model.score.weight"]
    assert not head.equal(head.bfloat16().float())  # steps this small leave a bf16 weight as it was
    assert trained_model(trained.folder).values([sample("a", "b")])


def test_a_pointwise_model_is_trained_by_trls_trainer(base: Path, tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    write_preferences(
        data, [Preference.of(f"q{i}", "print(1)", "return 2 now", 1.0) for i in range(40)]
    )
    trl = {**TRL, "max_steps": 25, "learning_rate": 5e-3}
    output = tmp_path / "tiny-rm"
    config_file = tmp_path / "rm.toml"
    config_file.write_text(
        f'model = "{base}"\ndata = ["{data}"]\noutput_dir = "{output}"\nmax_length = 256\n'
        "near_duplicates = 2.0\nheld_out = 0.3\n[trl]\n"
        + "".join(f"{k} = {json.dumps(v)}\n" for k, v in trl.items())
    )
    trained = main(PointwiseConfig.from_toml(config_file))
    assert trained.metrics["accuracy"] == 1.0
    assert trained.metrics["accuracy_of_the_longer_answer"] == 0.0  # "print(1)" is the shorter one
    assert trained.metrics["accuracy_preferred_shorter"] == 1.0
    loaded = trained_model(output)
    assert isinstance(loaded, PointwiseModel)
    reward = PointwiseReward(loaded)
    good, bad = reward(completions=["print(1)", "return 2 now"], prompts=["q1", "q1"])
    assert good is not None and bad is not None
    assert good > bad
    assert "pairs.jsonl | train" in (output / "README.md").read_text()


def train_on_this_rank() -> dict[str, Any]:
    """Runs on every rank: a short training, the base model in the folder of the environment."""
    folder = Path(os.environ["ASSAY_TEST_FOLDER"])
    trl = {**TRL, "eval_strategy": "steps", "eval_steps": 4}
    trained = main(pairwise(folder / "base", folder / "out", trl=trl), preferences=preferences(41))
    return trained.to_json()


@pytest.mark.slow
def test_two_ranks_agree_with_one_process_on_the_metrics(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    shutil.copytree(base, tmp_path / "base")
    monkeypatch.setenv("ASSAY_TEST_FOLDER", str(tmp_path))
    first, second = run_ranks("tests.policy.test_reward_models:train_on_this_rank")
    assert "error" not in first, first
    assert first == second
    # The folder holds the model that was evaluated: one process finds the same metrics.
    config = pairwise(base, tmp_path / "none")
    held_out = split_preferences(config, decided=False, given=preferences(41)).held_out
    assert first["held_out_rows"] == len(held_out)
    loaded = trained_model(tmp_path / "out")
    assert isinstance(loaded, PairwiseModel)
    logits = loaded.logits([p.pair() for p in held_out])
    t = loaded.temperature
    found = pairwise_metrics(
        [d.d_ab * t for d in logits],
        [(d.d_ba or 0.0) * t for d in logits],
        [p.label for p in held_out],
    )
    assert found.to_json() == pytest.approx(first["metrics"], abs=1e-3)


def test_no_held_out_pairs(base: Path, tmp_path: Path) -> None:
    trained = main(pointwise(base, tmp_path / "out", held_out=0), preferences=preferences(12))
    assert (trained.metrics, trained.temperature, trained.held_out_rows) == ({}, None, 0)
    assert "no pairs were held out" in (trained.folder / "README.md").read_text()
    config = pointwise(base, tmp_path / "two", held_out=0, trl={**TRL, "eval_strategy": "epoch"})
    with pytest.raises(ConfigError, match="eval_strategy, but no preferences are held out"):
        main(config, preferences=preferences(12))


# --- configuration -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"swap_wieght": 1}, "no setting 'swap_wieght'; did you mean 'swap_weight'"),
        ({"head": "difference"}, "trained with PointwiseConfig"),
        ({"swap_weight": -1.0}, "swap_weight must be finite and >= 0, got -1.0"),
        ({"space": "log"}, "space must be one of"),
        ({"labels": ("A",)}, "labels must be two"),
        ({"held_out": 1.0}, r"share of prompts in \[0, 1\), got 1.0"),
        ({"max_length": 2}, "max_length must be >= 8"),
        ({"trl": {"max_length": 9}}, r"\[trl\] must not set 'max_length'; set 'max_length' beside"),
        ({"trl": {"seed": 9}}, r"\[trl\] must not set 'seed'"),
    ],
)
def test_what_a_configuration_refuses(changes: dict[str, Any], message: str) -> None:
    settings = {"model": "m", "data": "d", "output_dir": "o"} | changes
    with pytest.raises(ConfigError, match=message):
        PairwiseConfig.of(**settings)


def test_trl_options_pass_through_and_unknown_ones_are_named(base: Path, tmp_path: Path) -> None:
    from assay.policy.reward_models import _arguments

    trl = {**TRL, "weight_decay": 0.125, "gradient_accumulation_steps": 3, "optim": "sgd"}
    _, arguments = _arguments(pointwise(base, tmp_path, trl=trl, center_weight=0.5, seed=7))
    for name, value in trl.items():
        assert getattr(arguments, name) == value
    assert (arguments.center_rewards_coefficient, arguments.seed) == (0.5, 7)
    assert arguments.max_length is None  # nothing is dropped for its length
    with pytest.raises(ConfigError, match="which trl.RewardConfig has not; did you mean 'optim'"):
        _arguments(pointwise(base, tmp_path, trl={"optimm": "sgd"}))


def test_toml_files(tmp_path: Path) -> None:
    path = tmp_path / "rm.toml"
    path.write_text('model = "m"\ndata = ["d"]\noutput_dir = "o"\nswap_weight = 2.0\n')
    assert PairwiseConfig.from_toml(path, seed=3).swap_weight == 2.0
    with pytest.raises(ConfigError, match="rm.toml: PointwiseConfig has no setting 'swap_weight'"):
        PointwiseConfig.from_toml(path)
    path.write_text("model = ")
    with pytest.raises(ConfigError, match="is not TOML"):
        PairwiseConfig.from_toml(path)
    with pytest.raises(ConfigError, match="cannot read"):
        PairwiseConfig.from_toml(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"needs \['output_dir'\]"):
        PairwiseConfig.of(model="m", data="d")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give a folder that assay trained"):
        trained_model(tmp_path)


def test_texts_of_the_heads(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": "m", "data": (), "output_dir": tmp_path}
    slot, verdict = (
        pair_text(PairwiseConfig.of(**settings, head=head)) for head in ("slot", "verdict")
    )
    assert (slot.template, slot.answer_follows) == ("pair_slot", False)
    assert (verdict.template, verdict.answer_follows) == ("pair_verdict", True)


def test_policy_is_light_to_import() -> None:
    import subprocess
    import sys

    code = (
        "import sys, assay.policy, assay.policy.reward_models, assay.policy.data.strong_weak\n"
        "print([m for m in ('torch', 'trl', 'transformers', 'datasets') if m in sys.modules])"
    )
    with warnings.catch_warnings():
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr
