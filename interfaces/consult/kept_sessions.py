"""The kept consultations: one file each, named by what was wrong, never written over by another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...engine.diagnosis.dialogue.dialogue import UNKNOWN, Dialogue, HistoryEntry
from ...facts import ModelMedicError, Problem
from ...facts.problems import did_you_mean, excerpt
from ..reports.layout import Line, counted
from .drivers import Driver, Prompt
from .phrasing import Phrasing
from .session import SessionFile

MOST_LISTED = 9
_FOLDER, _EARLIER = "sessions", "session.json"  # the one file of earlier versions
_UNNAMED = "session"


class Kept(NamedTuple):
    """A kept consultation that can be gone on with."""

    session: SessionFile
    dialogue: Dialogue


class NewSession(SessionFile):
    """The file of a consultation that has just begun; it gets its name with the first answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._folder = folder
        self._named = False

    def save(self, entries: Sequence[HistoryEntry]) -> None:
        """Save the entries, under a name that no other consultation has."""
        if not self._named:
            try:
                self.path = _free(self._folder, _title(entries))
            except OSError:
                return
            self._named = True
        super().save(entries)


class KeptSessions:
    """The consultations that are kept in the user's state folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def new(self) -> SessionFile:
        return NewSession(self._folder / _FOLDER)

    def files(self) -> list[SessionFile]:
        """The saved consultations, newest first."""
        paths = [p for p in (self._folder / _FOLDER).glob("*.json") if p.is_file()]
        paths += [p for p in [self._folder / _EARLIER] if p.is_file()]
        paths.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
        return [SessionFile(path) for path in paths]

    def choose(self, start: Dialogue, driver: Driver, phrasing: Phrasing, name: str = "") -> Kept:
        """Choose the consultation to continue, by its ``name`` if given. Raises
        :class:`ModelMedicError` (MM313) if none can be read, EOFError or KeyboardInterrupt if the
        user wants none."""
        if name:
            return self._named(name, start, driver, phrasing)
        kept, broken = self._readable(start)
        if not kept:
            if broken:
                raise broken[0]
            SessionFile(self._folder / _EARLIER).load(start.doctor.base.vocabulary)
        if len(kept) > 1:
            return self._asked(kept, driver, phrasing)
        driver.show([Line("Going on with:", style="heading"), *recap(kept[0], phrasing)])
        return kept[0]

    def _named(self, name: str, start: Dialogue, driver: Driver, phrasing: Phrasing) -> Kept:
        known = {session.path.stem: session for session in self.files()}
        if name not in known:
            hint = did_you_mean(name, known) or "`diagnose --resume` lists what is kept"
            message = f"there is no kept consultation {excerpt(name)}"
            raise ModelMedicError(Problem("MM313", message, None, hint))
        entries = known[name].load(start.doctor.base.vocabulary)
        found = Kept(known[name], start.with_entries(entries))
        driver.show([Line("Going on with:", style="heading"), *recap(found, phrasing)])
        return found

    def _readable(self, start: Dialogue) -> tuple[list[Kept], list[ModelMedicError]]:
        found: list[Kept] = []
        broken: list[ModelMedicError] = []
        for session in self.files():
            if len(found) == MOST_LISTED:
                break
            try:
                entries = session.load(start.doctor.base.vocabulary)
            except ModelMedicError as error:
                broken.append(error)
                continue
            found.append(Kept(session, start.with_entries(entries)))
        return found, broken

    def _asked(self, kept: Sequence[Kept], driver: Driver, phrasing: Phrasing) -> Kept:
        driver.show([Line("Which consultation?", style="heading")])
        for number, each in enumerate(kept, 1):
            driver.show(recap(each, phrasing, f"{number}) "))
        names = {each.session.path.stem: each for each in kept}
        while True:
            said = driver.read(_prompt(len(kept))).strip()
            if said == "quit":
                raise EOFError
            if said in names or not said:
                return names.get(said, kept[0])
            if said.isdecimal() and 1 <= int(said) <= len(kept):
                return kept[int(said) - 1]
            hint = f"type a number from 1 to {len(kept)}, or a name"
            driver.show([Line(hint, style="warning")])


def recap(kept: Kept, phrasing: Phrasing, mark: str = "- ") -> Iterator[Line]:
    """The subject of a consultation, its progress, and the causes that are left."""
    dialogue = kept.dialogue
    symptoms = [phrasing.said(f) for f in dialogue.facts if f.kind in ("symptom", "error_message")]
    about = symptoms[0] if symptoms else "nothing is said yet"
    yield Line(f"{kept.session.path.stem}: {about}", 2, mark=mark)
    known = sum(1 for entry in dialogue.entries if entry.answer != UNKNOWN)
    unknown = len(dialogue.entries) - known
    said = [counted(known, "answer"), *([f"{unknown} not known"] if unknown else [])]
    found = [d.title for d in dialogue.report.diagnoses if d.kind != "benign"][:1]
    left = [c.title for c in dialogue.possible()] if dialogue.facts else []
    if left:
        said.append(f"{counted(len(left), 'cause')} left ({left[0]}{', ...' if left[1:] else ''})")
    yield Line("; ".join([*found, *said]), 6, "dim")


def _prompt(most: int) -> Prompt:
    from .commands import Options

    return Prompt(f"[1-{most}, Enter for 1] > ", lambda typed: Options(typed, {}), lambda width: "")


def _title(entries: Sequence[HistoryEntry]) -> str:
    names = (str(f.get("name")) for e in entries for f in e.facts if f.kind == "symptom")
    name = next(names, _UNNAMED)
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in name)[:60]


def _free(folder: Path, title: str) -> Path:
    """A new file, which nobody else has got at the same time. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"{title}-{number}.json"
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return path


def error_if_missing(folder: Path | None) -> Path:
    """The state folder. Raises :class:`ModelMedicError` (MM313) where there is none."""
    if folder is None:
        hint = "start a consultation with `diagnose`"
        raise ModelMedicError(Problem("MM313", "nothing is kept on this machine", None, hint))
    return folder
