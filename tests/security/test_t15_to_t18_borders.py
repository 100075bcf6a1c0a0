"""Threats T15 to T18 of SECURITY.md: supply, knowledge that does harm by itself, trust in verdicts,
other users of the machine."""

import re
import stat
import subprocess
import sys
import tomllib

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase
from modelmedic.facts import ModelMedicError

RULES = """
schema: modelmedic/rules/1
domain: local
sources: [{ref: "local notes"}]
rules:
"""


def test_t15_versions_are_pinned(root):
    """Everything that the tests and the build install has one version."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    pinned = {
        re.split(r"[=\[; ]", line)[0].lower().replace("_", "-")
        for line in (root / "constraints-dev.txt").read_text().splitlines()
        if "==" in line
    }
    wanted = {
        re.split(r"[<>=!~;\[ ]", name)[0].lower().replace("_", "-")
        for name in (*project["dependencies"], *project["optional-dependencies"]["dev"])
    }
    assert wanted - pinned == {"modelmedic"}  # its own extra
    assert "durable-rules==2.0.28" in str(project["optional-dependencies"]["durable"])


def test_t15_other_knowledge_has_another_digest(diagnose, overlay, slow_steps):
    """A pack that was changed cannot pass for the one that was reviewed."""

    def digest():
        answer = diagnose("--facts", slow_steps, "--kb", overlay, "-f", "json")
        return answer.json["knowledge"]["digest"]

    before = digest()
    rules = overlay / "rules.yaml"
    rules.write_text(rules.read_text().replace("slow-steps", "hang"))
    assert digest() != before
    rules.write_text(rules.read_text().replace("hang", "slow-steps"))
    assert digest() == before


def test_t15_knowledge_that_breaks_does_not_take_the_place_of_what_works(diagnose, overlay):
    """A service that reads knowledge again keeps the last that loaded."""
    doctor = Diagnoser.load([overlay])
    (overlay / "rules.yaml").write_text("schema: [")
    with pytest.raises(ModelMedicError):
        KnowledgeBase.load([overlay])
    fact = doctor.base.vocabulary.fact("symptom", name="slow-steps")
    assert "local.perf.trap" in {d.id for d in doctor.diagnose([fact]).diagnoses}


def rule(number, when, conclude):
    return f"  - id: local.rule.r{number}\n    title: x\n    when: {when}\n    conclude: [{conclude}]\n"


def test_t16_alternatives_that_multiply(diagnose, tmp_path, slow_steps):
    """Forty times two alternatives are a million million when multiplied out."""
    pairs = ", ".join(
        f"{{any: [{{fact: package, where: {{name: a{n}}}}}, {{fact: package, where: {{name: b{n}}}}}]}}"
        for n in range(40)
    )
    folder = tmp_path / "wide"
    folder.mkdir()
    weak = "{diagnosis: tinker.perf.slow-steps, strength: weak}"
    (folder / "x.yaml").write_text(RULES + rule(1, f"{{all: [{pairs}]}}", weak))
    answer = diagnose("--facts", slow_steps, "--kb", folder)
    assert (answer.code, answer.out) == (3, "")
    assert "wide/x.yaml" in answer.err


JOINS = {
    "four packages": ["{fact: package, where: {name: {bind: $x0}}}",
                      "{fact: package, where: {name: {bind: $x1}}}",
                      "{fact: package, where: {name: {bind: $x2}}}",
                      "{fact: package, where: {name: {bind: $x3}}}"],
    "one key for all": ["{fact: package, where: {version: {bind: $v}, name: {bind: $x0}}}",
                        "{fact: package, where: {version: {bind: $v}, name: {bind: $x1}}}",
                        "{fact: package, where: {version: {bind: $v}, name: {bind: $x2}}}"],
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("engine", ["durable", "reference"])
@pytest.mark.parametrize("name", JOINS)
def test_t16_joins_that_multiply(diagnose, peak_of, tmp_path, facts_file, name, engine):
    """Patterns without anything in common over hundreds of facts: bounded, and said."""
    folder = tmp_path / "joins"
    folder.mkdir()
    weak = "{diagnosis: tinker.perf.slow-steps, strength: weak}"
    (folder / "x.yaml").write_text(RULES + rule(1, f"{{all: [{', '.join(JOINS[name])}]}}", weak))
    facts = facts_file(
        *({"kind": "package", "name": f"p{n}", "version": "1.0"} for n in range(120))
    )
    answer, peak = peak_of("--facts", facts, "--kb", folder, "-f", "json", "--engine", engine)
    assert answer.code == 4, answer.err
    (said,) = answer.json["errors"]
    assert said["code"] == "MM301" and "the inference is incomplete" in said["message"]
    assert peak < 300


def test_t16_rules_that_feed_each_other_end(diagnose, tmp_path, facts_file):
    """A cycle adds nothing new the second time round."""
    folder = tmp_path / "cycle"
    (folder / "vocabulary").mkdir(parents=True)
    kinds = ", ".join(f"k{n}: {{description: x, derived: true, attributes: "
                      "{s: {type: string, description: x}}}" for n in range(3))  # fmt: skip
    (folder / "vocabulary" / "k.yaml").write_text(
        f"schema: modelmedic/vocabulary/1\nkinds: {{{kinds}}}\n"
    )
    rules = [rule(9, "{fact: symptom, where: {name: {bind: $s}}}", "{fact: k0, set: {s: $s}}")]
    rules += [rule(n, f"{{fact: k{n}, where: {{s: {{bind: $s}}}}}}",
                   f"{{fact: k{(n + 1) % 3}, set: {{s: $s}}}}") for n in range(3)]  # fmt: skip
    (folder / "x.yaml").write_text(RULES + "".join(rules))
    facts = facts_file({"kind": "symptom", "name": "slow-steps"})
    report = diagnose("--facts", facts, "--kb", folder, "-f", "json").json
    kinds_found = [fact["kind"] for fact in report["facts"] if fact["kind"].startswith("k")]
    assert sorted(kinds_found) == ["k0", "k1", "k2"] and not report["errors"]


def test_t17_every_verdict_can_be_questioned(diagnose, slow_steps):
    """Whence, how sure, what to do first, and how to see that it helped."""
    report = diagnose("--facts", slow_steps, "-f", "json").json
    for found in report["diagnoses"]:
        assert found["confidence"] in ("certain", "likely", "possible")
        assert found["explanation"]["how"] and found["evidence"]
    first = report["diagnoses"][0]
    assert all(action["verify"] for action in first["actions"])


def test_t17_no_destructive_action_comes_first(doctor):
    risky = [
        (name, number, action)
        for name, entry in doctor.base.catalogue["diagnoses"].items()
        for number, action in enumerate(entry["actions"])
        if action.get("risk") == "data-loss"
    ]
    assert risky, "no action says that it may cost data: the field has another name"
    for name, number, action in risky:
        assert number > 0, f"{name}: the first thing to do may cost data"
        assert action.get("verify"), name


def test_t17_contradictions_are_shown(doctor):
    """A cause that is both concluded and ruled out is not a certain verdict."""
    fact = doctor.base.vocabulary.fact
    report = doctor.diagnose([
        fact("package", name="pydantic", version="2.13.0b2"), fact("package", name="tinker", version="0.16.1"),
        fact("log_event", event="heartbeat-failed", count=3),
        fact("serialization_benchmark", seconds=0.01, batch_size=64, seq_len=4096)])  # fmt: skip
    names = {d.id for d in report.diagnoses}
    for out in report.ruled_out:
        if out.id in names:
            assert next(d for d in report.diagnoses if d.id == out.id).conflicting


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_t18_what_is_kept_is_for_its_owner_alone(environment, slow_steps, tmp_path):
    """With the most open mask that there is."""
    command = [sys.executable, "-P", "-m", "modelmedic.interfaces.cli.main"]
    changed = environment | {"MODELMEDIC_CACHE": str(tmp_path / "cache"),
                             "XDG_STATE_HOME": str(tmp_path / "state")}  # fmt: skip
    for arguments, said in ((["--facts", slow_steps], b""),
                            (["--accessible"], b"slow-steps\nyes\nquit\n")):  # fmt: skip
        subprocess.run([*command, *arguments], env=changed, input=said, umask=0, timeout=100,
                       capture_output=True, check=False)  # fmt: skip
    kept = [*(tmp_path / "cache").rglob("*"), *(tmp_path / "state" / "modelmedic").rglob("*")]
    assert any("session" in path.name for path in kept) and any("knowledge" in p.name for p in kept)
    for path in (*kept, tmp_path / "cache", tmp_path / "state" / "modelmedic"):
        assert mode(path) & 0o077 == 0, f"{path.name} {mode(path):o}"


@pytest.mark.deep
def test_t18_planted_links_are_not_followed(environment, diagnose, slow_steps, tmp_path):
    """Anything planted where the cache or the output will be written stays as it is."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    cache = tmp_path / "cache"
    diagnose("--facts", slow_steps, MODELMEDIC_CACHE=str(cache))
    (stored,) = cache.glob("knowledge-*")
    stored.unlink()
    stored.symlink_to(victim)
    answer = diagnose("--facts", slow_steps, MODELMEDIC_CACHE=str(cache))
    assert answer.code == 1
    assert victim.read_text() == "precious"
    assert not stored.is_symlink()


@pytest.mark.deep
def test_t18_a_poisoned_cache_is_made_anew(diagnose, slow_steps, tmp_path):
    cache = tmp_path / "cache"
    right = diagnose("--facts", slow_steps, MODELMEDIC_CACHE=str(cache)).out
    for path in [p for p in cache.rglob("*") if p.is_file()]:
        content = path.read_bytes()
        for poison in (b"", content[: len(content) // 2], content.replace(b"slow", b"fast"),
                       b"\x80\x04K\x01.", content[::-1]):  # fmt: skip
            path.write_bytes(poison)
            path.chmod(0o600)
            assert diagnose("--facts", slow_steps, MODELMEDIC_CACHE=str(cache)).out == right


def test_t18_no_option_takes_a_secret(root):
    """Every user of the machine can see a command line."""
    secret = re.compile(r"--[a-z-]*(key|token|secret|password|credential)", re.IGNORECASE)
    options = [name for path in (root / "interfaces").rglob("*.py")
               for name in re.findall(r"click\.option\(\s*\"(--[a-z-]+)", path.read_text("utf-8"))]  # fmt: skip
    assert len(options) > 20
    assert not [name for name in options if secret.match(name)]
