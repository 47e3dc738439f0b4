"""`--engine openai-batch`: requests out, results in, in any order and in parts."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import DataError
from assay.judges.batch_folder import BatchFolder
from tests.judges.scripted import between, nonce_in
from tests.judges.test_offline import results

SPEC = "tests.judges.batch_rewards"


def reply(body):
    """What the service's model says: equivalent where the gold answer stands in the answer."""
    prompt = body["messages"][-1]["content"]
    if "answer A" in prompt:
        verdict = {"choice": "A" if len(between(prompt, "answer A")) > 3 else "B"}
    else:
        same = between(prompt, "reference answer") in between(prompt, "answer")
        verdict = {"equivalent": "yes" if same else "no"}
    text = json.dumps({"nonce": nonce_in(prompt)} | verdict)
    return {
        "model": body["model"],
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }


def serve(folder, name, share=1.0, status=200):
    """Answer a share of the requests, in another order."""
    requests = results(folder / "requests.jsonl")
    random.Random(1).shuffle(requests)
    done = requests[: round(share * len(requests))]
    with (folder / name).open("w") as file:
        for one in done:
            assert one["method"] == "POST"
            body = reply(one["body"]) if status == 200 else {"error": {"message": "too long"}}
            response = {"status_code": status, "body": body}
            line = {"id": "x", "custom_id": one["custom_id"], "response": response, "error": None}
            file.write(json.dumps(line) + "\n")
    return len(done)


@pytest.fixture
def run(tmp_path):
    rows = [
        {"id": i, "prompt": "?", "completion": f"it is {i % 4}", "answer": i % 2, "gold": i % 4}
        for i in range(20)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(spec, *args, verb=("score", "--reward"), code=0):
        words = [verb[0], verb[1], f"{SPEC}:{spec}", "--input", str(tmp_path / "in.jsonl")]
        words += ["--output", str(tmp_path / "out.jsonl"), "--batch-size", "4"]
        words += ["--engine", "openai-batch", "--batch-folder", str(tmp_path / "batch")]
        done = CliRunner().invoke(app, [*words, *args])
        assert done.exit_code == code, f"{done.output} {done.exception}"
        return done.output

    return call


def test_rounds(run, tmp_path):
    folder, out = tmp_path / "batch", tmp_path / "out.jsonl"
    assert "20 rows wait for model replies" in run("gated")
    assert results(out) == []
    requests = results(folder / "requests.jsonl")
    assert {one["url"] for one in requests} == {"/v1/chat/completions"}
    assert len(requests) == 4  # 20 rows, 4 different questions
    assert requests[0]["body"]["response_format"]["type"] == "json_schema"
    assert serve(folder, "results-1.jsonl", 0.5) == 2
    run("gated", "--resume")
    assert len(results(folder / "requests.jsonl")) >= 2  # the rest, and what the gate opened
    for number in range(2, 6):
        serve(folder, f"results-{number}.jsonl")
        said = run("gated", "--resume")
    assert "wait" not in said and results(folder / "requests.jsonl") == []
    found = {row["id"]: row for row in results(out)}
    assert len(found) == len(results(out)) == 20
    for i, row in found.items():
        # right: the gold i % 2 stands in "it is i % 4"; strict: i % 4 always does
        right = float(str(i % 2) in f"it is {i % 4}")
        assert row["value"] == 2 * right, row
        assert row["parts"]["right"]["info"]["cost"] == pytest.approx(15e-6)


def test_pairs(run, tmp_path):
    rows = [{"prompt": "?", "a": "a" * n, "b": "b" * (6 - n)} for n in range(1, 6)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("judge", verb=("compare", "--judge"))
    assert serve(tmp_path / "batch", "results.jsonl") == 10
    run("judge", "--resume", verb=("compare", "--judge"))
    # A first wins with more than 3 letters: n = 4, 5 win in both orders, 1, 2 lose in both.
    assert [row["info"]["choice"] for row in results(tmp_path / "out.jsonl")] == [
        "B", "B", "tie", "A", "A",
    ]  # fmt: skip


def test_failed_results_are_asked_again(run, tmp_path):
    run("right")
    serve(tmp_path / "batch", "results-1.jsonl", status=400)
    said = run("right", "--resume", "--max-error-rate", "1")
    assert "wait" not in said
    rows = results(tmp_path / "out.jsonl")
    assert {row["status"] for row in rows} == {"failed"} and "too long" in rows[0]["note"]
    assert serve(tmp_path / "batch", "results-0.jsonl") == 4
    run("right", "--retry-failed")
    assert {row["status"] for row in results(tmp_path / "out.jsonl")} == {"scored"}


def test_scores_of_a_served_reward_model(run, tmp_path):
    run("served")
    folder = tmp_path / "batch"
    requests = results(folder / "requests.jsonl")
    assert {one["url"] for one in requests} == {"/v1/score"} and len(requests) == 4
    assert requests[0]["body"]["model"] == "rm"
    with (folder / "results.jsonl").open("w") as file:
        for one in reversed(requests):
            score = float(one["body"]["text_2"][-1])
            body = {"data": [{"index": 0, "score": score}]}
            response = {"status_code": 200, "body": body}
            file.write(json.dumps({"custom_id": one["custom_id"], "response": response}) + "\n")
    run("served", "--resume")
    assert all(row["value"] == row["id"] % 4 for row in results(tmp_path / "out.jsonl"))


def test_a_killed_run_leaves_the_requests_as_they_were(tmp_path):
    whole = BatchFolder(tmp_path)
    assert whole.ask("/v1/x", {"a": 1}) is None and whole.ask("/v1/x", {"a": 1}) is None
    assert (whole.waiting, whole.unanswered) == (1, 2)
    whole.close(complete=True)
    cut = BatchFolder(tmp_path)
    cut.ask("/v1/x", {"a": 2})
    cut.close(complete=False)
    assert [one["body"] for one in results(tmp_path / "requests.jsonl")] == [{"a": 1}]
    assert [one.name for one in tmp_path.iterdir()] == ["requests.jsonl"]


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"response": {}}', "3"])
def test_results_that_are_none(tmp_path, line):
    (tmp_path / "results.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(DataError, match=r"results\.jsonl:2 is no result"):
        BatchFolder(tmp_path)


def test_wrong_usage(tmp_path):
    words = ["score", "--reward", f"{SPEC}:right", "--input", __file__, "--output", "o"]
    for wrong in (
        ["--engine", "openai-batch"],
        ["--batch-folder", str(tmp_path)],
        ["--engine", "openai-batch", "--batch-folder", str(tmp_path), "--workers", "2"],
    ):
        assert CliRunner().invoke(app, [*words, *wrong]).exit_code == 2


def test_texts_that_no_file_can_hold_are_asked_all_the_same(tmp_path):
    folder = BatchFolder(tmp_path)
    assert folder.ask("/v1/chat/completions", {"messages": "cut \ud83d"}) is None
    folder.close(complete=True)
    assert results(tmp_path / "requests.jsonl")[0]["body"] == {"messages": "cut ?"}
    line = {"custom_id": "x", "response": {"status_code": 200, "body": {}}}
    deep = json.dumps(line).replace("{}", "[" * 100_000 + "]" * 100_000)
    (tmp_path / "results.jsonl").write_text(deep + "\n")
    with pytest.raises(DataError, match="no result of a batch"):
        BatchFolder(tmp_path)
