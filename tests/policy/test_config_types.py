from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ConfigError
from assay.policy.config_keys import require_trl_keys
from assay.policy.stages.pointwise_rl import PointwiseRLConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trl": 3}, "trl must be a table, got 3"),
        ({"filter": []}, r"filter must be a table, got \[\]"),
        ({"max_completion_length": "9"}, "max_completion_length must be a whole number, got '9'"),
        ({"beta": float("nan")}, "beta must be a finite number, got nan"),
        ({"num_generations": True}, "num_generations must be a whole number, got True"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"limit": 0}, "limit must be a whole number >= 1, got 0"),
        ({"data": 3}, "data must be a list, got 3"),
        ({"replay": {"domain": "x"}}, "replay must be a list of tables"),
        ({"data": {"sources": [{"name": "a", "path": "a", "weight": float("nan")}]}}, "weight"),
    ],
)
def test_values_of_another_type_are_refused(changes: dict[str, Any], message: str) -> None:
    given = {"model": "m", "data": "rows.jsonl", "output_dir": "o", "reward": "x.py:y"}
    PointwiseRLConfig.of(**given)
    with pytest.raises(ConfigError, match=message):
        PointwiseRLConfig.of(**(given | changes))


def test_numbers_of_trl() -> None:
    trl = pytest.importorskip("trl")
    fine = {"save_steps": 0.5, "learning_rate": 1, "scale_rewards": False, "report_to": ["x"]}
    require_trl_keys(trl.GRPOConfig, fine)
    with pytest.raises(ConfigError, match="learning_rate must be a finite number, got '1e-5'"):
        require_trl_keys(trl.GRPOConfig, {"learning_rate": "1e-5"})
    with pytest.raises(ConfigError, match="must be a table of settings, got 3"):
        require_trl_keys(trl.GRPOConfig, 3)  # type: ignore[arg-type]
