"""The lines that make an input of a call are read from the text of the script."""

import pytest

from modelmedic.probes.rehearsal.origins import origins

SCRIPT = """weights = None
def datum(prompt, answer):
    ids = prompt + answer
    mask = [0.0] * len(prompt)
    mask += [1.0] * len(answer)
    other = 3
    return Datum(
        model_input=ids[:-1],
        loss_fn_inputs={
            "target_tokens": ids[1:],
            "weights": mask[1:],
        },
    )
adam = AdamParams(learning_rate=1e-4)
"""


@pytest.mark.parametrize(
    ("line", "field", "found"),
    [(7, "weights", (4, 5, 11)), (7, "target_tokens", (3, 10)), (14, "learning_rate", (14,)),
     (14, "weights", ()), (6, "weights", ())],
)  # fmt: skip
def test_the_lines_of_an_input(line, field, found, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert origins(str(script), line, field) == found


def test_a_text_that_is_no_script_has_no_lines(tmp_path):
    (tmp_path / "broken.py").write_text("def (")
    assert origins(str(tmp_path / "broken.py"), 1, "weights") == ()
    assert origins(str(tmp_path / "none.py"), 1, "weights") == ()
