from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.policy.stages.code_rl_complexity import CodeComplexityConfig
from assay.policy.stages.code_rl_correctness import CodeCorrectnessConfig
from assay.policy.stages.pointwise_rl import PointwiseRLConfig
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_data import as_columns, prompt_rows, training_prompts
from assay.policy.stages.rl_rewards import code_reward, reward_functions, stage_reward
from assay.reward import Reward, Score
from assay.rewards import AsyncReward, Length, WeightedSum
from assay.sandbox import Limits

SLOW = "```python\nn = int(input())\nt = 0\nfor i in range(n):\n    t += i\nprint(t)\n```"
FAST = "```python\nn = int(input())\nprint(n * (n - 1) // 2)\n```"
WRONG = "```python\nn = int(input())\nprint(n)\n```"
ROW = {
    "tests": '[{"stdin": "4", "expected": "6"}, {"stdin": "3", "expected": "3"}]',
    "optimal_complexity": "1",
}


@dataclass(frozen=True)
class Ones(Reward):
    """1 for everything."""

    name: str = "ones"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score.of(1.0) for _ in samples]


def settings(**more: Any) -> dict[str, Any]:
    return {"model": "m", "data": "d.jsonl", "output_dir": "o"} | more


def scores(reward: Reward, completions: list[str], **columns: Any) -> list[float | None]:
    given = {name: [value] * len(completions) for name, value in (ROW | columns).items()}
    return reward(completions=completions, prompts=["?"] * len(completions), **given)


def test_code_stage_1_and_2() -> None:
    # R_format 1 + share of tests; stage 2 adds .5 where all pass and the bound is met
    answers = [FAST, SLOW, WRONG, "no code"]
    assert scores(code_reward(), answers) == [2.0, 2.0, 1.5, 0.0]
    assert scores(code_reward(time=True), answers) == [2.5, 2.0, 1.5, 0.0]
    assert scores(code_reward(binary=True), answers) == [2.0, 2.0, 1.0, 0.0]
    # ungated, a wrong program of the right class is paid too
    assert scores(code_reward(time=True, gated=False), answers) == [2.5, 2.0, 2.0, 0.0]


def test_limits_of_a_stage_reach_its_tests() -> None:
    endless = "```python\nwhile True:\n    pass\n```"
    sample = Sample.of("?", endless, ROW)
    (score,) = code_reward(limits=Limits(cpu_s=0.3)).evaluate([sample])
    assert "0.3 s of CPU time" in score.parts["tests"].note
    for kind in (CodeCorrectnessConfig, CodeComplexityConfig):
        assert kind.of(**settings(limits={"cpu_s": 1})).limits == {"cpu_s": 1}
        with pytest.raises(ConfigError, match="did you mean 'cpu_s'"):
            kind.of(**settings(limits={"cpu": 1}))


def test_truncated_completions_are_shaped() -> None:
    config = CodeCorrectnessConfig.of(
        **settings(truncated="shape", max_completion_length=10, overlong_cache=4)
    )
    reward = stage_reward(config, Ones, [7])
    ids = [[1] * 5 + [7], [1] * 7 + [7], [1] * 10]  # 6 tokens, 8 tokens, cut
    found = reward(completions=["a"] * 3, completion_ids=ids)
    assert found == [1.0, 0.5, 0.0]
    kept = CodeCorrectnessConfig.of(**settings(truncated="mask", max_completion_length=10))
    assert stage_reward(kept, Ones, [7])(completions=["a"] * 3, completion_ids=ids) == [1.0] * 3


def test_replayed_rows_have_their_own_reward() -> None:
    replay = {"domain": "chat", "data": "c.jsonl", "share": 0.25, "reward": f"{__name__}:SHORT"}
    config = CodeCorrectnessConfig.of(**settings(replay=[replay]))
    reward = stage_reward(config, lambda: code_reward(), [7])
    found = reward(
        completions=[FAST, "short"],
        prompts=["?"] * 2,
        domain=["code", "chat"],
        tests=[ROW["tests"], None],
    )
    assert found == [2.0, 1.0]


SHORT = Length(target=20)


