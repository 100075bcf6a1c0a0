"""Scripts -> facts. Each case is a script in cases/good or cases/bad with its findings beside it.

A case file NAME.json holds, exactly: "present" (pattern -> place), "absent" (patterns that were
looked for, without those of the API table, which are tested here), "facts" and "problems".
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.probes.script.api_table import table
from modelmedic.probes.script.probe import gather_script
from modelmedic.probes.script.recognition import looks_like_script

CASES = Path(__file__).parent / "cases"
SCRIPTS = sorted(p for p in CASES.glob("*/*") if p.suffix in (".py", ".ipynb"))
TABLE = {row["pattern"] for row in table()}
# Patterns that a good script may show: neither praise nor blame.
NEUTRAL = {
    "submits-before-waiting", "plain-calls-in-sequence", "awaits-async-submits",
    "custom-training-loop", "cookbook-train-loop", "get-renderer-used", "recommended-renderer-used",
    "advantage-computed",
}  # fmt: skip


def of_kind(outcome, kind):
    return [fact for fact in outcome.facts if fact.kind == kind]


def present(outcome):
    """Each pattern with its first place."""
    found: dict[str, str] = {}
    for fact in of_kind(outcome, "code_pattern"):
        if fact.get("present"):
            found.setdefault(fact.get("pattern"), fact.provenance[0].location.partition(":")[2])
    return found


def absent(outcome):
    return {f.get("pattern") for f in of_kind(outcome, "code_pattern") if not f.get("present")}


def read(text, vocabulary, name="train.py"):
    return gather_script(name, vocabulary, text=text)


def gather(path, vocabulary):
    return gather_script(path.name, vocabulary, text=path.read_text("utf-8"))


def as_case(outcome):
    facts = [
        {"kind": f.kind, **dict(f.values), "at": f.provenance[0].location.partition(":")[2]}
        for f in outcome.facts if f.kind != "code_pattern"
    ]  # fmt: skip
    problems = [f"{p.code} {p.where.line if p.where else 0}" for p in outcome.problems]
    return {
        "present": present(outcome),
        "absent": sorted(absent(outcome) - TABLE),
        "facts": facts,
        "problems": problems,
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=[f"{p.parent.name}/{p.name}" for p in SCRIPTS])
def test_a_case_gives_exactly_the_recorded_findings(script, vocabulary):
    expected = json.loads(script.with_name(script.name + ".json").read_text("utf-8"))
    assert as_case(gather(script, vocabulary)) == expected


@pytest.mark.parametrize("script", [p for p in SCRIPTS if p.parent.name == "good"],
                         ids=lambda p: p.name)  # fmt: skip
def test_a_good_script_has_no_finding(script, vocabulary):
    assert set(present(gather(script, vocabulary))) <= NEUTRAL


@pytest.mark.parametrize("script", [p for p in SCRIPTS if p.parent.name == "bad"],
                         ids=lambda p: p.name)  # fmt: skip
def test_a_bad_script_shows_something(script, vocabulary):
    outcome = gather(script, vocabulary)
    used = {fact.get("used_for") for fact in of_kind(outcome, "checkpoint")}
    assert set(present(outcome)) - NEUTRAL or used & {"sampling", "resume"} or script.stem in {
        "async_names_in_order"
    }  # fmt: skip


def test_every_pattern_of_the_table_is_in_the_vocabulary(vocabulary):
    assert set(vocabulary.kinds["code_pattern"].attributes["pattern"].values) >= TABLE


def test_every_pattern_of_the_table_has_a_case(vocabulary):
    seen = set().union(*(present(gather(p, vocabulary)) for p in SCRIPTS))
    assert seen >= TABLE


def test_a_name_that_does_not_occur_is_absent_and_one_that_does_is_not(vocabulary):
    text = "import tinker\nprint('api', tinker.types.SamplingParams(max_tokens=5))\n"
    assert {"api-stop-sequences", "api-max-new-tokens"} <= absent(read(text, vocabulary))
    hinted = text.replace("'api'", "'max_new_tokens'")
    assert "api-max-new-tokens" not in absent(read(hinted, vocabulary))


@pytest.mark.parametrize("line", ["from mine import evaluate", "from . import data", "exec(code)",
                                  "from numpy import *", "import my_package.tools"])  # fmt: skip
def test_nothing_is_absent_where_code_comes_from_elsewhere(line, vocabulary):
    text = f"import tinker\n{line}\nservice_client = tinker.ServiceClient()\n"
    assert not absent(read(text, vocabulary))


def test_places_and_snippets(vocabulary):
    text = "import tinker\nif True:\n    p = tinker.types.AdamParams(\n        lr=1e-4,\n    )\n"
    outcome = read(text, vocabulary, name="runs/train.py")
    (fact,) = [f for f in of_kind(outcome, "code_pattern") if f.get("present")]
    assert fact.provenance[0].source == "probe:script"
    assert fact.provenance[0].location == "runs/train.py:3"
    assert (fact.get("file"), fact.get("line")) == ("train.py", 3)
    assert fact.get("snippet") == "p = tinker.types.AdamParams(\n    lr=1e-4,\n)"


HEAD = "import tinker\nfrom tinker import types\ntc = tinker.ServiceClient()"
HEAD += ".create_lora_training_client(base_model='Q').result()\n"


@pytest.mark.parametrize(
    "loop",
    [
        # a wait in one arm, the step in the other
        "for b in x:\n f = tc.forward_backward(b, 'c')\n"
        " if slow:\n  f.result()\n else:\n  tc.optim_step(p)\n",
        # a dry run in a helper
        "def go(b):\n f = tc.forward_backward(b, 'c')\n if dry:\n  return f.result()\n"
        " o = tc.optim_step(p)\n return f.result()\nfor b in x:\n go(b)\n",
        # a wait in an error handler only
        "for b in x:\n f = tc.forward_backward(b, 'c')\n"
        " try:\n  o = tc.optim_step(p)\n except E:\n  f.result()\n",
        # concurrent workers: no order between them
        "async def work(b):\n await tc.forward_backward(b, 'c')\n await tc.optim_step(p)\n"
        "async def main():\n await asyncio.gather(*[work(b) for b in x])\nasyncio.run(main())\n",
        # a forward pass and sampling are waited for: training needs their results
        "for b in x:\n r = tc.forward(b, 'c').result()\n f = tc.forward_backward(r, 'c')\n"
        " o = tc.optim_step(p)\n f.result()\n",
        # tasks
        "async def main():\n for b in x:\n"
        "  f = asyncio.create_task(tc.forward_backward_async(b, 'c'))\n"
        "  o = asyncio.create_task(tc.optim_step_async(p))\n  await (await f)\n  await (await o)\n",
        # a wait behind the loop
        "for b in x:\n fs.append(tc.forward_backward(b, 'c'))\n os.append(tc.optim_step(p))\n"
        "for f in fs:\n f.result()\n",
        # a dictionary of futures
        "for b in x:\n step = {'f': tc.forward_backward(b, 'c'), 'o': tc.optim_step(p)}\n"
        " step['f'].result()\n step['o'].result()\n",
        # last step is waited for before validation
        "for b in x:\n f = tc.forward_backward(b, 'c')\n o = tc.optim_step(p)\n"
        " if last:\n  f.result()\n  o.result()\n  return_value = tc.forward(v, 'c').result()\n",
    ],
)
def test_no_early_wait_is_seen_where_there_is_none(loop, vocabulary):
    assert "waits-before-next-submit" not in present(read(HEAD + loop, vocabulary))


@pytest.mark.parametrize(
    "loop",
    [
        "for b in x:\n f = tc.forward_backward(b, 'c')\n r = f.result()\n tc.optim_step(p)\n",
        "for b in x:\n if not b:\n  continue\n tc.forward_backward(b, 'c').result()\n"
        " tc.optim_step(p)\n",
        "async def main():\n for b in x:\n  r = await (await tc.forward_backward_async(b, 'c'))\n"
        "  await tc.optim_step_async(p)\nasyncio.run(main())\n",
        "async def main():\n for b in x:\n"
        "  r = await asyncio.wait_for(tc.forward_backward(b, 'c'), 60)\n  await tc.optim_step(p)\n",
        "while True:\n fs = []\n for m in x:\n  fs.append(tc.forward_backward(m, 'c'))\n"
        " for f in fs:\n  f.result()\n tc.optim_step(p)\n",
        "for b in x:\n with timed('fb'):\n  f = tc.forward_backward_custom(b, loss)\n"
        "  r = f.result()\n with timed('opt'):\n  tc.optim_step(p).result()\n",
        "def go(client, b):\n f = client.forward_backward(b, 'c')\n return f.result()\n"
        "def main():\n for b in x:\n  go(tc, b)\n  tc.optim_step(p)\nmain()\n",
        "class T:\n def __init__(self):\n  self.c = tc\n def step(self, b):\n"
        "  self.f = self.c.forward_backward(b, 'c')\n  r = self.f.result()\n"
        "  self.c.optim_step(p)\nt = T()\nfor b in x:\n t.step(b)\n",
        "for b in x:\n r = tc.forward_backward(b, 'c').result()\n print(r)\n",
    ],
)
def test_an_early_wait_is_seen_however_it_is_written(loop, vocabulary):
    assert "waits-before-next-submit" in present(read(HEAD + loop, vocabulary))


@pytest.mark.parametrize(
    ("settings", "name", "expected"),
    [
        ("p = types.AdamParams(learning_rate=5 * 1e-5)", "learning_rate", 5e-5),
        ("LR = 3e-4\np = types.AdamParams(learning_rate=LR)", "learning_rate", 3e-4),
        ("lr = 1e-4", "learning_rate", 1e-4),
        ("def main(num_epochs=3): pass", "num_epochs", 3),
        ("class C:\n    batch_size: int = 4", "batch_size", 4),
        ("parser.add_argument('--lora-rank', type=int, default=64)", "lora_rank", 64),
        ("s = types.SamplingParams(stop=['</s>'])", "stop", "</s>"),
        ("s = types.SamplingParams(temperature=0.0)", "temperature", 0),
        ("a = types.SamplingParams(temperature=0)\nb = types.SamplingParams(temperature=1)",
         "temperature", None),
        ("p = types.AdamParams(learning_rate=schedule(step))", "learning_rate", None),
    ],
)  # fmt: skip
def test_hyperparameters_with_one_value_are_facts(settings, name, expected, vocabulary):
    outcome = read(f"import tinker\nfrom tinker import types\n{settings}\n", vocabulary)
    found = {f.get("name"): f.get("value") if f.get("text") is None else f.get("text")
             for f in of_kind(outcome, "hyperparameter")}  # fmt: skip
    assert found.get(name) == expected


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "MM440"),
        (b"   \n", "MM440"),
        (b"\x7fELF\0\0\0", "MM440"),
        (b'{"cells": 3}', "MM440"),
        (b'{"cells": [], "x": "cells"}', "MM440"),
        (b'{"cells": [', "MM440"),
        (b"import os\nprint(1)\n", "MM468"),
        (b"import tinker\n" + b"(" * 5000 + b"\n", "MM466"),
        (b"import tinker\nx = '" + b"a" * 200_000 + b"'\n", "MM442"),
        (b"import tinker\nx = \xff\xfe\n", "MM466"),
    ],
)
def test_unusable_content_is_a_problem_and_not_an_error(content, code, vocabulary, tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(content)
    assert code in [p.code for p in gather_script(path, vocabulary).problems]


def test_files_that_cannot_be_read(vocabulary, tmp_path):
    for path in (tmp_path / "none.py", tmp_path, Path("a\0b.py")):
        assert [p.code for p in gather_script(path, vocabulary).problems] == ["MM440"]
    big = tmp_path / "big.py"
    big.write_bytes(b"#" * 2_000_001)
    assert [p.code for p in gather_script(big, vocabulary).problems] == ["MM440"]


def test_a_script_too_entangled_to_follow_says_so(vocabulary):
    body = "x = tc.forward_backward(b, 'c')\n"
    for depth in range(18):
        body = f"for a{depth} in b:\n" + "".join(f" {line}\n" for line in body.splitlines())
    outcome = read(HEAD + body, vocabulary)
    assert [p.code for p in outcome.problems] == ["MM467"]
    assert not absent(outcome)


def test_the_work_grows_with_the_program_and_not_faster(vocabulary):
    """Counted in calls: what the checks need of the whole program is looked for once."""

    def calls_for(size):
        counted: Counter[str] = Counter()
        sample = (
            "r = s.sample(p, num_samples=1, sampling_params=tinker.SamplingParams()).result()\n"
        )
        text = HEAD + "s = tc.save_weights_and_get_sampling_client('a')\n" + sample * size
        sys.setprofile(lambda frame, event, arg: counted.update((event,)))
        try:
            read(text, vocabulary)
        finally:
            sys.setprofile(None)
        return counted["call"]

    once = calls_for(50)
    assert calls_for(200) < 4.4 * once


def test_a_part_that_is_not_valid_python_costs_that_part_only(vocabulary):
    text = HEAD + "def broken(:\n    return 1\n\nfor b in x:\n"
    text += "    r = tc.forward_backward(b, 'c').result()\n    tc.optim_step(p)\n"
    outcome = read(text, vocabulary)
    assert [(p.code, p.where.line) for p in outcome.problems] == [("MM466", 4)]
    assert present(outcome)["waits-before-next-submit"] == "8"
    assert not absent(outcome)


def test_nothing_is_executed(vocabulary, tmp_path):
    mark = tmp_path / "mark"
    read(f"import tinker\nopen({str(mark)!r}, 'w')\n", vocabulary)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("train.py", b"import tinker\n", True),
        ("train.py", b"x = 1\n    from tinker_cookbook.rl import train\n", True),
        ("run", b"#!/usr/bin/env python3\nimport tinker, os\n", True),
        ("run", b"import tinker\n", True),
        ("merge.py", b"import torch\nname = 'lora_A'\n", True),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["import tinker\\n"]}]}', True),
        ("train.py", b"import os\nsdk = __import__('tinker')\n", True),
        ("train.py", b"import importlib\nsdk = importlib.import_module('tinker.types')\n", True),
        ("test_a.py", b"import mine as m\nadam = m.tinker.AdamParams(learning_rate=1)\n", True),
        ("train.py", b"import tinkerer\n", False),
        ("train.py", b"import os\nsdk = __import__('tinkerer')\n", False),
        ("train.py", b"import os\nname = 'm.tinker.AdamParameters'\n", False),
        ("train.log", b"import tinker\n", False),
        ("README.md", b"import tinker\n", False),
        ("data.jsonl", b'{"messages": []}\n', False),
        ("a.py", b"import tinker\0", False),
        ("empty.py", b"", False),
    ],
)
def test_a_script_is_recognised_by_its_content(name, head, expected):
    assert looks_like_script(Path(name), head) is expected


def test_the_order_of_facts_does_not_depend_on_the_hash_seed():
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from modelmedic.facts import Vocabulary\n"
        "from modelmedic.facts.declarations import load_vocabulary\n"
        "from modelmedic.probes.script.probe import gather_script\n"
        "root = Path(sys.argv[1])\n"
        "files = sorted((root / 'facts' / 'vocabulary').glob('*.yaml'))\n"
        "texts = ((str(p), p.read_text('utf-8')) for p in files)\n"
        "v = Vocabulary.from_plain(load_vocabulary(texts))\n"
        "for p in sys.argv[2:]: print(gather_script(p, v).facts)\n"
    )
    root = str(Path(__file__).resolve().parents[3])
    files = [str(p) for p in SCRIPTS[:10]]
    outputs = set()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", code, root, *files]
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}/.typing"}
        done = subprocess.run(command, capture_output=True, check=True, timeout=60, env=env)
        outputs.add(done.stdout)
    assert len(outputs) == 1


PIECES = st.sampled_from(
    """import tinker\n|for b in x:\n|    |tc.forward_backward(b, 'c')|.result()|await |return x\n
