"""Reads fields as trainers, pandas and servers fill them: arrays, NaN, text blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError


def group_name(uid: Any) -> str | None:
    """A group's name; NaN is pandas' sign for a missing value and no group of its own."""
    if getattr(uid, "ndim", None) == 0:  # a NumPy or torch scalar
        uid = uid.item()
    if uid is None or (isinstance(uid, float) and math.isnan(uid)):
        return None
    return str(uid)


def truth(what: str, told: Any) -> bool:
    """A truth value of Python, NumPy or JSON.

    Raises:
        DataError: Anything else, named as `what`.
    """
    if not getattr(told, "ndim", 0) and told in (True, False):
        return bool(told)
    raise DataError(
        f"{what} must be true or false, got {told!r:.80}; leave it out where it is unknown"
    )


def token_ids(values: Sequence[int]) -> tuple[int, ...]:
    """Token ids as whole numbers.

    Raises:
        DataError: Something among them is none.
    """
    try:
        return tuple(int(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"completion_ids must be whole numbers, got {values!r:.80}") from None


def listed(value: Any) -> Any:
    """`value`, as a list where it is an array: what pandas makes of a list in a parquet file."""
    return value.tolist() if getattr(value, "ndim", 0) and hasattr(value, "tolist") else value


def text_of_content(content: Any) -> str:
    """Text of a message's content: a string, None (a pure tool call), or text blocks.

    Raises:
        DataError: A block that is no text, or something else.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    content = listed(content)
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        parts = []
        for block in content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
                parts.append(block["text"])
            else:
                kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
                raise DataError(
                    f"only text content can be scored, got a block of type {kind!r}; "
                    "replace it by a text description before scoring"
                )
        return "".join(parts)
    raise DataError(f"message content must be text or text blocks, got {type(content).__name__}")
