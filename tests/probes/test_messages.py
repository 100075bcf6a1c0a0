"""Texts as people have them -> facts. Most cases are files: data/messages/NAME.txt and .json."""

import json
from pathlib import Path

import pytest

from modelmedic.probes.messages.probe import MAX_MESSAGES, MAX_SIMILAR, read_messages

CASES = sorted((Path(__file__).parent / "data" / "messages").glob("*.txt"))
REAL = (Path(__file__).parent / "data" / "real_errors.jsonl").read_text("utf-8").splitlines()


def as_plain(fact):
    return {"kind": fact.kind, **dict(fact.values),
            "at": fact.provenance[0].location.rpartition(":")[2]}  # fmt: skip


def of_kind(outcome, kind):
    return [fact for fact in outcome.facts if fact.kind == kind]


@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_a_sample_gives_the_recorded_facts(case, vocabulary):
    text = case.read_bytes().decode("utf-8")
    expected = json.loads(case.with_suffix(".json").read_text("utf-8"))
    outcome = read_messages(text, vocabulary, name=case.stem)
    assert [as_plain(fact) for fact in outcome.facts] == expected["facts"]
    assert [problem.code for problem in outcome.problems] == expected["problems"]


@pytest.mark.parametrize("row", REAL)
def test_a_real_error_line_keeps_its_whole_message(row, vocabulary):
    row = json.loads(row)
    text, raised = row["text"], row["exception"]
    first = read_messages(text, vocabulary).facts[0]
    message = text.replace("\r\n", "\n")
    if raised:
        module, _, name = raised.rpartition(".")
        message = message.removeprefix(raised).removeprefix(": ")
        assert (first.get("exception"), first.get("module") or "") == (name, module)
    assert (first.kind, first.get("text")) == ("error_message", message)


def test_every_fact_says_who_found_it_and_where(vocabulary):
    outcome = read_messages("\n\nValueError: x", vocabulary, name="train.log")
    (source,) = outcome.facts[0].provenance
    assert (source.source, source.location) == ("probe:messages", "train.log:3")


def test_equal_messages_are_counted(vocabulary):
    outcome = read_messages("ERROR:root:disk failed\n" * 7, vocabulary)
    (fact,) = outcome.facts
    assert (fact.get("text"), fact.get("count")) == ("disk failed", 7)


def test_messages_that_differ_in_digits_are_shown_a_few_times_and_all_counted(vocabulary):
    lines = [f"WARNING:a.b:call {n} failed" for n in range(50)]
    facts = read_messages("\n".join(lines), vocabulary).facts
    assert len(facts) == MAX_SIMILAR
    counts = [dict(fact.values)["count"] for fact in facts]
    assert sorted(counts) == [1, 1, 1, 1, 46]


def test_at_most_200_messages_and_final_errors_are_among_them(vocabulary):
    letters = "abcdefghij"
    names = [a + b + c for a in letters for b in letters for c in letters]
    log = "".join(f"ERROR:x:{name} failed\n" for name in names)
    log += 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n'
    outcome = read_messages(log, vocabulary)
    messages = of_kind(outcome, "error_message")
    assert len(messages) == MAX_MESSAGES
    assert messages[0].get("exception") == "KeyError"
    assert [problem.code for problem in outcome.problems] == ["MM412"]


def test_a_long_text_is_cut_in_the_middle_and_says_so(vocabulary):
    text = "ValueError: first\n" + "\n" * 5000 + "filler\n" * 5000 + "KeyError: last"
    outcome = read_messages(text, vocabulary, limit=4000)
    assert {fact.get("text") for fact in outcome.facts} == {"first", "last"}
    assert outcome.facts[0].provenance[0].location == "pasted:10002"
    (problem,) = outcome.problems
    assert (problem.code, "lines were left out" in problem.message) == ("MM411", True)


@pytest.mark.parametrize("text", ["", "  \n\t\r\n", "\x1b[0m", "\ufeff"])
def test_nothing_to_read_is_a_problem_with_a_hint(text, vocabulary):
    outcome = read_messages(text, vocabulary)
    assert not outcome.facts
    assert [(p.code, bool(p.hint)) for p in outcome.problems] == [("MM410", True)]


