"""The check that refused a call is read out of a traceback or known of public sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.messages.checks_told import makes
from modelmedic.probes.messages.failed_check import of_assertion, of_condition
from modelmedic.probes.messages.probe import read_messages

TOLD = "what the message names"


@pytest.mark.parametrize(("condition", "kind", "subject", "limit"), [
    ("dims.H % SIZE != 0", "multiple", "dims.H", "SIZE"),
    ("cp > 1 and dp > 1 and cp % dp != 0", "multiple", "cp", "dp"),
    ("not (512 <= dims.H <= 8192)", "range", "dims.H", "512 <= ... <= 8192"),
    ("len(ids) > config.most", "range", "len(ids)", "at most config.most"),
    ("not x.shape[0] <= MOST", "range", "x.shape[0]", "at most MOST"),
    ("len(parts) != 2", "count", "len(parts)", "2"),
    ("len(x.shape) != 3", "rank", "len(x.shape)", "3"),
    ("self.x.ndim != 2", "rank", "x.ndim", "2"),
    ("x.ndim == 2", "excluded", "x.ndim", "2"),
    ("q.shape != k.shape", "shape", "q.shape", "k.shape"),
    ("not (a.shape == (1, 1) or a.shape == (P, 1))", "shape", "a.shape", "(1, 1) or (P, 1)"),
    ("x.dtype != y.dtype", "dtype", "x.dtype", "y.dtype"),
    ("bias != None", "given", "bias", ""), ("x is None", "missing", "x", ""),
    ("not hasattr(module, 'weight')", "missing", "'weight'", "module"),
    ("width not in (64, 128)", "choice", "width", "(64, 128)"),
    ("mode == 'mixed'", "excluded", "mode", "'mixed'"),
    ("task != 'embed'", "fixed", "task", "'embed'"),
    ("a != Names.SGD", "choice", "a", "Names.SGD"),
    ("x not in (1, ..., 3)", "choice", "x", "(1, ..., 3)"),
    ("not free_ids", "used-up", "free_ids", ""),
    ("pool.num_free < n", "used-up", "pool.num_free", ""),
    ("rank != 0", "fixed", "rank", "0"), ("not torch.all(valid)", "", "", ""),
    ("missing_keys", "missing", "what the message names", ""), ("invalid_modules", "", "", ""),
    ("key in merged", "already", "key", "merged"),
    ("op in UNSUPPORTED", "excluded", "op", "UNSUPPORTED"),
    ("key not in merged", "not-among", "key", "merged"),
    ("len(files) == 0", "missing", "files", ""),
    ("len(self.rest) > 0", "given", "rest", ""),
    ("degree != group.size()", "agree", "degree", "group.size()"),
    ("dp > 1 and not kernel.on", "off", "kernel.on", ""),
    ("len(missing) != 0", "missing", TOLD, ""),
    ("not passed", "", "", ""),
    ("get_platform() == 'trn1'", "hardware", "get_platform()", "'trn1'"),
    ("not _is_tensor_list(x)", "type", "x", "_is_tensor_list"),
    ("a > 1 and b > 1", "range", "b", "at most 1"),
    ("d in (1, 2)", "excluded", "d", "(1, 2)"),
    ("stages != len(parts)", "agree", "stages", "len(parts)"),
    ("not isinstance(x, (list, tuple))", "type", "x", "(list, tuple)"),
    ("not self.fused", "off", "fused", ""), ("a or b", "on", "a or b", ""),
    ("flag is True", "on", "flag", ""), ("not os.path.isdir(p)", "file", "os.path.isdir(p)", ""),
    ("0 >= size", "range", "size", "more than 0"), ("self.device.type != device.type", "", "", ""),
    ("rate < 0 or rate > 1", "range", "rate", "at least 0 and at most 1"),
    ("len(a) != len(b)", "agree", "len(a)", "len(b)"), ("'size' in kwargs", "given", "'size'", ""),
    ("not self.supports_cuts", "unable", "supports_cuts", ""), ("failures", "", "", ""),
    ("is_initialized()", "on", "is_initialized()", ""),
    ("not is_initialized()", "state", "is_initialized()", ""),
    ("cfg.get('fused', False)", "on", "cfg.get('fused', False)", ""),
    ("top is not None and (top < 0 or not top)", "", "", ""),
    ("size > limit and every is not None", "range", "size", "at most limit"),
    ("not hasattr(self, key)", "not-among", "key", "its attributes"),
    ("not x.startswith('a')", "", "", ""), ("a > 1 or not b", "", "", ""),
])  # fmt: skip
def test_what_a_condition_is_about(condition, kind, subject, limit):
    found = of_condition(condition)
    assert found is not None
    assert (found.kind, found.subject, found.limit) == (kind, subject, limit)


@pytest.mark.parametrize(("code", "condition"), [
    ("assert size >= heads, 'few'", "size < heads"), ("assert a == b, (", "a != b"),
    ("assert not x.done, f'{x}'", "x.done"), ("assert 0 <= a < n", "not (0 <= a < n)"),
])  # fmt: skip
def test_an_assertion_says_what_did_not_hold(code, condition):
    found = of_assertion(code)
    assert found is not None
    assert found.condition == condition


@pytest.mark.parametrize("code", ["assert all(", "raise ValueError(x)", "assert", "assert x =", ""])
def test_what_is_no_whole_assertion_tells_nothing(code):
    assert of_assertion(code) is None


def test_escapes_of_others_are_no_warning():
    found = of_assertion(r"assert re.fullmatch('\d', x) is None")
    assert found is not None
    assert found.kind == "given"


@given(st.text(alphabet="ab.()[]!=<>%, '\\\"not inad019\n", max_size=120))
def test_any_text_is_read(text):
    of_condition(text)
    of_assertion(f"assert {text}")


TRACE = """Traceback (most recent call last):
  File "/home/me/run.py", line 41, in <module>
    model = build(size=12)
  File "/venv/lib/python3.10/site-packages/neuronx_distributed/some/place.py", line 7, in build
    assert size % 8 == 0, "the neuron way"
