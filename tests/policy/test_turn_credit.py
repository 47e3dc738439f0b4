"""Turn credit in a real GRPO run: tokens, masks, losses, ranks, refusals and what is logged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor
from trl import GRPOTrainer

from assay.errors import ConfigError, DataError
from assay.judges.turn_critic import RuleCritic
from assay.messages import Sample
from assay.policy.credit_assignment import Rollout, TurnCredit
from assay.policy.turn_credit import (
    TurnCreditGRPOTrainer,
    last_observation,
    refuse_vanishing_gradient,
    whole_history,
)
from assay.policy.turn_spans import turn_ids
from assay.rewards import Term, TurnReward, WeightedSum
from tests.policy.scripted_rollouts import BAD, GOOD, VAGUE, Marked, batch, trainer
from tests.ranks import run_ranks

#: Rewards 1, 0, 1, 0: mean .5, sample std .5774; A = +-.5 / .5775 = +-.8659.
ROLLOUTS = [[GOOD, BAD, "yes"], [GOOD, "no"], ["yes"], [VAGUE, "no"]]


def per_turn(output: dict[str, Any], values: Tensor) -> list[list[float]]:
    """The value on each turn's tokens, which must all be alike."""
    mask = output["completion_mask"]
    ids = turn_ids(mask * output.get("full_tool_mask", output.get("tool_mask", mask)))
    rows = []
    for row_ids, row in zip(ids, values, strict=True):
        turns = []
        for turn in range(int(row_ids.max()) + 1):
            found = row[row_ids == turn].unique().tolist()
            assert len(found) == 1
            turns.append(round(found[0], 4))
        rows.append(turns)
    return rows


def test_only_one_private_method_of_trl_is_overridden() -> None:
    ours = {name for name in vars(TurnCreditGRPOTrainer) if not name.startswith("__")}
    assert ours & set(dir(GRPOTrainer)) == {"_generate_and_score_completions"}


def test_negative_credit_on_every_token_of_a_failing_turn(tmp_path: Path) -> None:
    made = trainer(tmp_path, ROLLOUTS)
    output = batch(made)
    assert per_turn(output, output["advantages"]) == [
        [0.8659, -0.1341, 0.8659],
        [-0.8659, -0.8659],
        [0.8659],
        [-0.8659, -0.8659],
    ]
    outside = output["completion_mask"] * output["tool_mask"] == 0
    assert not output["advantages"][outside].any()


def test_logged(tmp_path: Path) -> None:
    made = trainer(tmp_path, ROLLOUTS)
    made.train()
    log = made.state.log_history[0]
    # 8 turns: one abstains, one of the other seven fails; at index 1 one of three.
    expected = {
        "turns": 2.0,
        "unjudged": 0.0,
        "abstained": 1 / 8,
        "failing": 1 / 7,
        "failing/tool_call_accuracy": 1 / 8,
        "failing/turn_0": 0.0,
        "failing/turn_1": 1 / 3,
        "failing/turn_2": 0.0,
        "credit": -1 / 8,
        "credit/failing": -1.0,
        "credit/passing": 0.0,
        "masked": 0.0,
    }
    found = {k.removeprefix("turn_credit/"): v for k, v in log.items() if "turn_credit/" in k}
    assert found.pop("seconds") > 0
    assert found == pytest.approx(expected)


def test_mask_takes_the_tokens_out_of_the_loss(tmp_path: Path) -> None:
    plain = batch(trainer(tmp_path, ROLLOUTS, credit=TurnCredit("trajectory")))
    made = trainer(tmp_path, ROLLOUTS, credit=TurnCredit("mask"))
    output = batch(made)
    assert torch.equal(output["advantages"], plain["advantages"])
    assert torch.equal(output["completion_mask"], plain["completion_mask"])  # still in context
    gone = plain["tool_mask"] * plain["completion_mask"] - (
        output["tool_mask"] * output["completion_mask"]
    )
    ids = turn_ids(plain["completion_mask"] * plain["tool_mask"])
    assert torch.equal(gone[0].bool(), ids[0] == 1) and not gone[1:].any()
    assert output["num_items_in_batch"] == plain["num_items_in_batch"] - gone.sum()


