"""One request's bad row must not cost the others in its batch their answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from assay.errors import ContractError, DataError, JudgeError, RewardError, SandboxError

#: A batch that failed faster than this is tried again request by request: a service that is down
#: often fails slowly, a row that cannot be scored fails at once.
QUICK_S = 1.0
_OURS = (SandboxError, JudgeError, RewardError, OSError)


def answer_apart(
    call: Callable[[list[Any]], list[Any]],
    failed: Callable[[Any], bool],
    requests: list[list[Any]],
) -> list[Any]:
    """Answer requests in one call, and apart where that goes wrong.

    Args:
        call: Gives one result per item, in order.
        failed: Whether a result says that our side broke.
        requests: The items of each request.

    Returns:
        For each request its list of results, or the exception that it alone brought about.
    """
    if len(requests) == 1:
        return [_alone(call, requests[0])]
    start = time.monotonic()
    try:
        results = call([item for items in requests for item in items])
    except DataError as error:
        return _without(call, failed, requests, error)
    except Exception as error:
        if isinstance(error, _OURS) and not isinstance(error, ContractError) and _slow(start):
            return [error] * len(requests)
        return [_alone(call, items) for items in requests]
    if all(failed(result) for result in results) and not _slow(start):
        return [_alone(call, items) for items in requests]
    found, answers = iter(results), []
    for items in requests:
        answers.append([next(found) for _ in items])
    return answers


def _slow(start: float) -> bool:
    return time.monotonic() - start >= QUICK_S


def _alone(call: Callable[[list[Any]], list[Any]], items: list[Any]) -> Any:
    try:
        return call(items)
    except Exception as error:
        return error


def _without(
    call: Callable[[list[Any]], list[Any]],
    failed: Callable[[Any], bool],
    requests: list[list[Any]],
    error: DataError,
) -> list[Any]:
    """The error to the request whose row it names, the rest together again."""
    left = -1 if error.index is None else error.index
    for place, items in enumerate(requests):  # noqa: B007 - used after the loop
        if 0 <= left < len(items):
            break
        left -= len(items)
    else:  # nobody's row
        return [_alone(call, items) for items in requests]
    others = requests[:place] + requests[place + 1 :]
    answers = answer_apart(call, failed, others)
    return [*answers[:place], DataError(str(error), left), *answers[place:]]
