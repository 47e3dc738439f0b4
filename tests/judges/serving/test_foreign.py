"""What existing clients speak, each with the real client or its real request code."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("fastapi")

from assay.errors import DataError
from assay.judges.serving.response_sample import messages_of, sample_of
from tests.judges.serving.running import running, served


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    tables: dict[str, Any] = {
        "rewards": served(answer="answer", words="words"),
        "openrlhf": {"reward": "answer", "label_column": "answer"},
        "vllm": {"rewards": ["words", "answer"]},
        "nemo_gym": {"reward": "answer"},
    }
    with running(tables) as address:
        yield address


def post(url: str, path: str, body: Any) -> httpx2.Response:
    return httpx2.post(url + path, json=body, timeout=60)


async def openrlhf_fetch(url: str, payload: dict[str, Any]) -> Any:
    """The request of OpenRLHF 0.11's `SingleTurnAgentExecutor._fetch_rewards_via_http`."""
    aiohttp = pytest.importorskip("aiohttp")
    timeout = aiohttp.ClientTimeout(total=180)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(url, json=payload) as response,
    ):
        response.raise_for_status()
        return await response.json()


def test_openrlhf(url: str) -> None:
    prompts = ["<|user|>2+2?<|end|>", "<|user|>3+3?<|end|>"]
    payload = {
        "query": [prompts[0] + "it is 4", prompts[1] + "it is 7"],
        "prompts": prompts,
        "labels": ["4", "6"],
    }
    reply = asyncio.run(openrlhf_fetch(url + "/get_reward", payload))
    assert reply == {
        "rewards": [1.0, 0.0],
        "scores": [1.0, 0.0],
        "extra_logs": {"length": [7.0, 7.0]},
    }
    # The prompt holds a 2, and is no part of the answer that is scored.
    assert post(url, "/get_reward", payload | {"labels": ["2", "3"]}).json()["rewards"] == [0, 0]
    labels = ['{"answer": "4"}', {"answer": "7"}]  # a label with several columns
    assert post(url, "/get_reward", payload | {"labels": labels}).json()["rewards"] == [1, 1]


def test_openrlhfs_odd_rows(url: str) -> None:
    """Special tokens before the prompt, a prompt that is not there, a label that nests too deep."""
    row = {"prompts": ["2+2?"], "labels": ["2"]}
    told = post(url, "/get_reward", {"query": ["<s>2+2? 4"], **row}).json()
    assert told["rewards"] == [0.0] and told["extra_logs"] == {"length": [2.0]}
    refused = post(url, "/get_reward", {"query": ["2 + 2? 4"], **row})
    assert refused.status_code == 422 and refused.json()["error"]["index"] == 0
    assert "does not hold its prompt" in refused.text
    deep = {"query": ["a"], "labels": ['{"answer": ' + "[" * 100_000]}
    assert post(url, "/get_reward", deep).json()["rewards"] == [0.0]


def test_openrlhf_never_gets_a_number_for_a_missing_score(url: str) -> None:
    refused = post(url, "/get_reward", {"query": ["a"], "prompts": ["a", "b"]})
    assert refused.status_code == 422
    for on_missing, wanted in (("refuse", None), ("null", [1.0, None])):
        tables = {
            "rewards": served(words="words"),
            "openrlhf": {"reward": "words", "on_missing": on_missing},
        }
        with running(tables) as address:
            reply = post(address, "/get_reward", {"query": ["a", "down"]})
            if wanted is None:
                assert reply.status_code == 503 and "retry-after" in reply.headers
                assert "a missing score is not sent as a number" in reply.text
            else:
                assert reply.json()["rewards"] == wanted


