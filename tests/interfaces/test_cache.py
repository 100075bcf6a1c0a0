"""Compiled knowledge in the cache: kept to oneself, never trusted blindly, never needed. (The small
knowledge is stored like the shipped one.)"""

import hashlib
import json
import os
import pickle
import shutil
import stat
import sys
import time
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # most of them compile knowledge

LOCK = "the interpreter lock was held for 3 s"


@pytest.fixture(scope="session")
def diagnose(on_small):
    return on_small


@pytest.fixture
def modules_after(modules_on_small):
    return modules_on_small


@pytest.fixture(scope="session")
def facts(tmp_path_factory):
    """A hang, and a message that names its cause."""
    path = tmp_path_factory.mktemp("facts") / "facts.json"
    hang, message = {"kind": "symptom", "name": "hang"}, {"kind": "error_message", "text": LOCK}
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": [hang, message]}))
    return path


@pytest.fixture(scope="module")
def right(diagnose, facts):
    """The answer without a cache."""
    answer = diagnose("--facts", facts, "--format", "json", MODELMEDIC_CACHE="")
    wanted = {"tinker.perf.hang", "tinker.perf.gil-contention"}
    assert {d["id"] for d in answer.json["diagnoses"]} == wanted
    return answer


@pytest.fixture(scope="module")
def made(diagnose, facts, right, tmp_path_factory):
    """A cache folder that the command has made."""
    folder = tmp_path_factory.mktemp("made") / "some" / "cache"
    answer = diagnose("--facts", facts, "--format", "json", MODELMEDIC_CACHE=str(folder))
    assert answer == right
    return folder


@pytest.fixture
def cache(made, tmp_path):
    """A cache folder of one's own."""
    return Path(shutil.copytree(made, tmp_path / "cache"))


@pytest.fixture
def stored(cache):
    """The file with the knowledge in it."""
    (path,) = cache.glob("knowledge-*")
    return path


@pytest.fixture
def answered(diagnose, facts):
    """The answer with a cache folder."""
    return lambda cache: diagnose("--facts", facts, "--format", "json", MODELMEDIC_CACHE=str(cache))


@pytest.fixture
def was_used(modules_after, facts):
    """Whether a run gets along without compiling the knowledge."""
    run = partial(modules_after, "--facts", facts)
    return lambda cache: "yaml" not in run(MODELMEDIC_CACHE=str(cache))


def parts(path):
    header, _, body = path.read_bytes().partition(b"\n")
    return json.loads(header), body


def poison(path, body, **changed):
    """A file whose checksum is right."""
    header, _ = parts(path)
    header |= {"sha256": hashlib.sha256(body).hexdigest()} | changed
    path.write_bytes(json.dumps(header).encode() + b"\n" + body)


def test_it_is_for_this_user_alone(made):
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert list(made.glob("knowledge-*"))
    for path in made.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.is_file()


def test_it_holds_data_only(made):
    for path in made.iterdir():
        for line in path.read_bytes().split(b"\n"):
            json.loads(line)


def test_its_header_says_what_it_is(made, right):
    (path,) = made.glob("knowledge-*")
    header, _ = parts(path)
    assert set(header) == {"format", "version", "digest", "sha256"}
    assert header["digest"] == right.json["knowledge"]["digest"]
    assert header["version"] == right.json["knowledge"]["version"]


def test_it_is_used(cache, was_used, answered, right):
    assert was_used(cache)
    assert answered(cache) == right


def test_it_is_filled_by_the_first_run(tmp_path, was_used):
    assert not was_used(tmp_path / "new")
    assert was_used(tmp_path / "new")


@pytest.mark.parametrize("option", ["--kb", "--engine"])
def test_it_knows_what_it_was_made_from(cache, diagnose, modules_after, facts, tmp_path, option):
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "diagnoses.yaml").write_text(
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: X, severity: info, kind: benign, summary: X.}\n"
    )
    value = overlay if option == "--kb" else "reference"
    arguments = ("--facts", facts, option, value)
    used = "yaml" not in modules_after(*arguments, MODELMEDIC_CACHE=str(cache))
    assert used == (option == "--engine")
    assert "yaml" not in modules_after(*arguments, MODELMEDIC_CACHE=str(cache))


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(os.urandom(5000)),
    "text": lambda path: path.write_text("compiled knowledge\n"),
    "cut in the header": lambda path: os.truncate(path, 20),
    "cut in the middle": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut by one byte": lambda path: os.truncate(path, path.stat().st_size - 1),
    "one byte changed": lambda path: path.write_bytes(path.read_bytes().replace(b"lock", b"look")),
    "header is a list": lambda path: path.write_bytes(b"[]\n" + parts(path)[1]),
    "header nested too deep": lambda path: path.write_bytes(b"[" * 99_999 + b"\n"),
    "wrong digest": lambda path: poison(path, parts(path)[1], digest="0" * 64),
    "wrong checksum": lambda path: poison(path, parts(path)[1], sha256="0" * 64),
    "no checksum": lambda path: poison(path, parts(path)[1], sha256=None),
    "older format": lambda path: poison(path, parts(path)[1], format=1),
    "another version": lambda path: poison(path, parts(path)[1], version="0.0.1"),
    "others may write": lambda path: path.chmod(0o666),
    "the group may write": lambda path: path.chmod(0o620),
}  # fmt: skip

