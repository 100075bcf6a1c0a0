"""Progress and Ctrl-C below the terminal (there: tests/consultation/test_waiting.py)."""

import _thread
import io
import signal
import sys
import threading
import time
from contextlib import redirect_stderr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.interfaces.cli.main import main
from modelmedic.interfaces.waiting import Gauge, Watch, display, shown, watched
from modelmedic.interfaces.waiting.display import amount_of, cut, is_wanted, what_of


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def fileno(self):
        raise OSError  # it has no size: drawing must not harm the work


@pytest.fixture
def terminal(monkeypatch):
    for name in ("CI", "NO_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_terminal_gets_progress_unless_somebody_objects(terminal, monkeypatch):
    assert is_wanted(terminal)
    assert not is_wanted(io.StringIO())
    for name, value in (("CI", "1"), ("NO_PROGRESS", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert not is_wanted(terminal)


def test_short_work_is_not_shown(terminal):
    with redirect_stderr(terminal), shown(Gauge()):
        assert threading.active_count() > 1
    assert terminal.getvalue() == ""


def test_a_terminal_that_has_gone_does_no_harm(terminal, monkeypatch):
    monkeypatch.setattr(display, "DELAY_S", 0.0)
    gauge = Gauge()
    with redirect_stderr(terminal), shown(gauge), gauge.part("x", 2) as step, shown(Gauge()):
        assert step()
        limit = time.monotonic() + 60
        while not terminal.getvalue() and time.monotonic() < limit:
            time.sleep(0.001)
    assert terminal.getvalue() == "\r\x1b[2K"
    assert not gauge.parts


@given(st.text(), st.integers(8, 100))
def test_a_cut_text_fits(text, columns):
    from unicodedata import combining, east_asian_width

    widths = (0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1
              for c in cut(text, columns))  # fmt: skip
    assert sum(widths) <= columns


def test_words():
    gauge = Gauge()
    with gauge.part("", 12) as files, gauge.part("a\n\x1b.log", 200, "bytes") as part:
        files()
        part(50)
        assert what_of(gauge.parts) == "2/12 a\\n\\x1b.log"
        assert what_of(gauge.parts, stopped=True) == "stopping: 2/12 a\\n\\x1b.log"
        assert amount_of(part) == "25 %"
        part(500)
        assert amount_of(part) == "100 %"
    assert what_of(gauge.parts) == "working"
    with gauge.part("pipe", unit="bytes") as part:
        part(1_234_567)
        assert amount_of(part) == "1.2 MB"


def interrupt():
    signal.raise_signal(signal.SIGINT)
    time.sleep(0)


def test_the_first_ctrl_c_breaks_off_an_attempt():
    with watched() as watch:
        assert watch.attempt(lambda: 1) == 1
        assert watch.attempt(interrupt) is None
        assert watch.stopped
        assert watch.attempt(lambda: 1) is None
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_first_ctrl_c_is_only_told_where_the_work_ends_by_itself():
    def work():
        with watch.part("x", ends_early=True) as step:
            assert step()
            interrupt()
            assert not step()
        return "what is known"

    with watched() as watch:
        assert watch.attempt(work) == "what is known"
        assert watch.stopped


def test_the_second_ctrl_c_ends_the_work_too():
    def work():
        with watch.part("x", ends_early=True):
            interrupt()
            interrupt()

    with watched() as watch, pytest.raises(KeyboardInterrupt):
        watch.attempt(work)


def test_between_two_attempts_ctrl_c_is_kept():
    with watched() as watch:
        interrupt()
        assert watch.stopped and watch.attempt(lambda: 1) is None


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_handlers_of_others_stay(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with watched() as watch:
            assert signal.getsignal(signal.SIGINT) is handler
            interrupt()
            assert not watch.stopped
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_twice_in_a_finalizer_prints_nothing(monkeypatch, capsys):
    """The second one comes while the first one is prepared to be delivered again."""
    started = []

    def start(function, arguments):
        started.append(function)
        if len(started) == 1:
            raise KeyboardInterrupt

    class Held:
        def __del__(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    with pytest.raises(SystemExit):
        main(["--version"])
    monkeypatch.setattr(_thread, "start_new_thread", start)
    capsys.readouterr()
    Held()
    assert len(started) == 2
    assert capsys.readouterr().err == ""


def test_a_watch_of_the_callers_takes_no_signal(tmp_path):
    from modelmedic.engine import KnowledgeBase
    from modelmedic.interfaces.inspection import gather

    watch = Watch()
    watch.stopped = True
    _, problems, _ = gather([tmp_path], KnowledgeBase.load().vocabulary, watch)
    assert [problem.code for problem in problems] == ["MM407"]
