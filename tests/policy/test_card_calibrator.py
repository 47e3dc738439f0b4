"""A calibrator travels with a model and comes back as it was."""

from __future__ import annotations

import pytest

from assay.calibration import Calibrator, Isotonic, Temperature
from assay.errors import ConfigError
from assay.policy.card_calibrator import carried_calibrator, carry_calibrator
from assay.policy.model_card import Calibration, ModelCard, read_front_matter

FITTED = Isotonic(scale="logit").fit([-2.0, -1.0, 1.0, 2.0, 3.0], [0, 1, 0, 1, 1])


def test_it_replaces_what_the_card_said_and_leaves_the_rest(tmp_path):
    card = ModelCard("m", "point-wise", "b", calibration=Calibration(1.5, 90, 0.61, 0.55))
    card.write(tmp_path)
    assert carried_calibrator(tmp_path) == Temperature("logit", n=90, temperature=1.5)
    before = read_front_matter(tmp_path / "README.md")
    file = carry_calibrator(tmp_path, FITTED, about="Audit of 5 pairs.")
    text = (tmp_path / "README.md").read_text()
    after = read_front_matter(tmp_path / "README.md")
    assert text.count("## Calibration") == 1 and "isotonic, fitted on 5 rows. Audit of 5" in text
    assert "## Training" in text and "T = 1.5" not in text
    assert before.keys() == after.keys() and after["calibration"]["method"] == "isotonic"
    assert Calibrator.from_dict(after["calibration"]["calibrator"]) == FITTED
    assert Calibrator.load(file) == FITTED == carried_calibrator(tmp_path)
    carry_calibrator(tmp_path, Temperature().fit([0.9, 0.8, 0.3], [1, 0, 0]))
    assert (tmp_path / "README.md").read_text().count("calibration: {") == 1


def test_a_card_of_others_keeps_its_metadata(tmp_path):
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n\n# Theirs\n")
    carry_calibrator(tmp_path, FITTED)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("---\nlicense: mit\n---\n\n# Theirs") and "## Calibration" in text
    assert carried_calibrator(tmp_path) == FITTED


def test_what_cannot_be_carried_is_refused(tmp_path):
    assert carried_calibrator(tmp_path) is None
    with pytest.raises(ConfigError, match="not fitted"):
        carry_calibrator(tmp_path, Temperature())
    with pytest.raises(ConfigError, match="no folder"):
        carry_calibrator(tmp_path / "none", FITTED)