# Bodies with a right checksum that are not what this version writes.
BODIES = {
    "nothing": lambda body: b"",
    "null": lambda body: b"null",
    "an empty object": lambda body: b"{}",
    "only a head": lambda body: body.partition(b"\n")[0],
    "a line less": lambda body: body.rpartition(b"\n")[0],
    "a line more": lambda body: body + b"\n{}",
    "nonsense": lambda body: body.partition(b"\n")[0] + b"\nnonsense" * 5000,
}  # fmt: skip
HEADS = {
    "sizes of text": {"sizes": "large"},
    "sizes below zero": {"sizes": {"rules": -1}},
    "probes of numbers": {"probes": [1]},
    "causes of numbers": {"causes": 1},
    "no rules by conclusion": {"concluding": None},
    "strata of text": {"strata": "many"},
}
LINES = {
    "not JSON": lambda line: b"nonsense",
    "numbers": lambda line: b"7",
    "nulls": lambda line: b"null",
    "lists": lambda line: b"[]",
    "texts for numbers": lambda line: line.replace(b"[0", b'["0"'),
    "rules with wrong numbers": lambda line: line.replace(b'["match",', b'["match",99'),
    "actions that are texts": lambda line: _with(line, actions=["x"], explains=7),
}


def with_lines(edit):
    return lambda body: rebuilt(body, lambda lines: [*map(edit, lines)])


def rebuilt(body, change=lambda lines: lines, head=None):
    """The body with the lines of its sections changed, and tables and sizes that fit."""
    first, _, rest = body.partition(b"\n")
    plain = json.loads(first)
    sections = {}
    for name, size in plain["sizes"].items():
        sections[name], rest = blocks(rest[:size]), rest[size + 1 :]
    assert not rest
    old = [line for _, each in sections.values() for _, lines in each for line in lines]
    new = iter(change(old))
    texts = {}
    for name, (count, each) in sections.items():
        parts = [packed(table, list(islice(new, len(lines)))) for table, lines in each]
        whole = parts if count is None else [compact([count, *map(len, parts)]), *parts]
        texts[name] = b"\n".join(whole)
    sizes = {name: len(text) for name, text in texts.items()}
    return b"\n".join([compact(plain | {"sizes": sizes} | (head or {})), *texts.values()])


def blocks(section):
    """The number of names of a section that has names, and its tables with their lines."""
    first, _, rest = section.partition(b"\n")
    table = json.loads(first)
    if isinstance(table, str):  # where the lines of a list begin, and where the last one ends
        return None, [(table, rest.split(b"\n") if len(table) > 8 else [])]
    count, *sizes = table
    found = []
    for size in sizes:
        names, *lines = rest[:size].split(b"\n")
        found.append((json.loads(names), lines))
        rest = rest[size + 1 :]
    return count, found


def packed(table, lines):
    sizes = list(map(len, lines))
    if isinstance(table, dict):
        numbers = [number for number, _ in table.values()]
        table_now = dict(zip(table, zip(numbers, sizes, strict=True), strict=True))
        return b"\n".join([compact(table_now), *lines])
    places = accumulate((size + 1 for size in sizes), initial=8 * len(sizes) + 11)
    return b"\n".join([compact("".join(f"{place:08x}" for place in places)), *lines])


POISONS = {
    **BODIES,
    **{name: partial(rebuilt, head=head) for name, head in HEADS.items()},
    **{name: with_lines(edit) for name, edit in LINES.items()},
    "upside down": lambda body: rebuilt(body, lambda lines: lines[::-1]),
}
# One for each step of reading that can refuse.
EACH_STEP = {"an empty object", "a line less", "nonsense", "not JSON", "sizes of text",
             "rules with wrong numbers", "actions that are texts", "upside down"}  # fmt: skip


def compact(plain):
    return json.dumps(plain, separators=(",", ":")).encode()


