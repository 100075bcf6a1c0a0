"""Events in the interpreter while untrusted things are read: nothing is executed that is not ours,
no socket is opened, no process started, nothing written but the named output and the cache."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

PACKAGES = ("facts", "reading", "knowledge", "probes", "engine", "authoring", "interfaces")
# Devices that Python opens by itself, and what tells one machine from another.
READ = ("/dev/null", "/dev/urandom", "/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/passwd",
        "/etc/nsswitch.conf", "/etc/localtime", "/proc", "/sys", "/etc/os-release",
        "/usr/lib/os-release", "/etc/ld.so.cache", "/etc/magic", "/etc/mime.types")  # fmt: skip
FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn",
             "os.fork", "os.forkpty", "pickle.", "urllib", "http", "ftplib", "smtplib",
             "shutil.unpack", "os.chown", "os.link", "os.symlink", "os.startfile")  # fmt: skip
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.utime")


def trusted_folders(root):
    """Folders that code may come from: the interpreter, its packages, this tree."""
    paths = sysconfig.get_paths()
    kept = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(sorted({*kept, *(str(root / part) for part in PACKAGES),
                         *(str(root / ".typing" / "modelmedic" / part) for part in PACKAGES),
                         sys.base_prefix}))  # fmt: skip


def faults(events, root, writable=(), readable=()):
    """The events that must not be, in words."""
    trusted = trusted_folders(root)
    for event, *values in events:
        if event.startswith(FORBIDDEN):
            yield f"{event} {values}"
        elif event == "open" and isinstance(values[0], str):
            path, flags = os.path.abspath(values[0]), values[2]
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            if writes and not is_below(path, writable) and path != "/dev/null":
                yield f"writes {path}"
            if not writes and not is_below(path, (*trusted, *READ, *readable, *writable)):
                yield f"reads {path}"
        elif event in CHANGES and not is_below(os.path.abspath(str(values[0])), writable):
            yield f"{event} {values}"
        elif event == "import" and isinstance(values[1], str) and values[1] not in ("", "None"):
            if not is_below(values[1], trusted):
                yield f"imports {values}"
        elif event in ("compile", "exec"):
            file = code_file(event, values)
            if file and not file.startswith("<") and not is_below(file, trusted):
                yield f"{event}s {file}"


def code_file(event, values):
    """The file that code comes from, as far as the event says."""
    if event == "compile":
        return values[1] if isinstance(values[1], str) else ""
    return str(values[0]).partition('file "')[2].partition('"')[0]


def is_below(path, folders):
    return any(path == str(f) or path.startswith(f"{f}{os.sep}") for f in folders)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "format_", ["text", "json", "markdown", "html", "sarif", "junit", "github"]
)
def test_the_main_job(watched, root, environment, tmp_path, slow_steps, format_):
    """Loading knowledge (compiling it, too), loading facts, diagnosing and reporting."""
    cache, out = tmp_path / "cache", tmp_path / "report"
    for _ in ("compiled now", "from the cache"):
        answer, events = watched("--facts", slow_steps, "-f", format_, "-o", out,
                                 MODELMEDIC_CACHE=str(cache))  # fmt: skip
        assert answer.code == 1, answer.err
        allowed = (cache, out, *drafts_of(events, out))
        assert list(faults(events, root, allowed)) == []
        assert any(event == "open" for event, *_ in events), "the hook heard nothing"


def drafts_of(events, out):
    """The file that becomes the output."""
    return {e[1] for e in events if e[0] == "open" and isinstance(e[1], str)
            and e[1].startswith(f"{out.parent}/.{out.name}-")}  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [("kb", "list"), ("explain", "tinker.perf.slow-steps"), ("facts",),
     ("probe", "list"), ("decode", "tinker.RateLimitError: Error code: 429"),
     ("why-not", "tinker.perf.missing-pipelining", "--facts", "FACTS"),
     ("whatif", "--facts", "FACTS", "--set", "python version=3.12.1")],
    ids=lambda words: "-".join(words[:2]),
)  # fmt: skip
def test_other_commands(watched, root, environment, slow_steps, command):
    given = [slow_steps if word == "FACTS" else word for word in command]
    answer, events = watched(*given)
    assert answer.code in (0, 1), answer.err
    assert list(faults(events, root, (environment["MODELMEDIC_CACHE"],))) == []


def test_inspecting_the_folder_of_a_stranger(
    watched, root, environment, tmp_path, hostile_folder, trap
):
    """Also with the stranger's folder as the working folder."""
    out = tmp_path / "report.json"
    answer, events = watched("inspect", hostile_folder, "-f", "json", "-o", out,
                             cwd=hostile_folder)  # fmt: skip
    assert answer.code in (0, 1), answer.err
    allowed = (environment["MODELMEDIC_CACHE"], out, *drafts_of(events, out))
    known = (hostile_folder,)
    assert list(faults(events, root, allowed, known)) == []
    read = {e[1] for e in events if e[0] == "open" and str(e[1]).startswith(str(hostile_folder))}
    assert len(read) > 10, "the folder was not looked into"
    assert not trap.mark.exists()


