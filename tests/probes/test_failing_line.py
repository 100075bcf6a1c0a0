"""The line where a pasted traceback stops, whether its error was cut off, and what is raised."""

from __future__ import annotations

from modelmedic.engine import Diagnoser
from modelmedic.facts import Fact
from modelmedic.probes.messages.probe import read_messages

BASE = Diagnoser.load().base
NOTEBOOK = """\
StopIteration                             Traceback (most recent call last)
Cell In[9], line 2
      1 x = 1
----> 2 out = model.sample(ids, sequence_length=9000)

File ~/v/site-packages/transformers_neuronx/mistral/model.py:174, in MistralForSampling.sample(self)
    172 length -= 1
--> 174 result = sampling.sample_llama(
    175     self, ids,
"""
RAISES = """\
Traceback (most recent call last):
  File "/v/lib/python3.10/site-packages/neuronx_distributed/pipeline/model.py", line 920, in _task
    raise RuntimeError(rmsg("No gradient came from the next stage"))
"""
WHOLE = RAISES + "RuntimeError: [rank 3] No gradient came from the next stage\n"


def _of(text: str, kind: str) -> list[Fact]:
    return [fact for fact in read_messages(text, BASE.vocabulary).facts if fact.kind == kind]


def test_a_notebook_traceback_that_was_cut() -> None:
    (found,) = _of(NOTEBOOK, "failing_line")
    assert found.get("place") == "transformers_neuronx/mistral/model.py"
    assert found.get("function") == "MistralForSampling.sample"
    assert found.get("code") == "result = sampling.sample_llama("
    assert found.get("exception") == "StopIteration"
    assert found.get("cut") is True


def test_what_the_code_raises_is_the_message_of_a_cut_traceback() -> None:
    said = [m.get("text") for m in _of(RAISES, "error_message")]
    assert "No gradient came from the next stage" in said


def test_the_error_itself_stands_for_what_the_code_raises() -> None:
    (found,) = _of(WHOLE, "failing_line")
    assert found.get("cut") is False
    said = [m.get("text") for m in _of(WHOLE, "error_message")]
    assert said == ["[rank 3] No gradient came from the next stage"]


def test_carriers_of_a_server_are_no_part_of_the_code() -> None:
    text = "\n".join(f"(EngineCore_DP0 pid=77) {line}" for line in RAISES.splitlines())
    (found,) = _of(text, "failing_line")
    assert found.get("code") == 'raise RuntimeError(rmsg("No gradient came from the next stage"))'


def test_only_texts_that_may_be_about_neuron_have_one() -> None:
    assert _of(RAISES.replace("neuronx_distributed", "mylib"), "failing_line") == []
    assert _of("RuntimeError: neuron", "failing_line") == []


def test_very_long_and_odd_lines_end() -> None:
    text = 'neuron\n  File "a.py", line 1, in f\n' + "-" * 50_000 + "> 1 x\nFile " + "b" * 50_000
    (found,) = _of(text, "failing_line")
    assert found.get("place") == "a.py"
