from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from assay.errors import ConfigError, JudgeError
from assay.judges.client import Client, Reply, Request, Usage
from assay.judges.endpoint import Endpoint
from assay.messages import Message, ToolCall
from assay.policy.evaluation.samplers import LocalPolicy, ServedPolicy, client_of, sampler_of
from assay.policy.rollouts import Decoding


@dataclass
class Echo(Client):
    """Answers with the seed; `broken` replies fail."""

    broken: bool = False
    seen: list[Request] = field(default_factory=list)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        self.seen += requests
        if self.broken:
            return [Reply.failed("the server is down") for _ in requests]
        finish = ["stop", "length"]
        return [
            Reply(f"seed {request.seed}", finish[i % 2], Usage(3, 5))
            for i, request in enumerate(requests)
        ]

    def fingerprint(self) -> str:
        return "echo"


def test_a_served_policy_samples_with_its_own_seeds() -> None:
    client = Echo()
    rows = [{"uid": "a", "prompt": "?"}, {"uid": "b", "prompt": "!"}]
    found = ServedPolicy(client).sample(rows, Decoding(n=2, seed=1, max_new_tokens=7))
    assert [row["uid"] for row in found] == ["a", "a", "b", "b"]
    assert found[0]["completion"][0]["content"] != found[1]["completion"][0]["content"]
    assert [row["truncated"] for row in found] == [False, True, False, True]
    assert found[0]["tokens"] == 5
    assert {request.max_tokens for request in client.seen} == {7}


def test_a_sample_that_never_came_is_an_error() -> None:
    with pytest.raises(JudgeError, match=r"2 of 2 samples did not come: the server is down"):
        ServedPolicy(Echo(broken=True)).sample([{"prompt": "?"}], Decoding(n=2))


def test_an_endpoint_takes_the_decoding() -> None:
    policy = ServedPolicy(Endpoint("http://localhost:1/v1", "m"))
    used = policy._decoding(Decoding(temperature=0.3, top_p=0.8, max_new_tokens=9))
    assert isinstance(used, Endpoint)
    assert (used.temperature, used.top_p, used.max_tokens) == (0.3, 0.8, 9)


def test_an_agent_behind_an_endpoint_reads_tools_and_results_as_text() -> None:
    client = Echo()
    messages = [
        Message("user", "Find it."),
        Message("assistant", tool_calls=(ToolCall("find", {"q": "x"}),)),
        Message("tool", "nothing"),
    ]
    tools = [{"type": "function", "function": {"name": "find"}}]
    ServedPolicy(client).next_message(messages, tools, Decoding())
    sent = client.seen[0].messages
    assert [m.role for m in sent] == ["system", "user", "assistant", "user"]
    assert '"name": "find"' in sent[0].content and "<tools>" in sent[0].content
    assert "<tool_call>" in sent[2].content and "<tool_response>" in sent[3].content


def test_names_of_policies() -> None:
    assert isinstance(sampler_of("some/model"), LocalPolicy)
    assert isinstance(sampler_of("http://localhost:1/v1,m"), ServedPolicy)
    with pytest.raises(ConfigError, match="BASE_URL,MODEL"):
        client_of("http://localhost:1/v1")
    with pytest.raises(ConfigError, match="no folder"):
        client_of("some/model")