def _with(line, **changed):
    plain = json.loads(line)
    return json.dumps(plain | changed).encode() if isinstance(plain, dict) else line


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_trusted_is_made_anew(stored, cache, answered, was_used, right, damage):
    sound = stored.read_bytes()
    DAMAGES[damage](stored)
    assert answered(cache) == right
    assert stored.read_bytes() == sound
    assert was_used(cache), "it was not rebuilt"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600


def test_a_change_shows_though_the_checksum_is_remembered(stored, cache, answered, right):
    """With size and time of modification as they were."""
    time.sleep(0.2)  # what has just been written is not remembered
    assert answered(cache) == right
    assert str(stored) in (cache / "digests-1.json").read_text()
    before, sound = stored.stat(), stored.read_bytes()
    stored.write_bytes(sound.replace(b"lock", b"look"))
    os.utime(stored, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answered(cache) == right
    assert stored.read_bytes() == sound


@pytest.fixture
def main_job(run, slow_steps, tmp_path):
    """The main job with a cache folder of its own, and the one file that it leaves there."""
    cache = str(tmp_path / "own")
    command = (sys.executable, "-m", "modelmedic.interfaces.cli.main", "--facts", slow_steps)

    def job():
        return run(*command, MODELMEDIC_CACHE=cache)

    assert job().code == 1
    (path,) = Path(cache).glob("knowledge-*")
    return job, path


def test_a_body_rebuilt_without_a_change_is_the_same(stored, main_job):
    """Else the poisons would be found out by their form."""
    for path in (stored, main_job[1]):
        _, body = parts(path)
        assert rebuilt(body) == body


@pytest.mark.deep
def test_nonsense_in_the_place_of_the_shipped_knowledge(main_job):
    job, path = main_job
    wanted, sound = job(), path.read_bytes()
    poison(path, POISONS["upside down"](parts(path)[1]))
    assert path.read_bytes() != sound
    assert job() == wanted
    assert path.read_bytes() == sound


@pytest.mark.parametrize(
    "poisoned", [pytest.param(n, marks=() if n in EACH_STEP else pytest.mark.deep) for n in POISONS]
)
def test_nonsense_with_a_right_checksum(stored, cache, answered, right, poisoned):
    _, body = parts(stored)
    poison(stored, POISONS[poisoned](body))
    assert parts(stored)[1] != body
    assert answered(cache) == right


def test_no_half_an_answer_before_nonsense_shows(stored, cache, diagnose, facts):
    """The text is written line by line from parts that are decoded when they are needed."""
    _, body = parts(stored)
    poison(stored, POISONS["actions that are texts"](body))
    wanted = diagnose("--facts", facts)
    assert diagnose("--facts", facts, MODELMEDIC_CACHE=str(cache)) == wanted


def test_standard_input_survives_a_second_attempt(stored, cache, diagnose, facts):
    _, body = parts(stored)
    poison(stored, POISONS["nulls"](body))
    stdin = facts.read_bytes()
    wanted = diagnose("--facts", "-", stdin=stdin)
    assert wanted.code == 1
    assert diagnose("--facts", "-", stdin=stdin, MODELMEDIC_CACHE=str(cache)) == wanted


def test_a_link_is_followed_to_a_file_of_ones_own_only(stored, cache, answered, right, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    stored.rename(elsewhere)
    elsewhere.chmod(0o666)
    stored.symlink_to(elsewhere)
    content = elsewhere.read_bytes()
    assert answered(cache) == right
    assert not stored.is_symlink()
    assert elsewhere.read_bytes() == content, "the file behind the link was written to"


@pytest.mark.parametrize("target", ["/dev/zero", "none", "."])
def test_a_link_to_something_else(stored, cache, answered, right, target):
    stored.unlink()
    stored.symlink_to(target)
    assert answered(cache) == right


def test_a_pipe_is_not_waited_for(stored, cache, answered, right):
    stored.unlink()
    os.mkfifo(stored)
    assert answered(cache) == right


def test_a_folder_in_its_place(stored, cache, answered, right):
    stored.unlink()
    stored.mkdir()
    assert answered(cache) == right


def test_a_file_of_somebody_else(stored, cache, answered, was_used, right):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(stored, 12345, 12345)
    assert answered(cache) == right
    assert stored.stat().st_uid == 0


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_never_loaded(stored, cache, answered, right, tmp_path):
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    header, _ = parts(stored)
    stored.write_bytes(bomb)
    for suffix in (".pkl", ".pickle", ""):
        (cache / (stored.stem + suffix)).write_bytes(bomb)
    assert answered(cache) == right
    poison(stored, bomb, **{name: header[name] for name in ("format", "version", "digest")})
    assert answered(cache) == right
    assert not (tmp_path / "exploded").exists()
    pickle.loads(bomb)
    assert (tmp_path / "exploded").exists(), "the bomb works"
