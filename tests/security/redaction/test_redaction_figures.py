"""What docs/redaction.md promises, with secrets that no detector has seen."""

import json
from pathlib import Path

import pytest
from corpus import contexts, formats
from encodings_of_texts import ENCODINGS
from measure import BEGIN, PAGE, encoded, masked_innocents, of_outputs, of_redactor, shows

from modelmedic.authoring.detectors import build
from modelmedic.facts.redaction import Redactor
from modelmedic.facts.redaction.detectors import shipped
from modelmedic.facts.redaction.masking import masked

SEED = "tested"
REDACTOR = Redactor(lambda: b"salt")


def leaks(results):
    return [(plant.kind, plant.text) for plant, leaked in results if leaked]


def test_the_program_reads_what_people_have_edited():
    """`make pages` writes it."""
    for path, text in build().items():
        assert Path(path).read_text(encoding="utf-8") == text


def test_there_are_as_many_formats_as_the_page_says():
    issuers, known = shipped()
    assert len(issuers) >= 150 and len(known) >= 40
    assert f"{len({p.kind for p in formats(SEED)})} formats of issuers" in PAGE.read_text("utf-8")
    assert BEGIN in PAGE.read_text("utf-8")


def test_no_format_of_an_issuer_is_missed():
    assert leaks(of_redactor(formats(SEED))) == []


def test_formats_are_masked_where_a_message_quotes_them():
    assert [p.kind for p in formats(SEED) if shows(p, masked(p.text))] == []


def test_what_is_masked_stays_as_it_is_where_a_message_quotes_it():
    for text in ("host='<secret:HOST:61f2>', port=80", "/home/<secret:USER>/notebooks/a.py"):
        assert masked(text) == text
    assert "Xk39dkslw93kdlsk39x9" not in masked("<secret:Xk39dkslw93kdlsk39x9>")


def test_contexts():
    planted = contexts(SEED)
    found = leaks(of_redactor(planted))
    assert len(found) <= 0.03 * len(planted), found


def test_encodings():
    planted = list(encoded(SEED))
    found = leaks(of_redactor(planted))
    assert len(found) <= 0.1 * len(planted), found


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_encoding_hides_most_secrets(name):
    """On its own, too, each is decoded."""
    planted = [p._replace(text=ENCODINGS[name](p.text)) for p in formats(name)[::6]]
    assert len(leaks(of_redactor(planted))) <= len(planted) / 4


def test_the_innocent_are_left_alone():
    masked_ones = masked_innocents(SEED, 2_000)
    assert len(masked_ones) <= 10, masked_ones


def test_a_document_of_many_secrets_is_clean_at_once():
    """One secret may stand beside another; redacting again changes nothing."""
    texts = [plant.text for plant in (*formats(SEED), *contexts(SEED), *encoded(SEED))]
    once = REDACTOR.redact(texts)
    assert REDACTOR.redact(once.value).value == once.value


def test_json_stays_json():
    for plant in (*formats(SEED), *contexts(SEED)):
        told = json.loads(REDACTOR.redact(json.dumps({"text": plant.text, "n": 1})).value)
        assert told["n"] == 1
        assert not plant.leaks_into(told["text"])


def test_a_secret_that_one_text_writes_in_code_is_hidden_where_it_is_cut(doctor):
    secret = formats(SEED)[0].secret
    hidden = ENCODINGS["hex"](secret)
    clean = REDACTOR.redact([f"seen {hidden} here", f"seen {hidden[:30]}..."]).value
    assert hidden[:30] not in "".join(clean)


@pytest.mark.slow
def test_no_format_leaks_through_any_output(doctor):
    planted = [p for p in formats("outputs tested") if not p.blind][::3]
    for name, results in of_outputs(planted, doctor).items():
        assert len(results) > len(planted) / 2, f"{name} shows too little for this to say anything"
        assert leaks(results) == [], name


# ---- cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("cookie: Cookie: session=a1B2c3D4e5F6", "cookie: Cookie: <secret:TOKEN>"),
        ("mysql -u root -phunter2x runs", "mysql -u root -p<secret:PASSWORD> runs"),
        ("mysql -p runs", "mysql -p runs"),
        ("sshpass -p hunter2x ssh gpu", "sshpass -p <secret:PASSWORD> ssh gpu"),
        ("docker run -p 8080:80 x", "docker run -p 8080:80 x"),
        ("password=getpass.getpass()", "password=getpass.getpass()"),
        (
            "x-request-id: req_a1B2c3D4e5F6g7H8i9J0k1L2",
            "x-request-id: req_a1B2c3D4e5F6g7H8i9J0k1L2",
        ),
        ("eyJzdGVwIjoxMiwibG9zcyI6Mi41fQ==", "eyJzdGVwIjoxMiwibG9zcyI6Mi41fQ=="),
        ("a%20b%20password%3Dhunter2x", "a%20b%20password%3D<secret:PASSWORD>"),
    ],
)
def test_cases(text, clean):
    assert masked(text) == clean


# ---- masks -----------------------------------------------------------------------------------

SEEN = (
    "rank 3 on 10.12.0.7 (fe80::1ff:fe23:4567:890a, 02:42:ac:11:00:02) of arn:aws:iam::123456789012:role/x "
    "as user=annabel on login.example.com, data in /fsx/home/annabel/run, torch 2.4.0.1 at 127.0.0.1"
)


def test_nothing_is_masked_without_being_asked_for():
    assert REDACTOR.redact("rank 3 on 10.12.0.7 as user=annabel").counts == {}


@pytest.mark.parametrize(
    ("mask", "gone", "stays"),
    [
        ("addresses", ["10.12.0.7", "890a", "02:42"], ["annabel", "127.0.0.1", "example.com"]),
        ("accounts", ["123456789012", "user=annabel"], ["10.12.0.7", "example.com"]),
        ("hosts", ["login.example.com"], ["10.12.0.7", "2.4.0.1"]),
        ("homes", ["home/annabel"], ["10.12.0.7"]),
    ],
)
def test_masks(mask, gone, stays):
    redactor = Redactor(lambda: b"salt", masks=[mask])
    clean = redactor.redact(SEEN).value
    assert [part for part in gone if part in clean] == []
    assert [part for part in stays if part not in clean] == []
    assert redactor.redact(clean).value == clean


def test_the_option_works_with_every_command(diagnose, tmp_path):
    log = tmp_path / "job.log"
    log.write_text(f"ERROR RuntimeError: Error code: 500 {SEEN}\n")
    for chosen in (("--mask", "addresses,accounts"), ("--mask=all",)):
        said = diagnose("inspect", log, "-f", "json", *chosen)
        assert "10.12.0.7" not in said.out + said.err
        assert said.json["redacted"]["ADDRESS"] >= 3
    assert "10.12.0.7" in diagnose("inspect", log, "-f", "json").out
    refused = diagnose("inspect", log, "--mask", "nonsense")
    assert refused.code == 2
    assert "'nonsense' is nothing that --mask can hide" in refused.err
    assert "10.12.0.7" not in diagnose("inspect", log, "-f", "json", MODELMEDIC_MASK="all").out
