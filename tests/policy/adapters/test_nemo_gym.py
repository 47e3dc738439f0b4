import asyncio
import importlib.util
import sys
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.policy.adapters.nemo_gym import resources_server, verify
from tests.policy.adapters.rewards_under_test import composed, longest, politeness


def _body(text: str, **columns: object) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    response = {
        "id": "r1",
        "created_at": 0.0,
        "model": "policy",
        "object": "response",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return {"responses_create_params": {"input": "2+2?"}, "response": response, **columns}


def test_the_answer_holds_the_request_and_the_components() -> None:
    found = asyncio.run(verify(composed, _body("4", answer="4")))
    assert found["reward"] == 1.5
    assert found["reward_components"] == {"format": 1.0, "answer": 1.0}
    assert found["assay"]["status"] == "scored"
    assert found["answer"] == "4"


def test_a_missing_score_fails_the_request() -> None:
    with pytest.raises(RewardError, match="nothing was said"):
        asyncio.run(verify(politeness, _body("")))
    assert asyncio.run(verify(politeness, _body(""), on_missing=0.0))["reward"] == 0.0
    with pytest.raises(ConfigError, match="compares the rollouts"):
        asyncio.run(verify(longest, _body("a")))


def test_the_server_over_http() -> None:
    """The real base class where it is installed, over its own FastAPI app."""
    if importlib.util.find_spec("nemo_gym") is None:
        pytest.skip("nemo-gym is not installed (its package asks for Python >= 3.12)")
    from fastapi.testclient import TestClient
    from nemo_gym.base_resources_server import BaseResourcesServerConfig
    from nemo_gym.server_utils import ServerClient

    server = resources_server(composed)
    config = BaseResourcesServerConfig(host="127.0.0.1", port=1, entrypoint="app.py", name="assay")
    client = ServerClient.model_construct(global_config_dict={})
    app = server.model_construct(config=config, server_client=client).setup_webserver()
    with TestClient(app) as http:
        reply = http.post("/verify", json=_body("4", answer="4"))
        assert reply.status_code == 200, reply.text
        assert reply.json()["reward"] == 1.5
        assert reply.json()["reward_components"]["answer"] == 1.0
        assert http.post("/seed_session", json={}).status_code == 200


def test_without_nemo_gym_the_message_names_the_package() -> None:
    if importlib.util.find_spec("nemo_gym") is not None:
        pytest.skip("nemo-gym is installed here")
    assert "nemo_gym" not in sys.modules
    with pytest.raises(ImportError, match=r"pip install nemo-gym"):
        resources_server(composed)


def test_requests_of_another_form() -> None:
    for name in ("response", "responses_create_params"):
        body = _body("4", answer="4")
        body[name] = None
        with pytest.raises(DataError, match=f"must hold an object {name!r}, got None"):
            asyncio.run(verify(composed, body))
    with pytest.raises(ConfigError, match="has no NaN"):
        asyncio.run(verify(composed, _body("4", answer="4"), on_missing="nan"))


def test_requests_at_once_keep_their_own_answers() -> None:
    async def all_of_them() -> list[float]:
        bodies = [_body(str(i), answer=str(i % 7)) for i in range(64)]
        found = await asyncio.gather(*(verify(composed, body) for body in bodies))
        return [row["reward"] for row in found]

    assert asyncio.run(all_of_them()) == [1.5] * 7 + [0.5] * 57
