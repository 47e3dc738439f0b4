"""Model cards: front matter that YAML and the hub read, and what the text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.calibration import Calibrator, Temperature
from assay.errors import ConfigError, DataError
from assay.policy.model_card import Calibration, DataFacts, ModelCard, read_front_matter

FACTS = [
    DataFacts("pairs.jsonl", "train", 1200, "0123456789abcdef", "MIT"),
    DataFacts("held.jsonl", "held-out", 90, "", "MIT"),
]


def card(**changes: object) -> ModelCard:
    settings: dict[str, object] = {
        "name": "tiny-rm",
        "kind": "pair-wise",
        "base_model": "some/base",
        "licence": "apache-2.0",
        "data": FACTS,
        "dropped": {"ties": 3, "copies": 1},
        "metrics": {"accuracy": 0.75, "swap_gap": 0.0125},
        "calibration": Calibration(1.5, 90, 0.61, 0.55),
        "settings": {"swap_weight": 0.5, "trl": {"max_steps": 4}},
        "usage": "x = 1",
    }
    return ModelCard(**(settings | changes))  # type: ignore[arg-type]


def test_yaml_and_the_hub_read_the_front_matter(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with assay[models]")
    hub = pytest.importorskip("huggingface_hub", reason="comes with assay[models]")
    path = card().write(tmp_path)
    matter = yaml.safe_load(path.read_text().split("---\n")[1])
    assert matter == card().front_matter() == read_front_matter(path)
    assert matter["license"] == "apache-2.0"
    assert matter["datasets"] == ["held.jsonl", "pairs.jsonl"]
    calibrator = matter["calibration"].pop("calibrator")
    assert matter["calibration"] == {"method": "temperature", "temperature": 1.5, "pairs": 90}
    assert Calibrator.from_dict(calibrator) == Temperature("logit", n=90, temperature=1.5)
    loaded = hub.ModelCard.load(path)
    (result,) = [r for r in loaded.data.eval_results if r.metric_type == "swap_gap"]
    assert result.metric_value == 0.0125
    assert result.dataset_name == "held.jsonl"
    assert loaded.data.base_model == "some/base"


def test_the_text_says_what_matters() -> None:
    text = card().to_markdown()
    assert "| pairs.jsonl | train | 1,200 | MIT | 0123456789abcdef |" in text
    assert "| held.jsonl | held-out | 90 | MIT | from memory |" in text
    assert "Left out: copies: 1; ties: 3." in text
    assert "| swap_gap | 0.0125 |" in text
    assert "sigmoid((d_AB - d_BA) / 2 / T) with T = 1.5000" in text
    assert "fitted on the 90 held-out pairs that the metrics are of" in text
    assert "0.6100 with T = 1, 0.5500 with T." in text
    assert "Weights: apache-2.0." in text
    assert '| `trl` | `{"max_steps": 4}` |' in text
    assert "python 3" in text


def test_what_is_not_known_is_said_to_be_so() -> None:
    text = card(licence="", metrics={}, calibration=None, data=()).to_markdown()
    assert 'license: "unknown"' in text
    assert "Weights: not stated." in text
    assert "None: no pairs were held out. Do not read scores as probabilities." in text
    assert "model-index" not in text
    useless = card(calibration=Calibration(1.0, 9, 0.7, 0.7, problem="no better than chance"))
    assert "None: no better than chance." in useless.to_markdown()
    assert "calibration" not in useless.front_matter()


def test_facts_on_a_file_hold_its_name_and_content_alone(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pairs.jsonl").write_text("{}\n")
    one, two = (
        DataFacts.of_file(tmp_path / folder / "pairs.jsonl", "train", 1)
        for folder in ("one", "two")
    )
    assert one == two
    assert one.name == "pairs.jsonl"
    (tmp_path / "two" / "pairs.jsonl").write_text("{} \n")
    assert DataFacts.of_file(tmp_path / "two" / "pairs.jsonl", "train", 1) != one


def test_what_is_no_card(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kind must be one of .* got 'listwise'"):
        card(kind="listwise")
    path = tmp_path / "README.md"
    path.write_text("# no front matter\n")
    with pytest.raises(DataError, match="no front matter"):
        read_front_matter(path)
    path.write_text("---\nlicense: mit\n---\n")
    with pytest.raises(DataError, match="cannot read 'license: mit': not written by assay"):
        read_front_matter(path)