def test_masked_turns_have_no_gradient(tmp_path: Path) -> None:
    """What a masked turn says changes nothing: its own loss is gone, its text stays in context."""
    made = trainer(tmp_path, [[BAD, "yes"], [GOOD, "no"]], credit=TurnCredit("mask"))
    output = batch(made)
    ids = turn_ids(output["completion_mask"] * output["tool_mask"])
    assert int(ids[0].max()) == 0  # one run of trained tokens is left
    made._step = 0
    made.current_gradient_accumulation_steps = 1
    loss = made._compute_loss(made.model, output)
    output["advantages"] = output["advantages"].unsqueeze(1) * torch.ones_like(
        output["completion_mask"], dtype=torch.float
    )
    output["advantages"][0, : len(made.processing_class(BAD)["input_ids"])] = 1e6
    assert torch.allclose(loss, made._compute_loss(made.model, output))


def test_abstained_turns_can_be_masked(tmp_path: Path) -> None:
    made = trainer(tmp_path, ROLLOUTS, credit=TurnCredit(on_abstain="mask"))
    output = batch(made)
    ids = turn_ids(output["completion_mask"] * output["tool_mask"])
    assert [int(row.max()) + 1 for row in ids] == [3, 2, 1, 1]
    assert made._metrics["train"]["turn_credit/masked"] == [1 / 8]


@pytest.mark.parametrize("mode", ["additive", "gigpo"])
def test_without_failing_turns_the_loss_is_trls(tmp_path: Path, mode: Any) -> None:
    """All turns pass; one anchor state has one outcome, so gigpo has no step term either."""
    rollouts = [[GOOD, "no"], [GOOD, "no"], [GOOD, "no"], [GOOD, "no"]]
    ours = batch(trainer(tmp_path, rollouts, credit=TurnCredit(mode)))
    assert not ours["advantages"].any()


def test_gigpo_compares_what_was_done_in_the_same_state(tmp_path: Path) -> None:
    """One state (the prompt), four first turns, outcomes 1, 0, 1, 0 after 3, 2, 1 and 2 turns.

    gamma .5, z of the bad second turn -1. Returns at the prompt: 0 + .5 (-1 + .5 (0 + 1)) = -.25;
    0; 1; abstained. Mean .25, sample std .6614: -.7558, -.3779, 1.1337 (with eps 1e-4).
    The states after `seen good` hold -1 + .5 = -.5 and 0: mean -.25, std .35355: -+.7069.
    """
    output = batch(trainer(tmp_path, ROLLOUTS, credit=TurnCredit("gigpo", gamma=0.5)))
    rows = per_turn(output, output["advantages"])
    a = 0.8659
    assert rows[0] == pytest.approx([a - 0.7558, a - 0.7069, a], abs=2e-4)
    assert rows[1] == pytest.approx([-a - 0.3779, -a + 0.7069], abs=2e-4)
    assert rows[2] == pytest.approx([a + 1.1337], abs=2e-4)
    assert rows[3] == pytest.approx([-a, -a], abs=2e-4)


@pytest.mark.parametrize("mode", ["negative", "gigpo"])
def test_evaluation_logs_too(tmp_path: Path, mode: Any) -> None:
    """Eight rows an evaluation batch; TRL's own log keeps four, so gigpo knows no outcomes."""
    made = trainer(
        tmp_path, ROLLOUTS, credit=TurnCredit(mode), per_device_eval_batch_size=8,
        eval_strategy="no",
    )  # fmt: skip
    rows = [{"prompt": [{"role": "user", "content": f"Look {i}"}]} for i in range(2)]
    log = made.evaluate(Dataset.from_list(rows))
    assert log["eval_turn_credit/failing"] == pytest.approx(1 / 7)
    failing = {"negative": -1.0, "gigpo": 0.0}[mode]
    assert log["eval_turn_credit/credit/failing"] == failing


