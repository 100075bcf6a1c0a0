"""Sound programs that look like faults: what an error finding says has to be proven.

Each line of ``sound/faults.txt`` is an error where it runs. In each context of
``sound/contexts.txt`` it is not an error: its failure is expected, or it never runs.
``programs.txt`` holds further programs, whose values are mended before they are used. The programs
of ``quiet.txt`` give no warning either; their twins in ``warned.txt`` give the one that their
heading names. Those of ``leads.txt`` give no more than a lead: what they show may be a fault, and
may not.
"""

from pathlib import Path

import pytest

from modelmedic.engine.diagnosis.diagnoser import Diagnoser
from modelmedic.probes.script.probe import gather_script

FOLDER = Path(__file__).parent / "sound"


def parts(name):
    """The programs of a file, each under its name."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        if line.startswith("== "):
            lines = found[line[3:]] = []
        else:
            lines.append(line)
    return {key: "\n".join(lines) + "\n" for key, lines in found.items()}


FAULTS = dict(
    line.split(": ", 1)
    for line in (FOLDER / "faults.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
CONTEXTS = parts("contexts.txt")
PROGRAMS = parts("programs.txt")
QUIET = parts("quiet.txt")
WARNED = parts("warned.txt")
LEADS = parts("leads.txt")


@pytest.fixture(scope="module")
def diagnoser():
    return Diagnoser.load()


@pytest.fixture
def findings(tmp_path, diagnoser, monkeypatch):
    """The findings of a program with one of these severities."""

    def findings(text, *severities):
        (tmp_path / "start.py").write_text((FOLDER / "start.py.txt").read_text("utf-8"))
        (tmp_path / "program.py").write_text(text)
        monkeypatch.chdir(tmp_path)
        facts = gather_script([Path("program.py")], diagnoser.base.vocabulary).facts
        report = diagnoser.diagnose(facts, plan=False)
        shown = (d for d in report.diagnoses if d.kind != "benign")
        return {d.id for d in shown if d.severity in severities}

    return findings


@pytest.fixture
def errors(findings):
    """The error findings of a program."""
    return lambda text: findings(text, "error")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_error_where_it_runs(fault, errors):
    start = "import tinker\nfrom start import MODEL, batch, client, prompt, sampler, service\n"
    assert errors(f"{start}\nvalue = {FAULTS[fault]}\n")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_what_is_expected_or_never_runs_is_no_error(context, fault, errors):
    assert not errors(CONTEXTS[context].replace("{fault}", FAULTS[fault]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_value_that_is_mended_before_its_use_is_no_error(name, errors):
    assert not errors(PROGRAMS[name])


@pytest.mark.parametrize("name", QUIET)
def test_a_sound_program_gives_no_warning(name, findings):
    assert not findings(QUIET[name], "error", "warning")


@pytest.mark.parametrize("name", WARNED)
def test_its_twin_gives_one(name, findings):
    assert name.partition(":")[0] in findings(WARNED[name], "error", "warning")


@pytest.mark.parametrize("name", LEADS)
def test_what_may_be_sound_is_a_lead(name, findings):
    assert not findings(LEADS[name], "error", "warning")
    assert name.partition(":")[0] in findings(LEADS[name], "info")
