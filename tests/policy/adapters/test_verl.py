import asyncio
import importlib.util
import math
import pickle
from pathlib import Path
from typing import Any, ClassVar

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.policy.adapters.chat_tokens import token_turns, turn_messages
from assay.policy.adapters.verl import ComputeScore
from assay.policy.credit_assignment import TurnCredit
from assay.rewards import AnswerMatch, ChatFormat, Term, WeightedSum
from tests.policy.adapters.rewards_under_test import composed, longest, politeness

needs_verl = pytest.mark.skipif(
    importlib.util.find_spec("verl") is None,
    reason="verl is not installed; it pins other versions of transformers: use its own environment",
)


class Letters:
    """A tokenizer with one token a character, and the two tokens of ChatML."""

    unk_token_id = 0
    special: ClassVar[dict[str, int]] = {"<|im_start|>": 1, "<|im_end|>": 2}

    def convert_tokens_to_ids(self, token: str) -> int:
        return self.special.get(token, 0)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        while text:
            token = next((t for t in self.special if text.startswith(t)), None)
            ids.append(self.special[token] if token else ord(text[0]))
            text = text[len(token) if token else 1 :]
        return ids

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        names = {v: "" if skip_special_tokens else k for k, v in self.special.items()}
        return "".join(names.get(i) or ("" if i in names else chr(i)) for i in ids)


RESPONSE = (
    'Find!<tool_call>{"name": "find", "arguments": {"q": "x"}}</tool_call><|im_end|>\n'
    "<|im_start|>user\n<tool_response>\nnothing\n</tool_response><|im_end|>\n"
    "<|im_start|>assistant\nIt is 4<|im_end|>"
)


def test_the_same_keys_for_every_rollout() -> None:
    score = ComputeScore(composed, "answer")
    good = score("sums", "4", "4", {"index": 1})
    bad = score("sums", "5", "4", extra_info=None, reward_router_address="x")
    assert good == {"score": 1.5, "passed": 1.0, "format": 1.0, "answer": 1.0}
    assert bad.keys() == good.keys() and bad["score"] == 0.5
    closed = score("sums", "</think></think>", "4")
    assert math.isnan(closed["answer"]) and closed["score"] == 0.0


def test_the_row_reaches_the_reward() -> None:
    columns = ComputeScore(composed).columns("src", '{"answer": "4", "tests": []}', {"level": 3})
    assert columns["data_source"] == "src"
    assert columns["tests"] == [] and columns["level"] == 3 and columns["answer"] == "4"


def test_missing_scores_and_group_rewards_are_refused() -> None:
    with pytest.raises(RewardError, match="nothing was said"):
        ComputeScore(politeness)("s", "", "4")
    assert math.isnan(ComputeScore(politeness, on_missing="nan")("s", "", "4")["score"])
    with pytest.raises(ConfigError, match="compares the rollouts"):
        ComputeScore(longest)


def test_a_picklable_scorer() -> None:
    scorer = ComputeScore(composed)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_turns_of_token_ids() -> None:
    tokenizer = Letters()
    ids = tokenizer.encode(RESPONSE)
    turns = token_turns(ids, tokenizer)
    assert [turn.role for turn in turns] == ["assistant", "user", "assistant"]
    assert turns[0].first == 0
    # "It is 4" and its end are the last eight tokens
    assert (turns[2].first, turns[2].last) == (len(ids) - 8, len(ids))
    messages = turn_messages(turns)
    assert [message.role for message in messages] == ["assistant", "tool", "assistant"]
    assert messages[0].tool_calls[0].name == "find"
    assert messages[1].content.strip() == "nothing"
    cut = token_turns(tokenizer.encode("Half a "), tokenizer)
    assert (cut[0].text, cut[0].last) == ("Half a ", 7)
    with pytest.raises(ConfigError, match="has no tokens"):
        token_turns(ids, tokenizer, opening="<start>")


@needs_verl
def test_verl_loads_the_file_and_its_naive_manager_scores(tmp_path: Path) -> None:
    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl import DataProto
    from verl.trainer.ppo.reward import load_reward_manager

    file = tmp_path / "reward.py"
    file.write_text(
        "from assay.policy.adapters.verl import ComputeScore\n"
        "from tests.policy.adapters.rewards_under_test import composed\n"
        "compute_score = ComputeScore(composed, 'answer')\n"
    )
    manager = {"source": "register", "name": "naive", "module": None}
    custom = {"path": str(file), "name": "compute_score", "reward_kwargs": {}}
    config = OmegaConf.create(
        {"reward": {"custom_reward_function": custom, "reward_manager": manager}}
    )
    tokenizer = Letters()
    ids = tokenizer.encode("4")
    tokens = torch.tensor([ids])
    data = DataProto(
        batch=TensorDict(
            {
                "prompts": torch.ones(1, 2, dtype=torch.long),
                "responses": tokens,
                "attention_mask": torch.ones(1, 2 + len(ids), dtype=torch.long),
            },
            batch_size=1,
        ),
        non_tensor_batch={
            "data_source": np.array(["sums"], dtype=object),
            "reward_model": np.array([{"ground_truth": "4"}], dtype=object),
            "extra_info": np.array([{}], dtype=object),
        },
    )

    async def run() -> Any:
        return await load_reward_manager(config, tokenizer).run_single(data)

    found = asyncio.run(run())
    assert found["reward_score"] == 1.5
    assert found["reward_extra_info"]["answer"] == 1.0


