"""The alphabet in questions and in what answers them: explain, why-not, whatif, facts. Read back as
text and as JSON, what was planted is there."""

import json

import pytest
import yaml

HEAD = {"domain": "local", "sources": [{"ref": "notes"}]}
ASKED = {
    "facts": ["facts", "q{}p"],
    "explain": ["explain", "q{}p"],
    "why-not": ["why-not", "q{}p"],
    "whatif": ["whatif", "--set", "q{}p"],
    "whatif, an attribute": ["whatif", "--set", "package name=x q{}p=1"],
}


@pytest.fixture
def overlay(tmp_path, alphabet):
    """A diagnosis for each text (braces apart, which are templates) that needs a fact with it."""
    texts = [text for text in alphabet.values() if not set("{}") & set(text)]
    diagnoses = [
        {"id": f"local.perf.h{n}", "title": f"q{t}p", "severity": "warning", "kind": "root-cause",
         "summary": f"s{t}s", "actions": [{"do": f"d{t}d", "verify": f"v{t}v"}]}
        for n, t in enumerate(texts)]  # fmt: skip
    rules = [{"id": f"local.rule.h{n}", "title": f"r{t}r", "message": f"m{t}m",
              "when": {"fact": "error_message", "where": {"logger": f"w{t}w"}},
              "conclude": [{"diagnosis": f"local.perf.h{n}", "strength": "strong"}]}
             for n, t in enumerate(texts)]  # fmt: skip
    folder = tmp_path / "overlay"
    folder.mkdir()
    for form, entries in (("diagnoses", diagnoses), ("rules", rules)):
        plain = {"schema": f"modelmedic/{form}/1", **HEAD, form: entries}
        (folder / f"{form}.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
    return folder, texts


@pytest.fixture
def reads(read_back, shown):
    """Whether a document of a format says a text: as it is, or with visible escapes."""

    def reads(format_, document, *wanted):
        said = read_back(format_, document)
        return [text for text in wanted
                if text not in said and not (format_ == "text" and shown(text, said))]  # fmt: skip

    return reads


@pytest.mark.sweep
@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_question_about_what_is_not_there(command, alphabet, slow_steps, shown, read_back, asked,
                                            format_):  # fmt: skip
    """The refusal quotes what was asked, in Python's notation."""
    for text in alphabet.values():
        if asked.startswith("whatif") and (set(text) & set("\"'\\=") or len(text.split()) > 1):
            continue  # words and quotes of a fact
        words = [word.replace("{}", text) for word in ASKED[asked]]
        facts = [] if asked in ("facts", "explain") else ["--facts", slow_steps]
        answer = command(*words, *facts, "-f", format_)
        assert answer.code == 2, answer
        said = read_back(format_, answer.out) if format_ == "json" else answer.err
        assert shown(f"q{text}p", said), (text, said)


@pytest.mark.parametrize("format_", ["text", "json"])
def test_answers_from_knowledge_of_others(command, overlay, slow_steps, reads, format_):
    folder, texts = overlay
    more = ("--kb", folder, "-f", format_)
    for number in range(0, len(texts), 3):
        text, name = texts[number], f"h{number}"
        said = command("explain", f"local.perf.{name}", *more).out
        assert reads(format_, said, f"q{text}p", f"s{text}s", f"d{text}d") == []
        said = command("explain", f"local.rule.{name}", *more).out
        assert reads(format_, said, f"r{text}r") == []
        said = command("why-not", f"local.perf.{name}", "--facts", slow_steps, *more).out
        assert reads(format_, said, f"q{text}p") == []
        assert reads("text", "".join(json.loads(said)["ways"][0]["missing"][0].values())
                     if format_ == "json" else said, f"w{text}w") == []  # fmt: skip


def test_what_would_change(command, overlay, slow_steps, reads, shown):
    """The fact that is set has the text, and so has the title of what it leads to."""
    folder, texts = overlay
    for number, text in enumerate(texts):
        if set(text) & set("\"'\\\n\t") or number % 2:
            continue
        given = ("whatif", "--facts", slow_steps, "--kb", folder, "--set",
                 f'error_message text=x logger="w{text}w"')  # fmt: skip
        plain = json.loads(command(*given, "-f", "json").out)
        assert plain["gained"] == [f"local.perf.h{number}"], text
        assert shown(f"q{text}p", command(*given).out), text