@pytest.mark.parametrize("start", [b"", b"tinker.RateLimitError: Error code: 429\n"])
def test_binary_data_is_no_message(vocabulary, start):
    raw = start + bytes(range(256)) * 40
    outcome = read_messages(raw.decode("utf-8", "replace"), vocabulary)
    assert [(p.code, bool(p.hint)) for p in outcome.problems] == [("MM413", True)]
    assert outcome.facts == ()


def test_a_single_quiet_line_is_kept_for_the_error_tables(vocabulary):
    (fact,) = read_messages("12:00:01 INFO Will train on 3 batches", vocabulary).facts
    assert fact.get("text") == "12:00:01 INFO Will train on 3 batches"


def test_an_unstructured_long_text_gives_its_telling_lines(vocabulary):
    text = "step done\n" * 100 + "NRT_FAILURE in nc 0\n" + "step done\n" * 100
    fact, subject = read_messages(text, vocabulary).facts
    assert (fact.get("text"), fact.provenance[0].location) == ("NRT_FAILURE in nc 0", "pasted:101")
    assert (subject.kind, subject.get("owner")) == ("text_subject", "neuron_runtime")


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("pip install torch-neuronx\nImportError: cannot import name 'x'", {"torch_neuronx"}),
        ("aws.amazon.com/neuron: 1\nError: pod is Pending", {"neuron_kubernetes"}),
        ("NEURON simulator\nImportError: cannot import name 'h' from 'neuron'", set()),
        ("pip install torch\nImportError: cannot import name 'x'", set()),
    ],
)
def test_a_text_tells_whose_software_it_is_about(text, owners, vocabulary):
    facts = read_messages(text, vocabulary).facts
    assert {fact.get("owner") for fact in facts if fact.kind == "text_subject"} == owners


def test_a_frame_of_others_is_no_sure_owner_in_a_text_about_neuron(vocabulary):
    frame = '  File "/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line 5, in f\n'
    plain = f"Traceback (most recent call last):\n{frame}RuntimeError: no"
    (alone,) = read_messages(plain, vocabulary).facts
    within = read_messages(f"torch_neuronx.trace(model)\n{plain}", vocabulary).facts[0]
    assert (alone.get("owner"), alone.get("owner_confidence")) == ("torch", "certain")
    assert (within.get("owner"), within.get("owner_confidence")) == ("torch", "likely")


def test_a_chain_tells_of_one_answer_once(vocabulary):
    text = """Traceback (most recent call last):
  File "a.py", line 1, in f
tinker.PermissionDeniedError: Error code: 403 - {'detail': 'no'}

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in g
ValueError: Error retrieving result: Error code: 403 - {'detail': 'no'} with status 403 for x
"""
    (answer,) = of_kind(read_messages(text, vocabulary), "http_response")
    assert (answer.get("status"), answer.get("count")) == (403, 1)
    assert answer.get("body") == "{'detail': 'no'}"


def test_a_vocabulary_without_an_event_costs_that_event_only(vocabulary, monkeypatch):
    from modelmedic.probes.messages import events as log_events

    changed = log_events.Table(
        (("no-such-event", (log_events.Template(("boom",), ()),)),), ("boom",)
    )
    monkeypatch.setattr(log_events, "table", lambda: changed)
    outcome = read_messages("ERROR:x:boom", vocabulary)
    assert [fact.kind for fact in outcome.facts] == ["error_message"]
    assert [problem.code for problem in outcome.problems] == ["MM402"]


