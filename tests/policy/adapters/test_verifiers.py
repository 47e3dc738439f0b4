import asyncio
import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.policy.adapters.prime_rl import advantages, rollout_pieces
from assay.policy.adapters.verifiers import note_turns, score_group, task_reward, trace_sample
from assay.reward import Score
from tests.policy.adapters.rewards_under_test import composed, longest, politeness

needs_verifiers = pytest.mark.skipif(
    importlib.util.find_spec("verifiers") is None,
    reason="verifiers is not installed; it pins another version of openai: its own environment",
)


def _trace(*said: str, answer: str = "4") -> Any:
    """A trace of the real class, token ids on every node: scaffold of 1 before each message."""
    import verifiers.v1 as vf
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask

    class Data(vf.TaskData):
        answer: str

    nodes = [MessageNode(message={"role": "user", "content": "2+2?"}, token_ids=[1], mask=[False])]
    for number, text in enumerate(said):
        if number:
            nodes.append(
                MessageNode(
                    parent=len(nodes) - 1,
                    message={"role": "tool", "tool_call_id": "c", "content": "seen"},
                    token_ids=[1, 5],
                    mask=[False, False],
                )
            )
        call = {"id": "c", "name": "find", "arguments": "{}"}
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if number + 1 < len(said):
            message["tool_calls"] = [call]
        nodes.append(
            MessageNode(
                parent=len(nodes) - 1,
                message=message,
                sampled=True,
                token_ids=[1, 7, 7],
                mask=[False, True, True],
            )
        )
    return vf.Trace(
        task=TraceTask(type="T", data=Data(idx=0, prompt="2+2?", answer=answer), key="k"),
        agent=AgentInfo(config=WireAgentConfig()),
        nodes=nodes,
    )


@needs_verifiers
def test_a_task_scores_with_the_reward() -> None:
    import verifiers.v1 as vf

    class Sums(vf.Task):
        quality = task_reward(composed, weight=2.0)
        manners = task_reward(politeness, name="manners")

    trace = _trace("look!", "4")
    asyncio.run(Sums(trace.task.data).score(trace))
    assert trace.rewards[composed.name].score == 1.5
    assert trace.rewards["manners"].score == 0.5
    assert trace.reward == pytest.approx(2 * 1.5 + 0.5)
    assert trace.info["turn_rewards"] == [-1.0, 0.0]


@needs_verifiers
def test_a_missing_score_is_the_rollouts_error_and_a_skipped_one_no_reward() -> None:
    import verifiers.v1 as vf

    from assay.rewards import AnswerMatch

    class Sums(vf.Task):
        manners = task_reward(politeness, name="manners")

    trace = _trace("")
    with pytest.raises(vf.TaskError, match="nothing was said"):
        asyncio.run(Sums(trace.task.data).score(trace))
    assert trace.rewards == {"manners": None}

    class Other(vf.Task):
        match = task_reward(AnswerMatch(column="gold", missing="skip"), name="match")

    trace = _trace("4")
    asyncio.run(Other(trace.task.data).score(trace))
    assert trace.rewards == {} and trace.reward == 0


@needs_verifiers
def test_the_sample_of_a_trace() -> None:
    sample = trace_sample(_trace("look", "It is 4"))
    assert [m.role for m in sample.prompt] == ["user"]
    assert [m.role for m in sample.completion] == ["assistant", "tool", "assistant"]
    assert sample.completion[0].tool_calls[0].name == "find"
    assert sample.columns["answer"] == "4" and sample.group == "k" and not sample.truncated
    with pytest.raises(DataError, match="no turn of the model"):
        trace_sample(_trace())


@needs_verifiers
def test_a_group_is_scored_together() -> None:
    traces = [_trace("It is 4, I say"), _trace("4")]
    asyncio.run(score_group(longest, traces))
    assert [trace.reward for trace in traces] == [1.0, 0.0]
    group = [_trace("It is 4"), _trace("")]
    with pytest.raises(RewardError, match="nothing was said"):
        asyncio.run(score_group(politeness, group))
    assert not group[0].rewards  # not half a group


@needs_verifiers
def test_prime_rl_reads_traces() -> None:
    traces = [_trace("look!", "4"), _trace("look", "5")]
    for trace, value in zip(traces, (1.0, 0.0), strict=True):
        trace.record_reward("outcome", value)
        trace.ok = True
    traces[0].info["turn_rewards"] = [-1.0, 0.0]
    # look(2) + scaffold and result(2) + scaffold(1) + answer(2)
    assert rollout_pieces(traces[0], 7) == [(2, True), (3, False), (2, True)]
    inputs = SimpleNamespace(rollouts=traces, completion_lengths=[7, 7])
    found = advantages(inputs, scale=False)
    assert found[0] == pytest.approx([-0.5] * 2 + [0.0] * 3 + [0.5] * 2)
    assert found[1] == pytest.approx([-0.5] * 7)


def test_turn_values_must_fit_the_trace() -> None:
    trace = SimpleNamespace(num_turns=3, info={})
    with pytest.raises(DataError, match="gave 2 turn values, and the trace has 3"):
        note_turns(trace, Score.of(1, turns=(0.0, -1.0)))
    note_turns(trace, Score.of(1))
    assert trace.info == {}


def test_group_rewards_and_a_missing_package_are_refused() -> None:
    with pytest.raises(ConfigError, match="compares the rollouts"):
        task_reward(longest)
    if importlib.util.find_spec("verifiers") is None:
        with pytest.raises(ImportError, match="pip install verifiers"):
            task_reward(composed)
