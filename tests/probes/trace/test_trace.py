"""The traces of two runs: what is known of the port, and where it parts from the reference."""

import json

import pytest

from modelmedic.probes.outcome import Collector
from modelmedic.probes.trace.facts import add_trace
from modelmedic.probes.trace.quantity import Frame, Quantity, Trace
from modelmedic.probes.trace.stored import remove_traces, write_trace

CONFIG = {"hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "rms_norm_eps": 1e-6}
FRAMES = [Frame("/models/modeling.py", number, "Attention.forward") for number in range(20)]


class Run:
    """A run that is written down by hand: each quantity has the fingerprint of its ``mark``."""

    def __init__(self):
        self.made = []

    def add(self, op, *inputs, mark, line=1, module="layers.0.attn", **constants):
        moments = (0.1, 0.8, 0.2, 3.0, -3.0, mark / 7)
        self.made.append(Quantity(op, inputs, constants, (line,), module, (2, 4, 8), "float32",
                                  moments, None, 0, "w" if op == "given" else ""))  # fmt: skip
        return len(self.made) - 1

    def trace(self, output, **changed):
        outputs = [output, output]
        found = Trace(self.made, FRAMES, outputs, {output: output}, {}, (), {}, "", True)
        return found._replace(**changed)


def reference():
    run = Run()
    x, w = run.add("given", mark=1), run.add("given", mark=2)
    scores = run.add("mm", x, w, mark=3, line=2)
    scaled = run.add("mul", scores, mark=4, line=3, other=0.25)
    return run.trace(run.add("softmax", scaled, mark=5, line=4))


@pytest.fixture
def facts(tmp_path, vocabulary):
    """Facts of a port beside the reference."""

    def gather(port, beside=None):
        write_trace(tmp_path, "port", port)
        write_trace(tmp_path, "reference", beside or reference())
        collector = Collector(vocabulary, "probe:tensors")
        add_trace(collector, tmp_path, CONFIG)
        outcome = collector.outcome()
        return {fact.kind: dict(fact.values) for fact in outcome.facts}, outcome.problems

    return gather


def test_another_constant_is_told_with_both_lines_and_the_setting(facts):
    run = Run()
    x, w = run.add("given", mark=1), run.add("given", mark=2)
    scores = run.add("mm", x, w, mark=3, line=12)
    scaled = run.add("mul", scores, mark=14, line=13, other=0.2)
    found, problems = facts(run.trace(run.add("softmax", scaled, mark=15, line=14)))
    assert not problems
    told = found["trace_difference"]
    assert told["difference"] == "other-constant"
    assert told["component"] == "layers.0.attn"
    assert told["says"] == (
        "modeling.py:13 multiplies by 0.2; modeling.py:3 multiplies by 0.25 (1/sqrt(head_dim))"
    )
    assert (told["port_line"], told["reference_line"]) == ("modeling.py:13", "modeling.py:3")
    assert found["trace_summary"]["equal"] is False


def test_an_operation_that_is_left_out(facts):
    run = Run()
    x, w = run.add("given", mark=1), run.add("given", mark=2)
    scores = run.add("mm", x, w, mark=3, line=12)
    found, _ = facts(run.trace(run.add("softmax", scores, mark=15, line=14)))
    assert found["trace_difference"]["difference"] == "missing-operation"
    assert "without what modeling.py:3 does" in found["trace_difference"]["says"]


def test_an_output_that_is_an_inner_quantity_of_the_reference(facts):
    run = Run()
    x, w = run.add("given", mark=1), run.add("given", mark=2)
    found, _ = facts(run.trace(run.add("mm", x, w, mark=3, line=12)))
    assert found["trace_summary"]["equal"] is False
    assert found["trace_difference"]["difference"] == "missing-operation"


def test_another_way_to_the_same_output_is_no_difference(facts):
    run = Run()
    x, w = run.add("given", mark=1), run.add("given", mark=2)
    half = run.add("mul", x, mark=21, line=12, other=0.25)
    scaled = run.add("mm", half, w, mark=4, line=13)
    found, problems = facts(run.trace(run.add("softmax", scaled, mark=5, line=14)))
    assert "trace_difference" not in found
    assert found["trace_summary"]["equal"] is True
    assert not problems


def test_decoding_that_was_not_compared_is_said(facts):
    alone = reference()
    found, problems = facts(alone._replace(outputs=alone.outputs[:1]))
    assert found["trace_summary"]["decoded"] == 0
    assert [each.code for each in problems] == ["MM537"]


def test_an_operation_in_fewer_bits(facts):
    port, beside = reference(), reference()
    low = ["bfloat16"] * len(port.quantities)
    wide = [*low[:3], "float32", "float32"]
    found, _ = facts(port._replace(low=low), beside._replace(low=wide))
    told = found["trace_difference"]
    assert found["trace_summary"]["equal"] is True
    assert told["difference"] == "fewer-digits"
    assert "in bfloat16; modeling.py:3" in told["says"]


def test_a_run_that_was_too_long_is_not_judged(facts):
    found, problems = facts(reference()._replace(complete=False))
    assert not found
    assert [each.code for each in problems] == ["MM539"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [],
        lambda lines: ["{"],
        lambda lines: [lines[0].replace("trace/1", "trace/9"), *lines[1:]],
        lambda lines: lines[:2],
        lambda lines: [*lines[:2], "[1, 2]"],
        lambda lines: [*lines[:3], lines[3].replace("[0,1]", "[0,99]"), *lines[4:]],
    ],
)
def test_a_damaged_trace_is_a_problem(spoil, tmp_path, vocabulary):
    for role in ("port", "reference"):
        file = write_trace(tmp_path, role, reference())
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(spoil(lines)), encoding="utf-8")
    collector = Collector(vocabulary, "probe:tensors")
    assert not add_trace(collector, tmp_path, CONFIG).equal
    assert [each.code for each in collector.outcome().problems] == ["MM538"]


def test_a_trace_holds_no_values(tmp_path):
    file = write_trace(tmp_path, "port", reference())
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 6
    remove_traces(tmp_path)
    assert not file.exists()