def test_vllm_score_and_rerank(url: str) -> None:
    body = {"model": "words", "text_1": "q", "text_2": ["one two", "one"]}
    reply = post(url, "/score", body).json()
    assert reply["object"] == "list" and reply["model"] == "words"
    assert [(one["index"], one["score"]) for one in reply["data"]] == [(0, 2.0), (1, 1.0)]
    assert reply["usage"]["total_tokens"] > 0
    assert post(url, "/v1/score", {"queries": "q", "documents": "one two three"}).json()[
        "data"
    ] == [{"index": 0, "object": "score", "score": 3.0}]
    ranked = post(
        url, "/v1/rerank", {"query": "q", "documents": ["one", "a b c", "a b"], "top_n": 2}
    ).json()["results"]
    assert [(one["index"], one["relevance_score"]) for one in ranked] == [(1, 3.0), (2, 2.0)]
    assert ranked[0]["document"] == {"text": "a b c"}
    unequal = post(url, "/score", {"text_1": ["a", "b"], "text_2": ["c"]})
    assert unequal.status_code == 422


def test_vllm_classify_and_pooling(url: str) -> None:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a b"}]
    reply = post(url, "/classify", {"messages": talk, "use_activation": False}).json()
    assert reply["data"][0]["probs"] == [2.0] and reply["data"][0]["label"] == "LABEL_0"
    active = post(url, "/classify", {"messages": talk, "use_activation": True}).json()
    assert active["data"][0]["probs"] == [pytest.approx(0.8807970779778823)]  # 1 / (1 + e^-2)
    reply = post(url, "/pooling", {"input": ["a b", "c"]}).json()
    assert [one["data"] for one in reply["data"]] == [[2.0], [1.0]]
    for body, message in (
        ({"input": [1, 2, 3]}, "no model that reads token ids"),
        ({"input": "a", "model": "wrods"}, "did you mean 'words'"),
        ({}, "either `input` or `messages`"),
        ({"messages": talk[:1]}, "must end with the assistant"),
        ({"input": ["a", "down"]}, "a missing score is not sent as a number"),
        ({"input": "skip"}, "skipped: not for this row"),
    ):
        assert message in post(url, "/pooling", body).json()["error"]["message"]


def test_rewards_that_compare_rollouts() -> None:
    """Answers to one text are a group; where the protocol tells none, nothing is compared."""
    tables = {
        "rewards": served(rank="rank"),
        "vllm": {"rewards": ["rank"]},
        "openrlhf": {"reward": "rank"},
    }
    with running(tables) as address:
        body = {"query": "q", "documents": ["a", "bb"]}
        ranked = post(address, "/rerank", body).json()["results"]
        assert [one["relevance_score"] for one in ranked] == [1.0, 0.5]
        for path, body in (
            ("/pooling", {"input": ["a", "bb"]}),
            ("/get_reward", {"query": ["a", "bb"]}),
        ):
            refused = post(address, path, body)
            assert refused.status_code == 422 and "give every row a column `uid`" in refused.text
        labels = ['{"uid": "one"}'] * 2
        rewards = post(address, "/get_reward", {"query": ["a", "bb"], "labels": labels}).json()
        assert rewards["rewards"] == [0.5, 1.0]


def test_openais_client_lists_the_models(url: str) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    assert [model.id for model in client.models.list()] == ["words", "answer"]