def test_a_notebook_traceback_whose_own_end_was_left_out(vocabulary):
    text = """ModuleNotFoundError                       Traceback (most recent call last)
File /venv/lib/python3.8/site-packages/transformers/utils/import_utils.py:1382, in _get_module(self)
-> 1382     return importlib.import_module("." + module_name, self.__name__)
   1383 except Exception as e:
RuntimeError: Failed to import the model
"""
    (fact,) = read_messages(text, vocabulary).facts
    assert (fact.get("exception"), fact.get("text")) == (
        "RuntimeError",
        "Failed to import the model",
    )


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("…/transformers/trainer.py", "transformers"),
        (".../lib/python3.11/site-packages/vllm/worker/worker.py", "vllm"),
        (".../tensorflow_core/python/ops/array_ops.py", "tensorflow"),
        (".../tensorflow_core/python/neuron/python/saved_model.py", "torch_neuronx"),
        (".../scripts/train.py", "user"),
        (".../train.py", "user"),
        ("/home/me/.../train.py", "user"),
    ],
)
def test_a_path_that_was_shortened_is_that_of_its_package(path, owner, vocabulary):
    text = f'Traceback (most recent call last):\n  File "{path}", line 9, in f\nValueError: no'
    facts = read_messages(text, vocabulary).facts
    (message,) = [fact for fact in facts if fact.kind == "error_message"]
    assert message.get("owner") == owner


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Neuron executable (neff) is empty. Please check neuron-cc is installed (`pip show x`).",
         "Please check neuron-cc is installed (`pip show x`)."),
        ("Training should be off - please set your model to model.eval()",
         "please set your model to model.eval()"),
        ("Out of cores. You need to set NEURON_RT_NUM_CORES to 1.15 or so. Or not.",
         "You need to set NEURON_RT_NUM_CORES to 1.15 or so."),
        ("It broke. Please open a support ticket at https://example.org.", None),
        ("Not allowed here. Only a tensor is. - Use a tensor (Nx1) instead, or another target",
         "Use a tensor (Nx1) instead, or another target"),
        ("Got 7. Pick a length that divides by 128 (e.g. 512 in place of 500).",
         "Pick a length that divides by 128 (e.g. 512 in place of 500)."),
        ("Use of the old name is over", None),
        ("Expected a == b. (Could this error message be improved? If so, please report an "
         "enhancement request to PyTorch.)", None),
        ("It broke. Please refer to the documentation.", None),
        ("It broke because 3 is larger than 2", None),
    ],
)  # fmt: skip
def test_a_message_that_says_what_to_do_has_that_sentence_apart(text, advice, vocabulary):
    (fact,) = of_kind(read_messages(f"ValueError: {text}", vocabulary), "error_message")
    assert fact.get("advice") == advice


@pytest.mark.parametrize(
    "line",
    ["slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.",
     "bash: neuron-top: command not found"],
)  # fmt: skip
def test_a_line_of_a_launcher_that_tells_the_reason_is_a_message(line, vocabulary):
    facts = of_kind(read_messages(f"$ neuron-top\n{line}", vocabulary), "error_message")
    assert any(line.partition(": ")[2] in fact.get("text") for fact in facts)


def test_lines_of_the_runtime_daemon_are_messages_and_no_surroundings(vocabulary):
    text = "(after a deployment)\nnrtd[20]: [NMGR:kmgr_create_eg] Not enough free NCs to allocate"
    messages = of_kind(read_messages(text, vocabulary), "error_message")
    assert any("Not enough free NCs" in fact.get("text") for fact in messages)
    text = "ValueError: no\ngunicorn[20]: it ended"
    (only,) = of_kind(read_messages(text, vocabulary), "error_message")
    assert only.get("text") == "no"


def test_an_error_copied_out_of_a_notebook_without_its_end_keeps_its_message(vocabulary):
    text = (
        '{\n\t"name": "RuntimeError",\n\t"message": "compiling \\"a\\" failed:\ntoo many x\n",\n'
        '\t"stack": "-----\nRuntimeError     Traceback (most recent call last)\n'
    )
    facts = of_kind(read_messages(text, vocabulary), "error_message")
    assert facts[0].get("text") == 'compiling "a" failed:\ntoo many x'
    assert facts[0].get("exception") == "RuntimeError"


@pytest.mark.parametrize(
    "text",
    [
        "Collecting neuronx-cc\n  Downloading https://pip.repos.neuron.amazonaws.com/x.whl",
        "Invalid spec of app/vllm-llama3-inf2: name should not be set",
    ],
)
def test_names_and_addresses_in_a_text_about_neuron_tell_of_no_other_owner(text, vocabulary):
    facts = of_kind(read_messages(text, vocabulary), "error_message")
    assert facts
    assert not [fact for fact in facts if fact.get("owner") in ("aws", "vllm")]