def _turn_data(texts: list[str], truth: str = "4") -> tuple[Any, Any]:
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    rows = [Letters().encode(text) for text in texts]
    width = max(map(len, rows))
    responses = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    prompt = torch.ones(len(rows), 3, dtype=torch.long)
    objects = {
        "data_source": ["sums"] * len(rows),
        "reward_model": [{"ground_truth": truth}] * len(rows),
        "raw_prompt": [[{"role": "user", "content": "2+2?"}]] * len(rows),
    }
    arrays = {}
    for name, values in objects.items():
        arrays[name] = np.empty(len(rows), dtype=object)
        arrays[name][:] = values
    batch = TensorDict(
        {
            "prompts": prompt,
            "responses": responses,
            "attention_mask": torch.cat([prompt, mask], dim=1),
        },
        batch_size=len(rows),
    )
    return DataProto(batch=batch, non_tensor_batch=arrays), mask


@needs_verl
def test_the_turn_manager_fills_the_tensor_and_the_estimator_reads_it(tmp_path: Path) -> None:
    import torch
    from omegaconf import OmegaConf
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn
    from verl.trainer.ppo.reward import load_reward_manager

    file = tmp_path / "reward.py"
    file.write_text(
        "from assay.policy.adapters.verl import ComputeScore\n"
        "from tests.policy.adapters.rewards_under_test import politeness\n"
        "compute_score = ComputeScore(politeness, on_missing='nan')\n"
    )
    manager = {
        "source": "importlib",
        "name": "TurnRewardManager",
        "module": {"path": "pkg://assay.policy.adapters.verl_turns"},
    }
    custom = {"path": str(file), "name": "compute_score", "reward_kwargs": {}}
    config = OmegaConf.create(
        {"reward": {"custom_reward_function": custom, "reward_manager": manager}}
    )
    data, mask = _turn_data([RESPONSE, "It is 4<|im_end|>", "<|im_end|>"])

    async def run() -> list[Any]:
        loaded = load_reward_manager(config, Letters())
        return [await loaded.run_single(data[i : i + 1]) for i in range(3)]

    found = asyncio.run(run())
    scores = [pickle.loads(pickle.dumps(row["reward_score"])) for row in found]
    assert scores[0] == 0.5 and scores[0].turns == (-1.0, 0.0)
    assert found[0]["reward_extra_info"]["failing_turns"] == 1
    assert {frozenset(row["reward_extra_info"]) for row in found} == {
        frozenset(found[0]["reward_extra_info"])
    }
    from assay.policy.adapters.verl_turns import TurnRewardManager

    table = TurnRewardManager.assemble_rm_scores(data, scores)
    assert table[0, 0] == -1 and table[0, mask[0].sum() - 1] == 0.5
    assert table[0].count_nonzero() == 2
    assert math.isnan(table[2, 0])
    # Rewards .5 and 1 (the third has none): A = -+.25/(.35355+1e-4); the shouting turn -1 more.
    estimate = get_adv_estimator_fn("assay_turns")
    own = mask.clone()
    turns = token_turns(Letters().encode(RESPONSE), Letters())
    own[0, turns[0].last : turns[2].first] = 0
    advantages, returns = estimate(
        token_level_rewards=table, response_mask=own, index=["p"] * 3, config={}
    )
    level = 0.25 / (math.sqrt(0.125) + 1e-4)
    assert advantages[0, 0] == pytest.approx(-level - 1)
    assert advantages[0, turns[2].first] == pytest.approx(-level)
    assert advantages[0, turns[0].last] == 0
    assert advantages[1, 0] == pytest.approx(level)
    assert torch.equal(advantages[2], torch.zeros_like(advantages[2]))
    assert torch.equal(advantages, returns)
    with pytest.raises(ConfigError, match="use_kl_in_reward"):
        estimate(
            token_level_rewards=table,
            response_mask=own,
            index=["p"] * 3,
            config={"use_kl_in_reward": True},
        )


@needs_verl
def test_what_the_turn_manager_refuses() -> None:
    from assay.policy.adapters.verl_turns import TurnRewardManager, register_turn_credit

    with pytest.raises(ConfigError, match="must be one of"):
        register_turn_credit("x", TurnCredit("additive"))
    with pytest.raises(ConfigError, match=r"ComputeScore, got function"):
        asyncio.run(_manager(TurnRewardManager, lambda: 0))
    from assay.policy.adapters.verl_turns import _turn_values
    from assay.reward import Score

    with pytest.raises(DataError, match="one per turn"):
        _turn_values(Score.of(1, turns=(0.0,)), 2)


async def _manager(kind: Any, compute_score: Any) -> Any:
    return kind(None, Letters(), compute_score)


def test_rows_as_pandas_and_torch_hold_them() -> None:
    import numpy as np
    import torch

    tests = np.array([{"input": np.int64(1), "parts": np.array([1, 2])}], dtype=object)
    scorer = ComputeScore(composed)
    columns = scorer.columns("s", {"answer": np.str_("4"), "tests": tests}, {"i": torch.tensor(3)})
    assert columns["tests"] == [{"input": 1, "parts": [1, 2]}] and columns["i"] == 3
    prompt = np.array([{"role": "user", "content": "2+2?"}], dtype=object)
    assert scorer("s", "4", np.int64(4), {"prompt": prompt})["passed"] == 1.0
    for odd in (["level", 3], 7, math.nan, "level=3"):
        with pytest.raises(DataError, match="extra_info must be a mapping"):
            scorer("s", "4", "4", odd)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the completion: expected text"):
        scorer("s", None, "4")  # type: ignore[arg-type]


def test_a_leaf_called_score_is_not_what_is_trained_on() -> None:
    named = WeightedSum({"score": Term(ChatFormat(), 0.5), "passed": Term(AnswerMatch("answer"))})
    found = ComputeScore(named)("s", "5", "4")
    assert found["score"] == 0.5 and found["passed"] == 0.0  # of the whole reward
    assert (found["leaf/score"], found["leaf/passed"]) == (1.0, 0.0)
