"""Errors quote what is wrong with an input: never a secret, also where only its surroundings say
that it is one."""

import json

import pytest

KEY = "tml" + "-" + "Zk8Qw2Lp9Xv4Rt7Yb1Nc6Md3"  # shows by its form
NAMED = "hunter2" + "xyz"  # shows by the name beside it alone
PLAIN = {"kind": "hyperparameter", "name": "api_key", "value": NAMED}


def clean(answer):
    for secret in (KEY, KEY[:14], NAMED):
        assert secret not in answer.out + answer.err
    return answer


@pytest.fixture(params=["text", "json", "sarif"])
def format_(request):
    return request.param


@pytest.mark.parametrize(
    "fact",
    [
        PLAIN,
        PLAIN | {"value": [NAMED]},
        PLAIN | {"value": {"x": NAMED}},
        {"kind": "hyperparameter", "name": "db_password", "value": NAMED},
        {"kind": "hyperparameter", "value": f"API_KEY={NAMED}", "name": "x"},
        {"kind": "package", "name": KEY, "version": 3},
        {"kind": "package", "name": "x", KEY: 3},
        {"kind": KEY},
        {"kind": "env_var", "name": "TINKER_API_KEY", "is_set": NAMED},
        {"kind": "package", "name": "x", "version": ["x" * 50 + KEY]},
        {"kind": "log_event", "event": "x", "count": "x" * 48 + KEY},
        KEY,
        {"kind": "package", "name": "x", "provenance": [KEY]},
    ],
    ids=range(13),
)
def test_facts(diagnose, write, fact, format_):
    write("facts.json", [fact])
    for command in (
        ["--facts", "facts.json"],
        ["inspect", "facts.json"],
        ["why-not", "tinker.perf.slow-steps", "--facts", "facts.json"],
        ["report", "bundle", "facts.json", "-o", "p.zip"],
        ["diff", "facts.json", "facts.json"],
        ["baseline", "write", "--facts", "facts.json"],
    ):
        reports = command[0] in ("--facts", "inspect")
        extra = ["-f", format_] if reports else []
        assert clean(diagnose(*command, *extra)).code == 2


@pytest.mark.parametrize(
    "setting",
    [
        f"hyperparameter name=api_key value={NAMED}",
        f"hyperparameter name=api_key 'value={NAMED}",
        f"hyperparameter name=api_key {NAMED}",
        f"hyperparameter api_key={NAMED}",
        f"{KEY} name=x",
        f"name=api_key value={NAMED}",
    ],
)
def test_settings(diagnose, setting):
    assert clean(diagnose("whatif", "--set", setting)).code == 2
    assert clean(diagnose("whatif", "--set", setting, "-f", "json")).code == 2


@pytest.mark.sweep
@pytest.mark.parametrize(
    "command",
    [
        ["explain", KEY],
        ["why-not", f"api_key={NAMED}"],
        ["facts", KEY],
        ["decode", "--format", KEY],
        ["probe", KEY],
        ["kb", "list", f"--api-key={NAMED}"],
        ["replay", f"{KEY}.json"],
        ["diff", f"{KEY}.json", f"{KEY}.json"],
        ["report", "bundle", f"{KEY}.json", "-o", f"{KEY}.zip"],
        ["--facts", f"{KEY}.json", "--baseline", f"{KEY}.yaml"],
        ["--facts", "-", "--today", KEY],
        [f"--api-key={NAMED}"],
        [KEY],
        ["inspect", f"{KEY}.log"],
        ["bulk", f"{KEY}.jsonl", "-o", "out.jsonl"],
        ["mcp", "--kb", KEY],
    ],
    ids=lambda command: " ".join(command[:2])[:12],
)
def test_arguments(diagnose, command):
    assert clean(diagnose(*command)).code in (2, 3)


RULE = """
schema: modelmedic/rules/1
domain: tinker
sources: [{{ref: test}}]
rules:
  - id: tinker.rule.x
    title: X
    {more}
"""


@pytest.mark.parametrize(
    "more",
    [
        f"api_key: {NAMED}",
        f"when: {{fact: package, where: {{name: {KEY}, verzion: 1}}}}",
        f"status: {KEY}",
        f"when: {{fact: {KEY}}}",
        f"when: {{fact: env_var, where: {{name: api_key, is_set: '{KEY}'}}}}",
        f"'{KEY}': *x",
    ],
)
@pytest.mark.usefixtures("small_base")
def test_knowledge(diagnose, tmp_path, more):
    (tmp_path / "kb" / "rules").mkdir(parents=True)
    (tmp_path / "kb" / "rules" / "x.yaml").write_text(RULE.format(more=more))
    linted = clean(diagnose("kb", "lint", "--kb", "kb"))
    assert linted.code == 3 and "rules/x.yaml" in linted.out + linted.err
    assert clean(diagnose("--facts", "x.json", "--kb", "kb")).code in (2, 3)
    clean(diagnose("kb", "lint", "--kb", "kb", "-f", "json"))


def test_baselines(diagnose, write, tmp_path):
    write("facts.json", [])
    fact = {"kind": "hyperparameter", "name": "api_key", "value": NAMED}
    entry = {"id": KEY, "reason": "x", "until": KEY, "facts": [fact]}
    for accepted in ([entry], [entry | {"until": "2026-01-01"}], [{"api_key": NAMED}]):
        plain = {"schema": "modelmedic/baseline/1", "accepted": accepted}
        (tmp_path / "known.yaml").write_text(json.dumps(plain))
        assert clean(diagnose("--facts", "facts.json", "--baseline", "known.yaml")).code == 2


@pytest.mark.deep
def test_bulk(diagnose, tmp_path):
    """Records that cannot be diagnosed are in a file of their own."""
    lines = [json.dumps([PLAIN]), json.dumps([{"kind": KEY}]), f'[{{"kind": "{KEY}', "[]"]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    done = clean(diagnose("bulk", "runs.jsonl", "-o", "out.jsonl", "--workers", 1))
    assert done.code in (0, 2)
    written = "".join(p.read_text() for p in tmp_path.glob("out*"))
    assert KEY[:14] not in written and NAMED not in written
    assert "MM115" in written


def test_what_is_no_secret_is_still_quoted(diagnose, write):
    write("facts.json", [{"kind": "hyperparameter", "name": "learning_rate", "value": "fast"},
                         {"kind": "package", "name": "x", "version": 2.1}])  # fmt: skip
    done = diagnose("--facts", "facts.json")
    assert "not 'fast'" in done.err and "not 2.1" in done.err.replace("'", "")