async def f(a, *b, c=1, **d):\n|class A(B):\n|self.x = |if a: break\n|[y for y in z if w]
lambda q: q|{**a, 'b': c}|try:\n|except* E as e:\n|\n|match x:\n    case {'a': [*_]}: pass\n
global x\n|(|)|'|%pip\n|x: 'tinker.TrainingClient' = |f'{a!r:>{b}} User:'|del x[0]\n|:=
types.Datum(loss_fn_inputs=dict(a=1))|yield |x[1:2, ...]|a @ b|*a, b = c\n|@retry\n|\0|x += 1\n
with a as b, c: pass\n|sampler.sample()|tc = s.create_lora_training_client(*a, **k)\n""".replace(
        "\\n", "\n"
    ).split("|")
)


@given(pieces=st.lists(PIECES, max_size=40))
def test_no_text_makes_it_raise(vocabulary, pieces):
    outcome = read("import tinker\n" + "".join(pieces), vocabulary)
    assert all(p.code != "MM402" for p in outcome.problems)


@given(st.binary(max_size=300))
def test_no_bytes_make_the_recogniser_raise(head):
    assert looks_like_script(Path("x.py"), head) in (True, False)


@pytest.mark.parametrize(("value", "is_text"), [('"Hi"', True), ('cast("ModelInput", x)', False)])
def test_a_cast_has_the_value_that_it_is_given(vocabulary, value, is_text):
    text = (
        "from typing import cast\nimport tinker\n"
        "def ask(sampler: tinker.SamplingClient, x, params):\n"
        f"    return sampler.sample(prompt={value}, num_samples=1,\n"
        "                          sampling_params=params).result()\n"
    )
    found = gather_script("ask.py", vocabulary, text=text)
    told = {f.get("pattern") for f in found.facts if f.get("present")}
    assert ("api-sample-string-prompt" in told) == is_text


def test_an_import_far_down_in_a_long_program_is_seen(tmp_path):
    path = tmp_path / "ui.py"
    lines = [
        f"LABEL_{n} = 'a text of the surface, such as tinker://run/weights/a'" for n in range(2_000)
    ]
    path.write_text("\n".join([*lines, "def go():", " " * 24 + "import tinker", ""]))
    assert looks_like_script(path, path.read_bytes()[:65_536])
    path.write_text("\n".join(lines))
    assert not looks_like_script(path, path.read_bytes()[:65_536])


def test_a_script_in_the_current_folder_may_import_its_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("helper.py").write_text("import tinker\n", encoding="utf-8")
    assert looks_like_script(Path("a.py"), b"from . import x\nimport helper\n")
    assert not looks_like_script(Path("a.py"), b"from . import x\n")