def test_our_client_of_vllms_protocol() -> None:
    """`RemotePointwiseModel` gets from the server what the model gives here, on every route."""
    pytest.importorskip("torch")
    from assay.messages import Sample
    from assay.rewards import PointwiseReward
    from assay.rewards.remote import RemotePointwiseModel
    from tests.judges.serving import reward_model_toy as toy

    rows = [Sample.of("Print a sum.", "print(a + b)" * n) for n in range(1, 6)]
    rows.append(Sample.of("Print a sum.", "print(a +", truncated=True))
    local = [score.value for score in toy.rm.evaluate(rows)]
    tables = {
        "rewards": {"rm": {"object": "tests.judges.serving.reward_model_toy:rm"}},
        "vllm": {"rewards": ["rm"]},
        "openrlhf": {"reward": "rm", "raw": True},
    }
    with running(tables) as address:
        for route in ("classify", "pooling"):
            for words in (None, toy.words()):
                model = RemotePointwiseModel(
                    address,
                    route,  # type: ignore[arg-type]
                    tokenizer=words,
                    batch_size=2,
                )
                scores = PointwiseReward(model).evaluate(rows)
                assert [score.value for score in scores] == pytest.approx(local, abs=1e-5)
        values = RemotePointwiseModel(address, "score").values(rows[:5])
        assert [value.value for value in values] == pytest.approx(local[:5], abs=1e-5)
        text = "print(a + b)"
        reply = post(address, "/get_reward", {"query": [text], "prompts": [""], "labels": [None]})
        ids = toy.words()(text, add_special_tokens=False)["input_ids"]
        ((numbers, count),) = toy.model().score_inputs([ids])
        assert reply.json()["rewards"] == pytest.approx([numbers[0]], abs=1e-5)
        assert count == len(ids)
        for bad, message in (([[]], "0 tokens"), ([[10**6]], "token ids must lie in")):
            assert message in post(address, "/classify", {"input": bad}).json()["error"]["message"]


def nemo_body(answer: str) -> dict[str, Any]:
    """What NeMo-Gym 0.4's agent sends: the row, the request to the model and its response."""
    return {
        "responses_create_params": {
            "input": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "input_text", "text": "2+2?"}]},
            ],
            "tools": [],
        },
        "response": {
            "id": "resp_1",
            "object": "response",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"text": "add"}]},
                {
                    "type": "function_call",
                    "call_id": "c1",
                    "name": "add",
                    "arguments": '{"a": 2, "b": 2}',
                },
                {"type": "function_call_output", "call_id": "c1", "output": "4"},
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": answer, "annotations": []}],
                },
            ],
        },
        "answer": "4",
        "uuid": "row-7",
    }


def test_nemo_gym(url: str) -> None:
    assert post(url, "/seed_session", {}).json() == {}
    body = nemo_body("it is 4")
    reply = post(url, "/verify", body).json()
    assert reply["reward"] == 1.0 and reply["reward_components"] == {"length": 7.0}
    assert {key: reply[key] for key in body} == body  # the row comes back whole
    assert post(url, "/verify", nemo_body("it is 5")).json()["reward"] == 0.0
    odd = nemo_body("x") | {"response": {"output": [{"type": "web_search_call"}]}}
    assert "'web_search_call' cannot be scored" in post(url, "/verify", odd).text


@pytest.mark.parametrize(
    "output",
    [
        5,
        {"a": 1},
        ["x"],
        [{"type": "reasoning", "content": 5}],
        [{"type": "reasoning", "summary": ["x"]}],
    ],
)
def test_rollouts_that_are_none(url: str, output: Any) -> None:
    body = {"responses_create_params": {"input": "q"}, "response": {"output": output}}
    assert post(url, "/verify", body).status_code == 422


def test_nemo_gyms_items_become_turns() -> None:
    body = nemo_body("it is 4")
    sample = sample_of(body["responses_create_params"], body["response"], {"answer": "4"})
    assert [m.role for m in sample.prompt] == ["developer", "user"]
    assert [m.role for m in sample.completion] == ["assistant", "tool", "assistant"]
    assert sample.completion[0].reasoning == "add"
    assert sample.completion[0].tool_calls[0].arguments == {"a": 2, "b": 2}
    assert sample.answer == "it is 4"
    cut = {"output": [], "incomplete_details": {"reason": "max_output_tokens"}}
    assert sample_of({"input": "q"}, cut, {}).truncated
    with pytest.raises(DataError, match="must be an object"):
        messages_of(["x"])  # type: ignore[list-item]


@pytest.fixture(scope="module")
def code_url() -> Iterator[str]:
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    code = {"endpoints": ["run_code", "submit", "sandbox_run"], "max_timeout_s": 20}
    with running({"code": code}) as address:
        yield address