def test_anchors() -> None:
    sample = Sample.of(
        "Q",
        [
            {"role": "assistant", "content": "a"},
            {"role": "tool", "name": "look", "content": "x"},
            {"role": "assistant", "content": "b"},
            {"role": "tool", "name": "look", "content": "x"},
            {"role": "assistant", "content": "c"},
        ],
    )
    assert last_observation(sample) == ["Q", "tool:look:x", "tool:look:x"]
    assert len(set(whole_history(sample))) == 3


def test_turns_come_through_a_weighted_sum(tmp_path: Path) -> None:
    reward = WeightedSum({"marks": Term(Marked(), weight=0.5)})
    output = batch(trainer(tmp_path, ROLLOUTS, reward=[reward]))
    rows = per_turn(output, output["advantages"])
    assert rows[0][1] - rows[0][0] == pytest.approx(-0.5)


def test_several_rewards_add_up_whatever_their_outcome_weighs(tmp_path: Path) -> None:
    rewards = [Marked(), Marked(penalty=2.0, name="again")]
    output = batch(trainer(tmp_path, ROLLOUTS, reward=rewards, reward_weights=[1.0, 0.0]))
    rows = per_turn(output, output["advantages"])
    assert rows[0][1] - rows[0][0] == pytest.approx(-3.0)


LONG = [[BAD, BAD, BAD, "yes"], [GOOD, "no"]]


def second_turn_begins(folder: Path) -> int:
    output = batch(trainer(folder, LONG))
    ids = turn_ids(output["completion_mask"] * output["tool_mask"])
    return int((ids[0] == 1).nonzero()[0])


@pytest.mark.parametrize(
    ("extra", "turns"),
    [(3, 2), (0, 1), (-1, 1)],
    ids=["turn cut", "turn cut to nothing", "result rolled back"],
)
def test_spans_at_the_edge_of_the_token_budget(tmp_path: Path, extra: int, turns: int) -> None:
    length = second_turn_begins(tmp_path) + extra
    made = trainer(tmp_path, LONG, max_completion_length=length)
    output = batch(made)  # raises where turns and runs do not fit
    mask = output["completion_mask"] * output["tool_mask"]
    assert mask.size(1) <= length
    assert int(turn_ids(mask)[0].max()) + 1 == turns


def test_a_limit_on_tool_calls_leaves_a_last_turn(tmp_path: Path) -> None:
    made = trainer(tmp_path, [[GOOD, BAD, GOOD], ["no"]], max_tool_calling_iterations=2)
    output = batch(made)
    assert [len(row) for row in per_turn(output, output["advantages"])] == [3, 1]


def test_truncated_completions_that_trl_masks_have_no_turns(tmp_path: Path) -> None:
    length = second_turn_begins(tmp_path) + 3
    made = trainer(tmp_path, LONG, max_completion_length=length, mask_truncated_completions=True)
    output = batch(made)
    assert not (output["completion_mask"] * output["tool_mask"])[0].any()


def test_turn_values_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    made = trainer(tmp_path, ROLLOUTS, reward=[Marked(extra=1)])
    with pytest.raises(DataError, match="rollout 0 on rank 0: .*gave 4 turn values.* 3 runs"):
        batch(made)


def plain_reward(completions: Any, **_: Any) -> list[float]:
    return [0.0] * len(completions)


def test_needs_a_reward_that_can_give_turns(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reward_funcs has none; add a TurnReward"):
        trainer(tmp_path, ROLLOUTS, reward=[plain_reward])


# Trap (e): informational gain without a model.


def test_trap_e_turns_that_bring_nothing_new_fail_by_rule() -> None:
    def search(query: str, result: str) -> list[dict[str, Any]]:
        call = {"function": {"name": "search", "arguments": {"query": query}}}
        return [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "search", "content": result},
        ]

    river = "The Lena is a river in Siberia that flows north into the Arctic Ocean."
    turns = [
        *search("river in Siberia", river),
        *search("long river, Siberia", river),
        *search("tea", "Tea grows in Assam, a state in the north-east of India."),
    ]
    reward = TurnReward(RuleCritic(), require="decided")
    values = reward.evaluate([Sample.of("Which river?", turns)])[0].turns
    assert values == (0.0, -1.0, 0.0)
    credit = TurnCredit().assign([Rollout(1.0, values)])[0]
    assert credit is not None and credit.advantages == (1.0, 0.0, 1.0)


