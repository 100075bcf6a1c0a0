"""The output of source for errors that nothing explains, as the commands show it."""

import json

import pytest

CODE = '''\
def open_volume(name, retries):
    """Open it.

    Args:
        name: Which volume.
        retries: How often to try.
    """
    if retries > 9:
        raise ValueError(f"volume {name} was tried far too often: {retries}")
'''
ERROR = "volume north was tried far too often: 12"
TRACEBACK = f"""\
Traceback (most recent call last):
  File "/env/lib/python3.12/site-packages/volumes/core.py", line 9, in open_volume
    raise ValueError(
ValueError: {ERROR}
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    (folder / "volumes").mkdir(parents=True)
    (folder / "volumes" / "core.py").write_text(CODE)
    (folder / "volumes" / "broken.py").write_text("raise X(\n")
    info = folder / "volumes-3.1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("volumes/core.py,,\nvolumes/broken.py,,\n")
    return folder


def test_an_unexplained_error_shows_its_source(diagnose, site):
    answer = diagnose("decode", TRACEBACK, "--site", site)
    assert answer.code == 4
    shown = " ".join(answer.out.split())
    assert ("Read from source (not a diagnosis): open_volume in volumes/core.py:9 (volumes 3.1) "
            "raises it where this held: retries > 9") in shown  # fmt: skip
    assert "retries = 12: How often to try." in shown


def test_the_report_has_it_in_parts(diagnose, site):
    report = diagnose("decode", TRACEBACK, "--site", site, "--format", "json").json
    # A file of the package that cannot be read is not a fault of the input.
    assert (report["status"], report["errors"]) == ("unknown", [])
    (error,) = report["unexplained"]
    wanted = {"package": "volumes", "version": "3.1", "module": "volumes.core", "line": 9,
              "function": "open_volume", "guard": "retries > 9"}  # fmt: skip
    assert wanted.items() <= error["source"].items()
    assert error["source"]["arguments"] == [
        {"name": "name", "value": "north", "doc": "Which volume."},
        {"name": "retries", "value": "12", "doc": "How often to try."},
    ]
    assert report["diagnoses"] == []


@pytest.mark.parametrize("format_", ["markdown", "html", "junit"])
def test_other_formats_for_people(diagnose, site, format_):
    out = diagnose("decode", TRACEBACK, "--site", site, "--format", format_).out
    assert "Read from source (not a diagnosis)" in out and "How often to try." in out


def test_it_can_be_turned_off(diagnose, site):
    answer = diagnose("decode", TRACEBACK, "--site", site, "--no-source", "-f", "json")
    assert answer.code == 4
    assert "source" not in answer.json["unexplained"][0]
    assert {fact["kind"] for fact in answer.json["facts"]} == {"error_message"}


def test_inspect_reads_source_too(diagnose, site, tmp_path):
    (tmp_path / "run.log").write_text(TRACEBACK)
    report = diagnose("inspect", tmp_path / "run.log", "--site", site, "-f", "json").json
    assert [error["source"]["function"] for error in report["unexplained"]] == ["open_volume"]


def test_an_explained_error_needs_no_source(diagnose, site, modules_after):
    message = "Error code: 401 - {'detail': 'Invalid API key'}"
    loaded = modules_after("decode", message, "--fail-on", "info")
    assert not {name for name in loaded if name.startswith("modelmedic.probes.source")}


@pytest.mark.parametrize(
    "options", [("--site", "/nowhere"), ("--python", "/nowhere"), ("--site", __file__)]
)
def test_a_place_that_is_none_is_bad_usage(diagnose, options):
    for command in (("decode", "x"), ("source", "find", "x"), ("source", "index")):
        answer = diagnose(*command, *options)
        assert answer.code == 2 and ("MM486" in answer.err or "MM420" in answer.err)


def test_index_and_find(diagnose, site):
    answer = diagnose("source", "index", "volumes", "absent", "--site", site, "-f", "json")
    assert answer.json["packages"] == [{"package": "volumes", "version": "3.1", "sites": 1}]
    assert "MM489" in answer.err and "MM487" in answer.err
    assert diagnose("source", "index", "absent", "--site", site).code == 2
    options = ("--site", site, "--package", "volumes")
    answer = diagnose("source", "find", ERROR, *options, "-f", "json")
    (found,) = answer.json["messages"]
    assert (found["text"], found["source"]["line"]) == (ERROR, 9)
    assert "retries = 12" in diagnose("source", "find", ERROR, *options).out
    assert "Not found" in diagnose("source", "find", "no such thing here", *options).out


def test_secrets_in_values_are_hidden(diagnose, site):
    key = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
    text = TRACEBACK.replace("north", key)
    for format_ in ("text", "json", "markdown", "html", "junit", "sarif"):
        out = diagnose("decode", text, "--site", site, "--format", format_).out
        assert key not in out
    plain = diagnose("decode", text, "--site", site, "--format", "json").json
    assert key not in json.dumps(plain) and plain["unexplained"][0]["source"]
