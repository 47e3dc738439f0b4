from __future__ import annotations

import json
import os
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judge import TurnVerdict
from assay.judges.turn_critic import RuleCritic
from assay.messages import Message, ToolCall, Trajectory
from assay.policy.data.trajectories import (
    labelled,
    loss_flags,
    losses_of_row,
    read_trajectories,
    read_trajectory,
    supervised_row,
    supervised_rows,
    trajectory_row,
    write_trajectories,
)
from tests.rewards.small_models import TOOL_TEMPLATE, language_model, tokenizer

FIND = {
    "type": "function",
    "function": {
        "name": "find",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"],
        },
    },
}
RUN = Trajectory(
    (
        Message("system", "Find things."),
        Message("user", "When was tea taxed?"),
        Message("assistant", "", "Look it up.", (ToolCall("find", {"q": "tea tax"}),)),
        Message("tool", "In 1767.", name="find"),
        Message("assistant", "", "Once more.", (ToolCall("find", {"q": "tea act"}),)),
        Message("tool", "In 1773.\nIn Boston.", name="find"),
        Message("assistant", "It was 1767.", "So it was 1767."),
    ),
    (FIND,),
    1.0,
    "tea",
    20,
    {"question": "When?"},
)


@pytest.mark.parametrize("form", ["openai", "trl", "hermes", "miroflow", "react"])
def test_what_is_written_is_read_back(form: str) -> None:
    row = json.loads(json.dumps(trajectory_row(RUN, form)))
    found = read_trajectory(row)
    if form == "miroflow":  # its calls name a server
        calls = [c for m in found.messages for c in m.tool_calls]
        assert {c.server for c in calls} == {"tools"}
    bare = [replace(m, tool_calls=tuple(map(_bare, m.tool_calls))) for m in found.messages]
    assert tuple(bare) == RUN.messages
    assert replace(found, messages=()) == replace(RUN, messages=())


def _bare(call: ToolCall) -> ToolCall:
    return replace(call, raw="", server="")


def test_malformed_calls_keep_where_they_broke() -> None:
    text = 'Hm.\n<tool_call>\n{"name": "find", "arguments": {"q": }}\n</tool_call>'
    run = read_trajectory({"messages": [{"role": "assistant", "content": text}]})
    (call,) = run.turns[0].message.tool_calls
    assert call.arguments is None and "line 3" in call.error
    again = read_trajectory(json.loads(json.dumps(trajectory_row(run))))
    assert again.messages == run.messages  # through OpenAI's form as well
    back = read_trajectory(trajectory_row(run, "hermes"))
    assert back.messages == run.messages


def test_openai_arguments_that_are_no_json() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    row = {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}
    run = read_trajectory(row)
    assert run.turns[0].message.tool_calls[0].error.startswith("arguments: ")
    assert read_trajectory(trajectory_row(run)).messages == run.messages


def test_results_are_named_by_the_calls_they_answer() -> None:
    calls = [
        {"id": "b", "function": {"name": "second", "arguments": {}}},
        {"id": "a", "function": {"name": "first", "arguments": {}}},
    ]
    results = [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    row = {"messages": [{"role": "assistant", "content": "", "tool_calls": calls}, *results]}
    assert [m.name for m in read_trajectory(row).turns[0].results] == ["first", "second"]


def test_trl_completion_that_ends_with_a_tool_message() -> None:
    call = {"type": "function", "function": {"name": "find", "arguments": {"q": "x"}}}
    row = {
        "prompt": [{"role": "user", "content": "Go."}],
        "completion": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "find", "content": [{"type": "text", "text": "ok"}]},
        ],
    }
    run = read_trajectory(row)
    assert [m.role for m in run.messages] == ["user", "assistant", "tool"]
    assert run.turns[0].results[0].content == "ok"


def test_tools_in_a_hermes_system_prompt() -> None:
    system = f"You call tools.\n<tools>\n{json.dumps(FIND)}\n</tools>"
    row = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": "?"}]}
    assert read_trajectory(row).tools == (FIND,)


def test_react_thoughts_become_reasoning() -> None:
    text = "Thought: look\nAction: find[tea]"
    run = read_trajectory({"messages": [{"role": "assistant", "content": text}]})
    assert run.messages[0].reasoning == "look"
    assert run.messages[0].tool_calls[0].arguments == {"input": "tea"}


