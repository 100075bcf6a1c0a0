"""How options may be spelt, the two ways to the main job, and what is shown of hostile facts."""

import json
import re
import sys
import unicodedata

import click
import pytest

from modelmedic.interfaces.cli.commands import cli
from modelmedic.interfaces.cli.fast_lane import OPTIONS, read

# Options that the fast lane takes. With --debug the same go through click, and so must the answer.
PLAIN = [
    "--facts {slow}",
    "--facts {slow} --format json",
    "--format json --facts {slow}",
    "--facts {slow} -f json",
    "-f json -f text --facts {slow}",
    "--facts {slow} --verbose",
    "-v --facts {slow} -v",
    "--facts {slow} --facts {cleared} --format json",
    "--facts {slow} {cleared} --format json",
    "--facts {slow} --fail-on never",
    "--facts {cleared} --fail-on warning",
    "--facts {slow} --fail-on blocker --fail-on error",
    "--facts {slow} --engine reference --format json",
    "--facts {slow} --kb {overlay} --format json",
    "--facts {slow} --kb {overlay} --kb {empty} --format json",
    "--facts {missing}",
    "--facts {missing} --format json",
    "--facts {slow} --kb {missing} --format json",
]
# Spellings that the fast lane leaves to click.
OTHER = [
    "--facts={slow} --format=json",
    "--facts {slow} -fjson",
    "--facts {slow} -vf json",
]


@pytest.fixture
def spelt(slow_steps, cleared, tmp_path):
    """Arguments from a template."""
    for name in ("overlay", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "overlay" / "diagnoses.yaml").write_text(
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: X, severity: info, kind: benign, summary: X.}\n"
    )
    places = {name: tmp_path / name for name in ("overlay", "empty", "missing")}
    return lambda text: text.format(slow=slow_steps, cleared=cleared, **places).split()


@pytest.mark.sweep
@pytest.mark.parametrize("template", PLAIN)
def test_both_ways_give_the_same_answer(diagnose, spelt, template):
    arguments = spelt(template)
    fast, slow = diagnose(*arguments), diagnose(*arguments, "--debug")
    assert fast == slow
    assert fast.out or fast.err


@pytest.mark.parametrize("template", PLAIN[:3])
def test_only_one_of_them_is_click(modules_after, spelt, template):
    assert "click" not in modules_after(*spelt(template))
    assert "click" in modules_after(*spelt(template), "--debug")


@pytest.mark.parametrize("template", OTHER)
def test_other_spellings_give_the_same_answer(diagnose, spelt, template):
    assert not read(spelt(template)).is_main_job
    verbose = ["--verbose"] if "-v" in template else []
    plain = diagnose(*spelt("--facts {slow} --format json"), *verbose)
    assert diagnose(*spelt(template)) == plain


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--facts"],
        ["--facts", "-"],
        ["--facts", "a.json", "--format", "xml"],
        ["--facts", "a.json", "--fail-on", "--verbose"],
        ["--facts", "a.json", "stray"],
        ["--facts", "a.json", "--help"],
        ["--facts", "a.json", "-o"],
        ["--verbose"],
        ["decode", "--facts", "a.json"],
    ],
    ids=" ".join,
)
def test_the_fast_lane_takes_nothing_doubtful(arguments):
    assert not read(arguments).is_main_job


def leaves(command):
    """The commands of a group, at any depth."""
    context = click.Context(command)
    for name in command.list_commands(context):
        part = command.get_command(context, name)
        yield from leaves(part) if isinstance(part, click.Group) else [part]


def test_every_command_takes_debug():
    found = {command.name: {name for p in command.params for name in p.opts}
             for command in leaves(cli)}  # fmt: skip
    assert len(found) > 40
    assert [name for name, options in found.items() if "--debug" not in options] == []


def test_the_fast_lane_and_click_spell_options_alike():
    spelt = {p.name: tuple(p.opts) for p in cli.params}
    for field, option in OPTIONS.items():
        assert spelt[field] == option.names


