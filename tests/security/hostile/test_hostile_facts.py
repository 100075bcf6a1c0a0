"""Every format of every command that diagnoses, with the alphabet in values, places and names of
files: read back by a third party the text is equal, and nothing that hides comes through."""

import json
import re
import sys
import unicodedata

import pytest

from modelmedic.interfaces.reports.safe_text import safe

FORMATS = ("text", "json", "markdown", "html", "sarif", "junit", "github")
FOR_PEOPLE = ("text", "markdown", "html")


UNSEEN = "[\x00-\x1f\x7f-\xa0\xad\u2000-\u200f\u2018-\u201f\u202a-\u202f\u205f-\u2069\u3000\ufeff]|&[a-z#0-9]+;"


def facts_with(text):
    """Facts that lead to findings, with the text wherever one may stand."""
    place = {"source": "file", "location": f"run/{text}.log"}
    return [
        {"kind": "error_message", "text": f"Error code: 402 - q{text}p", "owner": "tinker", "exception": f"X{text}",
         "provenance": place},
        {"kind": "log_event", "event": "heartbeat-failed", "text": f"q{text}p",
         "provenance": place},
        {"kind": "package", "name": f"q{text}p", "version": "1.0", "provenance": place},
    ]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("format_", FORMATS)
def test_values_and_places(command, facts_file, groups, read_back, shown, format_):
    for texts in groups:
        facts = [fact for text in texts for fact in facts_with(text)]
        answer = command("--facts", facts_file(*facts), "-v", "-f", format_)
        assert answer.code == 1, answer.err
        said = read_back(format_, answer.out)
        if format_ in ("github", "sarif"):  # they name files that exist, and these do not
            assert not any(shown(f"run/{text}.log", said) for text in texts)
            continue
        for text in texts:
            place, message = f"run/{text}.log", f"402 - q{text}p"
            assert place in said if format_ == "json" else shown(place, said), text
            if format_ in ("markdown", "html"):  # on a terminal values are cut short
                assert shown(message, said), text
            if format_ == "json":
                assert message in said, text


@pytest.mark.sweep
@pytest.mark.parametrize("format_", FORMATS)
def test_messages(command, tmp_path, groups, read_back, shown, format_):
    """Messages of a log, and messages given to decode."""
    log = tmp_path / "job.log"
    for texts in groups:
        lines = [f"tinker.RateLimitError: Error code: 429 q{' '.join(t.split())}p" for t in texts]
        log.write_text("\n".join(lines), encoding="utf-8")
        for words in (("inspect", log, "--all"), ("decode", log.read_text(encoding="utf-8"))):
            answer = command(*words, "-f", format_)
            assert answer.code in (0, 1), answer.err
            said = read_back(format_, answer.out)
            for line in lines if format_ in (*FOR_PEOPLE, "json") else ():
                if not re.search(UNSEEN, line):  # read without colours and marks
                    said_so = line[23:] in said if format_ == "json" else shown(line[23:], said)
                    assert said_so, line


@pytest.mark.parametrize("format_", FORMATS)
def test_names_of_files(command, tmp_path, alphabet, read_back, shown, format_):
    """One folder with a log for each text; a file that is not an artefact is named, too."""
    folder = tmp_path / "run"
    folder.mkdir()
    named = [text for text in alphabet.values() if "/" not in text]
    for number, text in enumerate(named):
        line = f"tinker.BillingError: Error code: 402 - blocked {number}\n"
        (folder / f"q{text}p.log").write_text(line)
    answer = command("inspect", folder, "-f", format_)
    assert answer.code == 1, answer.err
    said = read_back(format_, answer.out)
    for text in named if format_ in ("json", "html") else ():
        assert f"q{text}p.log" in said if format_ == "json" else shown(f"q{text}p.log", said), text
    assert command("inspect", folder / f"none{named[4]}", "-f", format_).code == 2


def test_lone_surrogates_and_nul_are_refused_or_shown(command, facts_file):
    """No text that is well formed holds a lone surrogate, so no fact does."""
    for text in ("\ud800x", "x\udfff", "\udfff\ud800"):
        for format_ in FORMATS:
            answer = command("--facts", facts_file(*facts_with(text)), "-f", format_)
            assert answer.code == 2
            assert "lone surrogate" in answer.out + answer.err
    assert command("--facts", facts_file(*facts_with("a\0b")), "-v").code == 1


@pytest.mark.parametrize("place", ["kind", "attribute", "key of the file"])
def test_keys(command, tmp_path, alphabet, read_back, shown, place):
    """Refused by name, in the formats in turn."""
    for number, text in enumerate(alphabet.values()):
        name, format_ = f"q{text}p", FORMATS[number % len(FORMATS)]
        content = {"kind": [{"kind": name}], "attribute": [{"kind": "symptom", name: 1}],
                   "key of the file": {"schema": "modelmedic/facts/1", "facts": [], name: 1}}  # fmt: skip
        (tmp_path / "facts.json").write_text(json.dumps(content[place]))
        answer = command("--facts", "facts.json", "-f", format_)
        assert answer.code == 2
        said = read_back(format_, answer.out) if answer.out else answer.err
        assert shown(name[:20], said), text


def test_every_hidden_character_of_unicode(is_hidden):
    """The one function that makes text visible knows all of them; but for signs of Arabic, Syriac
    and the like, which Unicode counts among the formats although they are drawn."""
    missed = {c for c in map(chr, range(sys.maxunicode + 1)) if is_hidden(c) and safe(c) == c}
    scripts = {unicodedata.name(c, "no character").split()[0] for c in missed}
    assert scripts <= {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND"}
