from __future__ import annotations

from typing import Any

import pytest

from assay.errors import DataError
from assay.policy.stages.sft_rows import IGNORED, SftRenderer

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from examples.miniature import build_tokenizer

    return build_tokenizer(["Tea is a drink made of leaves. Yes, really."] * 5)


def turn(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def trained(tokenizer: Any, row: dict[str, list[int]]) -> str:
    return str(tokenizer.decode([i for i in row["labels"] if i != IGNORED]))


def test_prompt_and_completion(tokenizer: Any) -> None:
    (row,) = SftRenderer(tokenizer, 200)({"prompt": "Tea?", "completion": "Yes."})
    assert trained(tokenizer, row) == "Yes.<|im_end|>"
    whole = tokenizer.decode(row["input_ids"])
    assert whole == "<|im_start|>user\nTea?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>"
    # what is read before the answer is what generation reads
    prompt = tokenizer.apply_chat_template(
        [turn("user", "Tea?")], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    assert row["input_ids"][: len(prompt)] == list(prompt)


def test_turns_without_loss_stay_in_context(tokenizer: Any) -> None:
    chat = [
        turn("user", "Tea?"),
        turn("assistant", "No.", loss=0),
        turn("user", "Sure?"),
        turn("assistant", "Yes.", loss=1),
    ]
    (row,) = SftRenderer(tokenizer, 200)({"conversations": chat})
    assert trained(tokenizer, row) == "Yes.<|im_end|>"
    assert "No." in tokenizer.decode(row["input_ids"])
    assert SftRenderer(tokenizer, 200)({"messages": chat[:2]}) == []


def test_all_turns_in_one_row_where_the_template_keeps_them(tokenizer: Any) -> None:
    chat = [
        turn("user", "Tea?"),
        turn("assistant", "Yes."),
        turn("user", "Sure?"),
        turn("assistant", "Really."),
    ]
    (row,) = SftRenderer(tokenizer, 200)({"messages": chat})
    assert trained(tokenizer, row) == "Yes.<|im_end|>Really.<|im_end|>"


def test_dropped_reasoning_is_trained_where_it_was_seen(tokenizer: Any) -> None:
    chat = [
        turn("user", "Tea?"),
        turn("assistant", "<think>\nleaves\n</think>\n\nYes."),
        turn("user", "Sure?"),
        turn("assistant", "<think>\ndrink\n</think>\n\nReally."),
    ]
    first, second = SftRenderer(tokenizer, 400)({"messages": chat})
    assert trained(tokenizer, first) == "<think>\nleaves\n</think>\n\nYes.<|im_end|>"
    assert trained(tokenizer, second) == "<think>\ndrink\n</think>\n\nReally.<|im_end|>"
    assert "leaves" not in tokenizer.decode(second["input_ids"])


def test_long_rows_are_dropped_or_cut_and_counted(tokenizer: Any) -> None:
    row = {"prompt": "Tea?", "completion": "Tea is a drink. " * 40}
    drop = SftRenderer(tokenizer, 60)
    assert drop(row) == []
    assert (drop.account.rows, drop.account.too_long) == (0, 1)
    cut = SftRenderer(tokenizer, 60, "cut")
    (short,) = cut(row)
    assert len(short["input_ids"]) == len(short["labels"]) == 60
    assert tokenizer.eos_token_id not in short["labels"]
    account = cut.account
    assert (account.rows, account.tokens, account.too_long) == (1, 60, 1)
    assert account.trained == sum(label != IGNORED for label in short["labels"])


def test_system_prompt_and_tools(tokenizer: Any) -> None:
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    renderer = SftRenderer(tokenizer, 900, system_prompt="Be brief.")
    (row,) = renderer({"prompt": "Tea?", "completion": "Yes.", "tools": [tool]})
    text = tokenizer.decode(row["input_ids"])
    assert text.startswith("<|im_start|>system\nBe brief.")
    assert '"name": "find"' in text
    (same,) = SftRenderer(tokenizer, 900, system_prompt="Be brief.")(
        {"messages": [turn("user", "Tea?"), turn("assistant", "Yes.")]}
    )
    assert trained(tokenizer, same) == "Yes.<|im_end|>"


def test_rows_without_a_conversation(tokenizer: Any) -> None:
    with pytest.raises(DataError, match="row 3 has neither messages nor prompt"):
        SftRenderer(tokenizer, 50)({"text": "x"}, 3)


@pytest.mark.parametrize("loss", ["0", 0.5, 2])
def test_a_loss_that_is_neither_0_nor_1_is_refused(tokenizer: Any, loss: object) -> None:
    row = {"messages": [turn("user", "Tea?"), turn("assistant", "Yes.", loss=loss)]}
    with pytest.raises(DataError, match=r"row 3: .*loss"):
        SftRenderer(tokenizer, 200)(row, 3)