def test_tau_bench_row() -> None:
    row = {
        "task_id": 7,
        "trial": 2,
        "reward": 0.0,
        "info": {"source": "user"},
        "traj": [m for m in trajectory_row(RUN)["messages"]],
    }
    run = read_trajectory(row)
    assert (run.id, run.outcome, len(run.turns)) == ("7/2", 0.0, 3)
    again = trajectory_row(run, "tau_bench")
    assert (again["task_id"], again["trial"], again["reward"]) == (7, 2, 0.0)
    assert read_trajectory(again) == run


def test_who_and_when_rows_of_both_kinds() -> None:
    code = "Let us count.\n```python\nprint(2)\n```"
    row = {
        "history": [
            {"role": "assistant", "name": "Planner", "content": "The task is to count."},
            {"role": "user", "name": "Coder", "content": code},
            {"role": "user", "name": "Computer_terminal", "content": "exitcode: 0\n2"},
            {"role": "user", "name": "Checker", "content": "It is 2."},
        ],
        "mistake_step": "3",
        "question": "How many?",
        "is_correct": False,
    }
    run = read_trajectory(row)
    assert run.info["turn_steps"] == [0, 1, 3] and run.info["mistake_step"] == 3
    assert run.outcome == 0.0
    coder = run.turns[1]
    assert coder.message.content == code  # the text stays
    assert coder.message.tool_calls[0].arguments == {"code": "print(2)", "language": "python"}
    assert coder.results[0].role == "tool"
    assert read_trajectory(trajectory_row(run, "who_and_when")) == run
    other = read_trajectory(
        {"history": [{"role": "human", "content": "?"}, {"role": "WebSurfer", "content": "Hm."}]}
    )
    assert [(m.role, m.name) for m in other.messages] == [
        ("user", None),
        ("assistant", "WebSurfer"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x"}, "needs one of `messages`"),
        ({"messages": "x", "tools": 3}, "`tools` must be a list"),
        ({"messages": [{"role": "x"}]}, "message role must be"),
        ({"history": [], "mistake_step": "soon"}, "mistake_step must be a whole number"),
        ({"messages": "x", "outcome": "good"}, "must be a finite number"),
        ({"messages": "x", "budget": 1.5}, "`budget` must be a whole number"),
    ],
)
def test_rows_that_cannot_be_read(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_trajectory(row)


def test_unknown_forms() -> None:
    with pytest.raises(ConfigError, match="form must be 'auto' or one of"):
        read_trajectory({"messages": []}, "xml")
    with pytest.raises(ConfigError, match="form must be one of"):
        trajectory_row(RUN, "xml")


def test_files_say_which_row_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    assert write_trajectories(path, [RUN, RUN]) == 2
    assert list(read_trajectories(path)) == [read_trajectory(trajectory_row(RUN))] * 2
    path.write_text(path.read_text() + '{"a": 1}\n')
    with pytest.raises(DataError, match="row 3"):
        list(read_trajectories(path))


def test_real_runs_round_trip() -> None:
    data = os.environ.get("ASSAY_DATA")
    if not data:
        pytest.skip("ASSAY_DATA is not set")
    runs = list(read_trajectories(Path(data) / "taubench" / "gpt-4o-airline.json.gz"))[:40]
    for run in runs:
        for form in ("openai", "tau_bench"):
            assert read_trajectory(trajectory_row(run, form)) == run
        back = read_trajectory(trajectory_row(run, "hermes"))
        assert [_plain(m) for m in back.messages] == [_plain(m) for m in run.messages]


def _plain(message: Message) -> Any:
    return message.role, message.content, [(c.name, c.arguments) for c in message.tool_calls]


def long_row(turns: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Find all."}]
    for i in range(turns):
        call = json.dumps({"name": "find", "arguments": {"q": f"item {i}"}})
        messages.append({"role": "assistant", "content": f"<tool_call>{call}</tool_call>"})
        body = f"<tool_response>REC{i:05d} " + "text " * 60 + "</tool_response>"
        messages.append({"role": "user", "content": body})
    return {"messages": messages, "tools": [FIND]}


def test_six_hundred_turns() -> None:
    run = read_trajectory(long_row(600))
    assert len(run.turns) == 600 and run.calls == 600
    verdicts = RuleCritic().review([run])[0]
    assert len(verdicts) == 600 and not any(v.passed is False for v in verdicts)


@pytest.mark.slow
def test_twice_the_turns_take_twice_the_time() -> None:
    def seconds(turns: int) -> float:
        row = long_row(turns)
        times = []
        for _ in range(5):
            start = time.process_time()
            RuleCritic().review([read_trajectory(row)])
            times.append(time.process_time() - start)
        return min(times)

    seconds(100)
    assert seconds(1200) / seconds(600) < 2.6


# Loss by turn.


def verdict(passed: bool | None) -> TurnVerdict:
    return TurnVerdict(None, None if passed is None else passed, None)


def test_flags_mask_only_what_failed() -> None:
    assert loss_flags([verdict(False), verdict(None), TurnVerdict(True, True, True)]) == (0, 1, 1)


def test_rows_like_toolmind_and_back() -> None:
    row = supervised_row(RUN, [1, 0, 1])
    assert [m.get("loss") for m in row["conversations"]] == [0, 0, 1, 0, 0, 0, 1]
    assert losses_of_row(row) == (1, 0, 1)
    found = read_trajectory(row)
    assert [m.role for m in found.messages] == [m.role for m in RUN.messages]
    with pytest.raises(DataError, match="3 assistant turns need as many"):
        supervised_row(RUN, [1])
    with pytest.raises(DataError, match="`loss` must be 0 or 1"):
        losses_of_row({"messages": [{"role": "assistant", "content": "", "loss": 2}]})


def test_a_critics_failing_turns_leave_the_loss_and_stay_in_context() -> None:
    broken = Message("assistant", "", None, (ToolCall("find", {"q": 3}),))
    messages = (*RUN.messages[:2], broken, Message("tool", "?"), *RUN.messages[2:])
    (row,) = supervised_rows([replace(RUN, messages=messages)], RuleCritic())
    assert losses_of_row(row) == (0, 1, 1, 1)  # the turns that mend it stay trainable
    assert '{"q": 3}' in row["conversations"][2]["content"]
    assert list(supervised_rows([RUN], RuleCritic(), min_outcome=2.0)) == []


GENERATION = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}<|im_end|>"
    "{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}\n{% endfor %}"
)