@pytest.mark.deep
def test_pickled_objects_are_not_loaded(watched, hostile_folder, trap):
    for name in sorted(os.listdir(hostile_folder)):
        answer, events = watched("inspect", hostile_folder / name)
        assert not [e for e in events if e[0].startswith("pickle.")], name
        assert answer.code in (0, 1, 2), name
    assert not trap.mark.exists()


# Writes to argv[1] every code that is compiled or executed and holds the canary.
CANARY = """
import sys
out, *arguments = sys.argv[1:]
found, heard = [], []
def holds(code):
    return any("canary" in str(c) or hasattr(c, "co_consts") and holds(c)
               for c in (*code.co_consts, *code.co_names))
def note(event, values):
    if event == "compile" and values[0] is not None:
        heard.append(event)
        if "canary" in str(values[0]) or "canary" in str(values[1]):
            found.append(f"compiles {values[0]!r:.200} {values[1]}")
    elif event == "exec":
        heard.append(event)
        if holds(values[0]):
            found.append(f"executes {values[0]!r:.200}")
from modelmedic.interfaces.cli.main import main
sys.addaudithook(note)
try:
    main(arguments)
finally:
    noted = [str(len(heard)), *found]
    with open(out, "w") as file:
        file.write("\\n".join(noted))
"""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "format_", ["text", "json", "markdown", "html", "sarif", "junit", "github"]
)
def test_no_text_becomes_code(run, facts_file, overlay, tmp_path, format_):
    """Neither of facts nor of knowledge, not even as a part of code that is made at run time."""
    for path in overlay.glob("*.yaml"):
        path.write_text(path.read_text().replace("A trap", "__import__('canary')"))
    facts = facts_file({"kind": "symptom", "name": "slow-steps"},
                       {"kind": "error_message", "text": "Error code: 402 - {{ canary() }}",
                        "exception": "canary.Error",
                        "provenance": {"location": "${canary}/%(canary)s.py"}},
                       {"kind": "package", "name": "canary", "version": "1.0"})  # fmt: skip
    seen = tmp_path / "seen"
    answer = run(sys.executable, "-P", "-c", CANARY, seen, "--facts", facts, "--kb", overlay,
                 "-v", "-f", format_)  # fmt: skip
    assert answer.code == 1, answer.err
    assert "canary" in answer.out or format_ == "github"
    count, *found = seen.read_text().splitlines()
    assert found == []
    assert int(count) > 0, "the hook heard nothing"


def test_the_watch_sees(tmp_path, root):
    """Each kind of fault is one."""
    kinds: dict[str, list[object]] = {
        "socket.connect": ["socket.connect", "s", "('h', 1)"],
        "writes": ["open", str(tmp_path / "x"), "w", os.O_WRONLY],
        "reads": ["open", str(tmp_path / "x"), "r", os.O_RDONLY],
        "os.remove": ["os.remove", str(tmp_path / "x"), -1],
        "imports": ["import", "yaml", str(tmp_path / "yaml.py"), "", ""],
        "compiles": ["compile", "None", str(tmp_path / "yaml.py")],
        "execs": ["exec", f'<code object <module> at 0x1, file "{tmp_path}/yaml.py", line 1>'],
    }
    for start, event in kinds.items():
        (fault,) = faults([event], root)
        assert fault.startswith(start)


def test_the_pickles_would_have_worked(trap):
    import pickle

    pickle.loads(pickle.dumps(trap))
    assert trap.mark.is_dir()
    assert isinstance(trap.mark, Path)