def test_sandbox_fusions_client(code_url: str) -> None:
    fusion = pytest.importorskip("sandbox_fusion")
    fusion.set_endpoint(code_url)
    right = fusion.run_code(
        fusion.RunCodeRequest(code="print(int(input()) * 2)", language="python", stdin="21"),
        max_attempts=1,
    )
    assert right.status == "Success" and right.run_result.stdout == "42\n"
    assert right.run_result.return_code == 0 and right.compile_result is None
    wrong = fusion.run_code(
        fusion.RunCodeRequest(code="raise SystemExit(3)", language="python"), max_attempts=1
    )
    assert wrong.status == "Failed" and wrong.run_result.return_code == 3
    loop = fusion.RunCodeRequest(code="while True: pass", language="python", run_timeout=1)
    late = fusion.run_code(loop, max_attempts=1)
    assert late.status == "Failed" and late.run_result.status == "TimeLimitExceeded"
    long = fusion.RunCodeRequest(code="print('x' * 100_000)", language="python")
    assert len(fusion.run_code(long, max_attempts=1).run_result.stdout) == 100_001
    tests = [{"input": {"stdin": str(n)}, "output": {"stdout": str(2 * n)}} for n in (1, 2)]
    for code, accepted in (("print(int(input()) * 2)", True), ("print(2)", False)):
        submission = fusion.SubmitRequest(
            dataset="mine",
            id=1,
            completion=f"So:\n```python\n{code}\n```",
            config=fusion.TestConfig(language="python", provided_data={"test": tests}),
        )
        result = fusion.submit(submission, max_attempts=1)
        assert result.accepted is accepted and result.extracted_code.strip() == code
        assert [test.passed for test in result.tests] == (
            [True, True] if accepted else [True, False]
        )


def test_sandbox_fusion_in_a_compiled_language(code_url: str) -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    good = {"code": "int main(){return 3;}", "language": "cpp"}
    reply = post(code_url, "/run_code", good).json()
    assert reply["compile_result"]["return_code"] == 0 and reply["run_result"]["return_code"] == 3
    reply = post(code_url, "/run_code", {"code": "int main(){", "language": "cpp"}).json()
    assert reply["status"] == "Failed" and reply["run_result"] is None
    assert "error" in reply["compile_result"]["stderr"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/run_code", {"code": "x", "language": "cobol"}, "language must be one of"),
        ("/run_code", {"code": "x", "language": "python", "files": {"a": "b"}}, "files and fetch"),
        ("/run_code", {"code": "x", "language": "python", "run_timeout": 99}, "at most 20 s"),
        ("/submit", {"completion": "x", "config": {}}, "provided_data must hold"),
        (
            "/submit",
            {"completion": "x", "config": {"custom_extract_logic": "evil()"}},
            "it is not run",
        ),
        (
            "/submit",
            {"completion": "x", "config": {"provided_data": {"test": "[" * 100_000}}},
            "provided_data must hold",
        ),
        ("/submit", {"completion": "x", "config": {"provided_data": [1]}}, "provided_data must"),
        ("/sandbox/run", {"source": "x", "kind": "odd", "tests": [{}]}, "not a job"),
    ],
)
def test_programs_that_are_refused(code_url: str, path: str, body: Any, message: str) -> None:
    reply = post(code_url, path, body)
    assert reply.status_code == 422 and message in reply.json()["error"]["message"]


@pytest.mark.parametrize("protocol", ["assay", "sandboxfusion"])
def test_our_sandbox_client(code_url: str, protocol: Any) -> None:
    from assay.sandbox import Job, Limits, StdioTest, Verdict
    from assay.sandbox.remote import HttpSandbox

    tests = tuple(StdioTest(str(n), str(n * n)) for n in range(3))
    limits = Limits(cpu_s=2, wall_s=4)
    programs = {"print(int(input()) ** 2)": "AC", "print(4)": "WA", "1 / 0": "RE"}
    jobs = [Job(source, tests, limits=limits) for source in programs]
    results = HttpSandbox(code_url, protocol).run(jobs)
    assert [result.verdict for result in results] == [Verdict(v) for v in programs.values()]
