"""`diagnose ANYTHING`: how it takes what it is given, and that the commands keep their names."""

import gzip
import json
import shutil

import pytest

BILLING = "BillingError: Error code: 402 - {'detail': 'billing is blocked'}"


@pytest.fixture(scope="module")
def data(root):
    return root / "tests" / "probes" / "data"


def test_a_run_folder(diagnose, data):
    answer = diagnose(data / "metrics" / "runs" / "no_pipeline")
    assert "as run folder of the cookbook." in answer.err
    assert "API calls are not pipelined" in answer.out


def test_several_paths(diagnose, data, slow_steps):
    answer = diagnose(slow_steps, data / "logs" / "healthy_rl.log", "--format", "json")
    assert "facts file, and 1 more." in answer.err
    kinds = {fact["kind"] for fact in answer.json["facts"]}
    assert {"package", "log_event"} <= kinds


def test_it_is_the_same_as_inspect(diagnose, data):
    run = data / "metrics" / "runs" / "slow_data"
    taken, inspected = (diagnose(*words, run, "-f", "json") for words in ((), ("inspect",)))
    assert (taken.code, taken.json) == (inspected.code, inspected.json)


@pytest.mark.parametrize("words", [[BILLING], BILLING.split()], ids=["quoted", "bare"])
def test_an_error(diagnose, words):
    answer = diagnose(*words)
    assert answer.err == "Taken as an error message.\n"
    assert answer.out == diagnose("decode", BILLING).out


def test_an_error_without_meaning_is_left_open(diagnose):
    answer = diagnose("ZeroDivisionError: division by zero")
    assert answer.code == 4
    assert "Not explained:" in answer.out


@pytest.mark.parametrize(
    "words", [["training is really slow"], ["training", "is", "really", "slow"]]
)
def test_a_complaint_names_no_cause_but_what_would_tell(diagnose, words):
    answer = diagnose(*words)
    assert answer.err.startswith("Taken as a description: Training steps take longer")
    assert "A complaint alone names no cause." in answer.out
    assert "$ diagnose probe environment" in answer.out


def test_a_complaint_in_json(diagnose):
    answer = diagnose("training is really slow", "--format", "json")
    assert [f["name"] for f in answer.json["facts"] if f["kind"] == "symptom"] == ["slow-steps"]
    assert answer.json["next"]


def test_options_before_and_behind_count(diagnose, slow_steps):
    plain = diagnose(slow_steps, "--format", "json").json
    assert diagnose("--format", "json", slow_steps).json == plain
    assert diagnose("--fail-on", "never", slow_steps).code == 0
    assert diagnose(slow_steps, "--fail-on", "never").code == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["inspct"], "Did you mean 'inspect'?"),
        (["explan", "tinker.perf.slow-steps"], "Did you mean 'explain'?"),
        (["prob", "environment"], "did you mean 'probe'?"),
        (["hogwash"], "see `diagnose --help`"),
        (["quite", "unheard", "of"], "see `diagnose --help`"),
        ([""], "see `diagnose --help`"),
    ],
    ids=" ".join,
)
def test_what_nobody_understands(diagnose, words, hint):
    answer = diagnose(*words)
    assert (answer.code, answer.out) == (2, "")
    assert hint in answer.err


def test_a_path_that_is_not_there(diagnose, tmp_path):
    answer = diagnose("./gone.log", cwd=tmp_path)
    assert answer.code == 2
    assert "there is no such file or folder" in answer.out


def test_a_command_wins_over_a_folder_of_its_name(diagnose, slow_steps, tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "facts.json").write_bytes(slow_steps.read_bytes())
    assert "Missing command" in diagnose("kb", cwd=tmp_path).err
    assert "No such command 'facts.json'" in diagnose("kb", "facts.json", cwd=tmp_path).err
    assert diagnose("./kb/facts.json", cwd=tmp_path).code == 1


def test_a_folder_called_like_a_word_of_a_sentence(diagnose, tmp_path):
    (tmp_path / "training").mkdir()
    assert "Taken as a description" in diagnose("training", "is", "slow", cwd=tmp_path).err


class TestPathsAndWords:
    @pytest.mark.parametrize(
        "words",
        [["./run", "training is really slow"], ["run", "training is really slow"],
         ["./run", "training", "is", "really", "slow"]],
        ids=["quoted", "quoted, a plain name", "unquoted"],
    )  # fmt: skip
    def test_a_folder_and_what_is_wrong(self, diagnose, tmp_path, data, words):
        shutil.copytree(data / "metrics/runs/slow_data", tmp_path / "run")
        answer = diagnose(*words, "--format", "json", cwd=tmp_path)
        assert "And as a description: Training steps take longer" in answer.err
        kinds = {fact["kind"] for fact in answer.json["facts"]}
        assert {"symptom", "timing_summary"} <= kinds

    def test_words_that_say_nothing_are_left_out(self, diagnose, slow_steps):
        answer = diagnose(slow_steps, "quite unheard of things", "--format", "json")
        assert "Not understood, and left out" in answer.err
        assert answer.json["diagnoses"] == diagnose(slow_steps, "-f", "json").json["diagnoses"]


