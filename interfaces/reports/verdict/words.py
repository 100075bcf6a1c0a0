"""The words of a verdict: why, where, what that accounts for, and which rivals are out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ....engine.diagnosis.report import SEVERITIES, Diagnosis, RuledOut
from ....engine.diagnosis.wording import whole
from ....facts import Fact
from ....facts.records import NamedTuple, lazy
from ..layout import Line, counted
from ..safe_text import one_line
from ..view import ReportView, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ....engine.inference.program import Repair


SENTENCE = 240
"""Characters of one reason: about three lines of a terminal."""
LIST = 150
"""Characters of one list of names: about two lines."""
MAX_PLACES = 3
MAX_EFFECTS = 2
MAX_RIVALS = 2
NEWS = 0.6
"""A further reason has more than this share of words that were not said yet."""
MAX_WORDS = 2
NEWS_AT_LAST = 0.75
"""After so many reasons, a further one has a number of its own or more news."""
QUOTE = 70
"""Characters of a complaint in the words of whoever made it."""
SEEN = 130
"""Characters of a line of the evidence."""
MEANING = 80
"""Length of a meaning that fits in a sentence."""
MIN_NEWS = 2
"""Words that a line of the evidence has and the reasons lack."""
_QUOTED = ("text", "snippet", "detail")
_NAMING = ("name", "component", "package", "pod", "path", "file")
"""Attributes that name what a fact is about, and need no label."""
REPORTED = "your report in words; nothing was measured"
_MESSAGES = ("message", "sentence", "warning")
_OF_MESSAGE = lazy(r"\b(?:message|sentence|warning) (?:names|lists|prints)\b")
"""Actions that need the message itself."""
_STEM = 5
_WORD = lazy(r"[a-z0-9_]+")
_NUMERAL = lazy(r"(?<![\w.])\d+(?:[.,]\d+)?(?![\d.]*\.\d|\w)")
_PLURAL = lazy(r"\b(\d{1,9}) (\w{2,30})\(s\)")
_ANSWERED = lazy(r"\w\? [^?]+$")
_PLACES = lazy(r"(?<!\()\) \(")
"""Between two places in parentheses, and not behind the empty ones of a call."""
_SENTENCES = lazy(r"(?<=[a-z0-9)\]%\"'][.])\s+(?=[A-Z`'\"])")
_LIBRARY = lazy(
    r"(?:.{0,400}/)?(?:site-packages|dist-packages|lib/python\d(?:\.\d{1,2})?)/"
    r"|(?:tinker|tinker_cookbook|transformers|torch|pydantic|peft|datasets|vllm|sglang|"
    r"neuronx_distributed|neuronx_distributed_inference|torch_neuronx|torch_xla|huggingface_hub)/"
)
_RESTING = ("selecting", "idle", "polling", "waiting-result")
_FOUND_OUT = ("root-cause", "user-code")


class Reason(NamedTuple):
    """Why, what to do about it where these facts decide that, and both in words."""

    text: str
    repair: Repair | None
    whole: str


def reasons(d: Diagnosis, view: ReportView) -> list[Reason]:
    """The reasons for a diagnosis, one with a measured number first: messages of the rules, and the
    first sentence of the summary. A reason that adds little to the title and the earlier ones is
    left out."""
    messages: dict[Reason, None] = {}
    for text, repair in d.reasons:
        text = _in_plain_words(text, view)
        both = whole(text, repair)
        if both and not ("? " in both and _ANSWERED.search(both)):
            messages[Reason(text, repair, both)] = None
    said = sorted(messages, key=lambda each: not _numbers(each.text))
    gist = first_sentence(d.gist)
    found: list[Reason] = []
    told = d.headline
    known = _stems(d.headline)
    for reason in [*said[:1], Reason(gist, None, gist), *said[1:]]:
        why = reason.text  # the repair is shown elsewhere
        new = _stems(why) - known
        measures = reason in said and bool(_numbers(why) - _numbers(told))
        share = NEWS if len(found) < MAX_WORDS or measures else NEWS_AT_LAST
        if (measures and not found) or len(new) > share * len(_stems(why)):
            found.append(reason)
            told += f" {reason.whole}"
            known |= new
    if found:
        return found
    first = [*said[:1], Reason(d.gist, None, d.gist)][0]
    repeats = d.headline.lower() in first.whole.lower() or not _stems(first.whole) - known
    return [first] if _numbers(first.whole) - _numbers(d.headline) or not repeats else []


def detailed(d: Diagnosis, found: Sequence[Reason]) -> list[Reason]:
    """The reasons, behind the title of the row that alone concludes a finding: above them stands
    that of the finding. It is left out where it says no more."""
    text, repair, both = found[0] if found else ("", None, "")
    if len(_stems(d.detail) - _stems(f"{d.title} {both}")) < MIN_NEWS:
        return list(found)
    first = Reason(f"{d.detail}. {text}".rstrip(), repair, f"{d.detail}. {both}".rstrip())
    return [first, *found[1:]]


def _in_plain_words(text: str, view: ReportView) -> str:
    """A message in which listed values stand as what they mean, ``shard(s)`` as one or several, and
    two places in one pair of parentheses."""
    if ") (" in text:
        text = _PLACES.sub("; ", text)
    if "(s)" in text:
        text = _PLURAL.sub(lambda m: counted(int(m[1]), m[2]), text)
    text = text.removesuffix(" ?")  # a value that is not known, at the end
    for key, meaning in view.report.meanings.items():
        value = key.partition("=")[2]
        if "-" in value and value in text:
            if len(meaning) <= MEANING:
                text = text.replace(f"({value})", f"({meaning})")
            word = rf"(?<![\w./-]){re.escape(value)}(?![\w/-]|\.\w)"
            text = re.sub(word, value.replace("-", " "), text)
    return text


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) > 3}


def _numbers(text: str) -> set[str]:
    return set(_NUMERAL.findall(text))


def first_sentence(text: str) -> str:
    """The first sentence."""
    return _SENTENCES.split(text, maxsplit=1)[0]


def brief(text: str, limit: int = SENTENCE) -> str:
    """The first whole sentences that fit, at least one; a sentence that is too long is cut."""
    if len(text) <= limit:
        return text
    end = max(text.rfind(mark, 0, limit) for mark in (". ", "; ", ": "))
    if end > limit // 3:
        return text[:end] + (" ..." if text[end] == ":" else ".")
    return text[: text.rfind(" ", 0, limit)] + " ..."


def listed(names: Iterable[str], limit: int = LIST) -> str:
    """Names up to a length, and how many more there are."""
    every = list(names)
    shown: list[str] = []
    for name in every:
        if shown and sum(map(len, shown)) + 2 * len(shown) + len(name) > limit:
            return f"{'; '.join(shown)}; and {len(every) - len(shown)} more"
        shown.append(name)
    return "; ".join(shown)


def titles(mark: str, found: Iterable[Any], style: str = "") -> Iterator[Line]:
    """Titles on a line, if there are any."""
    every = [one_line(each.title) for each in found]
    if every:
        yield Line(listed(every), style=style, mark=mark)


def new(found: Sequence[Reason], said: set[str]) -> list[Reason]:
    """The reasons that were not said before; the first one counts as said from now on."""
    new = [reason for reason in found if reason.whole not in said]
    if new:
        said.add(new[0].whole)
    return new


def places(d: Diagnosis, view: ReportView) -> str:
    """The places of the evidence: files with lines, functions, components."""
    known = {name: fact for name, fact, derived in view.report.facts if not derived}
    found: dict[str, float] = {}
    for name in _evidence(d, view):
        if name in known:
            # The frame that kept others waiting longest comes first.
            busy = known[name].get("work") and known[name].get("state") not in _RESTING
            seconds = float(known[name].get("duration_s") or 0) if busy else 0.0
            for place in _place_of(known[name]):
                found.setdefault(place, -seconds)
    every = sorted(found, key=found.__getitem__)
    shown = [one_line(each) for each in every if not any(_within(each, more) for more in found)]
    more = f" and {len(shown) - MAX_PLACES} more" if len(shown) > MAX_PLACES else ""
    note = ""
    if shown and _is_library(shown[0]):
        shown.sort(key=_is_library)
        if _is_library(shown[0]):
            note = " (library code: look at the line of yours that calls it)"
    return "; ".join(shown[:MAX_PLACES]) + more + note


def _is_library(place: str) -> bool:
    return "/" in place and _LIBRARY.match(place) is not None


def _within(place: str, other: str) -> bool:
    """Whether another place says the same more exactly."""
    return other != place and (other.startswith(f"{place}:") or f"({place})" in other)


def _place_of(fact: Fact) -> Iterator[str]:
    """Places as facts name them; what has passed is not where a fault is. A facts file says nothing
    of the run."""
    component, file, line = (fact.get(name) for name in ("component", "file", "line"))
    if fact.get("port_at") and fact.get("differs") is not False:
        yield str(fact.get("port_at"))
    elif component and fact.get("status") != "pass":
        yield f"component {component}"
    # Of the frames of stacks, those are places in which something is being done.
    is_busy = fact.get("work") and fact.get("state") not in _RESTING
    frame = fact.get("function") or (fact.get("where") if is_busy else None)
    inside = f" in {frame}" if frame else ""
    if file:
        yield f"{file}:{line}{inside}" if line else f"{file}{inside}"
    elif line or inside:
        yield f"line {line}{inside}" if line else f"function {frame}"
    for provenance in fact.provenance:
        location = provenance.location
        if location and provenance.source != "file" and not (file and str(file) in location):
            yield location


def effects(d: Diagnosis, view: ReportView) -> list[str]:
    """The noticed effects of a cause: complaints, in the user's words if there are any, else
    symptoms that rest on more than the evidence of the cause, the worst first."""
    found = {each.id: each for each in view.report.diagnoses if each.kind == "symptom"}
    complaints = {name: fact for name, fact, _ in view.report.facts if fact.kind == "symptom"}
    own = _evidence(d, view)
    reported: dict[str, str] = {}
    seen: list[Diagnosis] = []
    for effect in filter(None, map(found.get, d.explains)):
        evidence = _evidence(effect, view)
        for name in evidence:
            if name in complaints:
                reported[effect.title] = _quoted(effect.title, complaints[name])
        if not evidence.keys() <= own.keys():
            seen.append(effect)
    if reported:
        return [*reported.values()][:MAX_EFFECTS]
    seen.sort(key=lambda e: -SEVERITIES.index(e.severity))
    return [e.title for e in seen[:MAX_EFFECTS]]


def _quoted(title: str, complaint: Fact) -> str:
    """The verbatim complaint, if it is short."""
    said = one_line(" ".join(str(complaint.get("text") or "").split()))
    return f'"{said}"' if said and len(said) <= QUOTE else title


def same_evidence(d: Diagnosis, others: Sequence[Diagnosis], view: ReportView) -> Diagnosis | None:
    """The one of the others on nothing but whose facts a finding rests."""
    own = _evidence(d, view).keys()
    return next((other for other in others if own <= _evidence(other, view).keys()), None)


def _evidence(d: Diagnosis, view: ReportView) -> dict[str, None]:
    """The facts at the bottom of its derivation, each once."""
    return dict.fromkeys(f for step in d.explanation["how"] for f in leaves(step, view.facts))


def _needs_message(do: str) -> bool:
    return any(word in do for word in _MESSAGES) and _OF_MESSAGE.search(do) is not None


def seen(d: Diagnosis, view: ReportView, shown: Iterable[str]) -> str:
    """A verbatim line of the evidence: of code or a comparison, or of a message if the reasons have
    no figure. Nothing if the reasons contain it."""
    own = _evidence(d, view)
    told = " ".join(shown)
    words = _stems(told)
    least = 0 if d.actions and _needs_message(d.actions[0]["do"]) else MIN_NEWS
    for name, fact, _ in view.report.facts:
        if name not in own or fact.kind == "symptom":
            continue
        for attribute in _QUOTED[1:] if _numbers(told) else _QUOTED:
            said = one_line(" ".join(str(fact.get(attribute) or "").split()))
            if said and said not in told and len(_stems(said) - words) >= least:
                return said if len(said) <= SEEN else said[: said.rfind(" ", 0, SEEN)] + " ..."
    return ""


def known_from(d: Diagnosis, view: ReportView, told: Iterable[str]) -> str:
    """Evidence without a quotation: an answer, a report in words, or the values of a fact. Nothing
    if the reasons have a figure or mention it."""
    said = " ".join(told)
    if _numbers(said) or "reported" in said:
        return ""
    messages = (step.get("message", "") for step in d.explanation["how"])
    if answered := next((each for each in messages if _ANSWERED.search(each)), ""):
        return brief(f"your answer: {one_line(answered)}")
    own = _evidence(d, view)
    facts = [f for name, f, derived in view.report.facts if name in own and not derived]
    facts.sort(key=lambda fact: fact.kind == "symptom")
    if not facts:
        return ""
    news = _stems(_values_of(facts[0], view)) - _stems(f"{said} {d.headline}")
    if len(news) >= MIN_NEWS and not _is_told(facts[0], said, view):
        return _in_words(facts[0], view)
    return REPORTED if facts[0].kind == "symptom" else ""


def _is_told(fact: Fact, said: str, view: ReportView) -> bool:
    """Whether a fact has names and texts, and all of them have been said."""
    plain = [
        str(value)
        for name, value in fact.values
        if isinstance(value, str) and not _meaning(fact, name, view)
    ]
    return bool(plain) and all(value in said for value in plain)


def _values_of(fact: Fact, view: ReportView) -> str:
    """The values of a fact, without the names of its attributes, which are words of the engine."""
    values = ((name, value) for name, value in fact.values if not isinstance(value, bool))
    return " ".join(_meaning(fact, name, view) or str(value) for name, value in values)


def _meaning(fact: Fact, name: str, view: ReportView) -> str:
    """The meaning of a value, if it is one of a list."""
    return view.report.meanings.get(f"{fact.kind}.{name}={fact.get(name)}", "")


def _in_words(fact: Fact, view: ReportView) -> str:
    """A fact without brackets: ``package vllm-neuron, importable: no, version 0.24.0``."""
    if fact.kind == "symptom":
        return brief(f"what was reported: {_meaning(fact, 'name', view)}", SEEN)
    if fact.kind == "answer":  # where the rule does not quote it, it has a name alone
        return ""
    if text := fact.get("text"):
        raised = f"{one_line(str(fact.get('exception')))}: " if fact.get("exception") else ""
        return brief(raised + one_line(" ".join(str(text).split())), SEEN)
    names = [name for name in _NAMING if fact.get(name)][:1]
    named = [one_line(str(fact.get(name))) for name in names if not _meaning(fact, name, view)]
    others = ((n, v) for n, v in fact.values if n != "present" or v is False)
    rest = [n for n, _ in others if n not in names or _meaning(fact, n, view)]
    values = ", ".join(
        _meaning(fact, name, view) or _plainly(name, fact.get(name)) for name in rest
    )
    if not named and rest[:1] and (meant := _meaning(fact, rest[0], view)):
        if rest[1:] == ["present"]:
            return brief(f"looked for and not found: {meant}")
        if rest[-1] == "ok":
            more = [_meaning(fact, n, view) or _plainly(n, fact.get(n)) for n in rest[1:-1]]
            aside = f" ({', '.join(more)})" * bool(more)
            return brief(f"{meant}: {'yes' if fact.get('ok') else 'no'}{aside}")
        if len(rest) == 1:
            return brief(meant)
    head = " ".join([fact.kind.replace("_", " "), *named])
    return brief(f"{head}{', ' if named else ': '}{values}" if values else head, SENTENCE)


def _plainly(name: str, value: object) -> str:
    """An attribute and its value: ``importable: no``, ``silent for 60 s``."""
    label = name.replace("_", " ").removeprefix("is ")
    if isinstance(value, bool):
        return f"{label}: {'yes' if value else 'no'}"
    if label.endswith(" s") and isinstance(value, int | float):
        return f"{label[:-2]} for {value:g} s"
    return f"{label} {one_line(str(value))}"


def rivals(view: ReportView) -> Sequence[RuledOut]:
    """Ruled-out rivals that could have caused the same symptoms. At most two, of different
    areas."""
    found = [d for d in (*view.causes, *view.leads) if d.kind != "benign"]
    symptoms = {d.id for d in view.report.diagnoses if d.kind == "symptom"}
    symptoms.update(effect for d in found for effect in d.explains)
    ids = {d.id for d in found}
    out = [r for r in view.report.ruled_out if r.kind in ("", *_FOUND_OUT) and r.id not in ids]
    rival = [r for r in out if symptoms.intersection(r.explains)]
    if any(d.kind != "symptom" for d in view.causes):  # no need to look elsewhere any more
        areas = {_area(name) for name in ids}
        rival = [r for r in rival if _area(r.id) in areas]
    if not (view.causes or view.leads or view.fine):
        rival = out  # it is all that was found out
    rival.sort(key=lambda r: (-len(symptoms.intersection(r.explains)), r.id))
    first: dict[str, RuledOut] = {}
    for r in rival:  # those of one area say much the same
        first.setdefault(_area(r.id), r)
    return [*first.values()][:MAX_RIVALS]


def _area(name: str) -> str:
    return name.rpartition(".")[0]