AssertionError: the neuron way
"""


def checks(text, vocabulary):
    return [dict(each.values) for each in read_messages(text, vocabulary).facts
            if each.kind == "failed_check"]  # fmt: skip


def test_a_traceback_tells_check_and_call(vocabulary):
    (found,) = checks(TRACE, vocabulary)
    assert found["test"] == "multiple"
    assert found["condition"] == "size % 8 != 0"
    assert found["place"] == "build in neuronx_distributed/some/place.py"
    assert (found["called_at"], found["call"]) == ("run.py:41", "model = build(size=12)")
    assert found["owner"] == "neuronx_distributed"


@pytest.mark.parametrize("change", [
    ("neuron", "other"), ("assert size % 8 == 0, ", "raise AssertionError("),
    ("AssertionError: the neuron way", ""),
])  # fmt: skip
def test_nothing_is_told_of_other_texts(change, vocabulary):
    assert checks(TRACE.replace(*change), vocabulary) == []


@pytest.mark.parametrize("file", [".../torch_xla/core/xla.py", "/usr/lib/python3.10/run.py"])
def test_a_call_out_of_a_library_is_not_the_users(file, vocabulary):
    (found,) = checks(TRACE.replace("/home/me/run.py", file), vocabulary)
    assert found["test"] == "multiple"
    assert "call" not in found


def test_an_error_behind_the_traceback_has_no_part_in_its_check(vocabulary):
    text = f"{TRACE}\n2025-05-05 12:00:01 ERROR neuronx_distributed: KeyError: 'size'\n"
    (found,) = checks(text, vocabulary)
    assert found["exception"] == "AssertionError"


def test_a_function_that_others_give_their_check_to_tells_nothing(vocabulary):
    text = TRACE.replace("in build\n", "in build_assert\n")
    assert checks(text, vocabulary) == []


def test_a_message_within_those_of_a_kernel_is_known_by_its_own_words(vocabulary):
    text = (
        "AssertionError: [INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: "
        "current_length and accepted_indices should be specified for medusa decoding! - Please "
        "check the validation message and adjust kernel inputs accordingly"
    )
    found = next(each for each in read_messages(text, vocabulary).facts
                 if each.kind == "error_message")  # fmt: skip
    assert "configure_medusa" in str(found.get("said_by"))
    assert not found.get("advice")


def test_what_sets_the_tested_attribute_is_told(vocabulary):
    text = (
        "ValueError: set_weights() was called when the model was already loaded on neuron. If you "
        "need to replace your weights, call `replace_weights()` instead."
    )
    (found,) = checks(text, vocabulary)
    assert (found["test"], found["subject"]) == ("on", "loaded_on_neuron")
    assert found["set_by"] == "to_neuron"


@pytest.mark.parametrize(("said", "goes_on"), [
    ("2025-05-05 12:00:01 WARNING optimum.neuron: max_topk optimization is disabled: this can"
        " lead to extremely long compilation times.", True),
    ("2025-05-05 12:00:01 ERROR Neuron: Compilation failed for model.hlo after 3 attempts", None),
])  # fmt: skip
def test_whether_the_call_goes_on_is_told_where_it_is_known(said, goes_on, vocabulary):
    found = next(each for each in read_messages(said, vocabulary).facts
                 if each.kind == "error_message")  # fmt: skip
    assert found.get("goes_on") is goes_on


@pytest.mark.parametrize(("made", "subject", "worked_out"), [
    ("b, s, h = x.shape", "s", True), ("k of x.keys(); n = len(x)", "n + 1", True),
    ("n: int = f()", "n", True), ("variant = kwargs.pop('variant', None)", "variant", False),
    ("config = model.neuron_config", "config.size", False), ("n = f()", "m", False),
    ("", "n", False), ("n = f()", "(a, b)", False), ("(n := f())", "n", True),
    ("n //= 2", "n", True), ("what; is this", "what", False),
])  # fmt: skip
def test_a_result_of_the_function_is_none_of_its_arguments(made, subject, worked_out):
    assert makes(made, subject) is worked_out


def test_what_a_division_leaves_is_told_as_a_multiple(vocabulary):
    text = (
        "AssertionError: H1 must be evenly divisible by num_shards, got H=3072, H1=24, "
        "num_shards=5, H1 % num_shards = 4"
    )
    (found,) = checks(text, vocabulary)
    assert (found["test"], found["subject"], found["limit"]) == ("multiple", "H1", "num_shards")
    assert found["condition"] == "H1_remainder != 0"


@pytest.mark.parametrize("text", [
    "/venv/lib/python3.10/site-packages/neuronx_distributed/modules/rms_norm.py:48: UserWarning: "
    "RMSNorm does not support `elementwise_affine` argument\n  warnings.warn(",
    "AssertionError: [NCC_INKI016] Kernel validation exception: a mill is shut. "
    "Please check the validation message and adjust kernel inputs accordingly",
])  # fmt: skip
def test_a_warning_and_a_helper_that_raises_refuse_nothing_by_themselves(text, vocabulary):
    assert checks(text, vocabulary) == []


def test_an_error_does_not_go_on_whatever_its_words(vocabulary):
    text = (
        "ValueError: max_topk optimization is disabled: this can lead to extremely long "
        "compilation times."
    )
    found = next(iter(read_messages(text, vocabulary).facts))
    assert "goes_on" not in dict(found.values)