class TestStandardInput:
    def test_facts(self, diagnose, slow_steps):
        answer = diagnose("-", stdin=slow_steps.read_bytes())
        assert (answer.code, answer.err) == (1, "Reading standard input as facts file.\n")
        said = diagnose("--facts", slow_steps).out
        assert answer.out.partition("More: ")[0] == said.partition("More: ")[0]

    def test_a_report(self, diagnose, slow_steps):
        report = diagnose("--facts", slow_steps, "--format", "json").out
        answer = diagnose("-", "--format", "json", stdin=report.encode())
        assert answer.err == "Reading standard input as report of ModelMedic.\n"
        assert answer.json["diagnoses"] == json.loads(report)["diagnoses"]

    @pytest.mark.parametrize(
        ("name", "taken"),
        [
            ("logs/healthy_rl.log", "log or traceback"),
            ("metrics/runs/no_pipeline/metrics.jsonl", "metrics"),
            ("freeze/pip_freeze.txt", "list of packages"),
        ],
    )
    def test_what_a_probe_knows(self, diagnose, data, name, taken):
        answer = diagnose("-", "--format", "json", stdin=(data / name).read_bytes())
        assert answer.err == f"Reading standard input as {taken}.\n"
        said = [p["location"] for f in answer.json["facts"] for p in f.get("provenance", ())
                if "location" in p]  # fmt: skip
        assert said
        assert all(location.startswith("<stdin>") for location in said)

    def test_a_traceback(self, diagnose):
        text = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n{BILLING}'
        assert "billing" in diagnose("-", stdin=text.encode()).out.lower()

    def test_one_line_of_an_error(self, diagnose):
        answer = diagnose("-", stdin=BILLING.encode() + b"\n")
        assert answer.err == "Taken as an error message.\n"

    def test_a_sentence(self, diagnose):
        answer = diagnose("-", stdin=b"training is really slow\n")
        assert "Taken as a description" in answer.err

    @pytest.mark.parametrize(
        "text", [b"", b" \n", b"\xff\xfe\x00"], ids=["empty", "blank", "bytes"]
    )
    def test_nothing(self, diagnose, text):
        assert diagnose("-", stdin=text).code in (2, 4)

    def test_broken_json(self, diagnose):
        answer = diagnose("-", stdin=b'{"schema": "modelmedic/facts/1", "facts": [{"kind": 1}]}')
        assert (answer.code, answer.out) == (2, "")


class TestFollowUp:
    def test_probes_that_read_are_run_and_nothing_else(self, diagnose, facts_file):
        path = facts_file({"kind": "symptom", "name": "slow-steps"})
        answer = diagnose("inspect", path, "--follow-up", "--format", "json")
        assert answer.err == "Running diagnose probe environment ...\n"
        kinds = {fact["kind"] for fact in answer.json["facts"]}
        assert {"python", "package"} <= kinds
        assert not {"service_check", "serialization_benchmark"} & kinds

    def test_without_it_nothing_is_run(self, diagnose, facts_file):
        path = facts_file({"kind": "symptom", "name": "slow-steps"})
        answer = diagnose("inspect", path, "--format", "json")
        assert answer.err == ""
        assert "python" not in {fact["kind"] for fact in answer.json["facts"]}

    def test_a_file_that_the_facts_name_is_read(self, diagnose, facts_file, data):
        modeling = data / "modeling" / "modeling_conditions.py"
        path = facts_file(
            {"kind": "workflow_input", "name": "TARGET_MODELING_FILE", "value": str(modeling)},
            {"kind": "component_result", "component": "attn.0", "r_ratio": 2.5},
        )
        answer = diagnose(path, "--follow-up", "--format", "json")
        assert f"Running diagnose probe modeling {modeling} ..." in answer.err
        assert "class_divergence" in {fact["kind"] for fact in answer.json["facts"]}


class TestAnswersOfProbes:
    def test_a_program_gets_a_facts_file(self, diagnose):
        assert diagnose("probe", "environment").json["schema"] == "modelmedic/facts/1"

    def test_a_person_gets_a_table(self, diagnose, data):
        answer = diagnose("probe", "metrics", data / "metrics/runs/sft", "--format", "text")
        assert "step_timing: " in answer.out
        assert "and " in answer.out

    def test_the_facts_go_on_to_a_diagnosis(self, diagnose, data):
        facts = diagnose("probe", "metrics", data / "metrics/runs/no_pipeline", "--format", "json")
        assert "API calls are not pipelined" in diagnose("-", stdin=facts.out.encode()).out

    def test_credentials_stay_out_of_the_table(self, diagnose, tmp_path):
        log = tmp_path / "a.log"
        key = "tml-" + "Ab1" * 20
        log.write_text(f"ValueError: refused api_key={key}\n")
        answer = diagnose("probe", "logs", log, "--format", "text")
        assert "error_message" in answer.out
        assert key not in answer.out


@pytest.mark.parametrize("words", [("-",), ("inspect", "-")])
def test_what_is_piped_in_is_read_as_what_it_is(diagnose, words):
    rewards = (0.61, 0.59, 0.31, 0.04, 0.0)
    text = "look\n" + "".join(f"step {n} reward {r}\n" for n, r in enumerate(rewards))
    answer = diagnose(*words, "--format", "json", stdin=text.encode())
    found = {each["id"] for each in answer.json["diagnoses"]}
    assert "tinker.dynamics.instability" in found
    unknown = diagnose("inspect", "-", stdin=b"lwp-look: 17 zebras at the door\n")
    assert "lwp-look: 17 zebras at the door" in unknown.out


@pytest.mark.parametrize("words", [("-",), ("inspect", "-"), ("decode", "-")])
def test_packed_text_may_be_piped_in(diagnose, words):
    text = b"ERROR a\ntinker.BillingError: Error code: 402 - blocked\n"
    answer = diagnose(*words, "--format", "json", stdin=gzip.compress(text))
    assert answer.json["diagnoses"][0]["id"] == "tinker.billing.blocked"
