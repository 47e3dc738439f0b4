"""A Reward as NeMo-Gym's resources server.

    # app.py of the resources server
    from assay.policy.adapters.nemo_gym import resources_server
    from my_rewards import reward

    Server = resources_server(reward)
    if __name__ == "__main__":
        Server.run_webserver()

NeMo-Gym's configuration then names it as any resources server of its own. Without NeMo-Gym in the
environment, `assay serve` with `[nemo_gym]` answers the same requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.serving.response_sample import sample_of, verify_reply
from assay.policy.adapters.one_rollout import (
    OnMissing,
    check_on_missing,
    number_of,
    require_alone,
    score_one,
)
from assay.reward import Reward


async def verify(
    reward: Reward, body: Mapping[str, Any], on_missing: OnMissing = "raise"
) -> dict[str, Any]:
    """What `POST /verify` answers: the request, `reward`, `reward_components` and the whole score.

    Args:
        reward: What scores; the row's columns stand beside the two below in `body`.
        body: `responses_create_params`, `response`, and the fields of the row.
        on_missing: What stands for a missing score; `raise` fails the request, so that the rollout
            fails and nothing is learned from a number that nobody gave.

    Raises:
        DataError: An item of the response that cannot be scored.
        RewardError: A missing score, by `on_missing`.

    Source: NeMo-Gym 0.4.0, `nemo_gym/base_resources_server.py`.

    Example:
        >>> import asyncio
        >>> from assay.rewards import AnswerMatch
        >>> said = {"type": "message", "role": "assistant", "content": "4"}
        >>> body = {"responses_create_params": {"input": "2+2?"}, "response": {"output": [said]},
        ...         "answer": "4"}
        >>> asyncio.run(verify(AnswerMatch(column="answer"), body))["reward"]
        1.0
    """
    require_alone(reward, "verify")
    _check_number(on_missing)
    for name in ("responses_create_params", "response"):
        if not isinstance(body.get(name), Mapping):
            raise DataError(
                f"the request must hold an object {name!r}, got {body.get(name)!r:.80}; it has "
                f"{sorted(body)}"
            )
    columns = {
        key: value
        for key, value in body.items()
        if key not in ("responses_create_params", "response")
    }
    sample = sample_of(body["responses_create_params"], body["response"], columns)
    score = await asyncio.to_thread(score_one, reward, sample)
    return {**body, **verify_reply(number_of(score, reward, on_missing), score)}


def _check_number(on_missing: OnMissing) -> None:
    check_on_missing(on_missing)
    if on_missing == "nan":
        raise ConfigError(
            "NeMo-Gym reads rewards as JSON, which has no NaN; on_missing must be 'raise' or a "
            "number, got 'nan'"
        )


def resources_server(reward: Reward, on_missing: OnMissing = "raise") -> Any:
    """A subclass of NeMo-Gym's `SimpleResourcesServer` whose `verify` scores with `reward`.

    Raises:
        ConfigError: A reward that compares rollouts.
        ImportError: NeMo-Gym (Python >= 3.12) is not installed.
    """
    require_alone(reward, "resources_server")
    _check_number(on_missing)
    try:
        from nemo_gym.base_resources_server import (
            BaseVerifyRequest,
            BaseVerifyResponse,
            SimpleResourcesServer,
        )
        from pydantic import ConfigDict
    except ImportError as error:
        raise ImportError(
            "resources_server needs nemo-gym, on Python >= 3.12: pip install nemo-gym"
        ) from error

    class AssayVerifyRequest(BaseVerifyRequest):  # type: ignore[misc]
        """The request with the row's own fields."""

        model_config = ConfigDict(extra="allow")

    class AssayVerifyResponse(BaseVerifyResponse):  # type: ignore[misc]
        """The answer with components and the whole score."""

        model_config = ConfigDict(extra="allow")

    async def answer(self: Any, body: Any) -> Any:
        found = await verify(reward, body.model_dump(), on_missing)
        return AssayVerifyResponse.model_validate(found)

    # FastAPI reads the annotations; as text it would look them up in this module.
    answer.__annotations__ = {"body": AssayVerifyRequest, "return": AssayVerifyResponse}
    answer.__name__ = "verify"
    name = "AssayResourcesServer"
    return type(name, (SimpleResourcesServer,), {"verify": answer, "__module__": __name__})
