"""Numbers that follow from what a run has seen are no inventions; others are."""

from __future__ import annotations

import json

import pytest

from assay.judges.computed_numbers import Figures, is_sum
from assay.judges.evidence import Seen
from assay.judges.turn_critic import RuleCritic
from assay.messages import Message, ToolCall, Trajectory

TOOL = {
    "name": "orders",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}
ORDERS = [
    {"id": f"O-{i}", "status": "open", "total": total}
    for i, total in enumerate([273, 38, 201, 74, 191, 412, 377, 119, 255, 308, 96, 143])
]


def answered(text: str, *named: str) -> tuple[str, ...]:
    """What the critic finds in an answer after a look at all orders and calls that name some."""
    messages = [
        Message("user", "Cancel what is open and say what comes back."),
        Message("assistant", tool_calls=(ToolCall("orders", {}),)),
        Message("tool", json.dumps(ORDERS)),
    ]
    for one in named:
        messages += [
            Message("assistant", tool_calls=(ToolCall("orders", {"id": one}),)),
            Message("tool", f'{{"{one}": "ok"}}'),
        ]
    messages.append(Message("assistant", text))
    return RuleCritic().review([Trajectory(tuple(messages), (TOOL,))])[0][-1].findings


def test_sums_and_means_of_a_field_are_supported() -> None:
    total = sum(one["total"] for one in ORDERS)
    assert answered(f"In all {total}.") == ()
    assert answered(f"On average {total / len(ORDERS):.2f}.") == ()
    assert answered("In all 9,871.") == ("unsupported_answer",)


def test_sums_over_the_records_that_calls_named_are_supported() -> None:
    # 273 + 201 + 412 = 886; among twelve values nearly every number is the sum of some
    assert answered("886 come back.") == ("unsupported_answer",)
    assert answered("886 come back.", "O-0", "O-2", "O-5") == ()
    assert answered("887 come back.", "O-0", "O-2", "O-5") == ("unsupported_answer",)


def test_a_field_in_plain_text_and_in_nested_records_is_read() -> None:
    figures = Figures()
    figures.add("Price: $120.50 for one, price: 99.25 for the other, price: 310.10 for all")
    assert figures.explains(529.85) and not figures.explains(530.85)
    nested = Figures()
    nested.name({"flights": [{"number": "HAT1"}, {"number": "HAT2"}]})
    prices = [("HAT1", 141), ("HAT2", 158), ("HAT3", 407)]
    nested.add(json.dumps([{"number": n, "prices": {"economy": p}} for n, p in prices]))
    assert nested.explains(299) and not nested.explains(300)


@pytest.mark.parametrize("text", ["[" * 5000, '{"a": 1e999, "b": NaN}', "total: " * 500, "\ud800"])
def test_odd_texts_explain_nothing(text: str) -> None:
    figures = Figures()
    figures.add(text)
    assert not figures.explains(512.0)


def test_sums_of_many_values_tell_nothing() -> None:
    assert not is_sum(57, [float(v) for v in range(1, 12)])
    assert not is_sum(5000, [float(v) for v in range(1, 200)])


def test_what_is_left_after_an_unknown_amount_is_as_unknown() -> None:
    seen = Seen()
    seen.add("certificate 500, seats 128, bags 3")
    assert seen.explains(125.0)  # 128 - 3, by chance
    assert seen.rests_on(125.0, 375.0)
    messages = (
        Message("user", "Pay with my certificate of 500, at most 128 seats, 3 bags."),
        Message("assistant", "That is 375, which leaves 125 on it. Shall I?"),
    )
    review = RuleCritic().review([Trajectory(messages, (TOOL,))])[0]
    assert review[0].findings == ("unsupported_answer",)
