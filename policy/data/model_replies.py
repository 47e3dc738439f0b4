"""What a model's reply is worth as text: its words without reasoning, and why there are none."""

from __future__ import annotations

from assay.judges.client import Reply
from assay.messages import Message

#: A reply that ran into the token limit is half a text.
CUT = "cut at the token limit"


def words(reply: Reply) -> str:
    r"""The words of a reply after its reasoning; empty where it never got to them.

    >>> words(Reply("<think>Two and two.</think>\n4"))
    '4'
    """
    return Message("assistant", reply.text).split()[1].strip("\r\n")


def problem_of(reply: Reply) -> str:
    """Why there are no words; empty where there are some.

    >>> problem_of(Reply(" ")), problem_of(Reply("4"))
    ('an empty reply', '')
    """
    if reply.status != "ok":
        return reply.error or "no reply"
    if words(reply).strip():
        return ""
    return CUT if was_cut(reply) else "an empty reply"


def was_cut(reply: Reply) -> bool:
    """Whether the model was stopped by the limit."""
    return reply.finish_reason == "length"
