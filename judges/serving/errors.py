"""What a request can come to other than an answer, as HTTP says it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from typing import Any


class ApiError(Exception):
    """An answer that is no success.

    Attributes:
        status: HTTP status.
        kind: One word for machines, such as `bad_request` or `busy`.
        index: Position of the offending row in the request, or None.
        retry_after_s: When to try again, or None.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        index: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.index, self.retry_after_s = status, kind, index, retry_after_s

    def body(self) -> dict[str, Any]:
        """As JSON; the form of OpenAI's and vLLM's errors, with the row's index."""
        error = {"message": str(self), "type": self.kind, "code": self.status}
        if self.index is not None:
            error["index"] = self.index
        return {"error": error}

    def headers(self) -> dict[str, str]:
        """Headers that go with it."""
        headers = {}
        if self.retry_after_s is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return headers


def unknown(what: str, name: str, known: Collection[str]) -> ApiError:
    """404 for a name that is not served, with the nearest one that is.

    >>> str(unknown("reward", "cod", ["code", "chat"]))
    "there is no reward 'cod'; did you mean 'code'?"
    """
    near = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {sorted(known)}"
    return ApiError(404, "not_found", f"there is no {what} {name!r}; {hint}")
