from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.judges.serving.config import ServeConfig, Server

REWARD: dict[str, Any] = {"rewards": {"code": {"object": "m:code"}}}


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(
        '[server]\nport = 0\ntimeout_s = 5\n[rewards.rm]\nobject = ["m:a", "m:b"]\n'
        "[rewards.rm.batching]\nmax_items = 8\n[judges.j]\nobject = 'm:j'\n"
        "[vllm]\nrewards = 'rm'\n[code]\nendpoints = ['run_code']\n"
    )
    config = ServeConfig.from_toml(file)
    assert config.server.timeout_s == 5.0
    assert config.rewards["rm"].object == ("m:a", "m:b")
    assert config.rewards["rm"].batching.max_items == 8
    assert config.vllm is not None and config.vllm.rewards == ("rm",)
    assert config.code.endpoints == ("run_code",)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "nothing to serve"),
        (REWARD | {"sever": {}}, "no setting 'sever'; did you mean 'server'"),
        (
            REWARD | {"server": {"prot": 1}},
            r"\[server\] has no setting 'prot'; did you mean 'port'",
        ),
        (REWARD | {"server": {"port": "1"}}, "port must be a whole number, got '1'"),
        (REWARD | {"server": {"port": True}}, "port must be a whole number, got True"),
        (REWARD | {"server": {"port": 70_000}}, "port must be a finite number .* <= 65535"),
        (REWARD | {"server": {"timeout_s": 0}}, "timeout_s must be a finite number >= 0.001"),
        (REWARD | {"server": {"auth": "yes"}}, "auth must be one of"),
        (REWARD | {"server": 3}, "server must be a table, got 3"),
        ({"rewards": {"code": {}}}, r"\[rewards.code\] needs 'object'"),
        ({"rewards": {"code": {"object": 3}}}, "object must be a list of texts, got 3"),
        ({"rewards": {"code": {"object": []}}}, "names no object"),
        ({"rewards": {"a/b": {"object": "m:x"}}}, "'a/b': names are letters"),
        (
            {"rewards": {"code": {"object": "m:x", "batching": {"max_item": 1}}}},
            r"\[rewards.code.batching\] has no setting 'max_item'; did you mean 'max_items'",
        ),
        (REWARD | {"vllm": {"rewards": ["cod"]}}, r"\[vllm\] rewards 'cod' is no reward"),
        (REWARD | {"openrlhf": {"reward": "code", "on_missing": "zero"}}, "on_missing must be one"),
        (REWARD | {"code": {"endpoints": ["run"]}}, "endpoints must be one of"),
    ],
)
def test_what_cannot_be_is_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ServeConfig.of(tables)


def test_messages_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("[rewards")
    with pytest.raises(ConfigError, match="serve.toml is not TOML"):
        ServeConfig.from_toml(file)
    file.write_text("[rewards.x]\nobjekt = 'm:x'\n")
    with pytest.raises(ConfigError, match="serve.toml: .*did you mean 'object'"):
        ServeConfig.from_toml(file)
    with pytest.raises(ConfigError, match="cannot read"):
        ServeConfig.from_toml(tmp_path / "absent.toml")


def test_tokens_are_wanted_off_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_SERVE_TOKEN", raising=False)
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"):
        assert Server(host=host).tokens() == frozenset()
    for host in ("0.0.0.0", "::", "10.0.0.1", "gpu-7"):
        with pytest.raises(ConfigError, match="asks for bearer tokens, and ASSAY_SERVE_TOKEN is"):
            Server(host=host).tokens()
    assert Server(host="0.0.0.0", auth="off").tokens() == frozenset()
    with pytest.raises(ConfigError, match="asks for bearer tokens"):
        Server(auth="on").tokens()
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", "short")
    with pytest.raises(ConfigError, match="less than 16 characters"):
        Server(auth="on").tokens()
    monkeypatch.setenv("ASSAY_SERVE_TOKEN", "a" * 32 + " " + "b" * 32)
    assert Server(auth="on").tokens() == {"a" * 32, "b" * 32}
