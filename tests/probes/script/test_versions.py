"""The versions that a program is written for, and what depends on them."""

import pytest

from modelmedic.probes.script.probe import gather_script

PROGRAM = """
import tinker
from tinker_cookbook import renderers
renderer = renderers.get_renderer("qwen3", tokenizer)
message, ok = renderer.parse_response(tokens)
if ok:
    print(message)
"""
LOCK = '[[package]]\nname = "tinker-cookbook"\nversion = "{}"\n'
PROJECT = '[project]\nname = "mine"\ndependencies = ["numpy", "tinker-cookbook{}"]\n'
OLD = {
    "requirements.txt": "numpy\ntinker-cookbook==0.3.0\n",
    "requirements-train.txt": "tinker_cookbook[all] == 0.3.0  # pinned\n",
    "pyproject.toml": PROJECT.format("==0.3.0"),
    "uv.lock": LOCK.format("0.3.0"),
    "Pipfile.lock": '{"default": {"tinker-cookbook": {"version": "==0.3.0"}}}',
    ".venv/lib/python3.11/site-packages/tinker_cookbook-0.3.0.dist-info/METADATA": "",
}
RANGES = {"<0.4": "", ">=0.2,<0.4": "", "~=0.3.0": "", "==0.3.*": "", ">=0.5,<0.6": "warning",
          "~=0.5.8": "warning", ">=0.2": "info", "": "info", "<0.6": "info"}  # fmt: skip


@pytest.fixture
def judged(tmp_path, vocabulary, doctor):
    """The severity of the rule about parse_response in a program beside these files."""

    def judged(files, program=PROGRAM, name="train.py"):
        (tmp_path / ".git").mkdir()
        for path, text in {**files, name: program}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        facts = gather_script([tmp_path / name], vocabulary).facts
        found = doctor.diagnose(facts, plan=False).diagnoses
        return next((d.severity for d in found if d.id == "tinker.usage.wrong-result-field"), "")

    return judged


@pytest.mark.parametrize("path", OLD)
def test_a_result_that_was_a_bool_is_not_judged_as_todays(path, judged):
    assert judged({path: OLD[path]}) == ""


@pytest.mark.parametrize("path", OLD)
def test_the_same_with_todays_version_is_a_warning(path, judged):
    new = {path.replace("0.3.0", "0.5.8"): OLD[path].replace("0.3.0", "0.5.8")}
    assert judged(new) == "warning"


@pytest.mark.parametrize("given", RANGES)
def test_a_range_decides_where_all_of_it_is_on_one_side(given, judged):
    assert judged({"requirements.txt": f"tinker-cookbook{given}\n"}) == RANGES[given]


def test_without_a_version_it_is_a_lead(judged):
    assert judged({}) == "info"


GIT = "git+https://github.com/thinking-machines-lab/tinker-cookbook.git"
SOURCES = "\n[tool.uv.sources]\ntinker-cookbook = {{{}}}\n"
ELSEWHERE = [
    ("requirements.txt", f"{GIT}@9a31afd\n"),
    ("requirements.txt", f"-e {GIT}#egg=tinker_cookbook\n"),
    ("requirements.txt", f"tinker-cookbook @ {GIT}@main\n"),
    ("requirements.txt", "tinker-cookbook @ file:///src/tinker-cookbook\n"),
    ("pyproject.toml", PROJECT.format(f" @ {GIT}")),
    ("pyproject.toml", PROJECT.format("") + SOURCES.format('git = "https://host/mine.git"')),
    ("pyproject.toml", PROJECT.format(">=0.2") + SOURCES.format('path = "../cookbook"')),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntinker-cookbook = {path = "../cookbook"}\n'),
    ("uv.lock", LOCK.format("0.5.8") + 'source = { git = "https://host/mine.git?branch=a#12" }\n'),
    ("uv.lock", LOCK.format("0.5.8") + 'source = { editable = "." }\n'),
    (
        "poetry.lock",
        LOCK.format("0.5.8") + '\n[package.source]\ntype = "git"\nurl = "https://h/x"\n',
    ),
]


@pytest.mark.parametrize(("path", "text"), ELSEWHERE)
def test_what_comes_from_elsewhere_has_no_known_version(path, text, judged):
    assert judged({path: text}) == ""


@pytest.mark.parametrize(("path", "text"), [
    ("requirements.txt", f"{GIT}@v0.5.8\n"),
    ("pyproject.toml", PROJECT.format("") + SOURCES.format('git = "https://h/x", tag = "0.5.8"')),
])  # fmt: skip
def test_a_tag_of_a_repository_is_its_version(path, text, judged):
    assert judged({path: text}) == "warning"


def test_a_lock_says_for_each_package_where_it_is_from(judged):
    other = '[[package]]\nname = "mine"\nversion = "1.0"\nsource = { editable = "." }\n'
    index = 'source = { registry = "https://pypi.org/simple" }\n'
    assert judged({"uv.lock": LOCK.format("0.5.8") + index + other}) == "warning"


def test_a_lock_that_is_out_of_date_says_nothing(judged):
    files = {"uv.lock": LOCK.format("0.5.8"), "pyproject.toml": PROJECT.format(">=0.2,<0.4")}
    assert judged(files) == ""


def test_a_notebook_that_installs_from_a_repository_says_no_version(judged):
    assert judged({}, f"'%pip install {GIT}'\n" + PROGRAM) == ""


def test_the_folder_above_counts_up_to_that_of_the_project(judged):
    assert judged({"requirements.txt": "tinker-cookbook==0.3.0\n"}, name="a/b/train.py") == ""


def test_what_is_installed_beats_what_is_asked_for(judged):
    installed = ".venv/lib/python3.11/site-packages/tinker_cookbook-0.5.8.dist-info/METADATA"
    assert judged({"requirements.txt": "tinker-cookbook==0.3.0\n", installed: ""}) == "warning"


@pytest.mark.parametrize(
    "head",
    ['# /// script\n# dependencies = ["tinker-cookbook==0.3.0"]\n# ///\n',
     "'%pip install -q tinker tinker-cookbook==0.3.0'\n"],
)  # fmt: skip
def test_what_the_program_says_itself_counts_first(head, judged):
    assert judged({"requirements.txt": "tinker-cookbook==0.5.8\n"}, head + PROGRAM) == ""


@pytest.mark.parametrize(
    "text",
    ["tinker-cookbook===\n", "tinker-cookbook==x.y\n", "tinker-cookbook @\n", "git+https://@#\n",
     "\0\0", "-r other.txt\n", "tinker-cookbook~=1\n" * 3, "(" * 10_000],
)  # fmt: skip
def test_broken_requirements_say_nothing(text, judged):
    assert judged({"requirements.txt": text, "pyproject.toml": text}) in ("info", "error")