def test_one_option_takes_several_files(diagnose, tmp_path):
    names = ["a.json", "b.json", "c.json"]
    for name in names:
        fact = {"kind": "package", "name": f"package-{name[0]}"}
        (tmp_path / name).write_text(json.dumps([fact]))

    def packages(*arguments, **more):
        plain = diagnose(*arguments, "-f", "json", cwd=tmp_path, **more).json
        return [f["name"] for f in plain["facts"]]

    wanted = ["package-a", "package-b", "package-c"]
    assert packages("--facts", *names) == wanted
    assert packages("--facts", "a.json", "b.json", "--facts", "c.json") == wanted
    stdin = (tmp_path / "a.json").read_bytes()
    assert packages("--facts", "-", "b.json", "c.json", stdin=stdin) == wanted
    why_not = diagnose("why-not", "tinker.perf.hang", "--facts", *names, "-f", "json", cwd=tmp_path)
    assert why_not.code == 0, why_not.err


def test_what_follows_two_dashes_belongs_to_another_program(diagnose, tmp_path):
    program = f"import sys; open({str(tmp_path / 'words')!r}, 'w').write(repr(sys.argv[1:]))"
    words = ["--facts", "a.json", "b.json", "--format", "json"]
    answer = diagnose("watch", "--", sys.executable, "-c", program, *words, cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert (tmp_path / "words").read_text() == repr(words)
    assert read(["watch", "--", *words]).format == "text"


def test_a_word_that_is_no_facts_file_ends_the_list(diagnose, slow_steps):
    answer = diagnose("--facts", slow_steps, "stray")
    assert (answer.code, answer.out) == (2, "")
    assert "No such command 'stray'" in answer.err


ESCAPES = "\x1b[31m\x1b]0;title\x07\x9b2J\x08\x7f\r"
BIDI = "\u202e\u2066\u200f\u061c"
INVISIBLE = "\u200b\ufeff\u2028\U000e0041"
HOSTILE = f"a{ESCAPES}b{BIDI}c{INVISIBLE}d\n\nNo problem found."
# Everywhere a facts file can hold a text.
CARRIERS = [
    {"kind": "package", "name": "pydantic", "version": HOSTILE},
    {"kind": "package", "name": HOSTILE},
    {"kind": "log_event", "event": "heartbeat-failed", "text": HOSTILE},
    {"kind": "error_message", "text": f"Error code: 429 - {HOSTILE}", "exception": HOSTILE},
    {"kind": "symptom", "name": "slow-steps", "provenance": {"location": HOSTILE}},
    {"kind": "symptom", "name": "hang", "provenance": [{"source": HOSTILE}]},
    {"kind": "package", "name": "tinker", "version": "0.16.1", HOSTILE: 1},
    {"kind": HOSTILE},
    {"kind": "symptom", "name": HOSTILE},
]


def harmful(text):
    """The characters of a text that a terminal acts on or that hide something."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"}


@pytest.mark.parametrize("carrier", CARRIERS, ids=range(len(CARRIERS)))
def test_hostile_text_is_shown_escaped(diagnose, facts_file, carrier):
    path = facts_file(carrier, {"kind": "symptom", "name": "high-submit-time"})
    answer = diagnose("--facts", path, "--verbose")
    assert answer.code in (0, 1, 2)
    said = answer.out + answer.err
    assert not harmful(said)
    assert not re.search(r"^No problem found", said[1:], re.MULTILINE), "a line of its own"
    plain = diagnose("--facts", path, "--format", "json")
    assert plain.out.isascii() and not harmful(plain.out)
    assert plain.json


def test_hostile_text_can_be_read_as_what_it_is(diagnose, facts_file):
    fact = {"kind": "symptom", "name": "slow-steps", "provenance": {"location": HOSTILE}}
    out = "".join(line.strip() for line in diagnose("--facts", facts_file(fact)).out.splitlines())
    assert r"a\x1b[31m\x1b]0;title\x07\x9b2J\x08\x7f\x0db\u202e\u2066" in out
    assert r"d\n\nNo" in out


@pytest.mark.parametrize("name", [f"{HOSTILE}.json", "\udcff.json"], ids=["controls", "bytes"])
def test_a_hostile_file_name_is_shown_escaped(diagnose, tmp_path, name):
    answer = diagnose("--facts", name, cwd=tmp_path)
    assert answer.code == 2
    assert not harmful(answer.err)
    (tmp_path / name).write_text("[]")
    assert diagnose("--facts", name, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "arguments", [["decode"], ["explain"], ["why-not"], ["whatif", "--set"], ["facts"], ["kb"]],
    ids=" ".join,
)  # fmt: skip
def test_hostile_arguments_are_shown_escaped(diagnose, arguments):
    answer = diagnose(*arguments, HOSTILE)
    assert answer.code in (0, 1, 2, 4)
    assert not harmful(answer.out + answer.err)