# Trap (f): sequence-level importance sampling.

LOSSES = ["grpo", "dapo", "dr_grpo", "bnpo", "luspo", "sapo", "cispo", "vespo"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mode", ["negative", "additive", "mt_grpo", "gigpo", "return"])
def test_trap_f_refused_where_the_gradient_vanishes(mode: Any, loss: str) -> None:
    credit = TurnCredit(mode)
    refuse_vanishing_gradient(credit, "token", loss)
    if loss in ("cispo", "vespo"):
        refuse_vanishing_gradient(credit, "sequence", loss)
        return
    with pytest.raises(ConfigError, match="has no gradient between turns"):
        refuse_vanishing_gradient(credit, "sequence", loss)


def test_trap_f_the_trainer_refuses_and_masks_are_allowed(tmp_path: Path) -> None:
    sequence = {"importance_sampling_level": "sequence"}
    with pytest.raises(ConfigError, match="importance_sampling_level='sequence'"):
        trainer(tmp_path, ROLLOUTS, **sequence)
    trainer(tmp_path, ROLLOUTS, credit=TurnCredit("mask"), **sequence)


@pytest.mark.parametrize(
    ("loss", "level", "vanishes"),
    [
        ("grpo", "sequence", True),
        ("cispo", "sequence", False),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in [
                ("dapo", "sequence", True),
                ("sapo", "sequence", True),
                ("grpo", "token", False),
                ("vespo", "sequence", False),
            ]
        ),
    ],
)
def test_trap_f_is_real(tmp_path: Path, loss: str, level: str, vanishes: bool) -> None:
    """Advantages that sum to zero over each sequence, put into TRL's own loss."""
    made = trainer(
        tmp_path, [[GOOD, "yes"], [GOOD, "no"]], credit=TurnCredit("trajectory"),
        loss_type=loss, importance_sampling_level=level,
    )  # fmt: skip
    output = batch(made)
    mask = (output["completion_mask"] * output["tool_mask"]).float()
    raw = torch.linspace(-1, 1, mask.size(1)) * mask
    output["advantages"] = (raw - raw.sum(1, keepdim=True) / mask.sum(1, keepdim=True)) * mask
    made.current_gradient_accumulation_steps = 1
    made._compute_loss(made.model, output).backward()
    norm = sum(float(p.grad.abs().sum()) for p in made.model.parameters() if p.grad is not None)
    assert (norm < 1e-4) is vanishes


# Groups that lie on two ranks.


def two_ranks() -> list[Any]:
    import tempfile

    rank = int(os.environ["RANK"])
    mine = ROLLOUTS[2 * rank : 2 * rank + 2]
    with tempfile.TemporaryDirectory() as folder:
        made = trainer(
            folder, mine, credit=TurnCredit("additive"),
            num_generations=4, per_device_train_batch_size=2,
        )  # fmt: skip
        rows = [{"prompt": [{"role": "user", "content": "Look 0"}]}] * 2
        made.model.train()
        output = dict(made._generate_and_score_completions(rows))
        metrics = made._metrics["train"]
        return [
            per_turn(output, output["advantages"]),
            [metrics["turn_credit/failing"][0], metrics["turn_credit/abstained"][0]],
        ]


@pytest.mark.slow
def test_groups_are_gathered_across_ranks(tmp_path: Path) -> None:
    output = batch(trainer(tmp_path, ROLLOUTS, credit=TurnCredit("additive")))
    alone = per_turn(output, output["advantages"])
    first, second = run_ranks("tests.policy.test_turn_credit:two_ranks")
    assert first[0] + second[0] == alone
    assert first[1] == second[1] == pytest.approx([1 / 7, 1 / 8])