@pytest.mark.parametrize("template", [GENERATION, TOOL_TEMPLATE])
def test_labels_token_by_token(template: str) -> None:
    words = tokenizer(template)
    row = supervised_row(RUN, [1, 0, 1])
    del row["tools"]
    found = labelled(row, words)
    assert len(found.input_ids) == len(found.labels)
    text = words.decode(found.input_ids)
    trained = words.decode([i for i, label in enumerate(found.labels) if label != -100] and
                           [label for label in found.labels if label != -100])  # fmt: skip
    contents = [m["content"] for m in row["conversations"] if m["role"] == "assistant"]
    assert trained == contents[0] + "<|im_end|>" + contents[2] + "<|im_end|>"
    assert contents[1] in text  # what failed stays in context
    for token, label in zip(found.input_ids, found.labels, strict=True):
        assert label in (-100, token)


def test_a_template_that_rewrites_earlier_turns_is_refused() -> None:
    template = (
        "{% for m in messages %}{{ m['role'] }}: "
        "{{ m['content'] if loop.last else '...' }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    with pytest.raises(DataError, match="rewrites what stands before"):
        labelled(supervised_row(RUN, [1, 1, 1]), tokenizer(template))


@pytest.mark.parametrize("packing", [False, True])
def test_trl_trains_on_these_labels(packing: bool, tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    words = tokenizer(GENERATION)
    coin = random.Random(0)
    rows = []
    for _ in range(4):
        row = supervised_row(RUN, [coin.randint(0, 1) for _ in range(2)] + [1])
        del row["tools"]
        rows.append(labelled(row, words).to_json())
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        report_to="none",
        max_length=2048,
        packing=packing,
        per_device_train_batch_size=2,
        max_steps=1,
        save_strategy="no",
        gradient_checkpointing=False,
    )
    trainer = trl.SFTTrainer(
        model=language_model(),
        args=arguments,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=words,
    )
    seen: list[tuple[int, int]] = []
    for batch in trainer.get_train_dataloader():
        ids, labels = batch["input_ids"].flatten().tolist(), batch["labels"].flatten().tolist()
        seen += [(i, x) for i, x in zip(ids, labels, strict=True) if i != words.pad_token_id]
    wanted = [pair for row in rows for pair in zip(row["input_ids"], row["labels"], strict=True)]
    starts = {
        row["input_ids"][0] for row in rows
    }  # packing never predicts a document's first token
    masked = [(i, -100 if i in starts and x == i else x) for i, x in wanted]
    assert sorted(seen) in (sorted(wanted), sorted(masked))
    trainer.train()
