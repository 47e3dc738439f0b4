r"""Human/Assistant transcripts, and where two conversations part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.errors import DataError
from assay.messages import Message

#: The mark of a turn.
TURN = re.compile(r"\n\n(Human|Assistant):[ ]?")
_ROLES = {"Human": "user", "Assistant": "assistant"}


def read_transcript(text: str) -> tuple[Message, ...]:
    r"""Messages of a "\n\nHuman: ...\n\nAssistant: ..." transcript.

    Raises:
        DataError: It does not begin with a turn's mark.
    """
    if not isinstance(text, str):
        raise DataError(f"a transcript must be text, got {type(text).__name__}")
    marked = text if text.startswith("\n\n") else "\n\n" + text
    parts = TURN.split(marked)
    if parts[0].strip() or len(parts) < 3:
        raise DataError(
            "a transcript must begin with '\\n\\nHuman: ' or '\\n\\nAssistant: ', got "
            f"{text[:60]!r}"
        )
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return tuple(Message(_ROLES[who], said.strip()) for who, said in pairs)


def shared_beginning(
    first: Sequence[Message], second: Sequence[Message]
) -> tuple[tuple[Message, ...], tuple[Message, ...], tuple[Message, ...]]:
    """What both conversations begin with, and the rest of each.

    The answers may be several messages: a battle of two models differs in all its replies.

    Raises:
        DataError: They do not differ first in an assistant turn of each.
    """
    size = 0
    while size < min(len(first), len(second)) and first[size] == second[size]:
        size += 1
    if size == min(len(first), len(second)):
        if first == second:
            size -= 1  # the same to the end: the last message is the answer of both
        else:
            raise DataError(
                "one conversation is the beginning of the other, so there is no answer to compare"
            )
    if size < 0 or first[size].role != "assistant" or second[size].role != "assistant":
        raise DataError(
            "the conversations must differ first in an assistant turn; they differ at message "
            f"{size} in {first[size].role!r} and {second[size].role!r} turns"
        )
    return tuple(first[:size]), tuple(first[size:]), tuple(second[size:])
