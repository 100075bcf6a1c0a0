"""The file of learned weights: what it packs, and that it can be learned again."""

from pathlib import Path

import pytest
import yaml

from modelmedic.engine import Diagnoser
from modelmedic.facts import ModelMedicError

from .learn_words import WEIGHTS, learned_file, written
from .phrase_corpus import learned_from


def test_the_file_is_what_its_signs_are_packed_to(doctor: Diagnoser) -> None:
    known = doctor.base.catalogue["words"]
    assert written(known["weights"], learned_from(known)) == WEIGHTS.read_text("utf-8")


@pytest.mark.deep
def test_learning_again_gives_the_same_bytes() -> None:
    assert learned_file() == WEIGHTS.read_text("utf-8")


@pytest.mark.parametrize("packed", ["", "?", "eJwzNAQAAJYAlQ==", "bm90IHppcHBlZA=="])
def test_what_was_not_packed_is_refused(packed: str, tmp_path: Path) -> None:
    weights = {"of": "hang nothing", "unit": 0.02, "packed": packed}
    lexicon = {"schema": "modelmedic/lexicon/1", "domain": "house", "weights": weights}
    (tmp_path / "words.yaml").write_text(yaml.safe_dump(lexicon))
    with pytest.raises(ModelMedicError, match="make words"):
        Diagnoser.load(overlays=[tmp_path])
