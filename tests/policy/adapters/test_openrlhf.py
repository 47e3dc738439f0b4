import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.policy.adapters.openrlhf import RewardFunc
from tests.policy.adapters.rewards_under_test import composed, longest, politeness


def test_one_number_a_query_with_the_components_as_logs() -> None:
    func = RewardFunc(composed, "answer", ends=("<|im_end|>",))
    found = func(["2+2? 4<|im_end|>\n", "2+2? 5<|im_end|>"], ["2+2? "] * 2, ["4", "4"])
    assert found["rewards"] == found["scores"] == [1.5, 0.5]
    assert found["extra_logs"]["answer"] == [1.0, 0.0]


def test_a_completion_without_an_end_was_cut() -> None:
    func = RewardFunc(composed, ends=("<|im_end|>",))
    assert func._sample("q a", "q ", "4").truncated
    ended = func._sample("q a<|im_end|>", "q ", '{"answer": "4", "level": 2}')
    assert not ended.truncated
    assert ended.completion[0].content == "a"
    assert ended.columns["level"] == 2
    assert not RewardFunc(composed)._sample("q a", "q ", "4").truncated


def test_what_cannot_be_scored_raises() -> None:
    with pytest.raises(RewardError, match="abstained: nothing was said"):
        RewardFunc(politeness)(["q "], ["q "], ["4"])
    with pytest.raises(DataError, match="2 queries, 1 prompts"):
        RewardFunc(politeness)(["a", "b"], ["a"], ["c", "d"])
    with pytest.raises(ConfigError, match="compares the rollouts"):
        RewardFunc(longest)


def _executor() -> Any:
    """The real executor, loaded from the installed package's file without its heavy neighbours."""
    spec = importlib.util.find_spec("openrlhf")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("openrlhf is not installed (it builds only beside vllm and deepspeed)")
    path = Path(next(iter(spec.submodule_search_locations))) / "utils" / "agent.py"
    loaded = importlib.util.spec_from_file_location("openrlhf_agent_file", path)
    assert loaded is not None and loaded.loader is not None
    module = importlib.util.module_from_spec(loaded)
    sys.modules["openrlhf_agent_file"] = module
    loaded.loader.exec_module(module)
    return module.SingleTurnAgentExecutor


def test_the_real_executor_loads_the_file_and_reads_the_reward(tmp_path: Path) -> None:
    executor = _executor()
    file = tmp_path / "reward.py"
    file.write_text(
        "from assay.policy.adapters.openrlhf import RewardFunc\n"
        "from tests.policy.adapters.rewards_under_test import composed\n"
        "reward_func = RewardFunc(composed, 'answer')\n"
    )
    found = asyncio.run(
        executor(str(file))._fetch_rewards_via_func(["2+2? 4", "2+2? 5"], ["2+2? "] * 2, ["4"] * 2)
    )
    assert [row["rewards"] for row in found] == [[1.5], [0.5]]


def test_calls_of_another_form() -> None:
    for ends in ("<eos>", ("",), (1,)):
        with pytest.raises(ConfigError, match="tuple of non-empty texts"):
            RewardFunc(composed, ends=ends)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="query 1 must be text, got NoneType"):
        RewardFunc(composed)(["q 4", None], ["q ", "q "], ["4", "4"])  # type: ignore[list-item]
    numpy = pytest.importorskip("numpy")
    found = RewardFunc(composed)(["q 4"], ["q "], numpy.array([4]))
    assert found["rewards"] == [1.5]
