"""``report bundle``: what a support team gets."""

import hashlib
import json
import os
import zipfile

import pytest

KEY = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"
ERROR = {"kind": "error_message", "text": f"tinker.InternalServerError: Error code: 500 {KEY}"}
NAMES = ["README.md", "facts.json", "manifest.json", "report.html", "report.json", "report.md"]


@pytest.fixture
def packet(diagnose, write, tmp_path):
    """Writes facts and unpacks what becomes of them."""

    def packet(*facts, name="p.zip"):
        write("facts.json", list(facts))
        done = diagnose("report", "bundle", "facts.json", "-o", name)
        assert (done.code, done.out) == (0, "")
        with zipfile.ZipFile(tmp_path / name) as archive:
            return {n: archive.read(n).decode() for n in archive.namelist()}

    return packet


def test_a_packet_is_whole_and_its_report_holds(diagnose, packet, slow, tmp_path):
    files = packet(*slow)
    assert sorted(files) == NAMES
    manifest = json.loads(files["manifest.json"])
    for name, said in manifest["files"].items():
        data = files[name].encode()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (said["bytes"], said["sha256"])
    for name in ("report.json", "facts.json"):
        (tmp_path / name).write_text(files[name])
    assert diagnose("replay", "report.json").code == 0
    again = diagnose("--facts", "facts.json", "-f", "json", "--fail-on", "never").json
    assert [d["id"] for d in again["diagnoses"]] == [
        d["id"] for d in json.loads(files["report.json"])["diagnoses"]]  # fmt: skip


def test_equal_inputs_give_equal_bytes(diagnose, write, slow, tmp_path):
    write("facts.json", slow)
    for name in ("a.zip", "b.zip"):
        diagnose("report", "bundle", "facts.json", "-o", name)
        os.utime("facts.json", (1, 1))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile("a.zip") as archive:
        assert archive.namelist() == NAMES
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert (entry.external_attr >> 16, entry.create_system) == (0o100644, 3)


def test_a_report_and_a_log_can_be_its_inputs(diagnose, write, slow, tmp_path):
    write("facts.json", slow)
    diagnose("--facts", "facts.json", "-f", "json", "-o", "report.json")
    (tmp_path / "train.log").write_text(f"2026-01-01 10:00:00,000 ERROR {ERROR['text']}\n")
    assert diagnose("report", "bundle", "report.json", "train.log", "-o", "p.zip").code == 0
    with zipfile.ZipFile("p.zip") as archive:
        facts = json.loads(archive.read("facts.json"))["facts"]
    kinds = {fact["kind"] for fact in facts}
    assert {"package", "error_message"} <= kinds


def test_no_part_holds_a_secret(packet):
    files = packet(ERROR, {"kind": "hyperparameter", "name": "x", "text": f"cut {KEY[:18]}..."})
    assert KEY[:12] not in "".join(files.values())
    assert "secret:API_KEY" in files["report.md"]
    manifest = json.loads(files["manifest.json"])
    assert manifest["redacted"]["API_KEY"] >= 1


def test_needs_are_found_or_come_with_a_way_to_get_them(packet, doctor):
    """Each escalation's packet is in the manifest; what facts hold is ticked."""
    files = packet(ERROR, {"kind": "http_response", "status": 500, "operation": "sample"})
    manifest = json.loads(files["manifest.json"])
    report = json.loads(files["report.json"])
    wanted = {item for d in report["diagnoses"] for item in d.get("packet", ())}
    needs = {need["item"]: need for need in manifest["needs"]}
    assert wanted and needs.keys() == wanted
    facts = {f["id"]: f for f in report["facts"]}
    message = needs["The full message or traceback"]
    assert {facts[i]["kind"] for i in message["found"]} == {"error_message"}
    version = needs["Version of the tinker SDK (`tinker version`)"]
    assert not version["found"]
    assert ("probe", "environment") in {(w["type"], w["id"]) for w in version["ways"]}
    assert "- [x] The full message or traceback" in files["README.md"]
    assert doctor.base.vocabulary.probes["environment"].command in files["README.md"]
    mended = packet(ERROR, {"kind": "package", "name": "tinker", "version": "0.38.0"})
    needs = {need["item"]: need for need in json.loads(mended["manifest.json"])["needs"]}
    assert needs["Version of the tinker SDK (`tinker version`)"]["found"]


DIAGNOSES = """
schema: modelmedic/diagnoses/1
domain: tinker
sources: [{ref: test}]
diagnoses:
  - id: tinker.acme.escalate
    title: It is the machine
    severity: error
    kind: escalation
    summary: It is.
    actions: [{do: Report it.}]
    packet: [by hand, {item: x, found_in: [{fact: pakage}, {fact: package, where: {nam: x}}]}]
"""


def test_where_things_are_found_is_linted(diagnose, tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "x.yaml").write_text(DIAGNOSES)
    done = diagnose("kb", "lint", "--kb", "kb")
    assert done.code != 0
    said = done.out + done.err
    assert "MM230" in said and "did you mean 'package'?" in said and "'nam'" in said


def test_what_is_missing_is_told(diagnose, write):
    write("facts.json", [ERROR])
    done = diagnose("report", "bundle", "facts.json", "-o", "p.zip")
    assert "Still missing" in done.err and "tinker version" in done.err


def test_nothing_is_left_behind_on_failure(diagnose, write, tmp_path):
    write("facts.json", [{"kind": "pakage"}])
    assert diagnose("report", "bundle", "facts.json", "-o", "p.zip").code == 2
    write("facts.json", [])
    assert diagnose("report", "bundle", "facts.json", "-o", "none/p.zip").code == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["facts.json"]


def test_every_name_in_the_archive_is_plain(packet, slow):
    """Nothing of the input becomes a file name."""
    hostile = {"kind": "error_message", "text": "x", "provenance": {"location": "../../evil:1"}}
    assert sorted(packet(hostile, *slow)) == NAMES
    assert zipfile.is_zipfile("p.zip")