def test_replayed_rows_come_by_share(tmp_path: Any) -> None:
    chat = tmp_path / "c.jsonl"
    chat.write_text('{"prompt": "Hi", "uid": "hi"}\n')
    replay = {"domain": "chat", "data": str(chat), "share": 0.25, "reward": f"{__name__}:SHORT"}
    config = CodeCorrectnessConfig.of(**settings(replay=[replay]))
    own = prompt_rows(config, {"x": [{"prompt": "P", "uid": str(i)} for i in range(6)]}, "code")
    found = training_prompts(config, own, 16)
    assert [row["domain"] for row in found].count("chat") == 4
    uids = [row["uid"] for row in found]
    assert len(set(uids)) == 16  # repeated prompts are groups of their own
    assert {"hi", "hi#2", "hi#3", "hi#4"} <= set(uids)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"num_generation": 3}, "did you mean 'num_generations'"),
        ({"num_generations": 1}, "num_generations must be a whole number >= 2"),
        ({"truncated": "cut"}, "truncated must be one of"),
        ({"vllm": True}, "vllm must be one of"),
        ({"trl": {"beta": 0.1}}, "set 'beta' beside the table"),
        ({"trl": {"use_vllm": True}}, "set 'vllm' beside the table"),
        ({"overlong_cache": 9000}, "overlong_cache"),
        ({"filter": {"n": 4}}, "low=1, high=5"),
        ({"filter": {"lo": 4}}, "did you mean 'low'"),
        ({"replay": {"domain": "x"}}, r"write \[\[replay\]\]"),
        ({"replay": [{"domain": "x", "data": "d", "share": 0.5}]}, "needs a reward or"),
        (
            {"replay": [{"domain": "code", "data": "d", "share": 0.5, "reward": "a:b"}]},
            "several domains are named 'code'",
        ),
        ({"replay": [{"domain": "x", "data": "d", "share": 1.5, "reward": "a:b"}]}, "share"),
    ],
)
def test_what_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CodeComplexityConfig.of(**settings(**more))


def test_a_model_stage_needs_a_reward() -> None:
    with pytest.raises(ConfigError, match="needs reward_model"):
        PointwiseRLConfig.of(**settings())
    with pytest.raises(ConfigError, match="only one of them"):
        PointwiseRLConfig.of(**settings(reward="a:b", reward_model="rm"))


def test_parts_run_at_the_same_time_only_where_trl_adds_them_alike() -> None:
    free = WeightedSum({"a": Ones(), "b": Length(target=3)}, name="r")
    config = RLConfig.of(**settings(asynchronous=True))
    with pytest.raises(ConfigError, match="normalize_then_sum"):
        reward_functions(config, free)
    gdpo = {"multi_objective_aggregation": "normalize_then_sum"}
    functions, weights = reward_functions(
        RLConfig.of(**settings(asynchronous=True, trl=gdpo)), free
    )
    assert [type(f) for f in functions] == [AsyncReward] * 2
    assert [f.__name__ for f in functions] == ["r/a", "r/b"]
    assert weights == [1.0, 1.0]
    (one,), none = reward_functions(config, code_reward())  # gated: one function
    assert isinstance(one, AsyncReward)
    assert none is None
    assert reward_functions(RLConfig.of(**settings()), free) == ([free], None)


def test_columns_survive_arrow() -> None:
    datasets = pytest.importorskip("datasets")
    rows = [
        {"prompt": [{"role": "user", "content": "a"}], "tests": [{"stdin": "1"}], "n": 1},
        {"prompt": [{"role": "user", "content": "b"}], "tests": [{"assert": "x"}], "other": "y"},
    ]
    found = datasets.Dataset.from_list(as_columns(rows))
    assert found["tests"][:] == ['[{"stdin": "1"}]', '[{"assert": "x"}]']
    assert found["other"][:] == [None, "y"]


def test_rows_that_cannot_be_prompts() -> None:
    config = RLConfig.of(**settings())
    with pytest.raises(DataError, match="row 1 has no prompt"):
        prompt_rows(config, {"x": [{"text": "a"}]}, "own")
    with pytest.raises(DataError, match="names that the trainer fills itself"):
        prompt_rows(config, {"x": [{"prompt": "a", "log_extra": 1}]}, "own")
    (row,) = prompt_rows(config, {"x": [{"prompt": "a", "completion": "b"}]}, "own")
    assert row.keys() == {"prompt", "uid", "domain"}
